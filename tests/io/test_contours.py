"""Outlines of the objects in masks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from PIL import Image

import shapelex as sx
from shapelex.exceptions import ArrayTypeError, EmptySetError, ShapeInputError, UnsupportedBySpaceError
from tests.io.conftest import check_refused, check_set

masks = nps.arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.booleans())
label_images = nps.arrays(np.uint8, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=st.integers(0, 4))
connectivities = st.sampled_from([4, 8])


def flood(pixels: set[tuple[int, int]], start: tuple[int, int], connectivity: int) -> set[tuple[int, int]]:
    """Return the pixels that are reached from `start`, one step at a time."""
    steps = [(0, 1), (1, 0), (0, -1), (-1, 0)] + [(1, 1), (1, -1), (-1, 1), (-1, -1)] * (connectivity == 8)
    reached, todo = {start}, [start]
    while todo:
        row, column = todo.pop()
        for down, right in steps:
            step = (row + down, column + right)
            if step in pixels and step not in reached:
                reached.add(step)
                todo.append(step)
    return reached


def components(mask: np.ndarray, connectivity: int) -> list[set[tuple[int, int]]]:
    left = {(int(r), int(c)) for r, c in np.argwhere(mask)}
    found = []
    for pixel in sorted(left):
        if not any(pixel in component for component in found):
            found.append(flood(left, pixel, connectivity))
    return found


def filled(component: set[tuple[int, int]], shape: tuple[int, int]) -> set[tuple[int, int]]:
    everything = {(r, c) for r in range(-1, shape[0] + 1) for c in range(-1, shape[1] + 1)}
    return everything - flood(everything - component, (-1, -1), 4)


def inside(outline: np.ndarray, height: int, width: int) -> set[tuple[int, int]]:
    """Return the pixels whose centers the outline winds around once, counter-clockwise."""
    pixels = set()
    for row in range(height):
        for column in range(width):
            rays = outline - complex(column, height - 1 - row)
            turns = np.angle(np.roll(rays, -1) / rays).sum() / (2 * np.pi)
            assert np.isclose(turns, 0, atol=1e-6) or np.isclose(turns, 1, atol=1e-6)
            if turns > 0.5:
                pixels.add((row, column))
    return pixels


def area(outline: np.ndarray) -> float:
    return float(np.imag(np.conj(outline) * np.roll(outline, -1)).sum() / 2)


def check_outline(outline, report, fragments, shape):
    """Check an outline, and what is told of it, against the largest of the fragments of an object."""
    largest = max(fragments, key=len)
    whole = filled(largest, shape)
    assert inside(outline, *shape) == whole
    assert (report.area, report.hole_area) == (len(whole), len(whole) - len(largest))
    assert (report.n_fragments, report.lost_area) == (len(fragments), sum(map(len, fragments)) - len(largest))
    at_border = any(r in (0, shape[0] - 1) or c in (0, shape[1] - 1) for r, c in whole)
    assert report.touches_border == at_border
    # Counter-clockwise from the leftmost of the topmost points.
    assert area(outline) > 0
    topmost = outline[outline.imag == outline.imag.max()]
    assert outline[0] == complex(topmost.real.min(), outline.imag.max())
    # Vertices lie halfway between two pixels, and neighbors in cells of one pixel.
    assert np.isin(np.abs(outline.real % 1 - outline.imag % 1), 0.5).all()
    assert np.abs(np.diff(outline)).max() <= 1


@given(masks, connectivities)
def test_components_of_masks(mask, connectivity):
    found = sx.outlines_from_mask(mask, which="components", min_area=1, connectivity=connectivity)
    expected = components(mask, connectivity)
    assert [report.label for report in found.kept] == list(range(1, len(expected) + 1))
    for outline, report, component in zip(found.outlines, found.kept, expected, strict=True):
        check_outline(outline, report, [component], mask.shape)
    largest = sx.outlines_from_mask(mask, connectivity=connectivity)
    assert len(largest) == bool(expected)
    if expected:
        check_outline(largest.outlines[0], largest.kept[0], expected, mask.shape)


@given(label_images, connectivities)
def test_labels_of_images(image, connectivity):
    found = sx.outlines_from_mask(image, which="labels", min_area=1, connectivity=connectivity)
    assert [report.label for report in found.kept] == [value for value in np.unique(image) if value]
    for outline, report in zip(found.outlines, found.kept, strict=True):
        check_outline(outline, report, components(image == report.label, connectivity), image.shape)


def disk(height: int, width: int, center: complex, radius: float) -> np.ndarray:
    rows, columns = np.mgrid[:height, :width]
    return np.abs(columns + 1j * (height - 1 - rows) - center) <= radius


def test_a_disk_gives_its_circle_in_every_form():
    mask = disk(120, 150, 70 + 50j, 40)
    assert np.abs(np.abs(sx.outlines_from_mask(mask).outlines[0] - (70 + 50j)) - 40).max() < 0.8
    points = sx.outlines_from_mask(mask, 60).configurations
    assert points.shape == (1, 60)
    space = sx.BSpline(12)
    spline = sx.outlines_from_mask(mask, space=space)
    assert spline.space == space
    curve = space.sample(spline.configurations, np.linspace(0, 1, 100))
    # Least squares averages the stairs of pixels.
    assert np.abs(np.abs(curve - (70 + 50j)) - 40).max() < 0.25
    hermite = sx.HermiteSpline(8, closed=True)
    assert sx.outlines_from_mask(mask, space=hermite).configurations.shape == (1, 16)
    by_space = sx.outlines_from_mask(mask, space=sx.Landmarks(60, closed=True))
    np.testing.assert_array_equal(by_space.configurations, points)


def test_drops_and_reports():
    image = np.zeros((50, 60), dtype=np.uint16)
    image[0:12, 0:12] = 3
    image[20:40, 20:40] = 4
    image[25:30, 25:30] = 0
    image[45, 50] = 4
    image[5:7, 30:32] = 9
    kept = sx.outlines_from_mask(image, 40, which="labels", min_area=1)
    assert kept.summary() == (
        "3 of 3 objects outlined.\n"
        "Touching the border: 3.\n"
        "In fragments, the largest of which is outlined: 4.\n"
        "Tiny: 9."
    )
    assert (kept.kept[1].area, kept.kept[1].hole_area, kept.kept[1].lost_area) == (400, 25, 1)
    fewer = sx.outlines_from_mask(image, 40, which="labels", min_area=5, border="drop", holes="fill")
    assert [report.label for report in fewer.kept] == [4]
    assert [(report.label, report.dropped) for report in fewer.dropped] == [
        (3, "touching the border"),
        (9, "smaller than min_area=5"),
    ]
    assert "Dropped, smaller than min_area=5: 9." in fewer.summary()
    np.testing.assert_array_equal(fewer.configurations[0], kept.configurations[1])
    shapes = fewer.to_shape_set("plate")
    check_set(shapes, space=sx.Landmarks(40, closed=True), ids=["plate:4"])
    assert shapes.notes == (
        "1 object in several parts, of which the largest was outlined; the columns n_parts and lost_area tell which.",
        "1 object left out: touching the border; the option border=keep keeps them.",
        "1 object left out: smaller than min_area=5; the option min_area=1 keeps them.",
    )
    assert [report.label for report in sx.outlines_from_mask(image, which="labels").dropped] == [9]
    everything = kept.to_shape_set()
    check_set(everything, ids=["3", "4", "9"], touches_border=[True, False, False], area=[144, 400, 4])


@pytest.mark.parametrize("connectivity", [4, 8])
def test_holes_that_open_at_a_corner_are_filled(connectivity):
    mask = np.ones((5, 6), dtype=bool)
    mask[1, 1] = mask[0, 0] = mask[2, 3] = mask[3, 4] = False
    found = sx.outlines_from_mask(mask, connectivity=connectivity)
    assert (found.kept[0].area, found.kept[0].hole_area) == (29, 3)
    assert area(found.outlines[0]) == 28.5


def test_empty_masks_give_no_outline():
    found = sx.outlines_from_mask(np.zeros((5, 5), dtype=np.uint8), 10)
    assert (len(found), found.dropped) == (0, ())
    assert found.summary() == "0 of 0 objects outlined."
    with pytest.raises(EmptySetError, match="no outline"):
        _ = found.configurations
    with pytest.raises(ShapeInputError, match="differ in length"):
        _ = sx.outlines_from_mask(np.ones((5, 5))).configurations


SQUARE = np.ones((4, 4))


@pytest.mark.parametrize(
    ("mask", "options", "error", "words"),
    [
        (np.zeros((4, 4, 3)), {}, ShapeInputError, "one channel"),
        (np.zeros((0, 4)), {}, ShapeInputError, "no pixel"),
        (0j * SQUARE, {}, ArrayTypeError, "complex128"),
        (np.arange(16).reshape(4, 4), {}, ShapeInputError, 'which="labels"'),
        (np.nan * SQUARE, {"which": "labels"}, ShapeInputError, "whole numbers"),
        (SQUARE / 2, {"which": "labels"}, ShapeInputError, "fractions"),
        (-np.ones((4, 4), dtype=int), {"which": "labels"}, ShapeInputError, "negative labels, down to -1"),
        (SQUARE, {"which": "labels", "threshold": 1}, ValueError, 'which="components"'),
        (SQUARE, {"threshold": np.nan}, ValueError, "threshold must be finite"),
        (SQUARE, {"threshold": "127"}, TypeError, "threshold must be a number"),
        (SQUARE, {"which": "all"}, ValueError, "'labels'"),
        (SQUARE, {"connectivity": 6}, ValueError, "4 or 8"),
        (SQUARE, {"border": "cut"}, ValueError, "border"),
        (SQUARE, {"min_area": 0}, ValueError, "min_area"),
        (SQUARE, {"n_points": 2}, ValueError, "n_points"),
        (SQUARE, {"n_points": 9, "space": sx.BSpline(9)}, ValueError, "choose one"),
        (SQUARE, {"space": sx.BSpline(9, closed=False)}, UnsupportedBySpaceError, "open curves"),
        (SQUARE, {"space": sx.Landmarks(9)}, UnsupportedBySpaceError, "closed=True"),
        (SQUARE, {"space": 40}, TypeError, "BSpline"),
    ],
)
def test_what_is_refused(mask, options, error, words):
    check_refused(words, sx.outlines_from_mask, mask, error=error, **options)


@pytest.mark.realdata
def test_silhouettes_give_the_outlines_made_of_them_before(data_folder):
    for file, data, key, name in (
        ("mpeg7_horse-1.png", "mpeg7_outlines_200", "names", "horse-1"),
        ("mpeg7_rat-09_inverted.png", "mpeg7_outlines_200", "names", "rat-09"),
        ("kaggle_leaf_100.jpg", "leaves_kaggle_outlines_200", "ids", "100"),
    ):
        gray = np.asarray(Image.open(data_folder / "formats" / "masks" / file).convert("L"))
        found = sx.outlines_from_mask(gray < 128 if "inverted" in file else gray > 127, 200)
        with np.load(data_folder / f"{data}.npz") as stored:
            row = [str(value) for value in stored[key]].index(name)
            expected = sx.from_points(stored["points"][row])
        np.testing.assert_allclose(found.configurations[0], expected, atol=1e-10)
