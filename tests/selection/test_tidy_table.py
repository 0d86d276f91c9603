import csv
import io

import numpy as np
import pytest

from shapelex.selection.tidy_table import TidyTable, format_grid


class Sizes(TidyTable):
    columns = ("name", "size")


ROWS = [{"name": "a, b", "size": 1.5, "more": 0}, {"name": "c", "size": 2.0, "more": 0}]


def test_columns_by_name():
    table = Sizes(ROWS)
    assert len(table) == 2
    assert list(table) == list(table.keys()) == ["name", "size"]
    assert table["size"].tolist() == [1.5, 2.0]
    with pytest.raises(KeyError, match=r"has the columns name, size, not 'more'"):
        table["more"]


def test_rows_are_copies():
    table = Sizes(ROWS)
    table.rows()[0]["size"] = 9
    assert table["size"][0] == 1.5
    assert table.rows()[1] == {"name": "c", "size": 2.0}


def test_text_reads_back(tmp_path):
    table = Sizes(ROWS)
    text = table.to_csv(tmp_path / "sizes.csv")
    assert (tmp_path / "sizes.csv").read_text() == text
    assert list(csv.reader(io.StringIO(text))) == [["name", "size"], ["a, b", "1.5"], ["c", "2.0"]]


def test_data_frame():
    pd = pytest.importorskip("pandas")
    frame = Sizes(ROWS).to_dataframe()
    assert isinstance(frame, pd.DataFrame)
    assert frame["size"].dtype == np.float64
    assert frame.columns.tolist() == ["name", "size"]


def test_grid_lines_up():
    lines = format_grid("n", ["1", "10"], {"first": ["2.00", "1.00"], "x": ["", "13.00"]}).splitlines()
    assert lines == ["n         1     10", "first  2.00   1.00", "x            13.00"]
