"""Masks and label images: what an image is taken for, pages, and what is refused."""

import struct
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image

import shapelex as sx
from shapelex._messages import without_marks
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.masks import read_records
from shapelex.io.records import BadRecord, Record, Remark


def blobs(dtype: str = "u1", second: int = 2) -> np.ndarray:
    image = np.zeros((40, 50), dtype=dtype)
    image[5:15, 6:20] = 1
    image[20:36, 10:40] = second
    return image


def save(folder: Path, image: np.ndarray, name: str = "plate.png", mode: str | None = None, **options: Any) -> Path:
    path = folder / name
    picture = Image.fromarray(image)
    (picture.convert(mode) if mode else picture).save(path, **options)
    return path


def records_of(path: Path, **options: Any) -> list[Record]:
    return [record for record in read_records(path, **options) if isinstance(record, Record)]


def remarks_of(path: Path, **options: Any) -> list[str]:
    return [remark.text for remark in read_records(path, **options) if isinstance(remark, Remark)]


def areas(path: Path, **options: Any) -> list[int]:
    return [record.metadata["area"] for record in records_of(path, **options)]


BOTH = [140, 480]


def test_label_image_gives_an_object_a_label(tmp_path):
    records = list(read_records(save(tmp_path, blobs("u2", 300), "plate.tif")))
    assert [record.id for record in records] == ["plate:1", "plate:300"]
    assert [record.metadata["area"] for record in records] == BOTH
    assert all(record.closed and record.frame is None for record in records)
    # Up on the image is up in the plane: the first object lies above the second.
    assert records[0].points.imag.min() > records[1].points.imag.max()


@pytest.mark.parametrize(
    ("dtype", "name"),
    [("u1", "a.png"), ("u2", "a.png"), ("u1", "a.tif"), ("u2", "a.tif"), ("i4", "a.tif"), ("f4", "a.tif")],
)
def test_labels_of_every_depth(tmp_path, dtype, name):
    assert areas(save(tmp_path, blobs(dtype, 77), name)) == BOTH


@pytest.mark.parametrize("mode", [None, "1", "P", "RGB", "RGBA", "LA", "I", "CMYK"])
@pytest.mark.parametrize("is_inverted", [False, True])
def test_binary_masks_in_every_mode_and_polarity(tmp_path, mode, is_inverted):
    mask = (blobs() > 0) ^ is_inverted
    name = "plate.tif" if mode in ("CMYK", "I") else "plate.png"
    path = save(tmp_path, mask.astype("u1") * 255, name, mode=mode)
    assert areas(path) == BOTH
    (largest,) = records_of(path, which="largest")
    assert largest.metadata["area"] == 480


def test_jpeg_noise_is_cut_halfway(tmp_path):
    path = save(tmp_path, (blobs() > 0).astype("u1") * 255, "plate.jpg", quality=60)
    assert len(np.unique(np.asarray(Image.open(path)))) > 2
    assert np.allclose(areas(path), BOTH, rtol=0.02)


def test_smooth_edges_are_still_binary(tmp_path):
    big = np.zeros((200, 200))
    big[50:150, 40:160] = 255
    big[50, 40:160] = 90
    big[149, 40:160] = 200
    assert areas(save(tmp_path, big.astype("u1"))) == [120 * 99]
    assert areas(save(tmp_path, big.astype("u1")), threshold=50) == [120 * 100]
    # As labels, the same image has four.
    assert len(areas(save(tmp_path, big.astype("u1")), kind="labels")) == 3


def test_colors_are_labels_and_transparency_is_background(tmp_path):
    colors = np.zeros((40, 50, 3), dtype="u1")
    colors[blobs() == 1] = (255, 0, 0)
    colors[blobs() == 2] = (0, 0, 255)
    assert sorted(areas(save(tmp_path, colors))) == BOTH
    cutout = np.dstack([colors, (blobs() == 2) * np.uint8(255)])
    assert areas(save(tmp_path, cutout)) == [480]


def test_colored_objects_on_white_and_in_jpeg(tmp_path):
    colors = np.full((40, 50, 3), 255, dtype="u1")
    colors[blobs() == 1] = (0, 0, 0)
    colors[blobs() == 2] = (0, 0, 255)
    assert sorted(areas(save(tmp_path, colors))) == BOTH
    assert sorted(areas(save(tmp_path, colors), kind="binary", threshold=200, foreground="dark")) == BOTH
    (record,) = read_records(save(tmp_path, colors), kind="binary", threshold=200)
    assert 'foreground="bright" or foreground="dark"' in without_marks(record.reason)
    green = np.zeros((40, 50, 3), dtype="u1")
    green[blobs() > 0] = (0, 255, 0)
    assert np.allclose(areas(save(tmp_path, green, "plate.jpg")), BOTH, rtol=0.1)


def test_palette_colors_count_where_bright_and_dark_do(tmp_path):
    image = Image.fromarray((blobs() > 0).astype("u1"), mode=None).convert("P")
    image.putpalette([255, 255, 255, 0, 0, 0])
    image.save(tmp_path / "plate.png")
    assert areas(tmp_path / "plate.png", foreground="dark") == BOTH
    assert areas(tmp_path / "plate.png") == BOTH


@pytest.mark.parametrize("writer", ["pages", "imagej", "compressed"])
def test_pages_are_frames(tmp_path, writer):
    stack = np.stack([blobs("u2"), np.roll(blobs("u2"), 1, axis=0), blobs("u2")])
    path = tmp_path / "film.tif"
    compression = "zlib" if writer == "compressed" else None
    tifffile.imwrite(path, stack, imagej=writer == "imagej", compression=compression, photometric="minisblack")
    records = records_of(path)
    assert [record.id for record in records] == [f"film:{page}:{label}" for page in range(3) for label in (1, 2)]
    assert [record.frame for record in records] == [0, 0, 1, 1, 2, 2]
    assert {record.sequence for record in records} == {None}
    assert [record.sequence for record in records_of(path, tracked=True)] == [1, 2] * 3
    np.testing.assert_array_equal(records[2].points, records[0].points - 1j)


def test_folder_of_masks_with_progress(tmp_path):
    for number, species in enumerate(["oak", "elm", "oak"]):
        (tmp_path / species).mkdir(exist_ok=True)
        save(tmp_path / species, (blobs() == 2).astype("u1"), f"leaf{number}.png")
    (tmp_path / "notes.md").write_text("no image")
    seen: list[tuple[int, int]] = []
    shapes = sx.read(
        tmp_path, n_points=32, label_from="parent", progress=lambda done, total: seen.append((done, total))
    )
    assert shapes.ids.tolist() == ["leaf1:1", "leaf0:1", "leaf2:1"]
    assert shapes.labels.tolist() == ["elm", "oak", "oak"]
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert len(sx.read(tmp_path / "oak/*.png", n_points=32)) == 2


@pytest.mark.parametrize("scale", [1, 255])
def test_pages_without_objects_are_counted_in_a_remark(tmp_path, scale):
    stack = np.stack([0 * blobs(), blobs() if scale == 1 else (blobs() > 0) * np.uint8(255), 0 * blobs(), 0 * blobs()])
    stack[3, 20:22, 20:23] = scale
    path = tmp_path / "film.tif"
    tifffile.imwrite(path, stack, photometric="minisblack")
    shapes = sx.read(path, n_points=20)
    assert shapes.metadata["frame"].tolist() == [1, 1]
    assert any("3 of 4 pages have no object to outline; their frames are left out." in note for note in shapes.notes)
    assert any("1 object left out: smaller than" in note for note in shapes.notes)
    assert sx.read(path, n_points=20, min_area=1).metadata["frame"].tolist() == [1, 1, 3]


def test_film_without_any_object_is_a_bad_record(tmp_path):
    path = tmp_path / "film.tif"
    tifffile.imwrite(path, np.zeros((3, 9, 9), dtype="u1"), photometric="minisblack")
    (record,) = read_records(path)
    assert record == BadRecord("the image", "no object was found in it.")
    tifffile.imwrite(path, np.stack([blobs()] * 3), photometric="minisblack")
    (record,) = read_records(path, min_area=10_000)
    assert isinstance(record, BadRecord)
    assert record.reason.startswith("all its objects were left out: 6 objects left out: smaller than min_area=10000")


def test_objects_of_few_pixels_only_are_not_dust(tmp_path):
    labels = np.zeros((20, 20), dtype="u1")
    labels[2:4, 2:4], labels[6:8, 2:5], labels[12, 3] = 1, 2, 3
    assert areas(save(tmp_path, labels)) == [4, 6, 1]


def test_colors_of_a_large_image_are_few_labels(tmp_path):
    # The number of a color may be far above the largest number of objects, and below the number of pixels.
    colors = np.zeros((1400, 1400, 3), dtype="u1")
    colors[10:30, 10:40] = (20, 0, 0)
    colors[100:200, 10:40] = (21, 0, 1)
    records = records_of(save(tmp_path, colors))
    assert [record.id for record in records] == [f"plate:{20 << 16}", f"plate:{21 << 16 | 1}"]
    assert [record.metadata["area"] for record in records] == [600, 3000]


@pytest.mark.parametrize("kind", ["labels", "binary"])
def test_memory_follows_the_objects_not_the_pixels(tmp_path, kind):
    image = np.zeros((3000, 4000), dtype="u2" if kind == "labels" else "u1")
    image[10:60, 20:90] = 3 if kind == "labels" else 255
    image[2900:2950, 3900:3950] = 700 if kind == "labels" else 255
    path = save(tmp_path, image)
    tracemalloc.start()
    try:
        assert areas(path) == [3500, 2500]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A few bytes a pixel: the page, what it is compared with, and the numbers of its components.
    assert peak < 12 * image.size


def test_classes_give_every_piece_its_label(tmp_path):
    image = np.zeros((60, 60), dtype="u1")
    image[2:10, 2:10] = image[20:30, 2:10] = image[40:50, 2:10] = 4
    image[2:10, 30:40] = 9
    image[58, 58] = 4
    shapes = sx.read(save(tmp_path, image), kind="classes", n_points=16)
    assert shapes.labels.tolist() == ["4", "4", "4", "9"]
    assert shapes.ids.tolist() == ["plate:4:1", "plate:4:2", "plate:4:3", "plate:9:1"]
    assert len(sx.read(save(tmp_path, image), n_points=16)) == 2


def test_photographs_are_refused_unless_forced(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, size=(60, 60), dtype="u1")
    smooth = (np.add.outer(np.sin(np.arange(90) / 5), np.cos(np.arange(90) / 7)) * 60 + 127).astype("u1")
    flat = np.where(np.random.default_rng(1).random((90, 90)) < 0.2, noise[:1].repeat(90, axis=0)[:, :1], 7)
    for image in (noise, np.repeat(np.repeat(noise, 3, axis=0), 3, axis=1)):
        (record,) = read_records(save(tmp_path, image))
        assert "many pieces" in record.reason
    assert not any(
        isinstance(record, BadRecord)
        for record in read_records(save(tmp_path, smooth), kind="binary", foreground="dark")
    )
    (record,) = read_records(save(tmp_path, flat.astype("u1")))
    assert "values 7 and 95, and no 0 for the background" in record.reason
    assert len(records_of(save(tmp_path, flat.astype("u1")), kind="labels", min_area=1)) == 2


def test_noise_that_would_take_hours_is_refused(tmp_path):
    noise = np.random.default_rng(0).integers(0, 60_000, size=(300, 300)).astype("u2")
    noise[:150] = noise[150:]
    (record,) = read_records(save(tmp_path, noise, "plate.tif"), kind="labels")
    assert "noise" in record.reason


def png_of(width: int, height: int) -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [6_000, 10_000, 15_000, 2**31 - 1])
def test_bombs_are_refused(tmp_path, side):
    path = tmp_path / "bomb.png"
    path.write_bytes(png_of(side, side))
    with pytest.raises(ShapeFileError, match="refused"):
        sx.read(path)


def test_the_largest_number_of_pixels_is_an_option(tmp_path):
    path = tmp_path / "plate.png"
    Image.fromarray(blobs("u1")).save(path)
    n_pixels = blobs("u1").size
    assert len(sx.read(path, n_points=20, max_pixels=n_pixels)) > 0
    with pytest.raises(ShapeFileError, match=f"{n_pixels} pixels of 8 bits, more than max_pixels={n_pixels - 1}"):
        sx.read(path, n_points=20, max_pixels=n_pixels - 1)
    # Numbers of 64 bits take twice the memory of labels.
    tifffile.imwrite(tmp_path / "plate.tif", blobs("i8"))
    with pytest.raises(ShapeFileError, match="of 64 bits, more than max_pixels="):
        sx.read(tmp_path / "plate.tif", n_points=20, max_pixels=n_pixels)


@pytest.mark.parametrize(("name", "options"), [("large.png", {}), ("large.tif", {"compression": "tiff_adobe_deflate"})])
def test_small_files_of_large_images_are_not_decoded(tmp_path, name, options):
    image = np.zeros((9000, 9000), dtype="u1")
    image[100:200, 100:300] = 1
    path = save(tmp_path, image, name, **options)
    assert path.stat().st_size < 200_000
    with pytest.raises(ShapeFileError, match="81000000 pixels of 8 bits, more than max_pixels=50000000 allows"):
        sx.read(path)


def test_many_pages_of_nothing_are_refused(tmp_path):
    path = tmp_path / "film.tif"
    page = Image.fromarray(np.zeros((4000, 4000), dtype=bool))
    page.save(path, compression="group4", save_all=True, append_images=[page] * 3)
    # Fax coding packs an empty page into a few hundred bytes.
    assert path.stat().st_size < 5000
    with pytest.raises(ShapeFileError, match="far more pixels"):
        sx.read(path, on_error="skip")


def test_absurd_tiles_are_refused(tmp_path):
    path = tmp_path / "plate.tif"
    tifffile.imwrite(path, blobs("u2"), tile=(16, 16), compression="zlib")
    assert areas(path) == BOTH
    content = path.read_bytes()
    width = struct.pack("<HHI", 322, 4, 1)
    place = content.find(width) if width in content else content.find(struct.pack("<HHI", 322, 3, 1))
    assert place > 0
    path.write_bytes(content[:place] + width + struct.pack("<I", 2**24) + content[place + 12 :])
    with pytest.raises(ShapeFileError, match="tiles of 16777216 x 16"):
        sx.read(path)


def test_pages_in_a_circle_are_refused(tmp_path):
    path = tmp_path / "film.tif"
    tifffile.imwrite(path, np.stack([blobs("u2")] * 3), photometric="minisblack", metadata=None)
    with tifffile.TiffFile(path) as file:
        first, last = file.pages[0].offset, file.pages[2]
        end = last.offset + 2 + 12 * len(last.tags)
    content = path.read_bytes()
    path.write_bytes(content[:end] + struct.pack("<I", first) + content[end + 4 :])
    with pytest.raises(ShapeFileError, match=r"more than 100000 pages|circular"):
        sx.read(path, n_points=20)


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "grey"},
        {"foreground": "red"},
        {"which": "all"},
        {"border": "cut"},
        {"min_area": 0},
        {"threshold": np.nan},
        {"threshold": "dark"},
    ],
)
def test_options_that_mean_nothing(tmp_path, options):
    with pytest.raises((ValueError, TypeError), match=f"^{next(iter(options))} must be "):
        list(read_records(save(tmp_path, blobs()), **options))


class TestNothingIsGuessedInSilence:
    """Files that were read wrongly, without a word."""

    def test_label_image_is_never_inverted(self, tmp_path):
        labels = np.zeros((60, 80), dtype="u2")
        labels[:, :70] = 7
        path = save(tmp_path, labels, "plate.tif")
        (record,) = records_of(path)
        assert (record.id, record.metadata["area"]) == ("plate:7", 4200)
        assert remarks_of(path) == [
            "1 object at the border of the image kept, perhaps cut off; the option border=drop leaves them out."
        ]

    @pytest.mark.parametrize(("value", "label"), [(1, 1), (7, 7), (65535, 1)])
    def test_tightly_cropped_object_is_not_its_notch(self, tmp_path, value, label):
        image = np.full((40, 50), value, dtype="u2")
        image[:10, 20:24] = 0
        (record,) = records_of(save(tmp_path, image, "plate.tif"))
        assert (record.id, record.metadata["area"]) == (f"plate:{label}", 1960)

    def test_black_on_white_is_inverted_with_a_remark(self, tmp_path):
        path = save(tmp_path, np.where(blobs() > 0, 0, 255).astype("u1"))
        assert areas(path) == BOTH
        (remark,) = remarks_of(path)
        assert "inverted" in remark
        assert "the option foreground=bright" in remark
        assert not remarks_of(save(tmp_path, np.where(blobs() > 0, 255, 0).astype("u1")))

    def test_black_or_white_along_the_border_is_refused(self, tmp_path):
        image = np.zeros((40, 40), dtype="u1")
        image[:, :30] = 255
        path = save(tmp_path, image)
        with pytest.raises(ShapeFileError, match='foreground="bright" or foreground="dark"'):
            sx.read(path, n_points=20)
        assert areas(path, foreground="bright") == [1200]
        assert areas(path, foreground="dark") == [400]

    @pytest.mark.parametrize("dtype", ["u1", "u2", "u8", "i8", "f8"])
    def test_kind_is_that_of_the_file_not_of_a_page(self, tmp_path, dtype):
        first = np.where(blobs() == 2, 7, 0)
        stack = np.stack([first, first + 3 * (blobs() == 1), first, first]).astype(dtype)
        tifffile.imwrite(tmp_path / "film.tif", stack, photometric="minisblack", metadata={"axes": "TYX"})
        shapes = sx.read(tmp_path / "film.tif", n_points=20, tracked=True)
        assert shapes.sequence is not None
        assert shapes.sequence.tolist() == [7, 3, 7, 7, 7]
        assert shapes.metadata["frame"].tolist() == [0, 1, 1, 2, 3]

    def test_binary_film_with_an_empty_border_once(self, tmp_path):
        # The object covers most of the border of one page; the others say that it is white on black.
        stack = np.zeros((5, 40, 50), dtype="u1")
        stack[:, 10:30, 10:30] = 255
        stack[2, :, :45] = 255
        tifffile.imwrite(tmp_path / "film.tif", stack, photometric="minisblack")
        assert areas(tmp_path / "film.tif") == [400, 400, 1800, 400, 400]

    def test_one_label_keeps_its_number(self, tmp_path):
        image = np.where(blobs() == 1, 7, 0).astype("u1")
        assert [record.id for record in records_of(save(tmp_path, image))] == ["plate:7"]
        both = np.where(blobs() > 0, 7, 0).astype("u1")
        with pytest.raises(ShapeFileError, match=r'only value beside 0 is 7, in several pieces: kind="binary"'):
            sx.read(save(tmp_path, both), n_points=20)
        assert areas(save(tmp_path, both), kind="binary") == BOTH
        assert areas(save(tmp_path, both), kind="labels") == BOTH[1:]

    @pytest.mark.parametrize("writer", ["imagej", "ome", "plain"])
    def test_stack_of_time_and_depth_needs_a_choice(self, tmp_path, writer):
        stack = np.stack([np.stack([np.roll(blobs("u2"), t, axis=1), 0 * blobs("u2")]) for t in range(3)])
        path = tmp_path / "film.tif"
        tifffile.imwrite(path, stack, imagej=writer == "imagej", ome=writer == "ome", metadata={"axes": "TZYX"})
        with pytest.raises(ShapeFileError, match="3 time points × 2 slices, but frames have one axis: choose with z=0"):
            sx.read(path, n_points=20)
        with pytest.raises(ShapeFileError, match="2 slices, so z=2 does not exist"):
            sx.read(path, n_points=20, z=2)
        shapes = sx.read(path, n_points=20, z=0)
        assert shapes.metadata["frame"].tolist() == [0, 0, 1, 1, 2, 2]
        np.testing.assert_allclose(shapes[4], shapes[0] + 2)

    @pytest.mark.parametrize(("axis", "option"), [("Z", "z=0"), ("C", "channel=0")])
    def test_slices_as_frames_are_remarked_on(self, tmp_path, axis, option):
        path = tmp_path / "film.tif"
        tifffile.imwrite(path, np.stack([blobs("u2")] * 4), imagej=True, metadata={"axes": f"{axis}YX"})
        assert any(f"are read as frames; the option {option}" in text for text in remarks_of(path))
        name = option.split("=")[0]
        (chosen,) = {record.frame for record in records_of(path, **{name: 2})}
        assert chosen is None

    @pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
    def test_imagej_stack_of_one_page_is_read_whole(self, tmp_path, dtype):
        path = tmp_path / "film.tif"
        tifffile.imwrite(path, np.stack([blobs(dtype)] * 5), imagej=True, truncate=True, metadata={"axes": "TYX"})
        with Image.open(path) as image:
            assert image.n_frames == 1
        assert areas(path) == BOTH * 5
        content = path.read_bytes()
        path.write_bytes(content[: len(content) - 40 * 50])
        with pytest.raises(ShapeFileError):
            sx.read(path, n_points=20)

    @pytest.mark.parametrize("radius", [5, 12, 40])
    @pytest.mark.parametrize("brightest", [255, 200])
    def test_smoothed_disc_is_one_object(self, tmp_path, radius, brightest):
        rows, columns = np.mgrid[:100, :100]
        disc = np.clip(radius + 0.5 - np.hypot(rows - 50, columns - 49), 0, 1) * brightest
        path = save(tmp_path, disc.astype("u1"))
        if brightest == 255:
            (remark,) = remarks_of(path)
            assert "gray values were cut at 127.5" in remark
            assert "the option threshold= changes it, the option kind=labels" in remark
        else:
            with pytest.raises(ShapeFileError, match='smoothed edges, say kind="binary"'):
                sx.read(path, n_points=20)
        (area,) = areas(path, kind="auto" if brightest == 255 else "binary")
        assert area == pytest.approx(np.pi * radius**2, rel=0.15)

    def test_gray_values_are_refused(self, tmp_path):
        smooth = (np.add.outer(np.sin(np.arange(90) / 5), np.cos(np.arange(90) / 7)) + 2) / 4
        for path in (
            save(tmp_path, smooth.astype("f4"), "chance.tif"),
            save(tmp_path, (smooth * 255).astype("u1"), "photo.jpg", quality=95),
        ):
            with pytest.raises(ShapeFileError, match="Give a threshold, such as threshold="):
                sx.read(path, n_points=20)
            assert areas(path, threshold=float(np.asarray(Image.open(path)).max()) * 0.8)

    @pytest.mark.parametrize("is_binary", [True, False])
    def test_specks_and_cut_objects_by_one_rule(self, tmp_path, is_binary):
        image = np.zeros((100, 200), dtype="u2")
        for number in range(8):
            image[30 * (number % 3) + 2 : 30 * (number % 3) + 22, 22 * number + 5 : 22 * number + 25 - 4] = number + 1
        image[95:97, 0:3] = 9
        image[94:96, 10:13] = 10
        image[94:98, 60:65] = 11
        image[0:20, 185:200] = 12
        path = save(tmp_path, (image > 0).astype("u1") if is_binary else image, "plate.tif")
        assert areas(path).count(320) == 8
        assert sorted(areas(path))[:2] == [20, 300]
        left_out = (
            "2 objects left out: smaller than 5 % of the median area (16 pixels); the option min_area=1 keeps them."
        )
        assert left_out in remarks_of(path)
        assert any("1 object at the border of the image kept" in text for text in remarks_of(path))
        assert len(areas(path, min_area=1)) == 12
        assert len(areas(path, border="drop")) == 9

    def test_file_and_array_give_the_same_set(self, tmp_path):
        labels = blobs("u2", 300)
        labels[25:30, 20:24] = 0
        labels[0:3, 30:34] = 9
        labels[39, 49] = 5
        path = save(tmp_path, labels, "plate.tif")
        for space in (sx.BSpline(12), sx.Landmarks(30, closed=True), sx.HermiteSpline(8, closed=True)):
            read = sx.read(path, space=space)
            made = sx.outlines_from_mask(labels, space=space, which="labels").to_shape_set("plate")
            np.testing.assert_allclose(read.configurations, made.configurations, rtol=1e-12)
            assert read.ids.tolist() == made.ids.tolist() == ["plate:1", "plate:9", "plate:300"]
            assert list(read.metadata) == list(made.metadata)
            for name, column in read.metadata.items():
                np.testing.assert_array_equal(column, made.metadata[name])
            assert [note for note in made.notes if not any(note in other for other in read.notes)] == []

    @pytest.mark.parametrize("writer", ["imagej", "ome"])
    def test_sizes_have_the_unit_of_the_file(self, tmp_path, writer):
        path = tmp_path / "cells.tif"
        if writer == "imagej":
            tifffile.imwrite(path, blobs("u2"), imagej=True, resolution=(4, 4), metadata={"unit": "micron"})
        else:
            size = {f"PhysicalSize{axis}": 0.25 for axis in "XY"}
            tifffile.imwrite(path, blobs("u2"), ome=True, metadata={"axes": "YX", **size})
        shapes = sx.read(path, n_points=50)
        assert shapes.metadata["area"].tolist() == BOTH
        assert shapes.metadata["physical_area"].tolist() == [area / 16 for area in BOTH]
        np.testing.assert_allclose(shapes.metadata["physical_rms_radius"], shapes.metadata["rms_radius"] / 4)
        assert shapes.metadata["unit"].tolist() == ["µm", "µm"]
        assert "unit" not in sx.read(save(tmp_path, blobs("u2"), "plain.tif"), n_points=20).metadata

    def test_pixels_that_are_not_square_are_remarked_on(self, tmp_path):
        path = tmp_path / "cells.tif"
        tifffile.imwrite(path, blobs("u2"), imagej=True, resolution=(4, 2), metadata={"unit": "mm"})
        assert any("0.25 x 0.5 mm, not square" in text for text in remarks_of(path))

    def test_colored_object_at_three_borders_is_not_the_background(self, tmp_path):
        colors = np.zeros((60, 80, 3), dtype="u1")
        colors[:, :70] = (255, 0, 0)
        assert areas(save(tmp_path, colors)) == [4200]
        colors[:, 70:] = (0, 0, 255)
        with pytest.raises(ShapeFileError, match="background is not clear"):
            sx.read(save(tmp_path, colors), n_points=20)


class TestImagesBesideTheirMasks:
    """Folders as segmentation programs leave them."""

    @pytest.mark.parametrize("end", ["_cp_masks.tif", "_mask.png", "-labels.tif", " segmentation.tif"])
    def test_the_masks_are_read_and_the_images_named(self, tmp_path, end):
        photo = np.random.default_rng(0).integers(0, 256, size=(40, 50), dtype="u1")
        for name in ("a", "b"):
            save(tmp_path, photo, f"{name}.tif")
            save(tmp_path, photo, f"{name}_flows.tif")
            save(tmp_path, blobs(), f"{name}{end}")
        for paths in (tmp_path, sorted(tmp_path.iterdir()), tmp_path / "*.*"):
            shapes = sx.read(paths, n_points=20)
            assert len(shapes) == 4
            assert set(shapes.metadata["file"]) == {str(tmp_path / f"{name}{end}") for name in ("a", "b")}
            (note,) = [note for note in shapes.notes if "not read" in note]
            assert "their masks lie beside them: a.tif, a_flows.tif, b.tif and 1 more" in note

    def test_two_masks_of_one_image_are_refused(self, tmp_path):
        for name in ("a.tif", "a_masks.tif", "a_cp_masks.tif"):
            save(tmp_path, blobs(), name)
        with pytest.raises(ShapeFileError, match=r"two masks beside it, a_cp_masks.tif and a_masks.tif: choose"):
            sx.read(tmp_path, n_points=20)
        assert len(sx.read(tmp_path / "*_cp_masks.tif", n_points=20)) == 2

    def test_image_without_a_mask_is_refused_with_the_way_out(self, tmp_path):
        photo = np.random.default_rng(0).integers(0, 256, size=(40, 50), dtype="u1")
        save(tmp_path, photo, "a.tif")
        save(tmp_path, blobs(), "mask of b.tif")
        with pytest.raises(ShapeFileError, match=r'a\.tif.*a pattern such as "folder/\*_masks.tif"'):
            sx.read(tmp_path, n_points=20)


@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize("n_frames", [3, 4])
def test_frames_stored_as_colors_are_refused(tmp_path, dtype, n_frames):
    path = tmp_path / "film.tif"
    tifffile.imwrite(path, np.stack([blobs(dtype)] * n_frames), photometric="rgb", planarconfig="separate")
    with pytest.raises(ShapeFileError, match='photometric="minisblack"'):
        list(read_records(path))


@pytest.mark.parametrize("name", ["deep.tif", "deep.png"])
def test_colors_of_more_than_8_bits_are_refused(tmp_path, name):
    path = tmp_path / name
    if name.endswith("tif"):
        tifffile.imwrite(path, np.zeros((40, 50, 3), "u2"), photometric="rgb")
    else:
        path.write_bytes(png_of(4, 4)[:24] + bytes([16, 2]) + png_of(4, 4)[26:])
    with pytest.raises(ShapeFileError, match="more than 8 bits"):
        list(read_records(path))


@pytest.mark.parametrize("is_dark", [True, False])
def test_colors_of_a_film_are_decided_once(tmp_path, is_dark):
    # White is a label also in the page without other colors, and the background is that of all pages.
    ground, color = (0, (255, 255, 255)) if is_dark else (255, (0, 0, 0))
    film = np.full((2, 40, 50, 3), ground, dtype="u1")
    film[:, blobs() == 1] = color
    film[1, blobs() == 2] = (255, 0, 0)
    path = save(tmp_path, film[0], "film.tif", save_all=True, append_images=[Image.fromarray(film[1])])
    first, *second = records_of(path, tracked=True)
    assert first.metadata["area"] == 140
    assert [record.metadata["area"] for record in second if record.sequence == first.sequence] == [140]
    assert {record.metadata["area"] for record in second} == {140, 480}


def test_only_object_of_zeros_and_ones_has_the_id_of_its_label(tmp_path):
    image = np.zeros((60, 60), dtype="u1")
    image[2:4, 2:4] = image[20:50, 20:50] = 1
    path = save(tmp_path, image)
    assert [record.id for record in records_of(path)] == [record.id for record in records_of(path, kind="labels")]
    # A mask that is called binary numbers its components.
    assert [record.id for record in records_of(path, kind="binary")] == ["plate:2"]


def test_patterns_of_very_many_objects_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("shapelex.io.formats.masks._FREE_OBJECTS", 20)
    pixels = np.zeros((400, 400), dtype=np.uint8)
    pixels[::8] = 255
    pixels[:, ::8] = 0
    Image.fromarray(pixels).save(tmp_path / "grid.png")
    assert (tmp_path / "grid.png").stat().st_size < 2500
    with pytest.raises(ShapeFileError, match="It has 2500 objects or more in"):
        sx.read(tmp_path / "grid.png", n_points=20)


def test_outlines_of_very_many_points_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("shapelex.io.contours._MAX_VERTICES", 1000)
    pixels = np.zeros((200, 200), dtype=np.uint8)
    pixels[10:-10, 10:-10] = 255
    Image.fromarray(pixels).save(tmp_path / "square.png")
    assert len(sx.read(tmp_path / "square.png", n_points=20)) == 1
    pixels[10:-10:4, 20:-10] = 0
    Image.fromarray(pixels).save(tmp_path / "comb.png")
    with pytest.raises(ShapeFileError, match=r"outlines of \d+ points: it looks like noise"):
        sx.read(tmp_path / "comb.png", n_points=20)
