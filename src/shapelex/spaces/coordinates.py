"""Convert points and table columns to configurations and back."""

from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ColumnLayout, ComplexArray, FloatArray
from shapelex._validation import as_numeric_array, check_choice, points_to_complex
from shapelex.exceptions import ArrayTypeError, RealLayoutError

_LAYOUTS = ("blocks", "interleaved")


def from_points(points: ArrayLike) -> ComplexArray:
    """Return the configurations ``x + iy`` of real points.

    Parameters
    ----------
    points : array_like of float, shape (..., n_points, 2)
        Points with x and y on the last axis; float32 gives complex64.

    Returns
    -------
    ndarray of complex, shape (..., n_points)
        The configurations.

    Raises
    ------
    RealLayoutError
        If the last axis does not hold x and y.

    Examples
    --------
    >>> from_points([[0, 0], [1, 0], [0, 2]])
    array([0.+0.j, 1.+0.j, 0.+2.j])
    """
    array = _as_real(points, "points")
    if array.ndim < 2 or array.shape[-1] != 2:
        raise RealLayoutError(f"points must have shape (..., n_points, 2), got {array.shape}.")
    return points_to_complex(array)


def to_points(Z: ArrayLike) -> FloatArray:
    """Return the real points of configurations, with x and y on a new last axis.

    Parameters
    ----------
    Z : array_like of complex, shape (..., n_coordinates)
        Configurations.

    Returns
    -------
    ndarray of float, shape (..., n_coordinates, 2)
        Their coordinates; complex64 gives float32.

    Examples
    --------
    >>> to_points([1 + 2j, 3 - 1j])
    array([[ 1.,  2.],
           [ 3., -1.]])
    """
    array = as_numeric_array(Z, "Z")
    if not np.iscomplexobj(array):
        raise ArrayTypeError(f"Z must be complex configurations, got dtype {array.dtype}.")
    if array.ndim < 1:
        raise ArrayTypeError("Z must have at least one axis, got a single number.")
    return np.stack([array.real, array.imag], axis=-1)


def from_columns(X: ArrayLike, layout: ColumnLayout) -> ComplexArray:
    """Return the configurations held by a table with one row per shape.

    Parameters
    ----------
    X : array_like of float, shape (..., 2 * n_points)
        The table. float32 gives complex64.
    layout : {"blocks", "interleaved"}
        ``"blocks"`` for columns ``x1 .. xN y1 .. yN``, ``"interleaved"`` for ``x1 y1 .. xN yN``. There is
        no default: a table read in the wrong layout gives wrong shapes and no error.

    Returns
    -------
    ndarray of complex, shape (..., n_points)
        The configurations.

    Raises
    ------
    RealLayoutError
        If the number of columns is odd.

    Examples
    --------
    >>> from_columns([[0, 1, 5, 6]], layout="blocks")
    array([[0.+5.j, 1.+6.j]])
    >>> from_columns([[0, 1, 5, 6]], layout="interleaved")
    array([[0.+1.j, 5.+6.j]])
    """
    check_choice(layout, _LAYOUTS, "layout")
    array = _as_real(X, "X")
    if array.ndim < 1 or array.shape[-1] % 2:
        raise RealLayoutError(
            f"X must have an even number of columns (x and y of each point), got shape {array.shape}."
        )
    is_blocks, n_points = layout == "blocks", array.shape[-1] // 2
    split = array.reshape(*array.shape[:-1], *((2, n_points) if is_blocks else (n_points, 2)))
    return points_to_complex(split.swapaxes(-1, -2) if is_blocks else split)


def to_columns(Z: ArrayLike, layout: ColumnLayout) -> FloatArray:
    """Return configurations as a real table with one row per shape.

    Parameters
    ----------
    Z : array_like of complex, shape (..., n_coordinates)
        Configurations.
    layout : {"blocks", "interleaved"}
        The order of columns, as in :func:`from_columns`.

    Returns
    -------
    ndarray of float, shape (..., 2 * n_coordinates)
        The table; complex64 gives float32.

    Examples
    --------
    >>> to_columns([1 + 2j, 3 - 1j], layout="blocks")
    array([ 1.,  3.,  2., -1.])
    """
    check_choice(layout, _LAYOUTS, "layout")
    points = to_points(Z)
    ordered = points.swapaxes(-1, -2) if layout == "blocks" else points
    return ordered.reshape(*points.shape[:-2], 2 * points.shape[-2])


def _as_real(array: ArrayLike, name: str) -> np.ndarray[Any, Any]:
    converted = as_numeric_array(array, name)
    if np.iscomplexobj(converted):
        raise ArrayTypeError(f"{name} must be real, got dtype {converted.dtype}: it holds configurations already.")
    return converted
