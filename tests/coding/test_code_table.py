"""Codes as data frames: the columns of the tables that files of codes have."""

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from shapelex.exceptions import CodesError

CODES = sx.SparseCodes([[2, 0], [1, -1]], [[1j, 0.5], [-1, 0]], n_atoms=3)
SHAPES = sx.ShapeSet([[0, 1, 1j], [0, 2, 1j]], ids=["a", "b"], labels=["x", "y"], metadata={"area": [3, 4]})


def test_slots_have_the_largest_weight_first_and_missing_entries():
    table = CODES.to_dataframe()
    slots = [f"{what}_{slot}" for slot in (1, 2) for what in ("atom", "modulus", "angle")]
    assert list(table) == ["id", "n_used", "n_atoms", *slots]
    assert table["id"].tolist() == ["0", "1"]
    assert table["atom_1"].tolist() == [2, 1]
    assert table["angle_1"].tolist() == [np.pi / 2, np.pi]
    assert table["atom_2"].isna().tolist() == [False, True]
    assert table["modulus_2"].isna().tolist() == [False, True]


def test_atoms_have_a_column_each():
    table = CODES.to_dataframe(layout="atoms")
    assert table["modulus_a0"].tolist() == [0.5, 0]
    assert np.isnan(table["angle_a0"][1])


@pytest.mark.parametrize("layout", ["slots", "atoms"])
def test_the_columns_are_those_of_a_file(tmp_path, layout):
    from shapelex.coding.codes import shape_columns
    from shapelex.files.code_files import write_codes

    errors = np.array([0.25, 0.5])
    path = write_codes(tmp_path / "codes.csv", [(CODES, errors, shape_columns(SHAPES))], {}, layout)
    table = CODES.to_dataframe(SHAPES, errors=errors, layout=layout)
    assert list(table)[:4] == ["id", "label", "area", "error"]
    pd.testing.assert_frame_equal(table, pd.read_csv(path), check_dtype=False)


def test_metadata_does_not_replace_other_columns():
    shapes = SHAPES.replace(
        labels=None, metadata={"id": ["p", "q"], "label": [1, 2], "sequence": [3, 4], "group": [5, 6]}
    )
    table = CODES.to_dataframe(shapes)
    assert list(table)[:5] == ["id", "meta id", "meta label", "meta sequence", "group"]
    assert table["id"].tolist() == ["a", "b"]


def test_every_row_needs_a_shape_and_an_error():
    with pytest.raises(CodesError, match=r"shapes must have one entry for each of 2 codes, got shape \(1,\)"):
        CODES.to_dataframe(SHAPES[:1])
    with pytest.raises(CodesError, match=r"errors must have one entry for each of 2 codes, got shape \(3,\)"):
        CODES.to_dataframe(errors=[1, 2, 3])
    with pytest.raises(ValueError, match="layout must be one of 'slots', 'atoms', got 'wide'"):
        CODES.to_dataframe(layout="wide")
