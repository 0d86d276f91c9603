"""Opens anything that a user may pass as shapes as a collection."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from shapelex._arrays import is_foreign, is_tensor, to_numpy
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_complex_rows, as_configurations, as_numeric_array, is_data_frame, name_rows
from shapelex.exceptions import ArrayTypeError, ShapeInputError
from shapelex.shapes.collection import ArrayShapes, Shapes
from shapelex.shapes.stored import FileShapes, ListShapes, is_mapped
from shapelex.shapes.stream import StreamShapes
from shapelex.shapes.tensors import TensorShapes
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.base import choose_space

# Sums of weighted squares stay far from overflow and underflow, in single precision too.
_WEIGHT_RANGE = 1e12


def as_shapes(X: Any, space: Space | None = None, sample_weight: ArrayLike | None = None, name: str = "X") -> Shapes:
    """Return a collection of the given shapes; outside memory, only what gives the number of shapes is read.

    Takes arrays, memory maps, Zarr arrays, HDF5 datasets, Dask arrays, lists of arrays that each hold some of the
    shapes, functions that return an iterator of such arrays, objects that can be iterated repeatedly over such arrays,
    sets of shapes over any of these, pandas data frames, and collections themselves. The space is `space`, or that of
    the set when none is given, or landmarks; a set in another space is refused. A generator is refused, as it gives its
    blocks only once. A set says whether landmarks may be missing; in anything else NaN is an error.
    """
    allows_missing = _is_set(X) and getattr(X, "missing", "error") == "allow"
    if is_data_frame(X):
        from shapelex.shapes.shapeset import ShapeSet

        X = ShapeSet.from_dataframe(X, closed=space.closed if isinstance(space, Landmarks) else None, missing="allow")
    chosen = choose_space(space, X)
    if chosen is not None:
        chosen.check_space_of(X, name)
    shapes = copy(X) if isinstance(X, Shapes) else _open(_unwrapped(X), chosen, name)
    shapes.allows_missing |= allows_missing
    if sample_weight is not None:
        shapes.weights = _check_sample_weight(sample_weight, len(shapes))
    return shapes


def read_configurations(X: Any, space: Space | None = None, name: str = "X") -> tuple[ComplexArray, Space]:
    """Return configurations in memory, checked to be finite, and their space; see :func:`as_shapes`."""
    shapes = as_shapes(X, space, name=name)
    return as_configurations(shapes[:], name=name)[0], shapes.space


def _unwrapped(X: Any) -> Any:
    """Return the configurations of a set of shapes."""
    return getattr(X, "configurations", X) if _is_set(X) else X


def _is_set(X: Any) -> bool:
    return isinstance(getattr(X, "space", None), Space) and not isinstance(X, Shapes)


def is_dask_collection(X: Any) -> bool:
    """Return whether this is a Dask collection, or a set of shapes over one, without importing Dask."""
    return type(_unwrapped(X)).__module__.partition(".")[0] == "dask"


def _open(X: Any, space: Space | None, name: str) -> Shapes:
    if is_dask_collection(X):
        from shapelex.shapes.dask import DaskShapes

        return DaskShapes(X, space, name)
    if is_foreign(X):
        if is_tensor(X) and X.device.type != "cpu" and X.ndim > 1 and len(X):
            return TensorShapes(X, space, name)
        return ArrayShapes(as_complex_rows(X, name=name), space, name=name)
    is_array = isinstance(X, np.ndarray) or _is_chunked_array(X)
    # A single shape, or none, is left to the checks of ordinary arrays.
    if is_array and len(X.shape) > 1 and (not isinstance(X, np.ndarray) or is_mapped(X)):
        return FileShapes(X, space, name)
    if is_array or hasattr(X, "__array__") or hasattr(X, "__array_interface__"):
        return ArrayShapes(as_complex_rows(X, name=name), space, name=name)
    if isinstance(X, list | tuple) and X and all(map(_is_block, X)):
        return ListShapes([to_numpy(block) if is_foreign(block) else block for block in X], space, name)
    if isinstance(X, Iterator):
        raise ArrayTypeError(
            f"{name} is a {type(X).__name__}, which gives its blocks only once, but they are needed repeatedly: "
            f"give the function that makes it, an object with an __iter__ that starts again, or a list of arrays."
        )
    if callable(X) and not isinstance(X, type):
        return StreamShapes(lambda: iter(X()), space, name)
    if _gives_blocks(X):
        return StreamShapes(lambda: iter(X), space, name)
    return ArrayShapes(as_complex_rows(X, name=name), space, name=name)


def _is_chunked_array(X: Any) -> bool:
    return hasattr(X, "chunks") and hasattr(X, "__getitem__") and isinstance(getattr(X, "dtype", None), np.dtype)


def _is_block(block: Any) -> bool:
    """Return whether this is an array of several shapes, and not a row or a shape of one array."""
    if is_foreign(block):
        return len(block.shape) == (2 if "complex" in str(block.dtype) else 3)
    if not isinstance(block, np.ndarray) and not _is_chunked_array(block):
        return False
    return len(block.shape) == (2 if block.dtype.kind == "c" else 3)


def _gives_blocks(X: Any) -> bool:
    if isinstance(X, str | bytes | dict | set | list | tuple) or not hasattr(X, "__iter__"):
        return False
    return not hasattr(X, "__len__") or _is_block(next(iter(X), None))


def _check_sample_weight(sample_weight: ArrayLike, n_shapes: int) -> FloatArray:
    weights = as_numeric_array(sample_weight, "sample_weight")
    if weights.shape != (n_shapes,) or np.iscomplexobj(weights):
        raise ShapeInputError(
            f"sample_weight must be {n_shapes} real numbers, one per shape, got shape {weights.shape}, "
            f"dtype {weights.dtype}."
        )
    # A copy: arrays of users may be read-only, for which kernels would be compiled again and torch warns.
    checked: FloatArray = np.array(weights, dtype=np.float64)
    usable = np.isfinite(checked) & (checked >= 0)
    if not usable.all():
        raise ShapeInputError(f"sample_weight must be finite and not negative, but is not in {name_rows(~usable)}.")
    largest = float(checked.max())
    if largest == 0:
        raise ShapeInputError("sample_weight is all zero: at least one shape must count.")
    if not 1 / _WEIGHT_RANGE <= largest <= _WEIGHT_RANGE:
        raise ShapeInputError(
            f"the largest sample_weight must lie between {1 / _WEIGHT_RANGE:g} and {_WEIGHT_RANGE:g}, got {largest:g}: "
            "divide all weights by it."
        )
    return checked
