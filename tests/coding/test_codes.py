"""SparseCodes and CodePath: what they hold, what they refuse, and their tables, which are those of files."""

import pickle

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from shapelex.coding import SparseCodes, encode_path_rows
from shapelex.exceptions import CodesError
from tests.coding_oracles import random_rows


@pytest.fixture
def codes() -> SparseCodes:
    return SparseCodes([[2, 0], [1, -1], [-1, -1]], [[1j, 0.5], [2, 0], [0, 0]], n_atoms=4)


def test_dense_and_sparse_forms_agree(codes):
    dense = np.array([[0.5, 0, 1j, 0], [0, 2, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(codes.toarray(), dense)
    sparse = codes.tocsr()
    np.testing.assert_array_equal(sparse.toarray(), dense)
    assert sparse.has_sorted_indices
    assert sparse.nnz == 3


def test_sizes(codes):
    assert len(codes) == 3
    assert codes.n_nonzero == 2
    assert codes.support.dtype == np.int32
    assert codes.nbytes == 3 * 2 * (4 + 16)
    np.testing.assert_array_equal(codes.counts(), [2, 1, 0])
    assert repr(codes) == "SparseCodes(n_samples=3, n_nonzero=2, n_atoms=4, dtype=complex128)"


def test_single_precision_stays_single():
    codes = SparseCodes([[0]], np.array([[1]], np.complex64), n_atoms=1)
    assert codes.coefs.dtype == np.complex64
    assert codes.toarray().dtype == np.complex64
    assert SparseCodes([[0]], [[1]], n_atoms=1).coefs.dtype == np.complex128


def test_rows_are_taken_by_slices_masks_and_lists(codes):
    assert codes[1:] == SparseCodes([[1, -1], [-1, -1]], [[2, 0], [0, 0]], n_atoms=4)
    assert codes[[1]] == codes[1:2]
    assert codes[np.array([False, True, False])] == codes[1:2]
    with pytest.raises(CodesError, match=r"codes\[1:2\]"):
        codes[1]
    for wrong in ((slice(None), 0), None, ...):
        with pytest.raises(CodesError, match="by rows alone"):
            codes[wrong]


def test_arrays_cannot_be_changed_and_the_caller_keeps_hers():
    support = np.array([[0]], np.int32)
    codes = SparseCodes(support, np.array([[1j]]), n_atoms=1)
    with pytest.raises(ValueError, match="read-only"):
        codes.support[0, 0] = 1
    with pytest.raises(AttributeError):
        codes.n_atoms = 3
    support[0, 0] = 0


def test_equality(codes):
    assert codes == pickle.loads(pickle.dumps(codes))
    assert codes != codes[:2]
    assert codes != SparseCodes(codes.support, 2 * codes.coefs, 4)
    assert codes != SparseCodes(codes.support, codes.coefs, 5)
    assert codes != "codes"
    with pytest.raises(TypeError, match="unhashable"):
        hash(codes)


def test_dense_round_trip(codes):
    again = SparseCodes.from_dense(codes.toarray())
    np.testing.assert_array_equal(again.toarray(), codes.toarray())
    np.testing.assert_array_equal(again.support, [[0, 2], [1, -1], [-1, -1]])
    assert SparseCodes.from_dense(codes.toarray(), n_nonzero=6).n_nonzero == 6
    assert SparseCodes.from_dense(np.zeros((2, 3))).n_nonzero == 1
    with pytest.raises(CodesError, match="n_nonzero=1 is too small: row 0 of dense"):
        SparseCodes.from_dense(codes.toarray(), n_nonzero=1)


def test_concatenate_pads(codes):
    narrow = SparseCodes([[3]], [[1]], n_atoms=4)
    both = SparseCodes.concatenate([codes, narrow])
    np.testing.assert_array_equal(both.toarray(), np.vstack([codes.toarray(), narrow.toarray()]))
    assert both[:3] == codes
    with pytest.raises(CodesError, match="at least one"):
        SparseCodes.concatenate([])
    with pytest.raises(CodesError, match=r"one n_atoms, got \[4, 5\]"):
        SparseCodes.concatenate([codes, SparseCodes([[3]], [[1]], n_atoms=5)])


@pytest.mark.parametrize(
    ("support", "coefs", "n_atoms", "words"),
    [
        ([[0, 1]], [[1]], 2, "must have one shape"),
        ([[0.5]], [[1]], 2, "2-D array of integers"),
        ([0], [1], 2, "2-D"),
        ([[2]], [[1]], 2, "n_atoms - 1 = 1, but does not in row 0"),
        ([[-2]], [[0]], 2, "between -1"),
        ([[0], [-1]], [[1], [1]], 2, "0 where support is -1, but are not in row 1"),
        ([[1, 1]], [[1, 1]], 2, "at most once per row"),
        ([[0]], [["a"]], 2, "array of numbers"),
        ([[2**32 + 1]], [[1.0]], 3, "support must lie between"),
    ],
)
def test_bad_codes_are_refused(support, coefs, n_atoms, words):
    with pytest.raises(CodesError, match=words):
        SparseCodes(support, coefs, n_atoms)


def test_path_items():
    rng = np.random.default_rng(0)
    path = encode_path_rows(random_rows(rng, 4, 6), random_rows(rng, 5, 6), 3)
    assert len(path) == 3
    assert path[2].n_nonzero == 2
    assert [codes.n_nonzero for codes in path] == [1, 2, 3]
    for n_nonzero in (0, 4):
        with pytest.raises(IndexError, match=f"between 1 and 3, got {n_nonzero}"):
            path[n_nonzero]


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
