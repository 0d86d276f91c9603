"""What a dictionary does with Dask arrays; ``ShapeDictionary`` hands them over to these functions.

In come a dictionary and a Dask array; out go a source of shapes to learn from, and codes and errors that are not
computed yet, in the chunks of the array.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_coordinate_count
from shapelex.coding import SparseCodes, decode, residual_norms
from shapelex.coding.threads import single_blas_thread
from shapelex.distributed.chunks import Chunks, as_rows
from shapelex.distributed.codes import DaskCodes, stack
from shapelex.distributed.passes import DaskRows
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.base import choose_space

if TYPE_CHECKING:
    from shapelex.estimators import ShapeDictionary


def open_source(X: Any, space: Space | None, sample_weight: ArrayLike | None) -> tuple[DaskRows, Space]:
    """Shapes of a Dask array, to learn from.

    Parameters
    ----------
    X : dask.array.Array, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
        Configurations.
    space : Space or None
        Their space; landmarks when not given.
    sample_weight : array_like of float, shape (n_shapes,), optional
        How much each shape counts.

    Returns
    -------
    source : DaskRows
        The shapes.
    space : Space
        Their space.
    """
    chunks = Chunks.of(X)
    in_space = choose_space(space, X) or Landmarks(chunks.n_coordinates)
    in_space.check_space_of(X, "X")
    check_coordinate_count(chunks.n_coordinates, in_space.n_coordinates, "X")
    return DaskRows(chunks, in_space, sample_weight), in_space


def encode(model: "ShapeDictionary", X: Any) -> DaskCodes:
    """Codes of a Dask array.

    Parameters
    ----------
    model : ShapeDictionary
        Fitted.
    X : dask.array.Array
        Configurations.

    Returns
    -------
    DaskCodes
        Not computed.
    """
    chunks, blocks = _map_chunks(model, X, _encode_chunk)
    dtype = np.result_type(chunks.dtype, model.atoms_.dtype)
    return DaskCodes(blocks, chunks.sizes, model.n_nonzero, len(model.atoms_), dtype)


def errors(model: "ShapeDictionary", X: Any) -> Any:
    """Full distances of the shapes of a Dask array to their reconstructions.

    Parameters
    ----------
    model : ShapeDictionary
        Fitted.
    X : dask.array.Array
        Configurations.

    Returns
    -------
    dask.array.Array of float, shape (n_shapes,)
        Not computed.
    """
    chunks, blocks = _map_chunks(model, X, _errors_chunk)
    dtype = np.empty(0, dtype=np.result_type(chunks.dtype, model.atoms_.dtype)).real.dtype
    return stack(blocks, chunks.sizes, (), dtype)


def reconstruct(model: "ShapeDictionary", X: Any) -> Any:
    """Approximations of the shapes of a Dask array.

    Parameters
    ----------
    model : ShapeDictionary
        Fitted.
    X : dask.array.Array
        Configurations.

    Returns
    -------
    dask.array.Array of complex, shape (n_shapes, n_coordinates)
        Not computed.
    """
    chunks, blocks = _map_chunks(model, X, _reconstruct_chunk)
    dtype = np.result_type(chunks.dtype, model.atoms_.dtype)
    return stack(blocks, chunks.sizes, (chunks.n_coordinates,), dtype)


def _map_chunks(model: "ShapeDictionary", X: Any, work: Any) -> tuple[Chunks, list[Any]]:
    import dask

    model.space_.check_space_of(X, "X")
    chunks = Chunks.of(X)
    check_coordinate_count(chunks.n_coordinates, model.space_.n_coordinates, "X")
    shared = dask.delayed(model, traverse=False)
    task = dask.delayed(work, pure=False)
    return chunks, [task(block, start, shared) for block, start in zip(chunks.blocks, chunks.starts, strict=False)]


def _code_chunk(chunk: Any, first_row: int, model: "ShapeDictionary") -> tuple[ComplexArray, SparseCodes]:
    with single_blas_thread():
        rows = model.space_.whitened_preshapes(as_rows(chunk), "X", first_row=first_row)
        return rows, model._encode(rows, n_threads=1)


def _encode_chunk(chunk: Any, first_row: int, model: "ShapeDictionary") -> SparseCodes:
    return _code_chunk(chunk, first_row, model)[1]


def _errors_chunk(chunk: Any, first_row: int, model: "ShapeDictionary") -> FloatArray:
    rows, codes = _code_chunk(chunk, first_row, model)
    return residual_norms(rows, model._atom_rows(), codes)


def _reconstruct_chunk(chunk: Any, first_row: int, model: "ShapeDictionary") -> ComplexArray:
    return decode(_code_chunk(chunk, first_row, model)[1], model.atoms_)
