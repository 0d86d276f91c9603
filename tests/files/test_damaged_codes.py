"""Files of codes that are damaged or hostile: only the documented error, in bounded memory."""

import json

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from pyarrow import parquet

import shapelex as sx
from shapelex.exceptions import CodesError
from shapelex.files.code_files import SUFFIXES, describe_codes, read_code_errors, write_codes
from tests.io.conftest import check_refused, little_memory

TABLES = (".csv", ".tsv", ".parquet", ".xlsx")


def make_codes(path, errors=(0.5, 0.25, 0.125)):
    codes = sx.SparseCodes([[0, 1], [2, -1], [1, 0]], [[1j, 2], [3, 0], [4, 1]], 3)
    return write_codes(path, [(codes, np.array(errors), {"id": np.array(["a", "b", "c"])})], {"command": "x"})


@pytest.mark.parametrize("array", ["support", "coefs", "errors", "ids"])
def test_lost_chunks_are_no_zeros(tmp_path, array):
    path = make_codes(tmp_path / "codes.zarr")
    metadata = path / array / "zarr.json"
    described = json.loads(metadata.read_text())
    for n_rows in (10**7, 10**13):
        described["shape"][0] = n_rows
        metadata.write_text(json.dumps(described))
        check_refused(f"chunks of /{array} are not there", sx.read_codes, path, error=CodesError)
    described["shape"][0] = 3
    metadata.write_text(json.dumps(described))
    next(file for file in (path / array / "c").rglob("*") if file.is_file()).unlink()
    check_refused(f"1 of the 1 chunks of /{array} are not there", sx.read_codes, path, error=CodesError)


def test_chunks_of_zeros_are_written(tmp_path):
    codes = sx.SparseCodes([[0]], [[0]], 1)
    path = write_codes(tmp_path / "codes.zarr", [(codes, np.zeros(1), {"id": np.array([""])})], {})
    assert sx.read_codes(path).codes == codes


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("error", [np.nan, -0.5, np.inf])
def test_errors_that_are_none(tmp_path, suffix, error):
    path = make_codes(tmp_path / f"codes{suffix}", (0.5, error, 0))
    check_refused("error", sx.read_codes, path, error=CodesError)
    if suffix in TABLES:
        assert read_code_errors(path) is None
    else:
        check_refused("error", describe_codes, path, error=CodesError)


def test_equal_values_of_a_small_parquet_file(tmp_path):
    column = pa.array(np.zeros(3_000_000))
    table = pa.table(dict.fromkeys(("id", "error", "n_used", "n_atoms", "modulus_1", "angle_1"), column))
    path = tmp_path / "codes.parquet"
    parquet.write_table(table, path)
    del table, column
    assert path.stat().st_size < 200_000
    with little_memory(50 << 20):
        check_refused("swells", sx.read_codes, path, error=CodesError)


def test_one_long_name_among_many(tmp_path):
    path = tmp_path / "codes.csv"
    rows = "".join(f"{n},0,1,1,0,1,0\n" for n in range(20_000))
    path.write_text(f"id,error,n_used,n_atoms,atom_1,modulus_1,angle_1\n{'x' * 50_000},0,1,1,0,1,0\n{rows}")
    check_refused("50000 characters: refused", sx.read_codes, path, error=CodesError)


def test_tables_that_a_spreadsheet_program_saved(tmp_path):
    path = make_codes(tmp_path / "codes.csv")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert sx.read_codes(path).columns["id"].tolist() == ["a", "b", "c"]
    path = make_codes(tmp_path / "codes.xlsx")
    book = openpyxl.load_workbook(path)
    book.create_sheet("pivot")
    book.save(path)
    assert sx.read_codes(path).columns["id"].tolist() == ["a", "b", "c"]
