"""Codes and errors of sets over a fitted dictionary, in memory, stored or on a device.

In come a fitted dictionary and configurations; out go codes and errors, block by block. Arrays in memory are one block.
Beyond what is asked for, memory does not grow with the number of shapes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.coding import RowCoder, SparseCodes
from shapelex.coding.device_coder import DeviceCoder
from shapelex.coding.device_whitening import preshape_blocks
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
    n_read = BLOCK_ROWS if isinstance(configurations, StoredConfigurations) else len(configurations)
    for start in range(0, len(configurations), n_read):
        block = configurations[start : start + n_read]
        support, coefs = coder.allocate(len(block))
        errors = np.empty(len(block), dtype=coefs.real.dtype) if with_errors else None
        coder.code_configurations(
            block,
            model.space_,
            support,
            coefs,
            out_errors=errors,
            n_threads=count_jobs(model.n_jobs),
            first_row=start,
        )
        codes = SparseCodes._from_coder(support, coefs[:, 0], len(atom_rows))
        yield CodedBlock(start, codes, np.empty(0) if errors is None else errors)


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
        if len(block.codes) == len(support):
            return block.codes
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
