"""Small files that declare much: each is read, or refused, in little memory."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import openpyxl
import pyarrow.parquet
import pytest
import tifffile
import zarr
from numcodecs.zstd import Zstd
from PIL.TiffImagePlugin import TiffImageFile

import shapelex as sx
from shapelex.exceptions import CodesError
from shapelex.files.code_files import write_codes
from shapelex.io.formats.hdf5 import check_text
from tests.io import test_sleap
from tests.io.conftest import check_left_out, check_refused, little_memory, notes_of

SHAPES = sx.ShapeSet([[0, 1, 1j], [0, 2, 1j]], ids=["a", "b"], labels=["x", "y"])


def spoil_text(folder, array):
    """Let a chunk of text declare two thousand million entries."""
    zstd = Zstd()
    chunk = folder / array / "c" / "0"
    text = zstd.decode(chunk.read_bytes())
    chunk.write_bytes(zstd.encode((1 << 31).to_bytes(4, "little") + bytes(text)[4:]))


@pytest.mark.parametrize("read", [sx.read, lambda path: sx.open_shapes(path)[:]])
def test_text_in_zarr_folders(tmp_path, read):
    path = sx.write(SHAPES, tmp_path / "set.zarr")
    spoil_text(path, "column_0")
    with little_memory():
        check_refused(r"set\.zarr.* declares 2147483648 entries instead of 2", read, path)


def test_opening_leaves_the_text_codec_of_zarr_as_it_was(tmp_path):
    path = sx.write(SHAPES, tmp_path / "set.zarr")
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(sx.open_shapes, [path] * 40))
    assert zarr.config.get("codecs.vlen-utf8") == "zarr.codecs.vlen_utf8.VLenUTF8Codec"


def test_large_numbers_in_names_of_columns(read):
    with little_memory():
        shapes = read("id,x1,y1,x3,y3,x9999999,y9999999\na,0,0,1,0,1,1\n", "wide.csv")
    assert "the points 2, 4, 5, 6, 7, 8 and 9999990 more;" in notes_of(shapes)


def far_cell(path, place):
    book = openpyxl.load_workbook(path)
    book.active[place] = "c"
    book.save(path)
    return path


def test_a_cell_in_the_last_row_of_a_sheet(tmp_path):
    # Rows are counted one by one, which takes long.
    last = 1 << 20 if os.environ.get("CI") else 1 << 14
    path = far_cell(sx.write(SHAPES, tmp_path / "set.xlsx"), f"A{last}")
    with little_memory():
        check_left_out(2, f"row {last}", sx.read, path)


def test_a_cell_in_the_last_column_of_a_sheet_of_codes(tmp_path):
    codes = sx.SparseCodes(np.zeros((1000, 1), int), np.ones((1000, 1), complex), 3)
    columns = {"id": np.arange(1000).astype(str)}
    path = write_codes(tmp_path / "codes.xlsx", [(codes, np.zeros(1000), columns)], {})
    assert len(sx.read_codes(path).codes) == 1000
    with little_memory(192 << 20):
        check_refused(r"codes\.xlsx swells", sx.read_codes, far_cell(path, "XFD1000"), error=CodesError)


def test_large_pages_are_decoded_once(tmp_path, monkeypatch):
    page = np.zeros((3000, 3000), "u1")
    page[200:400, 200:300] = 1
    tifffile.imwrite(tmp_path / "a.tif", np.broadcast_to(page, (12, *page.shape)), compression="zlib",
                     photometric="minisblack")  # fmt: skip
    decoded, load = [], TiffImageFile.load
    monkeypatch.setattr(TiffImageFile, "load", lambda image: decoded.append(image.tell()) or load(image))
    with little_memory(192 << 20):
        assert len(sx.read(tmp_path / "a.tif", n_points=20)) == 12
    assert len(decoded) <= 2 * 12


def test_a_cell_in_the_last_column_of_the_last_row(tmp_path):
    path = far_cell(sx.write(SHAPES, tmp_path / "set.xlsx"), f"XFD{1 << 20}")
    with little_memory():
        check_refused(r"set\.xlsx: .* has cells up to XFD1048576, but only", sx.read, path)


def test_repeated_texts_in_parquet(tmp_path):
    n_rows = 2000
    columns = {name: np.arange(n_rows) ** power for power, name in enumerate(["x1", "y1", "x2", "y2", "x3", "y3"])}
    note = pyarrow.array(["x" * 100_000]).dictionary_encode().take(pyarrow.array(np.zeros(n_rows, dtype=int)))
    pyarrow.parquet.write_table(pyarrow.table({"note": note, **columns}), tmp_path / "a.parquet")
    with little_memory():
        check_refused("swells", sx.read, tmp_path / "a.parquet")
    # Texts of a length that is usual are read, whatever their number.
    note = pyarrow.array(["drug", "control"] * (n_rows // 2)).dictionary_encode()
    pyarrow.parquet.write_table(pyarrow.table({"note": note, **columns}), tmp_path / "b.parquet")
    assert sx.read(tmp_path / "b.parquet").metadata["note"].tolist() == ["drug", "control"] * (n_rows // 2)


@pytest.mark.parametrize("values", [[["a"], ["b", "c"]], [{"a": 1}, {"a": 2}], [{"a": [1]}, None]])
def test_columns_of_lists_in_parquet(tmp_path, values):
    points = {name: [0, place] for place, name in enumerate(["x1", "y1", "x2", "y2", "x3", "y3"])}
    pyarrow.parquet.write_table(pyarrow.table({**points, "tags": values}), tmp_path / "a.parquet")
    check_refused("a.parquet.*column 'tags' holds .*split", sx.read, tmp_path / "a.parquet")
    shapes = sx.write(SHAPES, tmp_path / "set.npz")
    check_refused("a.parquet.*column 'tags' holds .*split", sx.read, shapes, join=tmp_path / "a.parquet", on="x1")


@pytest.mark.parametrize("kind", ["grp", 3, ["group"]])
@pytest.mark.parametrize("read", [sx.read, sx.open_shapes])
def test_damaged_kinds_of_zarr_folders(tmp_path, kind, read):
    path = sx.write(SHAPES, tmp_path / "set.zarr")
    described = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps({**described, "node_type": kind}))
    check_refused(r"set\.zarr cannot be read as shapes: ", read, path)


def test_long_parquet_tables_of_integer_coordinates(tmp_path, monkeypatch):
    monkeypatch.setattr("shapelex.files.guards.FREE_BYTES", 1 << 16)
    monkeypatch.setattr("shapelex.files.guards.LARGE_BYTES", 1 << 17)
    outlines = np.random.default_rng(0).integers(0, 200, size=(400, 50, 2)).cumsum(axis=1) // 64
    shapes = sx.ShapeSet(outlines, ids=[f"outline {n}" for n in range(400)])
    assert len(sx.read(sx.write(shapes, tmp_path / "a.parquet", layout="long"))) == 400


def test_text_of_an_attribute_in_hdf5(tmp_path):
    path = tmp_path / "sleap.h5"
    test_sleap.save(path, dims=True)
    content = path.read_bytes()
    # The length of the text and its address, as the attribute holds them.
    reference = len('["track", "xy", "node", "frame"]').to_bytes(4, "little")
    reference += content.index(b"GCOL").to_bytes(8, "little")
    assert content.count(reference) == 1
    path.write_bytes(content.replace(reference, b"\xff\xff\xff\xff" + reference[4:]))
    check_refused("declares 4294967295 bytes of text", sx.read, path)


@pytest.mark.parametrize("n_before", [0, 512, 4096])
def test_names_in_hdf5(tmp_path, n_before):
    path = tmp_path / "names.h5"
    with h5py.File(path, "w", userblock_size=n_before) as file:
        file.create_dataset("names", data=[f"name {number}" for number in range(40)], dtype=h5py.string_dtype())
        start = file["names"].id.get_offset()
    with h5py.File(path) as file:
        check_text(file["names"], path)
    content = bytearray(path.read_bytes())
    content[start : start + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(content)
    with h5py.File(path) as file:
        check_refused("'/names' declares 4294967295 bytes of text", check_text, file["names"], path)
