import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import shapelex as sx
from shapelex.exceptions import ArrayTypeError, RealLayoutError

finite = st.floats(-1e6, 1e6)


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5).map(lambda s: (*s, 2)),
        elements=finite,
    )
)
def test_points_round_trip(points):
    Z = sx.from_points(points)
    assert Z.shape == points.shape[:-1]
    np.testing.assert_array_equal(sx.to_points(Z), points)


@pytest.mark.parametrize("layout", ["blocks", "interleaved"])
@given(
    table=hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 5).map(lambda n: 2 * n)), elements=finite)
)
def test_columns_round_trip(layout, table):
    np.testing.assert_array_equal(sx.to_columns(sx.from_columns(table, layout=layout), layout=layout), table)


def test_layouts():
    table = np.array([[1.0, 2, 3, 4, 5, 6]])
    np.testing.assert_array_equal(sx.from_columns(table, layout="blocks"), [[1 + 4j, 2 + 5j, 3 + 6j]])
    np.testing.assert_array_equal(sx.from_columns(table, layout="interleaved"), [[1 + 2j, 3 + 4j, 5 + 6j]])


def test_single_precision_stays():
    assert sx.from_points(np.ones((3, 2), np.float32)).dtype == np.complex64
    assert sx.from_columns(np.ones((3, 4), np.float32), "blocks").dtype == np.complex64
    assert sx.to_points(np.ones(3, np.complex64)).dtype == np.float32
    assert sx.to_columns(np.ones(3, np.complex64), "interleaved").dtype == np.float32
    assert sx.from_points(np.ones((3, 2), int)).dtype == np.complex128


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: sx.from_columns(np.ones((2, 4))), TypeError, "layout"),
        (lambda: sx.from_columns(np.ones((2, 4)), layout="block"), ValueError, "layout must be one of 'blocks', 'int"),
        (lambda: sx.from_columns(np.ones((2, 5)), layout="blocks"), RealLayoutError, "even number of columns"),
        (lambda: sx.from_points(np.ones((2, 5))), RealLayoutError, r"n_points, 2\), got \(2, 5\)"),
        (lambda: sx.from_points(np.ones((2, 2), complex)), ArrayTypeError, "points must be real"),
        (lambda: sx.to_points(np.ones((2, 2))), ArrayTypeError, "Z must be complex"),
        (lambda: sx.from_points([["a", "b"]]), ArrayTypeError, "got dtype <U1"),
        (lambda: sx.to_columns(1j, "blocks"), ArrayTypeError, "single number"),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
