"""Columns of the page: which are groups, and how they are packed."""

import numpy as np

from shapelex.report.columns import find_groupings, pack_columns


def test_columns_of_repeated_texts_and_few_whole_numbers_are_groups():
    columns = {
        "id": np.array([str(row) for row in range(100)]),
        "sex": np.array(["m", "f"] * 50),
        "label": np.array(["only", ""] * 50),
        "file": np.array([f"{row}.png" for row in range(100)]),
        "replicate": np.arange(100) % 4,
        "frame": np.arange(100) % 50,
        "size": np.ones(100),
        "constant": np.array(["same"] * 100),
        "is_left": np.arange(100) % 2 == 0,
    }
    assert list(find_groupings(columns)) == ["label", "sex", "replicate", "is_left"]
    assert find_groupings(columns)["is_left"][:2] == ["True", "False"]
    assert "label" not in find_groupings({"label": np.array(["", ""])})


def test_every_kind_of_column_is_packed_without_loss():
    columns = {
        "id": np.array(["a", "b", "c"]),
        "text": np.array(["y", "x", "x"]),
        "exact": np.array([1, -2, 3]),
        "huge": np.array([2**60, 2**60 + 1, 2]),
        "number": np.array([0.5, np.nan, 1]),
        "flag": np.array([True, False, True]),
    }
    packed = {column["name"]: column for column in pack_columns(columns, np.array([0, 1]))}
    assert list(packed) == list(columns)
    assert [column["kind"] for column in packed.values()] == ["id", "text", "number", "text", "number", "text"]
    assert packed["exact"]["integer"]
    assert not packed["number"]["integer"]
    assert packed["huge"]["names"] == [str(2**60), str(2**60 + 1)]
    assert packed["flag"]["names"] == ["False", "True"]
