"""Masks and label images: what an image is taken for, pages, and what is refused."""

import re
import struct
import zlib

import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

import shapelex as sx
from shapelex.exceptions import ParameterError
from tests.io.conftest import check_refused, check_set, little_memory, notes_of

BOTH = [140, 480]


def blobs(dtype="u1", second=2):
    image = np.zeros((40, 50), dtype=dtype)
    image[5:15, 6:20] = 1
    image[20:36, 10:40] = second
    return image


def black_and_white(is_white):
    return np.where(is_white, 255, 0).astype("u1")


@pytest.fixture
def save(tmp_path):
    def save_image(image, name="plate.png", mode=None, **options):
        picture = Image.fromarray(image)
        (picture.convert(mode) if mode else picture).save(tmp_path / name, **options)
        return tmp_path / name

    return save_image


@pytest.fixture
def save_tiff(tmp_path):
    def save_pages(pages, name="film.tif", **options):
        tifffile.imwrite(tmp_path / name, pages, photometric=options.pop("photometric", "minisblack"), **options)
        return tmp_path / name

    return save_pages


def read(path, **options):
    return sx.read(path, n_points=20, **options)


def areas(path, **options):
    return read(path, **options).metadata["area"].tolist()


class TestKinds:
    """What an image is taken for."""

    @pytest.mark.parametrize(
        ("dtype", "name"), [("u1", "a.png"), ("u2", "a.png"), *((dtype, "a.tif") for dtype in ("u1", "u2", "i4", "f4"))]
    )
    def test_label_images_of_every_depth_give_an_object_a_label(self, save, dtype, name):
        shapes = read(save(blobs(dtype, 77), name))
        check_set(shapes, ids=["a:1", "a:77"], area=BOTH, closed=True)
        assert "frame" not in shapes.metadata
        # Up on the image is up in the plane: the first object lies above the second.
        assert shapes[0].imag.min() > shapes[1].imag.max()

    @pytest.mark.parametrize("mode", [None, "1", "P", "RGB", "RGBA", "LA", "I", "CMYK"])
    @pytest.mark.parametrize("is_inverted", [False, True])
    def test_binary_masks_in_every_mode_and_polarity(self, save, mode, is_inverted):
        mask = black_and_white((blobs() > 0) ^ is_inverted)
        path = save(mask, "plate.tif" if mode in ("CMYK", "I") else "plate.png", mode=mode)
        assert areas(path) == BOTH
        assert areas(path, which="largest") == [480]
        notes = notes_of(read(path))
        assert ("inverted" in notes) == ("the option foreground=bright" in notes) == is_inverted

    @pytest.mark.parametrize("ground", [(0, 0, 0), (255, 255, 255)])
    @pytest.mark.parametrize("color", [(255, 0, 0), (0, 128, 128)])
    def test_one_color_on_a_ground_is_a_binary_mask(self, save, ground, color):
        image = np.where((blobs() > 0)[..., None], np.array(color, "u1"), np.array(ground, "u1"))
        image[17:19, 2:5] = color
        path = save(image)
        assert areas(path) == BOTH
        assert f"its only color, {color}, is taken for the objects" in notes_of(read(path))
        with_more = image.copy()
        with_more[0:3, 40:44] = 9
        assert "its only color" not in notes_of(read(save(with_more), min_area=1, kind="classes"))

    def test_smooth_edges_are_still_binary(self, save):
        path = save(black_and_white(blobs() > 0), "plate.jpg", quality=60)
        assert len(np.unique(np.asarray(Image.open(path)))) > 2
        assert np.allclose(areas(path), BOTH, rtol=0.02)
        big = np.zeros((200, 200), dtype="u1")
        big[50:150, 40:160] = 255
        big[50, 40:160] = 90
        big[149, 40:160] = 200
        path = save(big)
        assert areas(path) == [120 * 99]
        assert areas(path, threshold=50) == [120 * 100]
        # As labels, the same image has four.
        assert len(areas(path, kind="labels")) == 3

    @pytest.mark.parametrize("radius", [5, 12, 40])
    def test_smoothed_disc_is_one_object(self, save, radius):
        rows, columns = np.mgrid[:100, :100]
        disc = np.clip(radius + 0.5 - np.hypot(rows - 50, columns - 49), 0, 1)
        bright, dim = save((disc * 255).astype("u1"), "a.png"), save((disc * 200).astype("u1"), "b.png")
        assert "gray values were cut at 127.5" in notes_of(read(bright))
        assert "the option threshold= changes it, the option kind=labels" in notes_of(read(bright))
        check_refused('smoothed edges, say kind="binary"', read, dim)
        for (area,) in (areas(bright), areas(dim, kind="binary")):
            assert area == pytest.approx(np.pi * radius**2, rel=0.15)

    @pytest.mark.parametrize("ground", [0, 255])
    def test_colors_are_labels(self, save, ground):
        colors = np.full((40, 50, 3), ground, dtype="u1")
        colors[blobs() == 1] = 255 - ground
        colors[blobs() == 2] = (0, 0, 255)
        path = save(colors)
        assert sorted(areas(path)) == BOTH
        if ground:
            assert sorted(areas(path, kind="binary", threshold=200, foreground="dark")) == BOTH
            check_refused('foreground="bright" or foreground="dark"', read, path, kind="binary", threshold=200)
        # What is transparent is background.
        opaque = (blobs() == 2) * np.uint8(255)
        assert areas(save(np.dstack([colors, opaque]), "cutout.png")) == [480]

    def test_colors_in_jpeg_palettes_and_large_images(self, save, tmp_path):
        green = np.zeros((40, 50, 3), dtype="u1")
        green[blobs() > 0] = (0, 255, 0)
        assert np.allclose(areas(save(green, "plate.jpg")), BOTH, rtol=0.1)
        image = Image.fromarray((blobs() > 0).astype("u1")).convert("P")
        image.putpalette([255, 255, 255, 0, 0, 0])
        image.save(tmp_path / "plate.png")
        assert areas(tmp_path / "plate.png", foreground="dark") == areas(tmp_path / "plate.png") == BOTH
        # The number of a color may be far above the largest number of objects, and below the number of pixels.
        colors = np.zeros((1400, 1400, 3), dtype="u1")
        colors[10:30, 10:40] = (20, 0, 0)
        colors[100:200, 10:40] = (21, 0, 1)
        shapes = read(save(colors))
        check_set(shapes, ids=[f"plate:{20 << 16}", f"plate:{21 << 16 | 1}"], area=[600, 3000])

    def test_classes_give_every_piece_its_label(self, save):
        image = np.zeros((60, 60), dtype="u1")
        image[2:10, 2:10] = image[20:30, 2:10] = image[40:50, 2:10] = 4
        image[2:10, 30:40] = 9
        image[58, 58] = 4
        shapes = read(save(image), kind="classes")
        check_set(shapes, labels=["4", "4", "4", "9"], ids=["plate:4:1", "plate:4:2", "plate:4:3", "plate:9:1"])
        assert len(read(save(image))) == 2
        # Where all objects have few pixels, none is dust.
        image = np.zeros((20, 20), dtype="u1")
        image[2:4, 2:4], image[6:8, 2:5], image[12, 3] = 1, 2, 3
        assert areas(save(image)) == [4, 6, 1]

    @pytest.mark.parametrize(("value", "label"), [(1, 1), (7, 7), (65535, 1)])
    def test_label_images_are_never_inverted(self, save, value, label):
        cropped = np.full((40, 50), value, dtype="u2")
        cropped[:10, 20:24] = 0
        shapes = read(save(cropped, "plate.tif"))
        assert (shapes.ids.tolist(), shapes.metadata["area"].tolist()) == ([f"plate:{label}"], [1960])
        assert "1 object at the border of the image kept, perhaps cut off; the option border=drop" in notes_of(shapes)

    def test_one_label_keeps_its_number(self, save):
        assert read(save(np.where(blobs() == 1, 7, 0).astype("u1"))).ids.tolist() == ["plate:7"]
        path = save(np.where(blobs() > 0, 7, 0).astype("u1"))
        check_refused(r'only value beside 0 is 7, in several pieces: kind="binary"', read, path)
        assert areas(path, kind="binary") == BOTH
        assert areas(path, kind="labels") == BOTH[1:]
        specked = np.zeros((60, 60), dtype="u1")
        specked[2:4, 2:4] = specked[20:50, 20:50] = 1
        path = save(specked)
        assert read(path).ids.tolist() == read(path, kind="labels").ids.tolist() == ["plate:1"]
        # A mask that is called binary numbers its components.
        assert read(path, kind="binary").ids.tolist() == ["plate:2"]

    def test_what_is_background_is_not_guessed(self, save):
        image = np.zeros((40, 40), dtype="u1")
        image[:, :30] = 255
        path = save(image)
        check_refused('foreground="bright" or foreground="dark"', read, path)
        assert areas(path, foreground="bright") == [1200]
        assert areas(path, foreground="dark") == [400]
        colors = np.zeros((60, 80, 3), dtype="u1")
        colors[:, :70] = (255, 0, 0)
        assert areas(save(colors)) == [4200]
        colors[:, 70:] = (0, 0, 255)
        check_refused("background is not clear", read, save(colors))

    def test_photographs_are_refused_unless_forced(self, save):
        noise = np.random.default_rng(0).integers(0, 256, size=(60, 60), dtype="u1")
        for image in (noise, np.repeat(np.repeat(noise, 3, axis=0), 3, axis=1)):
            check_refused("many pieces", read, save(image))
        smooth = (np.add.outer(np.sin(np.arange(90) / 5), np.cos(np.arange(90) / 7)) + 2) / 4
        gray = [save(smooth.astype("f4"), "chance.tif"), save((smooth * 255).astype("u1"), "photo.jpg", quality=95)]
        for path in gray:
            check_refused("Give a threshold, such as threshold=", read, path)
            assert areas(path, threshold=float(np.asarray(Image.open(path)).max()) * 0.8)
        assert areas(gray[1], kind="binary", foreground="dark")
        two = save(np.where(np.random.default_rng(1).random((90, 90)) < 0.2, 95, 7).astype("u1"))
        check_refused("values 7 and 95, and no 0 for the background", read, two)
        assert len(read(two, kind="labels", min_area=1)) == 2


class TestFilms:
    """Pages and folders."""

    @pytest.mark.parametrize("options", [{}, {"imagej": True, "photometric": None}, {"compression": "zlib"}], ids=str)
    def test_pages_are_frames(self, save_tiff, options):
        path = save_tiff(np.stack([blobs("u2"), np.roll(blobs("u2"), 1, axis=0), blobs("u2")]), **options)
        shapes = read(path)
        assert shapes.ids.tolist() == [f"film:{page}:{label}" for page in range(3) for label in (1, 2)]
        check_set(shapes, frame=[0, 0, 1, 1, 2, 2], sequence=None)
        np.testing.assert_allclose(shapes[2], shapes[0] - 1j)
        assert sorted(read(path, tracked=True).sequence.tolist()) == [1, 1, 1, 2, 2, 2]

    def test_folder_of_masks_with_progress(self, save, tmp_path):
        for number, species in enumerate(["oak", "elm", "oak"]):
            (tmp_path / species).mkdir(exist_ok=True)
            save((blobs() == 2).astype("u1"), f"{species}/leaf{number}.png")
        (tmp_path / "notes.md").write_text("no image")
        seen = []
        shapes = read(tmp_path, label_from="parent", progress=lambda done, total: seen.append((done, total)))
        check_set(shapes, ids=["leaf1:1", "leaf0:1", "leaf2:1"], labels=["elm", "oak", "oak"])
        assert seen == [(1, 3), (2, 3), (3, 3)]
        assert len(read(tmp_path / "oak/*.png")) == 2

    @pytest.mark.parametrize("scale", [1, 255])
    def test_pages_without_objects_are_counted_in_a_remark(self, save_tiff, scale):
        stack = np.stack([0 * blobs(), blobs() if scale == 1 else black_and_white(blobs() > 0), *[0 * blobs()] * 2])
        stack[3, 20:22, 20:23] = scale
        path = save_tiff(stack)
        shapes = read(path)
        assert shapes.metadata["frame"].tolist() == [1, 1]
        assert "3 of 4 pages have no object to outline; their frames are left out." in notes_of(shapes)
        assert "1 object left out: smaller than" in notes_of(shapes)
        assert read(path, min_area=1).metadata["frame"].tolist() == [1, 1, 3]
        words = "all its objects were left out: 3 objects left out: smaller than min"
        check_refused(words, read, path, min_area=10_000)
        check_refused("no object was found in it", read, save_tiff(0 * stack))

    @pytest.mark.parametrize("dtype", ["u1", "u2", "u8", "i8", "f8"])
    def test_kind_is_that_of_the_file_not_of_a_page(self, save_tiff, dtype):
        first = np.where(blobs() == 2, 7, 0)
        stack = np.stack([first, first + 3 * (blobs() == 1), first, first]).astype(dtype)
        shapes = read(save_tiff(stack, metadata={"axes": "TYX"}), tracked=True)
        check_set(shapes, sequence=[7, 3, 7, 7, 7], frame=[0, 1, 1, 2, 3])

    @pytest.mark.parametrize("is_dark", [True, False])
    def test_background_and_colors_of_a_film_are_decided_once(self, save, save_tiff, is_dark):
        # The object covers most of the border of one page; the others say that it is white on black.
        stack = np.zeros((5, 40, 50), dtype="u1")
        stack[:, 10:30, 10:30] = 255
        stack[2, :, :45] = 255
        assert areas(save_tiff(stack)) == [400, 400, 1800, 400, 400]
        # White is a label also in the page without other colors, and the background is that of all pages.
        ground, color = (0, 255) if is_dark else (255, 0)
        film = np.full((2, 40, 50, 3), ground, dtype="u1")
        film[:, blobs() == 1] = color
        film[1, blobs() == 2] = (255, 0, 0)
        path = save(film[0], "film.tif", save_all=True, append_images=[Image.fromarray(film[1])])
        shapes = read(path, tracked=True)
        known = shapes.sequence == shapes.sequence[0]
        assert shapes.metadata["area"][known].tolist() == [140, 140]
        assert shapes.metadata["area"][~known].tolist() == [480]

    @pytest.mark.parametrize("writer", ["imagej", "ome", "plain"])
    def test_stack_of_time_and_depth_needs_a_choice(self, tmp_path, writer):
        stack = np.stack([np.stack([np.roll(blobs("u2"), t, axis=1), 0 * blobs("u2")]) for t in range(3)])
        path = tmp_path / "film.tif"
        tifffile.imwrite(path, stack, imagej=writer == "imagej", ome=writer == "ome", metadata={"axes": "TZYX"})
        check_refused("3 time points × 2 slices, but frames have one axis: choose with z=0", read, path)
        check_refused("2 slices, so z=2 does not exist", read, path, z=2)
        shapes = read(path, z=0)
        assert shapes.metadata["frame"].tolist() == [0, 0, 1, 1, 2, 2]
        np.testing.assert_allclose(shapes[4], shapes[0] + 2)

    def test_slices_as_frames_are_remarked_on(self, tmp_path):
        path = tmp_path / "film.tif"
        for axis, option in (("Z", "z"), ("C", "channel")):
            tifffile.imwrite(path, np.stack([blobs("u2")] * 4), imagej=True, metadata={"axes": f"{axis}YX"})
            assert f"are read as frames; the option {option}=0" in notes_of(read(path))
            assert "frame" not in read(path, **{option: 2}).metadata

    @pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
    def test_imagej_stack_of_one_page_is_read_whole(self, tmp_path, dtype):
        path = tmp_path / "film.tif"
        tifffile.imwrite(path, np.stack([blobs(dtype)] * 5), imagej=True, truncate=True, metadata={"axes": "TYX"})
        with Image.open(path) as image:
            assert image.n_frames == 1
        assert areas(path) == BOTH * 5
        path.write_bytes(path.read_bytes()[: -40 * 50])
        check_refused(r"film\.tif", read, path)


class TestObjects:
    """What is told of objects, and which are left out."""

    @pytest.mark.parametrize("is_binary", [True, False])
    def test_specks_and_cut_objects_by_one_rule(self, save, is_binary):
        image = np.zeros((100, 200), dtype="u2")
        for number in range(8):
            row, column = 30 * (number % 3) + 2, 22 * number + 5
            image[row : row + 20, column : column + 16] = number + 1
        image[95:97, 0:3] = 9
        image[94:96, 10:13] = 10
        image[94:98, 60:65] = 11
        image[0:20, 185:200] = 12
        path = save((image > 0).astype("u1") if is_binary else image, "plate.tif")
        assert sorted(areas(path)) == [20, 300] + [320] * 8
        notes = notes_of(read(path))
        assert "2 objects left out: smaller than 5 % of the median area (16 pixels); the option min_area=1" in notes
        assert "1 object at the border of the image kept" in notes
        assert len(areas(path, min_area=1)) == 12
        assert len(areas(path, border="drop")) == 9

    def test_holes_are_told_and_left_out_on_request(self, save):
        labels = blobs()
        labels[24:32, 15:30] = 0
        labels[8, 8] = 0
        path = save(labels)
        told = "1 object with holes, which are not part of the outlines"
        for options, n_shapes, is_told in (({}, 2, True), ({"holes": "fill"}, 2, False), ({"holes": "drop"}, 1, False)):
            found = sx.read(path, n_points=30, **options)
            made = sx.outlines_from_mask(labels, 30, which="labels", **options).to_shape_set("plate")
            for shapes in (found, made):
                assert len(shapes) == n_shapes
                assert (told in notes_of(shapes)) == is_told
                assert shapes.preparation.left_out == (("holes",) if options.get("holes") == "drop" else ())
        assert "1 object left out: with holes; the option holes=keep keeps them" in notes_of(found)
        check_refused("holes", read, path, error=ParameterError, holes="some")

    def test_file_and_array_give_the_same_set(self, save):
        labels = blobs("u2", 300)
        labels[25:30, 20:24] = 0
        labels[0:3, 30:34] = 9
        labels[39, 49] = 5
        path = save(labels, "plate.tif")
        for space in (sx.BSpline(12), sx.Landmarks(30, closed=True), sx.HermiteSpline(8, closed=True)):
            found = sx.read(path, space=space)
            made = sx.outlines_from_mask(labels, space=space, which="labels").to_shape_set("plate")
            np.testing.assert_allclose(found.configurations, made.configurations, rtol=1e-12)
            assert found.ids.tolist() == made.ids.tolist() == ["plate:1", "plate:9", "plate:300"]
            assert list(found.metadata) == list(made.metadata)
            for name, column in found.metadata.items():
                np.testing.assert_array_equal(column, made.metadata[name])
            assert all(note in notes_of(found) for note in made.notes)

    @given(
        image=arrays("u2", st.tuples(st.integers(1, 7), st.integers(1, 7)), elements=st.integers(0, 3)),
        margins=st.tuples(*[st.integers(0, 40)] * 4),
        kind=st.sampled_from(["binary", "labels"]),
    )
    def test_objects_anywhere_in_the_image_are_those_of_the_array(self, tmp_path_factory, image, margins, kind):
        image = np.pad(image, (margins[:2], margins[2:]))
        path = tmp_path_factory.getbasetemp() / "plate.tif"
        tifffile.imwrite(path, image, photometric="minisblack")
        options = {"kind": kind, "min_area": 1, **({"threshold": 0.5} if kind == "binary" else {})}
        if not image.any():
            check_refused("no object was found", read, path, **options)
            return
        array, which = (image > 0, "components") if kind == "binary" else (image, "labels")
        made = sx.outlines_from_mask(array, 20, which=which, min_area=1).to_shape_set("plate")
        found = read(path, **options)
        np.testing.assert_array_equal(found.configurations, made.configurations)
        assert found.ids.tolist() == made.ids.tolist()
        assert found.metadata["touches_border"].tolist() == made.metadata["touches_border"].tolist()

    def test_outlines_have_the_unit_of_the_file(self, tmp_path):
        path, told = tmp_path / "a.tif", {"axes": "YX", "PhysicalSizeX": 0.25, "PhysicalSizeY": 0.25}
        tifffile.imwrite(path, blobs("u2"))
        plain = read(path)
        assert "units" not in plain.metadata
        for options in (
            {"imagej": True, "resolution": (4, 4), "metadata": {"unit": "micron"}},
            {"ome": True, "metadata": told},
        ):
            tifffile.imwrite(path, blobs("u2"), **options)
            shapes = read(path)
            columns = shapes.metadata
            assert columns["area"].tolist() == BOTH
            assert columns["physical_area"].tolist() == [area / 16 for area in BOTH]
            np.testing.assert_allclose(columns["physical_rms_radius"], columns["rms_radius"] / 4)
            assert columns["units"].tolist() == ["µm", "µm"]
            np.testing.assert_allclose(shapes.configurations, plain.configurations / 4)
            assert "outlines are in µm (0.25 x 0.25 for a pixel); the option pixel_size=1 keeps pixels" in notes_of(
                shapes
            )
            np.testing.assert_array_equal(read(path, pixel_size=1).configurations, plain.configurations)

    def test_pixels_that_are_not_square_do_not_stretch_shapes(self, tmp_path):
        """A disc seen through pixels of 2 x 1 µm is an ellipse in the image, and a disc in the set."""
        y, x = np.mgrid[:100, :60]
        ellipse = ((2 * (x - 30.0)) ** 2 + (y - 50.0) ** 2 < 40**2).astype("u1")
        for number, (told, options) in enumerate(
            [({"unit": "um"}, {}), ({}, {"pixel_size": (2, 1)}), ({"unit": "mm"}, {"pixel_size": (2, 1)})]
        ):
            path = tmp_path / f"{number}.tif"
            tifffile.imwrite(path, ellipse, imagej=True, resolution=(0.5, 1), metadata=told)
            disc = read(path, **options)
            extent = np.ptp(disc[0].real), np.ptp(disc[0].imag)
            assert extent[0] == pytest.approx(extent[1], rel=0.03)
            assert extent[0] == pytest.approx(80, rel=0.03)
            assert disc.metadata["units"].tolist() == ["µm" if told == {"unit": "um"} else ""]
        assert sx.distance(disc, read(path, pixel_size=0.5)) > 0.2
        for bad in (0, -1, np.nan, "wide", (1, 2, 3), (1, 0)):
            check_refused("pixel_size must be", read, path, error=ParameterError, pixel_size=bad)

    def test_images_of_different_units_are_not_mixed(self, tmp_path):
        for name, unit in (("a.tif", "micron"), ("b.tif", "mm"), ("c.tif", "")):
            tifffile.imwrite(tmp_path / name, blobs("u2"), imagej=True, resolution=(4, 4), metadata={"unit": unit})
        check_refused("a.tif are in µm, those of .*b.tif in mm.*pixel_size=1", read, tmp_path)
        check_refused("a.tif are in µm, those of .*c.tif in pixels.*", read, [tmp_path / "a.tif", tmp_path / "c.tif"])
        assert len(read(tmp_path, pixel_size=0.25)) == 6


class TestImagesBesideTheirMasks:
    """Folders as segmentation programs leave them."""

    PHOTO = np.random.default_rng(0).integers(0, 256, size=(40, 50), dtype="u1")

    @pytest.mark.parametrize("end", ["_cp_masks.tif", "_mask.png", "-labels.tif", " segmentation.tif"])
    def test_the_masks_are_read_and_the_images_named(self, save, tmp_path, end):
        for name in ("a", "b"):
            save(self.PHOTO, f"{name}.tif")
            save(self.PHOTO, f"{name}_flows.tif")
            save(blobs(), f"{name}{end}")
        for paths in (tmp_path, sorted(tmp_path.iterdir()), tmp_path / "*.*"):
            shapes = read(paths)
            assert len(shapes) == 4
            assert set(shapes.metadata["file"]) == {str(tmp_path / f"{name}{end}") for name in ("a", "b")}
            assert "their masks lie beside them: a.tif, a_flows.tif, b.tif and 1 more" in notes_of(shapes)

    def test_masks_that_are_not_clear_are_refused(self, save, tmp_path):
        for name in ("a.tif", "a_masks.tif", "a_cp_masks.tif"):
            save(blobs(), name)
        check_refused(r"two masks beside it, a_cp_masks.tif and a_masks.tif: choose", read, tmp_path)
        assert len(read(tmp_path / "*_cp_masks.tif")) == 2
        (tmp_path / "other").mkdir()
        save(self.PHOTO, "other/a.tif")
        save(blobs(), "other/mask of b.tif")
        check_refused(r'a\.tif.*a pattern such as "folder/\*_masks.tif"', read, tmp_path / "other")


def png_of(side, depth=8):
    """Return a PNG that declares far more pixels than it has."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", side, side, depth, 2 if depth > 8 else 0, 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


class TestRefused:
    """Files that declare much, and options that mean nothing."""

    def test_the_largest_number_of_pixels_is_an_option(self, save, save_tiff):
        path, n_pixels = save(blobs()), blobs().size
        assert len(read(path, max_pixels=n_pixels)) > 0
        words = f"{n_pixels} pixels of 8 bits, more than max_pixels={n_pixels - 1}"
        check_refused(words, read, path, max_pixels=n_pixels - 1)
        # Numbers of 64 bits take twice the memory of labels.
        check_refused("of 64 bits, more than max_pixels=", read, save_tiff(blobs("i8")), max_pixels=n_pixels)

    def test_small_files_of_large_images_are_not_decoded(self, save, tmp_path):
        for side in (6_000, 10_000, 15_000, 2**31 - 1):
            (tmp_path / "bomb.png").write_bytes(png_of(side))
            check_refused("refused", read, tmp_path / "bomb.png")
        image = np.zeros((9000, 9000), dtype="u1")
        image[100:200, 100:300] = 1
        for name, options in (
            ("large.png", {"compress_level": 1}),
            ("large.tif", {"compression": "tiff_adobe_deflate"}),
        ):
            path = save(image, name, **options)
            assert path.stat().st_size < 500_000
            check_refused("81000000 pixels of 8 bits, more than max_pixels=50000000 allows", read, path)

    def test_many_pages_of_nothing(self, tmp_path):
        path, page = tmp_path / "film.tif", Image.fromarray(np.zeros((4000, 4000), dtype=bool))
        page.save(path, compression="group4", save_all=True, append_images=[page] * 3)
        # Fax coding packs an empty page into a few hundred bytes.
        assert path.stat().st_size < 5000
        check_refused("far more pixels", read, path, on_error="skip")

    def test_absurd_tiles(self, save_tiff):
        path = save_tiff(blobs("u2"), "plate.tif", tile=(16, 16), compression="zlib")
        assert areas(path) == BOTH
        # The width of a tile is the tag 322, of 2 or of 4 bytes.
        content = path.read_bytes()
        (tag,) = re.finditer(rb"\x42\x01[\x03\x04]\x00\x01\x00\x00\x00", content)
        width = struct.pack("<HHII", 322, 4, 1, 2**24)
        path.write_bytes(content[: tag.start()] + width + content[tag.start() + len(width) :])
        check_refused("tiles of 16777216 x 16", read, path)

    def test_pages_in_a_circle(self, save_tiff):
        path = save_tiff(np.stack([blobs("u2")] * 3), metadata=None)
        with tifffile.TiffFile(path) as file:
            first, last = file.pages[0].offset, file.pages[2]
            end = last.offset + 2 + 12 * len(last.tags)
        content = path.read_bytes()
        path.write_bytes(content[:end] + struct.pack("<I", first) + content[end + 4 :])
        check_refused(r"more than 100000 pages|circular", read, path)

    def test_frames_stored_as_colors(self, save_tiff):
        for n_frames in (3, 4):
            path = save_tiff(np.stack([blobs("u2")] * n_frames), photometric="rgb", planarconfig="separate")
            check_refused('photometric="minisblack"', read, path)

    def test_colors_of_more_than_8_bits(self, save_tiff, tmp_path):
        (tmp_path / "deep.png").write_bytes(png_of(4, 16))
        for path in (tmp_path / "deep.png", save_tiff(np.zeros((40, 50, 3), "u2"), photometric="rgb")):
            check_refused("more than 8 bits", read, path)

    def test_noise_that_would_take_hours(self, save):
        noise = np.random.default_rng(0).integers(0, 60_000, size=(300, 300)).astype("u2")
        noise[:150] = noise[150:]
        check_refused("noise", read, save(noise, "plate.tif"), kind="labels")

    def test_patterns_of_very_many_objects(self, save, monkeypatch):
        monkeypatch.setattr("shapelex.io.formats.masks._FREE_OBJECTS", 20)
        pixels = np.zeros((400, 400), dtype="u1")
        pixels[::8] = 255
        pixels[:, ::8] = 0
        path = save(pixels)
        assert path.stat().st_size < 2500
        check_refused("It has 2500 objects or more in", read, path)

    def test_outlines_of_very_many_points(self, save, monkeypatch):
        monkeypatch.setattr("shapelex.io.contours._MAX_VERTICES", 1000)
        pixels = np.zeros((200, 200), dtype="u1")
        pixels[10:-10, 10:-10] = 255
        assert len(read(save(pixels))) == 1
        pixels[10:-10:4, 20:-10] = 0
        check_refused(r"outlines of \d+ points: it looks like noise", read, save(pixels))

    @pytest.mark.parametrize(("dtype", "values"), [("u2", (3, 700)), ("u1", (255, 255))], ids=["labels", "binary"])
    def test_memory_follows_the_objects_not_the_pixels(self, save, dtype, values):
        image = np.zeros((1500, 2000), dtype=dtype)
        image[10:60, 20:90], image[1400:1450, 1900:1950] = values
        path = save(image)
        # A few bytes a pixel: the page, what it is compared with, and the numbers of its components.
        with little_memory(12 * image.size):
            assert areas(path) == [3500, 2500]

    def test_options_that_mean_nothing(self, save):
        path = save(blobs())
        for option, value in (
            ("kind", "grey"), ("foreground", "red"), ("which", "all"), ("border", "cut"), ("min_area", 0),
            ("threshold", np.nan), ("threshold", "dark"),
        ):  # fmt: skip
            check_refused(f"^{option} must be ", read, path, error=(ValueError, TypeError), **{option: value})
