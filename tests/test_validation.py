"""Bad input at the border: each its own error, with words that help."""

import numpy as np
import pytest

import shapelex as sx
from shapelex._validation import as_configurations, check_weights
from shapelex.exceptions import (
    ArrayTypeError,
    CoordinateCountError,
    EmptySetError,
    NonFiniteError,
    RealLayoutError,
    ShapeInputError,
    ShapelexError,
)

SPACE = sx.Landmarks(4)


@pytest.fixture
def good(rng):
    return rng.normal(size=(9, 4)) + 1j * rng.normal(size=(9, 4))


def test_accepted_forms_agree(good):
    expected = SPACE.preshape(good)
    points = sx.to_points(good)
    for form in (good, good.tolist(), np.asfortranarray(good), good[::-1][::-1], points, points.tolist()):
        np.testing.assert_array_equal(SPACE.preshape(form), expected)
    np.testing.assert_allclose(SPACE.preshape(good[0]), expected[0], rtol=1e-14)
    np.testing.assert_array_equal(SPACE.preshape(np.ma.masked_array(good, mask=False)), expected)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.complex64, np.complex64),
        (np.complex128, np.complex128),
        (np.clongdouble, np.complex128),
        (np.float16, np.complex64),
        (np.float32, np.complex64),
        (np.float64, np.complex128),
        (np.int32, np.complex128),
        (np.uint8, np.complex128),
    ],
)
def test_precision(dtype, expected):
    array = (
        np.arange(24).reshape(3, 4, 2).astype(dtype)
        if np.dtype(dtype).kind != "c"
        else np.arange(12).reshape(3, 4).astype(dtype)
    )
    rows, _ = as_configurations(array)
    assert rows.dtype == expected
    assert rows.flags.c_contiguous


def test_real_two_dimensional_arrays_are_refused_with_the_way_out():
    with pytest.raises(
        RealLayoutError, match=r'real array of shape \(5, 8\).*from_columns\(Z, layout="blocks"\).*"interleaved"'
    ):
        SPACE.preshape(np.ones((5, 8)))
    with pytest.raises(RealLayoutError, match=r"from_points\(Z\) if it is one shape of 4 points"):
        SPACE.preshape(np.ones((4, 2)))
    for shape in ((4,), (3, 4, 3), (2, 3, 4, 2)):
        with pytest.raises(RealLayoutError, match=r"complex \(n_shapes, n_coordinates\) or real"):
            SPACE.preshape(np.ones(shape))


def test_not_numbers():
    with pytest.raises(ArrayTypeError, match="rows differ in length"):
        SPACE.preshape([[1j, 2, 3, 4], [1j, 2]])
    with pytest.raises(ArrayTypeError, match="object array"):
        SPACE.preshape(np.array([[1j, None, 2, 3]]))
    with pytest.raises(ArrayTypeError, match="got dtype <U"):
        SPACE.preshape(np.array(["leaf"]))
    with pytest.raises(ArrayTypeError, match="got dtype timedelta64"):
        sx.from_points(np.ones((3, 2), "m8[s]"))
    with pytest.raises(ArrayTypeError, match="got dtype bool"):
        SPACE.preshape(np.ones((3, 4, 2), bool))


def test_not_finite(good):
    good[[1, 4], 2] = np.nan
    with pytest.raises(NonFiniteError, match="Z has NaN in rows 1, 4: remove"):
        SPACE.preshape(good)
    good[good != good] = np.inf
    with pytest.raises(NonFiniteError, match="infinite coordinates in rows 1, 4"):
        SPACE.preshape(good)
    good[:, 0] = complex(0, np.nan)
    with pytest.raises(NonFiniteError, match="rows 0, 1, 2, 3, 4 and 4 more"):
        SPACE.preshape(good)
    with pytest.raises(NonFiniteError, match="masked entries in row 0:"):
        SPACE.preshape(np.ma.masked_array(np.ones(4, complex), mask=[0, 0, 1, 0]))
    with pytest.raises(NonFiniteError, match="NaN or infinite coordinates in rows 0, 1"):
        SPACE.preshape(np.array([[np.nan, 1, 2, 3j], [np.inf, 1, 2, 3j]]))
    with pytest.raises(NonFiniteError, match="masked entries in row 2:"):
        SPACE.preshape(np.ma.masked_array(np.ones((3, 4), complex), mask=np.eye(3, 4) * [[0], [0], [1]]))


def test_finite_values_whose_sum_overflows_are_fine():
    Z = np.full((3, 4), 1e308 + 0j)
    Z[:, 1:] = 0
    rows, _ = as_configurations(Z)
    assert np.isfinite(rows).all()


def test_empty_and_wrong_sizes():
    with pytest.raises(EmptySetError, match=r"holds no shape: its shape is \(0, 4\)"):
        SPACE.preshape(np.empty((0, 4), complex))
    for empty in (np.empty((0, 4, 2)), [], np.empty((0, 4))):
        with pytest.raises(EmptySetError):
            sx.mean_shape(empty)
    with pytest.raises(CoordinateCountError, match="has 5 coordinates per shape, but the space has 4"):
        SPACE.preshape(np.ones((2, 5), complex))
    with pytest.raises(CoordinateCountError, match="no coordinates"):
        as_configurations(np.empty((2, 0), complex))
    with pytest.raises(ShapeInputError, match=r"complex array of shape \(1, 2, 4\)"):
        SPACE.preshape(np.ones((1, 2, 4), complex))


def test_errors_are_caught_as_built_in_ones():
    for array, builtin in ((np.ones((5, 8)), ValueError), (np.array([None]), TypeError)):
        with pytest.raises(builtin) as caught:
            SPACE.preshape(array)
        assert isinstance(caught.value, ShapelexError)


def test_weights():
    np.testing.assert_allclose(check_weights(None, 4, np.dtype(float)), 0.25)
    np.testing.assert_allclose(check_weights([1, 3], 2, np.dtype(float)), [0.25, 0.75])
    np.testing.assert_allclose(check_weights([1e308, 1e308], 2, np.dtype(float)), 0.5)
    for weights, message in (
        ([1, 2, 3], "weights must be 2 real numbers"),
        ([1, -1], "row 1"),
        ([np.nan, 1], "row 0"),
        ([0, 0], "all zero"),
        ([1j, 1], "real"),
    ):
        with pytest.raises(ShapeInputError, match=message):
            check_weights(weights, 2, np.dtype(float))
