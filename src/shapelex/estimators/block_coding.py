"""Codes of sets that do not fit in memory: read a block, whiten it, code it, hand it on.

In come a fitted dictionary and stored configurations; out go codes, errors or files of codes. Beyond what is asked
for, memory does not grow with the number of shapes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.coding import RowCoder, SparseCodes, residual_norms
from shapelex.coding.device_coder import DeviceCoder
from shapelex.coding.threads import single_blas_thread
from shapelex.estimators.configurations import count_jobs
from shapelex.learning.sources import BLOCK_ROWS
from shapelex.spaces.stored import StoredConfigurations

if TYPE_CHECKING:
    from shapelex.estimators.shape_dictionary import ShapeDictionary

# Rows that travel to a device in one go.
_DEVICE_ROWS = 1 << 18


@dataclass(frozen=True)
class CodedBlock:
    """Consecutive shapes with their codes.

    Parameters
    ----------
    start : int
        Number of the first one.
    rows : ndarray of complex, shape (n_rows, n_coordinates)
        Their pre-shapes, whitened.
    codes : SparseCodes
        Their codes.
    errors : ndarray of float, shape (n_rows,)
        Their full distances to their reconstructions.
    """

    start: int
    rows: ComplexArray
    codes: SparseCodes
    errors: FloatArray


def coded_blocks(model: "ShapeDictionary", configurations: ComplexArray | StoredConfigurations) -> Iterator[CodedBlock]:
    """Code a set block by block.

    Parameters
    ----------
    model : ShapeDictionary
        Fitted.
    configurations : StoredConfigurations, or ndarray of complex, shape (n_shapes, n_coordinates)
        The set.

    Yields
    ------
    CodedBlock
        The blocks, in order.
    """
    space, atom_rows = model.space_, model._atom_rows()
    n_shapes = len(configurations)
    dtype = np.result_type(configurations.dtype, atom_rows.dtype)
    options: dict[str, Any] = {"n_nonzero": model.n_nonzero, "method": model.coder, "dtype": dtype}
    on_cpu = model.device == "cpu"
    coder = RowCoder(atom_rows, **options) if on_cpu else DeviceCoder(atom_rows, **options, device=model.device)
    block_rows = BLOCK_ROWS if on_cpu else _DEVICE_ROWS
    for start in range(0, n_shapes, block_rows):
        block = configurations[start : start + block_rows]
        with single_blas_thread():
            rows = space.whitened_preshapes(block, "X", first_row=start)
            codes = coder.encode(rows, count_jobs(model.n_jobs)) if isinstance(coder, RowCoder) else coder.encode(rows)
        assert isinstance(codes, SparseCodes)
        yield CodedBlock(start, rows, codes, residual_norms(rows, atom_rows, codes))


def encode_stored(model: "ShapeDictionary", stored: StoredConfigurations) -> SparseCodes:
    """Codes of a whole stored set.

    Parameters
    ----------
    model : ShapeDictionary
        Fitted.
    stored : StoredConfigurations
        The set.

    Returns
    -------
    SparseCodes
        All codes, in memory; :meth:`shapelex.ShapeDictionary.encode_to` puts them in a file instead.
    """
    support = np.empty((len(stored), model.n_nonzero), dtype=np.int32)
    coefs: ComplexArray = np.empty(support.shape, dtype=np.result_type(stored.dtype, model.atoms_.dtype))
    for block in coded_blocks(model, stored):
        part = slice(block.start, block.start + len(block.codes))
        support[part], coefs[part] = block.codes.support, block.codes.coefs
    return SparseCodes._from_coder(support, coefs, len(model.atoms_))


def errors_stored(model: "ShapeDictionary", stored: StoredConfigurations) -> FloatArray:
    """Errors of a whole stored set.

    Parameters
    ----------
    model : ShapeDictionary
        Fitted.
    stored : StoredConfigurations
        The set.

    Returns
    -------
    ndarray of float, shape (n_shapes,)
        Full distances to the reconstructions.
    """
    return np.concatenate([block.errors for block in coded_blocks(model, stored)])
