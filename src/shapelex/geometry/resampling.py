"""Resample polylines at equal steps of arc length."""

from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import as_numeric_array, check_count, check_flag, points_to_complex
from shapelex.exceptions import CollapsedShapeError, EmptySetError, NonFiniteError, ShapeInputError


def resample(polylines: ArrayLike, n_points: int, *, closed: bool) -> ComplexArray:
    """Return points at equal steps along polylines, by linear interpolation.

    Parameters
    ----------
    polylines : array_like or sequence of array_like
        One polyline, complex (n_vertices,) or real (n_vertices, 2); a stack of them, complex (n_shapes, n_vertices) or
        real (n_shapes, n_vertices, 2); or a list of polylines, which may differ in their numbers of vertices. Vertices
        that repeat the one before change nothing, nor does a closed polyline that repeats its first vertex at the end.
    n_points : int
        How many points to return, at least 2 for open polylines and 3 for closed ones.
    closed : bool
        Whether the last vertex is joined to the first. There is no default: an outline taken for an open curve would
        lose an edge, and no error would tell. An open polyline keeps both its ends exactly, a closed one its first
        vertex.

    Returns
    -------
    ndarray of complex, shape (n_shapes, n_points) or (n_points,)
        The points; complex64 where all input is single precision.

    Raises
    ------
    NonFiniteError
        If a vertex is NaN or infinite.
    CollapsedShapeError
        If all vertices of a polyline coincide, so that it has no length, or its length is below the smallest number of
        full precision.
    ShapeInputError
        If a polyline has too few vertices, or is not a list of points in the plane.

    Examples
    --------
    >>> resample([0, 1, 1 + 1j, 1j], 8, closed=True)
    array([0. +0.j , 0.5+0.j , 1. +0.j , 1. +0.5j, 1. +1.j , 0.5+1.j ,
           0. +1.j , 0. +0.5j])
    >>> resample([[0, 1, 4], [0j, 2, 1j]], 3, closed=False)[0]
    array([0.+0.j, 2.+0.j, 4.+0.j])
    """
    is_closed = check_flag(closed, "closed")
    kind, n_least = ("a closed polyline", 3) if is_closed else ("an open polyline", 2)
    n_wanted = check_count(n_points, n_least, f"n_points of {kind}")
    lines, is_single = _as_polylines(polylines)
    if not lines:
        raise EmptySetError("polylines is empty: give at least one.")
    points = np.empty((len(lines), n_wanted), dtype=np.result_type(*(line.dtype for line in lines)))
    for row, line in enumerate(lines):
        name = "polylines" if is_single else f"polylines[{row}]"
        if len(line) < n_least:
            raise ShapeInputError(f"{name} has {len(line)} vertices, but {kind} needs at least {n_least}.")
        bad = np.flatnonzero(~np.isfinite(line))
        if bad.size:
            named = ", ".join(map(str, bad[:5])) + (f" and {bad.size - 5} more" if bad.size > 5 else "")
            raise NonFiniteError(f"{name} has NaN or infinite vertices at {named}: remove or fill them in first.")
        points[row] = resample_polyline(line, n_wanted, is_closed, name)
    return points[0] if is_single else points


def resample_polyline(line: ComplexArray, n_points: int, closed: bool, name: str = "polyline") -> ComplexArray:
    """Return `n_points` points at equal steps along one polyline of finite vertices, from the first vertex on."""
    vertices = np.append(line, line[0]) if closed else line
    vertices = vertices.astype(np.complex128, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(vertices)))])
    total = lengths[-1]
    if not np.isfinite(total):
        raise ShapeInputError(f"{name} has coordinates so large that its length overflows: scale it down.")
    if total == 0:
        raise CollapsedShapeError(f"{name} has no length: all its {len(line)} vertices coincide; remove it.")
    precision = np.finfo(line.dtype)
    if total < precision.tiny:
        raise CollapsedShapeError(
            f"{name} has a length below {precision.tiny:.2g}, the least number of full precision in {precision.dtype}: "
            "multiply the coordinates by a large number."
        )
    at = np.arange(n_points) / (n_points if closed else n_points - 1) * total
    points = np.empty(n_points, dtype=np.complex128)
    points.real = np.interp(at, lengths, vertices.real)
    points.imag = np.interp(at, lengths, vertices.imag)
    if not closed:
        # The sum of the edges may end a rounding error before its last vertex.
        points[-1] = vertices[-1]
    return points


def _as_polylines(polylines: Any) -> tuple[list[ComplexArray], bool]:
    """Return complex polylines, and whether a single one was given."""
    is_list = isinstance(polylines, list | tuple)
    nested_lengths = {len(line) for line in polylines if isinstance(line, list | tuple)} if is_list else set()
    has_arrays = is_list and any(np.ndim(line) > 0 for line in polylines if not isinstance(line, list | tuple))
    if not has_arrays and len(nested_lengths) <= 1:
        polylines = as_numeric_array(polylines, "polylines")
        if polylines.size and polylines.ndim < (2 if np.iscomplexobj(polylines) else 3):
            return [_as_one_polyline(polylines, "polylines")], True
    return [_as_one_polyline(line, f"polylines[{row}]") for row, line in enumerate(polylines)], False


def _as_one_polyline(line: Any, name: str) -> ComplexArray:
    array = as_numeric_array(line, name)
    if np.iscomplexobj(array) and array.ndim == 1:
        return array.astype(np.complex64 if array.dtype == np.complex64 else np.complex128, copy=False)
    if not np.iscomplexobj(array) and array.ndim == 2 and array.shape[1] == 2:
        return points_to_complex(array)
    kind = "complex" if np.iscomplexobj(array) else "real"
    raise ShapeInputError(
        f"{name} must be complex (n_vertices,) or real (n_vertices, 2), got a {kind} array of shape {array.shape}; "
        "from_columns converts tables of coordinates."
    )
