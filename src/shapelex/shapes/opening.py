"""Open anything that a user may pass as shapes as a collection."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from shapelex._arrays import is_foreign, is_tensor, to_numpy
from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import as_complex_rows, as_configurations, check_sample_weight, is_data_frame
from shapelex.exceptions import ArrayTypeError, ParameterTypeError, ShapeInputError
from shapelex.shapes import storage
from shapelex.shapes.storage import ArrayShapes, Shapes, is_chunked, is_mapped
from shapelex.spaces import Landmarks, Space

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
    is_frame = not isinstance(X, np.ndarray) and is_data_frame(X)
    if is_frame:
        from shapelex.shapes.set import ShapeSet

        X = ShapeSet.from_dataframe(X, closed=space.closed if isinstance(space, Landmarks) else None, missing="allow")
    chosen = choose_space(space, X)
    if chosen is not None:
        chosen.check_space_of(X, name)
    is_set = isinstance(getattr(X, "space", None), Space) and not isinstance(X, Shapes)
    shapes = open_storage(getattr(X, "configurations", X) if is_set else X, chosen, name)
    shapes.allows_missing |= not is_frame and getattr(X, "missing", "error") == "allow"
    if sample_weight is not None:
        shapes.weights = check_sample_weight(sample_weight, len(shapes))
        largest = float(shapes.weights.max())
        if not 1 / _WEIGHT_RANGE <= largest <= _WEIGHT_RANGE:
            raise ShapeInputError(
                f"the largest sample_weight must lie between {1 / _WEIGHT_RANGE:g} and {_WEIGHT_RANGE:g}, got "
                f"{largest:g}: divide all weights by it."
            )
    return shapes


def read_configurations(X: Any, space: Space | None = None, name: str = "X") -> tuple[ComplexArray, Space]:
    """Return configurations in memory, checked to be finite, and their space; see :func:`as_shapes`."""
    shapes = as_shapes(X, space, name=name)
    return as_configurations(shapes[:], name=name)[0], shapes.space


def choose_space(space: Space | None, Z: ArrayLike) -> Space | None:
    """Return `space`, or that of a set of shapes `Z` when none is given; None leaves it to the caller."""
    if space is None:
        own = getattr(Z, "space", None)
        return own if isinstance(own, Space) else None
    if not isinstance(space, Space):
        raise ParameterTypeError(
            f"{parameter('space')} must be a space such as BSpline(40), or None for landmarks, got {space!r}."
        )
    return space


def open_storage(X: Any, space: Space | None, name: str) -> Shapes:
    """Return anything that holds shapes as a collection; see :func:`as_shapes`."""
    if isinstance(X, np.ndarray) and X.ndim > 1 and not is_mapped(X):
        return ArrayShapes(as_complex_rows(X, name=name), space, name=name)
    if isinstance(X, Shapes):
        return X.in_space(X.space if space is None else space)
    # Dask is not imported to find out whether it is there.
    if type(X).__module__.partition(".")[0] == "dask":
        from shapelex.shapes.dask import DaskShapes

        return DaskShapes(X, space, name)
    if is_tensor(X) and X.device.type != "cpu" and X.ndim > 1 and len(X):
        return storage.TensorShapes(X, space, name)
    is_in_file = is_mapped(X) or (is_chunked(X) and not is_foreign(X))
    # One shape alone, or none, is left to the checks of arrays.
    if is_in_file and len(X.shape) > 1:
        return storage.FileShapes(X, space, name)
    if is_in_file or is_foreign(X) or hasattr(X, "__array__") or hasattr(X, "__array_interface__"):
        return ArrayShapes(as_complex_rows(X, name=name), space, name=name)
    if isinstance(X, list | tuple) and X and all(map(_is_block, X)):
        # A Zarr array has no length. Tensors are copied to the host once, and not in every pass.
        held = {n: to_numpy(block) if is_tensor(block) else block for n, block in enumerate(X) if block.shape[0]}
        return storage.ListShapes([open_storage(held[n], None, f"{name}[{n}]") for n in held], space, name)
    if isinstance(X, Iterator):
        raise ArrayTypeError(
            f"{name} is a {type(X).__name__}, which gives its blocks only once, but they are needed repeatedly: "
            f"give the function that makes it, an object with an __iter__ that starts again, or a list of arrays."
        )
    if callable(X) and not isinstance(X, type):
        return storage.StreamShapes(lambda: iter(X()), space, name)
    if _gives_blocks(X):
        return storage.StreamShapes(lambda: iter(X), space, name)
    return ArrayShapes(as_complex_rows(X, name=name), space, name=name)


def _is_block(block: Any) -> bool:
    """Return whether this is an array of several shapes, and not a row or a shape of one array."""
    if not (isinstance(block, np.ndarray) or is_chunked(block) or is_foreign(block)):
        return False
    return len(block.shape) == (2 if "complex" in str(block.dtype) else 3)


def _gives_blocks(X: Any) -> bool:
    if isinstance(X, str | bytes | dict | set | list | tuple) or not hasattr(X, "__iter__"):
        return False
    return not hasattr(X, "__len__") or _is_block(next(iter(X), None))
