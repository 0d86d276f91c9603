"""Codes of collections of shapes, block by block: in memory, stored, on a device, or with missing landmarks.

In come shapes, whitened atoms and settings; out go codes and errors. Beyond what is asked for, memory does not grow
with the number of shapes. A shape with missing landmarks is coded from the landmarks ``P`` that it has:
``|P (z - b - sum_j alpha_j atoms_j)|`` is minimized over sparse weights and the translation ``b``, so shape and atoms
are centered on ``P``, and coded there as always.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count, check_present, name_rows
from shapelex.coding.coders import CodedBlock, Coding, check_nonzero
from shapelex.coding.codes import CodePath, SparseCodes
from shapelex.coding.cpu import RowCoder, count_threads, run_blocks
from shapelex.coding.decode import decode
from shapelex.coding.torch.device_coder import DeviceCoder, DeviceWhitening
from shapelex.exceptions import NonFiniteError, ShapeInputError, UnsupportedBySpaceError
from shapelex.shapes.storage import ArrayShapes, Block, Shapes
from shapelex.spaces import Landmarks
from shapelex.spaces.base import row_norms

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
    if coding.device == "cpu":
        coder = RowCoder(coding, shapes.space, np.result_type(shapes.dtype, coding.atom_rows.dtype))
        return _code_on_cpu(coder, shapes, coding, with_errors)
    if isinstance(shapes, ArrayShapes) and any(_is_incomplete(block, shapes, coding) for block in shapes.blocks()):
        return (_code_incomplete(block, coding, with_errors) for block in shapes.blocks())
    return (
        CodedBlock(start, support.cpu().numpy(), coefs.cpu().numpy(), squares.cpu().numpy(), len(coding.atom_rows))
        for start, support, coefs, squares in _code_on_device(shapes, coding, with_errors)
    )


def shape_errors(shapes: Shapes, coding: Coding) -> FloatArray:
    """Return the full distances of all shapes to their reconstructions."""
    return np.concatenate([block.errors for block in coded_blocks(shapes, coding)])


def code_all(shapes: Shapes, coding: Coding) -> SparseCodes | CodePath:
    """Return the codes of all shapes, in memory."""
    blocks = list(coded_blocks(shapes, coding, with_errors=False))
    both: tuple[list[Any], list[Any]] = [block.support for block in blocks], [block.coefs for block in blocks]
    support, coefs = (parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in both)
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

    from shapelex.kernels.torch.pursuit import densify

    blocks, n_atoms = _code_on_device(shapes, coding, with_errors=False), len(coding.atom_rows)
    return torch.cat([densify(support, coefs[:, -1], n_atoms) for _, support, coefs, _ in blocks])


def shape_errors_on_device(shapes: Shapes, coding: Coding) -> "Tensor":
    """Return what :func:`shape_errors` does, on the device that `coding` names."""
    import torch

    return torch.cat([squares for *_, squares in _code_on_device(shapes, coding)]).sqrt()


def _code_on_device(
    shapes: Shapes, coding: Coding, with_errors: bool = True
) -> "Iterator[tuple[int, Tensor, Tensor, Tensor]]":
    """Yield the number of the first shape, and supports, weights and squared errors on the device, of all blocks."""
    from shapelex.kernels.torch.pursuit import squared_errors

    coder = DeviceCoder(coding, np.result_type(shapes.dtype, coding.atom_rows.dtype))
    atoms = coder.to_device(coding.atom_rows)
    whitening = DeviceWhitening(shapes.space, coder.to_device, shapes.name)
    for start, sent in coder.upload(shapes):
        rows = whitening.preshapes(sent, shapes.dtype, shapes.first_row + start)
        support, coefs = coder.code(rows)
        squares = squared_errors(rows, atoms, support, coefs[:, -1]) if with_errors else coefs.real.new_empty(0)
        yield start, support, coefs, squares


def encode_masked(shapes: Shapes, mask: ArrayLike, coding: Coding) -> SparseCodes:
    """Code shapes from the landmarks that `mask` says are present; see :func:`shapelex.encode`."""
    if not isinstance(shapes.space, Landmarks):
        raise UnsupportedBySpaceError(
            f"mask says which landmarks are present, but the space is {shapes.space}, whose coefficients hang "
            "together: fit the curve to the points that are there, by space.fit(points, t)."
        )
    present = np.atleast_2d(np.asarray(mask))
    if present.dtype != bool:
        raise ShapeInputError(
            f"mask must be an array of booleans, True for landmarks that are present, got dtype {present.dtype}."
        )
    if present.shape != shapes.shape:
        raise ShapeInputError(
            f"mask must have one entry per landmark of X, shape {shapes.shape}, got {np.shape(mask)}."
        )
    coded = []
    for block in shapes.blocks():
        kept = present[block.start : block.start + len(block)]
        bad = kept & ~np.isfinite(block.configurations)
        if bad.any():
            raise NonFiniteError(
                f"{block.name} has NaN or infinite landmarks that mask says are present, in "
                f"{name_rows(bad.any(axis=1), block.first_row)}."
            )
        coded.append(_code_incomplete(block, coding, False, kept).codes)
    return SparseCodes.concatenate(coded)


def _code_incomplete(block: Block, coding: Coding, with_errors: bool, present: BoolArray | None = None) -> CodedBlock:
    """Code the shapes of a block from the landmarks that are present; by default NaN marks those that are not.

    Errors are those on these landmarks; weights are scaled for the completed shapes.
    """
    present = ~np.isnan(block.configurations) if present is None else present
    coded, completed = code_present(block, present, coding, with_errors=with_errors)
    is_incomplete = ~present.all(axis=1)
    coded.coefs[is_incomplete] /= row_norms(completed[is_incomplete])[:, None, None]
    return coded


def code_present(
    block: Block, present: BoolArray, coding: Coding, *, with_errors: bool
) -> tuple[CodedBlock, ComplexArray]:
    """Code the landmarks that are present, as pre-shapes; shapes that have the same landmarks share a coder.

    Also returns all landmarks, centered: those that are present as they were coded, the others as reconstructed.
    """
    check_present(present, block.name, block.first_row)
    atom_rows = coding.atom_rows
    dtype = np.result_type(block.configurations.dtype, atom_rows.dtype)
    # One width for all, however few landmarks some shapes have.
    n_nonzero = check_nonzero(coding.n_nonzero, len(atom_rows), atom_rows.shape[1], coding.tol)
    support: IntArray = np.empty((len(block), n_nonzero), dtype=np.int32)
    coefs: ComplexArray = np.empty((len(block), 1, n_nonzero), dtype=dtype)
    squares = np.empty(len(block) if with_errors else 0, dtype=coefs.real.dtype)
    completed: ComplexArray = np.empty(present.shape, dtype=dtype)
    for numbers, landmarks in equal_masks(present):
        atoms = Landmarks(len(landmarks)).whiten(atom_rows[:, landmarks]).astype(dtype)
        rows = _preshapes_on(block, numbers, landmarks)
        here = replace(coding, atom_rows=atoms, n_nonzero=n_nonzero)
        (part,) = coded_blocks(ArrayShapes(rows), here, with_errors=with_errors)
        support[numbers], coefs[numbers] = part.support, part.coefs
        if with_errors:
            squares[numbers] = part.squares
        rebuilt = decode(part.codes, atom_rows)
        # Sums of columns in another order of memory round a row by how many others there are.
        rebuilt -= np.ascontiguousarray(rebuilt[:, landmarks]).mean(axis=1, keepdims=True)
        rebuilt[:, landmarks] = rows
        completed[numbers] = rebuilt - rebuilt.mean(axis=1, keepdims=True)
    return CodedBlock(block.start, support, coefs, squares, len(atom_rows)), completed


def equal_masks(present: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the numbers of the shapes that have the same landmarks, and these landmarks."""
    patterns, pattern_of, counts = np.unique(present, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(pattern_of.reshape(-1), kind="stable")
    yield from zip(np.split(order, np.cumsum(counts)[:-1]), map(np.flatnonzero, patterns), strict=True)


def _preshapes_on(block: Block, numbers: IntArray, landmarks: IntArray) -> ComplexArray:
    """Return pre-shapes of some shapes, on the landmarks that they have."""
    space = Landmarks(len(landmarks))
    try:
        return space.whitened_preshapes(block.configurations[np.ix_(numbers, landmarks)], block.name)
    except ShapeInputError:
        # Raised again for the first one, with its number in the set.
        for number in numbers.tolist():
            space.whitened_preshapes(block.configurations[number, landmarks], block.name, block.first_row + number)
        raise
