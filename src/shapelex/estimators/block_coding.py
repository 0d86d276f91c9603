"""Codes of sets that do not fit in memory, or travel to a device: read a block, whiten it, code it, hand it on.

In come a fitted dictionary and configurations, stored ones as a rule; out go codes, errors or files of codes. Beyond
what is asked for, memory does not grow with the number of shapes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.coding import RowCoder, SparseCodes, residual_norms
from shapelex.coding.device_coder import DeviceCoder
from shapelex.coding.device_whitening import preshape_blocks
from shapelex.coding.threads import single_blas_thread
from shapelex.estimators.configurations import count_jobs
from shapelex.learning.sources import BLOCK_ROWS
from shapelex.spaces.stored import StoredConfigurations

if TYPE_CHECKING:
    from shapelex.estimators.fitted_dictionary import FittedDictionary


@dataclass(frozen=True)
class CodedBlock:
    """Consecutive shapes with their codes.

    Parameters
    ----------
    start : int
        Number of the first one.
    codes : SparseCodes
        Their codes.
    errors : ndarray of float, shape (n_rows,)
        Their full distances to their reconstructions; no entry where they were not asked for.
    """

    start: int
    codes: SparseCodes
    errors: FloatArray


def coded_blocks(
    model: "FittedDictionary", configurations: ComplexArray | StoredConfigurations, *, with_errors: bool = True
) -> Iterator[CodedBlock]:
    """Code a set block by block.

    Parameters
    ----------
    model : FittedDictionary
        A dictionary, fitted.
    configurations : StoredConfigurations, or ndarray of complex, shape (n_shapes, n_coordinates)
        The set.
    with_errors : bool, default True
        Whether to compute the errors.

    Yields
    ------
    CodedBlock
        The blocks, in order.
    """
    code = _code_on_cpu if model.device == "cpu" else _code_on_device
    yield from code(model, configurations, with_errors)


def _code_on_cpu(
    model: "FittedDictionary", configurations: ComplexArray | StoredConfigurations, with_errors: bool
) -> Iterator[CodedBlock]:
    atom_rows = model._atom_rows()
    dtype = np.result_type(configurations.dtype, atom_rows.dtype)
    coder = RowCoder(atom_rows, model.n_nonzero, method=model.coder, dtype=dtype)
    for start in range(0, len(configurations), BLOCK_ROWS):
        block = configurations[start : start + BLOCK_ROWS]
        with single_blas_thread():
            rows = model.space_.whitened_preshapes(block, "X", first_row=start)
            codes = coder.encode(rows, count_jobs(model.n_jobs))
        yield CodedBlock(start, codes, residual_norms(rows, atom_rows, codes) if with_errors else np.empty(0))


def _code_on_device(
    model: "FittedDictionary", configurations: ComplexArray | StoredConfigurations, with_errors: bool
) -> Iterator[CodedBlock]:
    atom_rows = model._atom_rows()
    dtype = np.result_type(configurations.dtype, atom_rows.dtype)
    coder = DeviceCoder(atom_rows, model.n_nonzero, method=model.coder, dtype=dtype, device=model.device)
    atoms_there = coder.to_device(atom_rows)
    for start, rows in preshape_blocks(coder, configurations, model.space_, "X"):
        support, coefs = coder.code(rows)
        codes = SparseCodes._from_coder(support.cpu().numpy(), coefs[:, 0].cpu().numpy(), len(atom_rows))
        errors = np.empty(0)
        if with_errors:
            errors = coder.residual_norms(rows, atoms_there, support, coefs[:, 0]).cpu().numpy()
        yield CodedBlock(start, codes, errors)


def encode_in_blocks(model: "FittedDictionary", configurations: ComplexArray | StoredConfigurations) -> SparseCodes:
    """Codes of a whole set.

    Parameters
    ----------
    model : FittedDictionary
        A dictionary, fitted.
    configurations : StoredConfigurations, or ndarray of complex, shape (n_shapes, n_coordinates)
        The set.

    Returns
    -------
    SparseCodes
        All codes, in memory; :meth:`shapelex.ShapeDictionary.encode_to` puts them in a file instead.
    """
    support = np.empty((len(configurations), model.n_nonzero), dtype=np.int32)
    coefs: ComplexArray = np.empty(support.shape, dtype=np.result_type(configurations.dtype, model.atoms_.dtype))
    for block in coded_blocks(model, configurations, with_errors=False):
        part = slice(block.start, block.start + len(block.codes))
        support[part], coefs[part] = block.codes.support, block.codes.coefs
    return SparseCodes._from_coder(support, coefs, len(model.atoms_))


def errors_in_blocks(model: "FittedDictionary", configurations: ComplexArray | StoredConfigurations) -> FloatArray:
    """Errors of a whole set.

    Parameters
    ----------
    model : FittedDictionary
        A dictionary, fitted.
    configurations : StoredConfigurations, or ndarray of complex, shape (n_shapes, n_coordinates)
        The set.

    Returns
    -------
    ndarray of float, shape (n_shapes,)
        Full distances to the reconstructions.
    """
    return np.concatenate([block.errors for block in coded_blocks(model, configurations)])
