"""What a dictionary does with Dask arrays; ``ShapeDictionary`` hands them over to these functions.

In come a dictionary and a Dask array; out go a source of shapes to learn from, and codes and errors that are not
computed yet, in the chunks of the array.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_coordinate_count
from shapelex.coding import SparseCodes, decode, residual_norms
from shapelex.coding.dask_codes import DaskCodes, stack
from shapelex.coding.threads import single_blas_thread
from shapelex.estimators.block_coding import CodedBlock
from shapelex.learning.dask_passes import DaskRows
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.base import choose_space
from shapelex.spaces.dask_chunks import Chunks, as_rows
from shapelex.store.code_files import open_codes_writer

if TYPE_CHECKING:
    from shapelex.estimators.fitted_dictionary import FittedDictionary

# Chunks of codes that are held here, for every thread of the cluster.
_CHUNKS_AHEAD = 2


def open_source(X: Any, space: Space | None, sample_weight: ArrayLike | None, device: str) -> tuple[DaskRows, Space]:
    """Shapes of a Dask array, to learn from.

    Parameters
    ----------
    X : dask.array.Array, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
        Configurations.
    space : Space or None
        Their space; landmarks when not given.
    sample_weight : array_like of float, shape (n_shapes,), optional
        How much each shape counts.
    device : str
        Device of the workers that makes the passes.

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
    return DaskRows(chunks, in_space, sample_weight, device), in_space


def encode(model: "FittedDictionary", X: Any) -> DaskCodes:
    """Codes of a Dask array.

    Parameters
    ----------
    model : FittedDictionary
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


def errors(model: "FittedDictionary", X: Any) -> Any:
    """Full distances of the shapes of a Dask array to their reconstructions.

    Parameters
    ----------
    model : FittedDictionary
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


def coded_chunks(model: "FittedDictionary", X: Any) -> Iterator[CodedBlock]:
    """Code a Dask array, and bring the codes here in order; few chunks are under way at a time.

    Parameters
    ----------
    model : FittedDictionary
        Fitted.
    X : dask.array.Array
        Configurations.

    Yields
    ------
    CodedBlock
        The codes of the next chunk.
    """
    import dask

    chunks, blocks = _map_chunks(model, X, _code_and_measure_chunk)
    n_ahead = _CHUNKS_AHEAD * _count_threads()
    for first in range(0, len(blocks), n_ahead):
        done = dask.compute(*blocks[first : first + n_ahead])
        for start, (codes, distances) in zip(chunks.starts[first:], done, strict=False):
            yield CodedBlock(start, codes, distances)


def encode_to(model: "FittedDictionary", X: Any, path: str | Path) -> Path:
    """Code a Dask array into a file, see :meth:`shapelex.ShapeDictionary.encode_to`.

    Parameters
    ----------
    model : FittedDictionary
        Fitted.
    X : dask.array.Array
        Configurations.
    path : str or Path
        Where to.

    Returns
    -------
    Path
        Where they went.
    """
    chunks = Chunks.of(X)
    dtype = np.result_type(chunks.dtype, model.atoms_.dtype)
    with open_codes_writer(path, chunks.starts[-1], model.n_nonzero, len(model.atoms_), dtype) as writer:
        for chunk in coded_chunks(model, X):
            writer.add(chunk.codes, chunk.errors)
    return Path(path)


def reconstruct(model: "FittedDictionary", X: Any) -> Any:
    """Approximations of the shapes of a Dask array.

    Parameters
    ----------
    model : FittedDictionary
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


def _map_chunks(model: "FittedDictionary", X: Any, work: Any) -> tuple[Chunks, list[Any]]:
    import dask

    model.space_.check_space_of(X, "X")
    chunks = Chunks.of(X)
    check_coordinate_count(chunks.n_coordinates, model.space_.n_coordinates, "X")
    shared = dask.delayed(model, traverse=False)
    task = dask.delayed(work, pure=False)
    return chunks, [task(block, start, shared) for block, start in zip(chunks.blocks, chunks.starts, strict=False)]


def _code_chunk(chunk: Any, first_row: int, model: "FittedDictionary") -> tuple[ComplexArray, SparseCodes]:
    with single_blas_thread():
        rows = model.space_.whitened_preshapes(as_rows(chunk), "X", first_row=first_row)
        return rows, model._encode(rows, n_threads=1)


def _encode_chunk(chunk: Any, first_row: int, model: "FittedDictionary") -> SparseCodes:
    return _code_chunk(chunk, first_row, model)[1]


def _errors_chunk(chunk: Any, first_row: int, model: "FittedDictionary") -> FloatArray:
    rows, codes = _code_chunk(chunk, first_row, model)
    return residual_norms(rows, model._atom_rows(), codes)


def _count_threads() -> int:
    """Return how many chunks are coded at a time, on the cluster where there is one."""
    try:
        from distributed import default_client

        return max(1, sum(default_client().nthreads().values()))  # type: ignore[no-untyped-call]
    except (ImportError, ValueError):
        return os.cpu_count() or 1


def _code_and_measure_chunk(chunk: Any, first_row: int, model: "FittedDictionary") -> tuple[SparseCodes, FloatArray]:
    rows, codes = _code_chunk(chunk, first_row, model)
    return codes, residual_norms(rows, model._atom_rows(), codes)


def _reconstruct_chunk(chunk: Any, first_row: int, model: "FittedDictionary") -> ComplexArray:
    return decode(_code_chunk(chunk, first_row, model)[1], model.atoms_)
