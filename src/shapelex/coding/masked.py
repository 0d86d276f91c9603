"""Codes of shapes with missing landmarks, each from the landmarks that it has.

On the landmarks ``P`` of a shape, ``|P (z - b - sum_j alpha_j atoms_j)|`` is minimized over sparse weights and the
translation ``b``: shape and atoms are centered on ``P``, and coded there as always.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shapelex._typing import ArrayLike, BoolArray, ComplexArray, IntArray
from shapelex._validation import check_present, name_rows
from shapelex.coding.blocks import coded_blocks
from shapelex.coding.coders import CodedBlock, Coding, check_nonzero
from shapelex.coding.codes import SparseCodes
from shapelex.coding.decode import decode
from shapelex.exceptions import NonFiniteError, ShapeInputError, UnsupportedBySpaceError
from shapelex.shapes.storage import ArrayShapes, Block, Shapes
from shapelex.spaces import Landmarks
from shapelex.spaces.base import row_norms


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
        coded.append(code_masked(block, kept, coding, with_errors=False).codes)
    return SparseCodes.concatenate(coded)


def code_masked(block: Block, present: BoolArray, coding: Coding, *, with_errors: bool) -> CodedBlock:
    """Code the shapes of a block from the landmarks that are present; errors are those on these landmarks.

    Weights are scaled for the completed shapes.
    """
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
    patterns, pattern_of = np.unique(present, axis=0, return_inverse=True)
    pattern_of = pattern_of.reshape(-1)
    order = np.argsort(pattern_of, kind="stable")
    starts = np.searchsorted(pattern_of[order], np.arange(len(patterns) + 1))
    for number, pattern in enumerate(patterns):
        yield order[starts[number] : starts[number + 1]], np.flatnonzero(pattern)


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
