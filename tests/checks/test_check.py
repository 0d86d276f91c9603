"""What may be wrong with a set: made faults are named with their remedy, and sets without a fault are left alone."""

import numpy as np
import pytest
from hypothesis import given

import shapelex as sx
from shapelex.checks import Finding
from tests.strategies import stacks

T = np.exp(2j * np.pi * np.arange(60) / 60)
WING = np.array([0, 2 - 0.3j, 5 + 1j, 4 + 2j, 2 + 2.5j, 0.5 + 1.2j])
LEAF = 3 * T + T**-1 + 0.5 * T**2 + 0.4j * T**3


def made(shape, n_shapes=40, *, closed=False, seed=0, **options):
    """Return noisy copies of a shape in all poses."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n_shapes, 6, 2)) @ [1, 1j] @ np.exp(1j * np.outer(np.arange(6), np.angle(T[: len(shape)])))
    rows = (shape + 0.01 * noise) * (rng.uniform(1, 2, (n_shapes, 1)) * np.exp(6j * rng.random((n_shapes, 1))))
    ids = [f"specimen {n}" for n in range(n_shapes)]
    return sx.ShapeSet(rows + 40 + 30j, sx.Landmarks(len(shape), closed=closed), ids, **options)


def changed(shapes, **rows):
    """Return a set with some other rows: ``name=(numbers, function)``."""
    configurations = np.array(shapes.configurations)
    for numbers, function in rows.values():
        configurations[numbers] = function(configurations[numbers])
    return shapes.replace(configurations=configurations)


def names(rows):
    return tuple(f"specimen {row}" for row in rows)


def only(findings, kind):
    """Return the only finding, of a kind."""
    assert [finding.kind for finding in findings] == [kind], findings
    return findings[0]


def apply(finding, shapes):
    """Follow the remedy of a finding."""
    return eval(finding.remedy, {"sx": sx, "np": np, "shapes": shapes})


@pytest.mark.parametrize("closed", [False, True])
def test_nothing_is_found_in_a_clean_set(closed):
    assert sx.check(made(LEAF if closed else WING, closed=closed)) == []


@pytest.mark.parametrize("rows", [[4], [3, 8, 20, 21, 22, 39], list(range(15))])
def test_mirrored_specimens_are_named_and_flipped(rows):
    clean = made(WING)
    bad = changed(clean, mirrored=(rows, np.conj))
    finding = only(sx.check(bad), "mirrored")
    assert finding.ids == names(rows)
    assert "when mirrored" in finding.text
    mended = apply(finding, bad)
    np.testing.assert_allclose(sx.distance(mended, clean.configurations), 0, atol=1e-7)
    assert sx.check(mended) == []
    assert mended.notes[-1].startswith(f"{len(rows)} shape")


def test_mirrored_outlines_are_named_whichever_way_they_were_traced():
    clean = made(LEAF, closed=True)
    space = clean.space
    bad = changed(clean, one=([1, 2], np.conj), two=([5], lambda z: space.roll(space.reverse(z.conj()), 17)))
    finding = only(sx.check(bad), "mirrored")
    assert finding.ids == names([1, 2, 5])
    assert "--register" in finding.command
    assert "import" in finding.command


def test_shapes_that_are_their_own_mirror_images_are_not_mirrored():
    rng = np.random.default_rng(0)
    ellipses = [3 * T + T**-1 + 0.2 * (noise @ [T**2, T**-2]) for noise in rng.normal(size=(50, 2, 2)) @ [1, 1j]]
    kinds = [finding.kind for finding in sx.check(sx.ShapeSet(ellipses, sx.Landmarks(60, closed=True)))]
    assert "mirrored" not in kinds
    assert "reversed" not in kinds


def test_reversed_points_and_start_points_that_differ_are_found():
    curves = made(WING)
    bad = changed(curves, one=([7, 9], lambda z: z[:, ::-1]))
    assert only(sx.check(bad), "reversed").ids == names([7, 9])
    outlines = made(LEAF, closed=True)
    few = changed(outlines, one=([4, 6], lambda z: np.roll(z, 20, axis=1)))
    assert only(sx.check(few), "start_points").ids == names([4, 6])
    starts = np.random.default_rng(0).integers(60, size=40)
    loose = outlines.replace(configurations=outlines.space.roll(outlines.configurations, starts))
    finding = only(sx.check(loose), "start_points")
    assert "with random start points" in finding.text
    registered = apply(finding, loose)
    assert sx.check(loose.replace(configurations=registered.configurations, preparation=registered.preparation)) == []


def test_shapes_with_exchanged_landmarks_are_outliers_and_mirrored_ones_are_not():
    bad = changed(made(WING), one=([5], lambda z: z[:, [1, 0, 2, 3, 5, 4]]), two=([6], np.conj))
    mirrored, far = sx.check(bad)
    assert (mirrored.kind, mirrored.ids) == ("mirrored", names([6]))
    assert (far.kind, far.ids) == ("outliers", names([5]))
    assert far.command == "shapelex import SHAPES -o checked.npz --exclude 'specimen 5'"


@pytest.mark.parametrize("value", [0, -1, -999])
def test_missing_values_that_were_written_as_numbers_are_found_and_marked(value):
    def marked(rows):
        rows[:, 2] = complex(value, value)
        return rows

    bad = changed(made(WING), one=([1, 4], marked))
    finding = only(sx.check(bad), "missing_as_number")
    assert finding.ids == names([1, 4])
    assert f"({value}, {value})" in finding.text
    mended = apply(finding, bad)
    assert mended.is_missing.sum() == 2
    assert "2 landmarks" in mended.notes[-1]
    assert sx.check(mended) == []


def test_coordinates_relative_to_a_landmark_or_to_the_middle_are_no_missing_values():
    clean = made(WING)
    for rows in (clean.configurations - clean.configurations[:, :1], np.round(clean.configurations - 40 - 30j)):
        assert "missing_as_number" not in [one.kind for one in sx.check(clean.replace(configurations=rows))]


def test_repeated_shapes_and_shapes_of_no_size_are_found():
    bad = changed(made(WING), one=([3], lambda _: 5 + 5j))
    bad = changed(bad, two=([9], lambda _: bad.configurations[8]))
    repeated, empty = sx.check(bad)
    assert (repeated.kind, repeated.ids) == ("repeated", names([9]))
    assert (empty.kind, empty.ids) == ("no_size", names([3]))
    assert sx.check(apply(empty, apply(repeated, bad))) == []
    space = sx.BSpline(6)
    curves = np.array([*space.fit(made(WING, 9).configurations), np.full(6, 1e6 + 3e5j)])
    assert only(sx.check(sx.ShapeSet(curves, space)), "no_size").ids == ("9",)


def test_outlines_that_were_read_as_open_curves_are_found():
    clean = made(LEAF)
    joined = np.hstack([clean.configurations, clean.configurations[:, :1]])
    finding = only(sx.check(joined), "joined")
    mended = apply(finding, sx.ShapeSet(joined))
    assert mended.closed
    np.testing.assert_array_equal(mended.configurations, clean.configurations)


def test_ends_that_swap_along_time_are_found():
    t = np.linspace(0, 1, 20)
    worms = np.array([10 * t + 1j * np.sin(2 * np.pi * (t + frame / 30)) for frame in range(30)])
    shapes = sx.ShapeSet(worms, sequence=np.zeros(30, int), metadata={"frame": np.arange(30)})
    assert "swapped_ends" not in [one.kind for one in sx.check(shapes)]
    swapped = changed(shapes, one=(slice(10, 14), lambda z: z[:, ::-1]))
    finding = next(one for one in sx.check(swapped) if one.kind == "swapped_ends")
    assert finding.ids == ("10", "11", "12", "13")
    np.testing.assert_array_equal(apply(finding, swapped).configurations, worms)


def test_groups_that_differ_by_case_or_spaces_are_found():
    labels = ["control", "Control ", "drug", "drug"] * 10
    shapes = made(WING, labels=labels, metadata={"site": ["a", "b"] * 20})
    finding = only(sx.check(shapes), "similar_groups")
    assert "'Control ', 'control'" in finding.text
    assert set(apply(finding, shapes).labels) == {"Control ", "drug"}
    assert sx.check(apply(finding, shapes)) == []


def test_sizes_without_a_scale_are_told():
    scale = np.where(np.arange(40) < 3, np.nan, 0.1)
    assert only(sx.check(made(WING, metadata={"scale": scale})), "no_scale").ids == names(range(3))
    assert sx.check(made(WING, metadata={"scale": np.full(40, 0.1)})) == []
    assert "pixels" in only(sx.check(made(WING, provenance={"formats": ["image"]})), "no_scale").text
    again = {"formats": ["npz"], "source": {"source": {"formats": ["tps"]}}}
    assert "unit of the files" in only(sx.check(made(WING, provenance=again)), "no_scale").text


def test_objects_of_masks_that_are_cut_off_merged_or_have_holes_are_found():
    y, x = np.mgrid[:260, :400]
    centers = [(30 + 60 * n, row) for row in (40, 100, 160) for n in range(6)]
    mask = np.zeros((260, 400), int)
    for number, (across, down) in enumerate(centers, start=1):
        mask[(x - across) ** 2 + (y - down) ** 2 < 18**2] = number
    assert sx.check(sx.outlines_from_mask(mask, 60, which="labels").to_shape_set()) == []
    mask[(x - 30) ** 2 + (y - 40) ** 2 < 6**2] = 0
    mask[(x - 210) ** 2 + (y - 259) ** 2 < 18**2] = 20
    mask[((x - 60) ** 2 + (y - 220) ** 2 < 20**2) | ((x - 98) ** 2 + (y - 220) ** 2 < 20**2)] = 21
    found = {one.kind: one.ids for one in sx.check(sx.outlines_from_mask(mask, 60, which="labels").to_shape_set())}
    assert found["holes"] == ("1",)
    assert found["border"] == ("20",)
    assert found["merged"] == ("21",)
    # What is usual of a group is no mistake of one of its objects.
    for across in (160, 260, 340):
        mask[((x - across) ** 2 + (y - 220) ** 2 < 14**2) | ((x - across - 26) ** 2 + (y - 220) ** 2 < 14**2)] = across
    objects = sx.outlines_from_mask(mask, 60, which="labels").to_shape_set()
    kinds = ["pair" if int(name) in (21, 160, 260, 340) else "disk" for name in objects.ids]
    assert not [one for one in sx.check(objects.replace(labels=kinds)) if one.kind == "merged"]


def test_large_sets_are_compared_on_a_sample_that_is_named():
    big = made(WING, 20_001)
    bad = changed(big, one=(slice(0, 20_001, 300), np.conj), two=([7], lambda _: 5))
    empty, mirrored = sx.check(bad)
    assert empty.ids == names([7])
    assert "among 6667 shapes spread evenly" in mirrored.text


def test_sets_in_files_and_arrays_are_checked(tmp_path):
    bad = changed(made(WING), one=([7], np.conj))
    sx.write(bad, tmp_path / "x.npz")
    assert sx.check(sx.open_shapes(tmp_path / "x.npz")) == sx.check(bad)
    assert [one.ids for one in sx.check(bad.configurations)] == [("7",)]


def test_what_is_flipped_or_marked_must_be_there():
    shapes = made(WING)
    with pytest.raises(sx.exceptions.ShapeInputError, match="there is no shape nobody"):
        sx.flip(shapes, ["nobody"])
    with pytest.raises(sx.exceptions.ShapeInputError, match=r"none is \(7, 7\)"):
        sx.mark_missing(shapes, 7)
    with pytest.raises(sx.exceptions.UnsupportedBySpaceError, match="only landmarks"):
        sx.mark_missing(sx.ShapeSet(shapes.configurations, sx.BSpline(6)), 0)


def test_a_flipped_outline_keeps_its_place_its_direction_and_its_first_point():
    shapes = made(LEAF, closed=True)
    flipped = sx.flip(shapes, "specimen 3")
    area, other = (sx.measure(one).iloc[3]["area"] for one in (shapes, flipped))
    assert other == pytest.approx(area)
    middle, found = shapes.configurations[3].mean(), flipped.configurations[3]
    assert found.mean() == pytest.approx(middle)
    assert found[0] - middle == pytest.approx(-np.conj(shapes.configurations[3][0] - middle))
    assert sx.flip(flipped, "specimen 3").configurations == pytest.approx(shapes.configurations)


def test_a_finding_is_read_as_a_sentence():
    finding = Finding("mirrored", ("a",), "closer when mirrored: 1 shape (a)", "sx.flip(shapes, ['a'])", "")
    assert str(finding) == "closer when mirrored: 1 shape (a). Remedy: sx.flip(shapes, ['a'])"


@pytest.mark.parametrize("factor", [1e-200, 1e-30, 1e150, 1e300])
def test_nothing_depends_on_the_unit_of_length(factor):
    shapes = made(LEAF, closed=True)
    scaled = shapes.replace(configurations=shapes.configurations * factor)
    assert sx.check(scaled) == []
    assert len(sx.measure(scaled)) == len(shapes)


@given(stacks(n_shapes=7))
def test_sets_of_any_space_are_checked(stack):
    space, Z = stack
    shapes = sx.ShapeSet(Z, space, sequence=[0, 0, 0, 1, 1, 1, -1])
    assert {finding.kind for finding in sx.check(shapes)} <= {
        "mirrored", "reversed", "start_points", "swapped_ends", "outliers", "repeated", "missing_as_number"
    }  # fmt: skip


@pytest.mark.parametrize("n_shapes", [1, 2, 6])
def test_few_shapes_equal_ones_and_incomplete_ones_are_checked(n_shapes):
    outlines = np.tile(LEAF, (n_shapes, 1))
    kinds = [finding.kind for finding in sx.check(sx.ShapeSet(outlines, sx.Landmarks(60, closed=True)))]
    assert kinds == ["repeated"] * (n_shapes > 1)
    outlines[:, 3] = np.nan
    kinds = [one.kind for one in sx.check(sx.ShapeSet(outlines, sx.Landmarks(60, closed=True), missing="allow"))]
    assert kinds == ["repeated"] * (n_shapes > 1)


@pytest.mark.realdata
def test_six_mirrored_wings_of_a_real_set_are_found(data_folder):
    wings = sx.read(data_folder / "mosquito_wings_18.npz")
    assert sx.check(wings) == []
    rows = [5, 17, 44, 60, 99, 120]
    finding = only(sx.check(changed(wings, mirrored=(rows, np.conj))), "mirrored")
    assert finding.ids == tuple(wings.ids[rows])
    assert "start_points" in [one.kind for one in sx.check(sx.read(data_folder / "sand_outlines_50.npz"))]


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name",
    [
        "apes_8", "bottles_outlines_120", "charring_grain_outlines_120", "hearts_outlines_80", "molars_outlines_79",
        "celegans_wormpose_midlines_20", "celegans_yemini_cb4853_midlines_20",
        "digit3_13", "hands", "hummingbirds_25", "lizards_28", "mice_vertebrae_6", "mice_vertebrae_outlines_60",
        "mosquito_wing_outlines_100", "mosquito_wings_asym_18", "oak_leaves_11", "olive_stones_open_80",
        "pleth_food_13", "plethodon_12", "plethspecies_11", "pupfish_56", "schizophrenia_13",
        "trilobite_cephala_outlines_64",
    ],
)  # fmt: skip
def test_sets_of_the_literature_raise_no_alarm(data_folder, name):
    assert sx.check(sx.read(data_folder / f"{name}.npz")) == []
