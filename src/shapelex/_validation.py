"""Check arguments, and word the errors of those that cannot be used."""

import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from shapelex._arrays import is_foreign, to_numpy
from shapelex._messages import parameter
from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray
from shapelex.exceptions import (
    ArrayTypeError,
    CollapsedShapeError,
    CoordinateCountError,
    EmptySetError,
    NonFiniteError,
    ParameterError,
    ParameterTypeError,
    RealLayoutError,
    ShapeInputError,
)

_ROWS_NAMED = 5
# Types of entries whose configurations have single precision.
_SINGLE = (np.float16, np.float32, np.complex64)

_Function = TypeVar("_Function", bound=Callable[..., Any])


def removed_arguments(**instead: str) -> Callable[[_Function], _Function]:
    """Return a decorator that refuses arguments of earlier versions, and says what to use instead."""

    def refusing(function: _Function) -> _Function:
        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            refuse_removed(kwargs, instead)
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return refusing


def refuse_removed(given: Iterable[str], instead: Mapping[str, str]) -> None:
    """Refuse arguments of earlier versions, and say what to use instead."""
    for name in instead.keys() & set(given):
        raise ParameterTypeError(f"{name} was removed: {instead[name]}.")


def as_numeric_array(array: ArrayLike, name: str) -> np.ndarray[Any, Any]:
    """Return `array` as a NumPy array of numbers; refuse objects, text, booleans, masked entries."""
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.is_masked(array):
            masked = np.atleast_2d(np.ma.getmaskarray(array))
            bad = np.any(masked.reshape(len(masked), -1), axis=1)
            raise NonFiniteError(f"{name} has masked entries in {name_rows(bad)}: fill them or drop these rows.")
        array = array.data
    try:
        converted = to_numpy(array) if is_foreign(array) else np.asarray(array)
    except ValueError as error:
        raise ArrayTypeError(
            f"{name} must be a rectangular array of numbers, but its rows differ in length; "
            "give every shape the same number of points."
        ) from error
    check_number_type(converted.dtype, name)
    return converted


def check_number_type(dtype: np.dtype[Any], name: str) -> None:
    """Refuse arrays of objects, text, booleans or times."""
    if dtype.kind == "O":
        raise ArrayTypeError(
            f"{name} must be an array of numbers, got an object array (rows of different lengths, "
            "or values that are not numbers)."
        )
    if not np.issubdtype(dtype, np.number) or dtype.kind == "m":
        raise ArrayTypeError(f"{name} must be an array of numbers, got dtype {dtype}.")


def as_configurations(
    array: ArrayLike, *, name: str = "X", n_coordinates: int | None = None, first_row: int = 0
) -> tuple[ComplexArray, bool]:
    """Return configurations ``(K, N)``, and whether a single shape was given.

    Takes complex ``(K, N)`` or ``(N,)`` and real ``(K, N, 2)``. Finite values are checked here,
    once; a collapsed shape shows only after centering (see :func:`check_not_collapsed`). Errors count rows from
    `first_row`, that of a block of a larger set.
    """
    numeric = array if isinstance(array, np.ndarray) else as_numeric_array(array, name)
    configurations = as_complex_rows(numeric, name=name, n_coordinates=n_coordinates)
    check_finite(configurations, name, first_row)
    return configurations, numeric.ndim == 1


def as_complex_rows(array: ArrayLike, *, name: str = "X", n_coordinates: int | None = None) -> ComplexArray:
    """Return configurations ``(K, N)`` as :func:`as_configurations` does, NaN and infinite coordinates included."""
    is_plain = type(array) is np.ndarray and array.dtype.kind in "fc"
    numeric: Any = array if is_plain else as_numeric_array(array, name)
    n_found, dtype = layout_of(numeric, name)
    if n_coordinates is not None:
        check_coordinate_count(n_found, n_coordinates, name)
    if numeric.dtype.kind != "c":
        return points_to_complex(numeric)
    return np.ascontiguousarray(np.atleast_2d(numeric), dtype=dtype)


def layout_of(array: Any, name: str) -> tuple[int, np.dtype[Any]]:
    """Return the number of coordinates and the type of the configurations of an array of numbers, which is not read."""
    shape = tuple(array.shape)
    if shape[:1] == (0,):
        raise EmptySetError(f"{name} holds no shape: its shape is {shape}; give at least one.")
    is_complex = array.dtype.kind == "c"
    if not is_complex and len(shape) == 2:
        hint = f"from_points({name}) if it is one shape of {shape[0]} points, else " if shape[1] == 2 else ""
        raise RealLayoutError(
            f"{name} is a real array of shape {shape}, which does not say where x and y are. Convert it "
            f'first: {hint}from_columns({name}, layout="blocks") for columns x1..xN, y1..yN, or '
            'layout="interleaved" for x1, y1, .., xN, yN.'
        )
    if not is_complex and (len(shape) != 3 or shape[2] != 2):
        raise RealLayoutError(
            f"{name} must be complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2), "
            f"got a real array of shape {shape}; from_points or from_columns convert other layouts."
        )
    if is_complex and len(shape) not in (1, 2):
        raise ShapeInputError(
            f"{name} must be complex (n_shapes, n_coordinates), or one shape (n_coordinates,), "
            f"got a complex array of shape {shape}."
        )
    n_coordinates = shape[-1] if is_complex else shape[1]
    if n_coordinates == 0:
        raise CoordinateCountError(f"{name} holds shapes of no coordinates: its shape is {shape}.")
    return n_coordinates, np.dtype(np.complex64 if array.dtype in _SINGLE else np.complex128)


def points_to_complex(points: np.ndarray[Any, Any]) -> ComplexArray:
    """Return ``x + iy`` for real points ``(…, 2)``; single precision stays single."""
    configurations = np.empty(points.shape[:-1], dtype=np.complex64 if points.dtype in _SINGLE else np.complex128)
    configurations.real = points[..., 0]
    configurations.imag = points[..., 1]
    return configurations


def check_coordinate_count(n_found: int, n_expected: int, name: str, of: str = "space") -> None:
    """Refuse configurations of another number of coordinates than their space, or the first block of a collection."""
    if n_found != n_expected:
        fix = f"use a space of {n_found} coordinates, or other shapes" if of == "space" else "all blocks need the same"
        raise CoordinateCountError(f"{name} has {n_found} coordinates per shape, but the {of} has {n_expected}: {fix}.")


def as_incomplete_configurations(
    array: ArrayLike, *, name: str = "X", n_coordinates: int | None = None
) -> tuple[ComplexArray, BoolArray]:
    """Return landmarks ``(K, N)``, 0 where they are missing, and which ones are present.

    A landmark is missing where a coordinate is NaN. Every shape must have three, since fewer have no shape.
    """
    rows = as_complex_rows(array, name=name, n_coordinates=n_coordinates)
    check_finite(rows, name, allows_missing=True)
    present = ~np.isnan(rows)
    check_present(present, name)
    return np.where(present, rows, 0), present


def check_present(present: BoolArray, name: str, first_row: int = 0) -> None:
    """Refuse shapes of fewer than three landmarks."""
    too_few = np.count_nonzero(present, axis=1) < min(3, present.shape[1])
    if too_few.any():
        raise NonFiniteError(
            f"{name} has fewer than three landmarks in {name_rows(too_few, first_row)}, the others are NaN: too few "
            "for a shape; remove these rows."
        )


def check_finite(configurations: ComplexArray, name: str, first_row: int = 0, *, allows_missing: bool = False) -> None:
    """Refuse infinite coordinates, and NaN where that does not stand for a missing landmark."""
    # One sum is far cheaper than a mask; an overflow of finite values only costs the second look.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(configurations.sum()):
            return
    is_wrong = (np.isinf(configurations) if allows_missing else ~np.isfinite(configurations)).any(axis=1)
    if not is_wrong.any():
        return
    rows = name_rows(is_wrong, first_row)
    if allows_missing:
        raise NonFiniteError(
            f"{name} has infinite coordinates in {rows}: only NaN stands for a missing landmark; remove these shapes, "
            "or replace these coordinates by NaN."
        )
    has_nan, has_infinite = np.isnan(configurations).any(), np.isinf(configurations).any()
    word = "NaN or infinite coordinates" if has_nan and has_infinite else "NaN" if has_nan else "infinite coordinates"
    raise NonFiniteError(
        f"{name} has {word} in {rows}: remove these shapes"
        f"{', or fill in their missing landmarks by sx.impute' if has_nan else ', or correct them'}."
    )


def check_not_collapsed(sizes: FloatArray, extents: FloatArray, name: str, first_row: int = 0) -> None:
    """Refuse shapes whose `sizes` after centering are rounding errors of their `extents` before it, or denormal."""
    precision = np.finfo(sizes.dtype).eps
    collapsed = ~(sizes > 16 * precision * extents)
    if collapsed.any():
        raise CollapsedShapeError(
            f"{name} has collapsed shapes in {name_rows(collapsed, first_row)}: all their points coincide, so they "
            "have no shape; remove these rows."
        )
    least = np.finfo(sizes.dtype).tiny
    tiny = sizes < least
    if tiny.any():
        raise CollapsedShapeError(
            f"{name} has shapes in {name_rows(tiny, first_row)} of a size below {least:.2g}, the least number of full "
            f"precision in {sizes.dtype}: multiply the coordinates by a large number."
        )


def check_same_count(n_first: int, n_second: int, first: str, second: str) -> None:
    """Refuse two stacks that neither pair up row by row nor broadcast."""
    if n_first != n_second and 1 not in (n_first, n_second):
        raise ShapeInputError(
            f"{first} and {second} must have the same number of shapes, or one of them a single shape, "
            f"got {n_first} and {n_second}."
        )


def check_choice(value: str, choices: Iterable[str], name: str) -> None:
    """Refuse a `value` that is none of the `choices`."""
    known = tuple(choices)
    # Arrays would be compared entry by entry.
    if not (issubclass(type(value), str) and value in known):
        raise ParameterError(f"{_named(name)} must be one of {', '.join(map(repr, known))}, got {value!r}.")


def check_names(names: Iterable[str], known: Iterable[str], owner: str) -> None:
    """Refuse keyword arguments that `owner` does not have, and suggest the one that was probably meant."""
    choices = list(known)
    for name in names:
        if name not in choices:
            meant = did_you_mean(name, choices, parameter)
            raise ParameterTypeError(f"{owner} has no argument {name}{meant}; it has {', '.join(choices)}.")


def did_you_mean(name: str, known: Iterable[str], spelled: Callable[[str], str] = repr) -> str:
    """Ask in brackets for the known name that a misspelled one probably means; no text if there is none."""
    # "npoints" and "nPoints" both mean "n_points".
    plain = {choice.replace("_", "").lower(): choice for choice in known}
    close = get_close_matches(name.replace("_", "").lower(), plain, n=1, cutoff=0.7)
    return f" (did you mean {spelled(plain[close[0]])}?)" if close else ""


def check_count(value: int, minimum: int, name: str) -> int:
    """Refuse a number of things that is not an integer, or too small."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ParameterTypeError(f"{_named(name)} must be an integer, got {value!r}.")
    if value < minimum:
        raise ParameterError(f"{_named(name)} must be at least {minimum}, got {value}.")
    return int(value)


def check_number(value: float | str, name: str, expected: str = "a number") -> float:
    """Refuse what is not a number by saying what is expected; return it as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ParameterTypeError(f"{_named(name)} must be {expected}, got {value!r}.")
    return float(value)


def check_not_negative(value: float, name: str) -> float:
    """Refuse what is not a number, or negative, NaN or infinite."""
    if not (np.isfinite(check_number(value, name)) and value >= 0):
        raise ParameterError(f"{_named(name)} must be finite and not negative, got {value}.")
    return float(value)


def check_positive(value: float, name: str) -> float:
    """Refuse what is not a number, or not positive, NaN or infinite."""
    if not (np.isfinite(check_number(value, name)) and value > 0):
        raise ParameterError(f"{_named(name)} must be finite and positive, got {value}.")
    return float(value)


def check_flag(value: bool, name: str) -> bool:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterTypeError(f"{_named(name)} must be True or False, got {value!r}.")
    return bool(value)


def check_sample_weight(values: ArrayLike, n_samples: int, name: str = "sample_weight") -> FloatArray:
    """Return a copy of finite weights that are not negative, one per shape, some of them positive."""
    given = as_numeric_array(values, name)
    if given.shape != (n_samples,) or np.iscomplexobj(given):
        raise ShapeInputError(
            f"{name} must be {n_samples} real numbers, one per shape, got shape {given.shape}, dtype {given.dtype}."
        )
    # A copy: arrays of users may be read-only, for which kernels would be compiled again and torch warns.
    weights: FloatArray = np.array(given, dtype=np.float64)
    usable = np.isfinite(weights) & (weights >= 0)
    if not usable.all():
        raise ShapeInputError(f"{name} must be finite and not negative, but is not in {name_rows(~usable)}.")
    if not weights.any():
        raise ShapeInputError(f"{name} is all zero: at least one shape must count.")
    return weights


def check_weights(weights: ArrayLike | None, n_samples: int, dtype: np.dtype[Any], name: str = "weights") -> FloatArray:
    """Return non-negative sample weights that sum to one."""
    if weights is None:
        return np.full(n_samples, 1.0 / n_samples, dtype=dtype)
    values = check_sample_weight(weights, n_samples, name)
    # Dividing by the largest first keeps the sum finite for any finite weights.
    values /= values.max()
    shares: FloatArray = (values / values.sum()).astype(dtype)
    return shares


def _named(name: str) -> str:
    """Mark the name of a parameter; a description stays as it is, with the marks that it has."""
    return parameter(name) if name.isidentifier() else name


def name_rows(is_bad: BoolArray | np.bool_, first_row: int = 0) -> str:
    """Say which rows are bad, the first few by number, counted from `first_row`."""
    bad = np.flatnonzero(is_bad) + first_row
    named = ", ".join(str(row) for row in bad[:_ROWS_NAMED])
    more = f" and {bad.size - _ROWS_NAMED} more" if bad.size > _ROWS_NAMED else ""
    return f"row{'s' if bad.size > 1 else ''} {named}{more}"


def is_data_frame(value: Any) -> bool:
    """Return whether this is a pandas data frame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)
