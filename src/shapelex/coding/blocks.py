"""Codes of collections of shapes, block by block: in memory, stored, or on a device.

In come shapes, whitened atoms and settings; out go codes and errors. Beyond what is asked for, memory does not grow
with the number of shapes.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count
from shapelex.coding.coders import CodedBlock, Coding
from shapelex.coding.codes import CodePath, SparseCodes
from shapelex.coding.cpu import RowCoder, count_threads, run_blocks
from shapelex.coding.torch.device_coder import DeviceCoder, DeviceWhitening
from shapelex.shapes.storage import ArrayShapes, Block, Shapes
from shapelex.spaces import Landmarks

if TYPE_CHECKING:
    from torch import Tensor

# Shapes of an array whose errors are computed together.
_BLOCK_ROWS = 1 << 16


def coded_blocks(shapes: Shapes, coding: Coding, *, with_errors: bool = True) -> Iterator[CodedBlock]:
    """Yield the codes of all shapes, in order; those of Dask arrays are computed on the workers.

    Where landmarks may be missing, blocks in which some are missing are coded by those that are present.
    """
    if coding.n_threads is not None:
        check_count(coding.n_threads, 1, "n_threads")
    if shapes.is_remote:
        from shapelex.coding.dask_codes import coded_chunks

        return coded_chunks(shapes, coding, with_errors)
    dtype = np.result_type(shapes.dtype, coding.atom_rows.dtype)
    if coding.device == "cpu":
        return _code_on_cpu(RowCoder(coding, shapes.space, dtype), shapes, coding, with_errors)
    if isinstance(shapes, ArrayShapes) and any(_is_incomplete(block, shapes, coding) for block in shapes.blocks()):
        return (_code_incomplete(block, coding, with_errors) for block in shapes.blocks())
    coder = DeviceCoder(coding, dtype)
    return (
        CodedBlock(start, support.cpu().numpy(), coefs.cpu().numpy(), squares.cpu().numpy(), coder.n_atoms)
        for start, support, coefs, squares in _code_on_device(coder, shapes, with_errors)
    )


def shape_errors(shapes: Shapes, coding: Coding) -> FloatArray:
    """Return the full distances of all shapes to their reconstructions."""
    return np.concatenate([block.errors for block in coded_blocks(shapes, coding)])


def code_all(shapes: Shapes, coding: Coding) -> SparseCodes | CodePath:
    """Return the codes of all shapes, in memory."""
    support: IntArray = np.empty(0, dtype=np.int32)
    coefs: ComplexArray = np.empty(0, dtype=np.complex128)
    for block in coded_blocks(shapes, coding, with_errors=False):
        if len(block.support) == len(shapes):
            support, coefs = block.support, block.coefs
            break
        if block.start == 0:
            support, coefs = (
                np.empty((len(shapes), *part.shape[1:]), dtype=part.dtype) for part in (block.support, block.coefs)
            )
        rows = slice(block.start, block.start + len(block.support))
        support[rows], coefs[rows] = block.support, block.coefs
    n_atoms = len(coding.atom_rows)
    return CodePath(support, coefs, n_atoms) if coding.path else SparseCodes._from_coder(support, coefs[:, 0], n_atoms)


def _is_incomplete(block: Block, shapes: Shapes, coding: Coding) -> bool:
    """Tell whether a block has landmarks that are missing, and may be."""
    if coding.path or not (shapes.allows_missing and isinstance(shapes.space, Landmarks)):
        return False
    # One sum is far cheaper than a mask; infinite coordinates that cancel out only cost the second look.
    with np.errstate(over="ignore", invalid="ignore"):
        is_suspect = bool(np.isnan(block.configurations.sum()))
    return is_suspect and bool(np.isnan(block.configurations).any())


def _code_incomplete(block: Block, coding: Coding, with_errors: bool) -> CodedBlock:
    from shapelex.coding.masked import code_masked

    return code_masked(block, ~np.isnan(block.configurations), coding, with_errors=with_errors)


def _code_on_cpu(coder: RowCoder, shapes: Shapes, coding: Coding, with_errors: bool) -> Iterator[CodedBlock]:
    # Errors are often all that is kept of a block, so the codes of a large array do not have to exist at once.
    n_rows = _BLOCK_ROWS if with_errors and isinstance(shapes, ArrayShapes) else None
    for block in shapes.blocks(n_rows):
        if _is_incomplete(block, shapes, coding):
            yield _code_incomplete(block, coding, with_errors)
            continue
        coded = coder.allocate(block.start, len(block), with_squares=with_errors)
        n_threads = count_threads(coding.n_threads, coder.cost_ns * len(block))
        run_blocks(partial(coder.code_part, block, coded), len(block), coder.part_rows, n_threads)
        yield coded


def dense_codes_on_device(shapes: Shapes, coding: Coding) -> "Tensor":
    """Return the weights of all shapes as a dense matrix on the device that `coding` names."""
    import torch

    from shapelex.kernels.torch.weights import densify

    coder = DeviceCoder(coding, np.result_type(shapes.dtype, coding.atom_rows.dtype))
    blocks = _code_on_device(coder, shapes, with_errors=False)
    return torch.cat([densify(support, coefs[:, -1], coder.n_atoms) for _, support, coefs, _ in blocks])


def shape_errors_on_device(shapes: Shapes, coding: Coding) -> "Tensor":
    """Return what :func:`shape_errors` does, on the device that `coding` names."""
    import torch

    coder = DeviceCoder(coding, np.result_type(shapes.dtype, coding.atom_rows.dtype))
    return torch.cat([squares for *_, squares in _code_on_device(coder, shapes)]).sqrt()


def _code_on_device(
    coder: DeviceCoder, shapes: Shapes, with_errors: bool = True
) -> "Iterator[tuple[int, Tensor, Tensor, Tensor]]":
    """Yield the number of the first shape, and supports, weights and squared errors on the device, of all blocks."""
    from shapelex.kernels.torch.weights import squared_errors

    atoms = coder.to_device(coder.coding.atom_rows)
    whitening = DeviceWhitening(shapes.space, coder.to_device, shapes.name)
    for start, sent in coder.upload(shapes):
        rows = whitening.preshapes(sent, shapes.dtype, shapes.first_row + start)
        support, coefs = coder.code(rows)
        squares = squared_errors(rows, atoms, support, coefs[:, -1]) if with_errors else coefs.real.new_empty(0)
        yield start, support, coefs, squares
