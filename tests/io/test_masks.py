"""Masks and label images: what an image is taken for, pages, and what is refused."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image

import shapelex as sx
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


def test_label_image_gives_an_object_a_label(tmp_path: Path) -> None:
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
def test_labels_of_every_depth(tmp_path: Path, dtype: str, name: str) -> None:
    assert areas(save(tmp_path, blobs(dtype, 77), name)) == BOTH


def test_labels_of_32_bits_unsigned(tmp_path: Path) -> None:
    path = tmp_path / "plate.tif"
    tifffile.imwrite(path, blobs("u4", 70_000), compression="zlib", tile=(16, 16))
    assert [record.id for record in read_records(path)] == ["plate:1", "plate:70000"]


@pytest.mark.parametrize("mode", [None, "1", "P", "RGB", "RGBA", "LA", "I", "CMYK"])
@pytest.mark.parametrize("is_inverted", [False, True])
def test_binary_masks_in_every_mode_and_polarity(tmp_path: Path, mode: str | None, is_inverted: bool) -> None:
    mask = (blobs() > 0) ^ is_inverted
    name = "plate.tif" if mode in ("CMYK", "I") else "plate.png"
    path = save(tmp_path, mask.astype("u1") * 255, name, mode=mode)
    assert areas(path) == BOTH
    (largest,) = records_of(path, which="largest")
    assert largest.metadata["area"] == 480


def test_polarity_can_be_forced(tmp_path: Path) -> None:
    path = save(tmp_path, (blobs() > 0).astype("u1") * 255)
    # The ground is one object, its two holes filled.
    assert areas(path, foreground="dark") == [40 * 50]
    assert areas(path, foreground="bright") == BOTH


def test_jpeg_noise_is_cut_halfway(tmp_path: Path) -> None:
    path = save(tmp_path, (blobs() > 0).astype("u1") * 255, "plate.jpg", quality=60)
    assert len(np.unique(np.asarray(Image.open(path)))) > 2
    assert np.allclose(areas(path), BOTH, rtol=0.02)


def test_smooth_edges_are_still_binary(tmp_path: Path) -> None:
    big = np.zeros((200, 200))
    big[50:150, 40:160] = 255
    big[50, 40:160] = 90
    big[149, 40:160] = 200
    assert areas(save(tmp_path, big.astype("u1"))) == [120 * 99]
    assert areas(save(tmp_path, big.astype("u1")), threshold=50) == [120 * 100]
    # As labels, the same image has four.
    assert len(areas(save(tmp_path, big.astype("u1")), kind="labels")) == 3


def test_colors_are_labels_and_transparency_is_background(tmp_path: Path) -> None:
    colors = np.zeros((40, 50, 3), dtype="u1")
    colors[blobs() == 1] = (255, 0, 0)
    colors[blobs() == 2] = (0, 0, 255)
    assert sorted(areas(save(tmp_path, colors))) == BOTH
    cutout = np.dstack([colors, (blobs() == 2) * np.uint8(255)])
    assert areas(save(tmp_path, cutout)) == [480]


def test_colored_objects_on_white_and_in_jpeg(tmp_path: Path) -> None:
    colors = np.full((40, 50, 3), 255, dtype="u1")
    colors[blobs() == 1] = (0, 0, 0)
    colors[blobs() == 2] = (0, 0, 255)
    assert sorted(areas(save(tmp_path, colors))) == BOTH
    assert sorted(areas(save(tmp_path, colors), kind="binary", threshold=200, foreground="dark")) == BOTH
    (record,) = read_records(save(tmp_path, colors), kind="binary", threshold=200)
    assert 'foreground="bright" or foreground="dark"' in record.reason
    green = np.zeros((40, 50, 3), dtype="u1")
    green[blobs() > 0] = (0, 255, 0)
    assert np.allclose(areas(save(tmp_path, green, "plate.jpg")), BOTH, rtol=0.1)


def test_palette_colors_count_where_bright_and_dark_do(tmp_path: Path) -> None:
    image = Image.fromarray((blobs() > 0).astype("u1"), mode=None).convert("P")
    image.putpalette([255, 255, 255, 0, 0, 0])
    image.save(tmp_path / "plate.png")
    assert areas(tmp_path / "plate.png", foreground="dark") == BOTH
    assert areas(tmp_path / "plate.png") == BOTH


def test_specks_are_left_out_unless_wanted(tmp_path: Path) -> None:
    mask = (blobs() > 0).astype("u1")
    mask[0, 0] = mask[39, 49] = 1
    path = save(tmp_path, mask)
    assert areas(path) == BOTH
    assert len(areas(path, min_area=1)) == 4
    assert areas(path, min_area=200) == [480]


def test_objects_at_the_border_can_be_dropped(tmp_path: Path) -> None:
    labels = blobs()
    labels[30:40, 45:50] = 3
    path = save(tmp_path, labels)
    assert [record.metadata["touches_border"] for record in records_of(path)] == [False, False, True]
    assert areas(path, border="drop") == BOTH


@pytest.mark.parametrize("writer", ["pages", "imagej", "compressed"])
def test_pages_are_frames(tmp_path: Path, writer: str) -> None:
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


@pytest.mark.parametrize("dtype", [">u2", "u1"])
def test_imagej_stack_in_either_byte_order(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "film.tif"
    stack = np.stack([blobs()] * 4).astype(dtype)
    tifffile.imwrite(path, stack, imagej=True, byteorder=">" if dtype[0] == ">" else "<")
    assert areas(path) == BOTH * 4


def test_folder_of_masks_with_progress(tmp_path: Path) -> None:
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


def test_empty_mask_is_a_bad_record(tmp_path: Path) -> None:
    (record,) = read_records(save(tmp_path, np.zeros((9, 9), dtype="u1")))
    assert isinstance(record, BadRecord)
    assert "no object" in record.reason


def test_what_is_left_out_is_in_the_notes(tmp_path: Path) -> None:
    mask = (blobs() > 0).astype("u1")
    mask[0, 0] = mask[39, 49] = 1
    path = save(tmp_path, mask)
    (note,) = [note for note in sx.read(path, n_points=20).notes if "left out" in note]
    assert "the image: 2 objects left out: smaller than 5 % of the median area (16 pixels); min_area=1 " in note
    assert not any("left out" in note for note in sx.read(path, n_points=20, min_area=1).notes)


def test_why_nothing_is_left(tmp_path: Path) -> None:
    path = save(tmp_path, (blobs() > 0).astype("u1"))
    with pytest.raises(ShapeFileError, match=r"all its objects were left out: 2 objects"):
        sx.read(path, n_points=20, min_area=10_000)


def test_classes_give_every_piece_its_label(tmp_path: Path) -> None:
    image = np.zeros((60, 60), dtype="u1")
    image[2:10, 2:10] = image[20:30, 2:10] = image[40:50, 2:10] = 4
    image[2:10, 30:40] = 9
    image[58, 58] = 4
    shapes = sx.read(save(tmp_path, image), kind="classes", n_points=16)
    assert shapes.labels.tolist() == ["4", "4", "4", "9"]
    assert shapes.ids.tolist() == ["plate:4:1", "plate:4:2", "plate:4:3", "plate:9:1"]
    assert len(sx.read(save(tmp_path, image), n_points=16)) == 2


def test_photographs_are_refused_unless_forced(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, size=(60, 60), dtype="u1")
    smooth = (np.add.outer(np.sin(np.arange(90) / 5), np.cos(np.arange(90) / 7)) * 60 + 127).astype("u1")
    flat = np.where(np.random.default_rng(1).random((90, 90)) < 0.2, noise[:1].repeat(90, axis=0)[:, :1], 7)
    for image in (noise, np.repeat(np.repeat(noise, 3, axis=0), 3, axis=1)):
        (record,) = read_records(save(tmp_path, image))
        assert "many pieces" in record.reason
    assert not any(isinstance(record, BadRecord) for record in read_records(save(tmp_path, smooth), kind="binary", foreground="dark"))
    assert all(isinstance(record, Record) for record in read_records(save(tmp_path, flat.astype("u1"))))


def test_noise_that_would_take_hours_is_refused(tmp_path: Path) -> None:
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
def test_bombs_are_refused(tmp_path: Path, side: int) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(png_of(side, side))
    with pytest.raises(ShapeFileError, match="refused"):
        sx.read(path)


def test_many_pages_of_nothing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "film.tif"
    page = Image.fromarray(np.zeros((4000, 4000), dtype=bool))
    page.save(path, compression="group4", save_all=True, append_images=[page] * 3)
    # Fax coding packs an empty page into a few hundred bytes.
    assert path.stat().st_size < 5000
    with pytest.raises(ShapeFileError, match="far more pixels"):
        sx.read(path, on_error="skip")


def test_absurd_tiles_are_refused(tmp_path: Path) -> None:
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


def test_large_mask_of_few_bytes_is_read(tmp_path: Path) -> None:
    mask = np.zeros((6000, 6000), dtype="u1")
    mask[1000:5000, 2000:4000] = 255
    assert areas(save(tmp_path, mask)) == [8_000_000]


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.jpg"])
@pytest.mark.parametrize("content", [b"", b"II*\0", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"no image"])
def test_what_is_no_image_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ShapeFileError):
        sx.read(path)


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
def test_options_that_mean_nothing(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{next(iter(options))} must be "):
        list(read_records(save(tmp_path, blobs()), **options))


@pytest.mark.realdata
def test_real_label_image(data_folder: Path) -> None:
    path = data_folder / "formats/masks/nuclei_label_mask.tif"
    labels = tifffile.imread(path)
    shapes = sx.read(path, n_points=64)
    assert shapes.ids.tolist() == [f"nuclei_label_mask:{label}" for label in np.unique(labels)[1:]]
    counts = np.bincount(labels.ravel())
    assert shapes.metadata["area"][0] == counts[1]


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "source", "key", "value"),
    [
        ("mpeg7_horse-1.png", "mpeg7_outlines_200", "names", "horse-1"),
        ("mpeg7_rat-09_inverted.png", "mpeg7_outlines_200", "names", "rat-09"),
        ("kaggle_leaf_100.jpg", "leaves_kaggle_outlines_200", "ids", "100"),
    ],
)
def test_real_silhouettes_are_those_of_the_shared_sets(
    data_folder: Path, name: str, source: str, key: str, value: str
) -> None:
    shapes = sx.read(data_folder / "formats/masks" / name, n_points=200)
    assert len(shapes) == 1
    with np.load(data_folder / f"{source}.npz") as file:
        expected = file["points"][np.flatnonzero(file[key].astype(str) == value)[0]] @ [1, 1j]
    difference = shapes[0] - expected
    assert np.ptp(difference.real) < 0.5
    assert np.ptp(difference.imag) < 0.5


@pytest.mark.realdata
def test_real_bacteria(data_folder: Path) -> None:
    folder = data_folder / "formats/masks"
    assert len(sx.read(folder / "caulobacter_binary_WildType04.png", n_points=40)) == 4
    assert len(sx.read(folder / "caulobacter_binary_MreB-01.png", n_points=40, border="drop")) > 20
