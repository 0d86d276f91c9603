"""Codes of shapes with missing landmarks, each from the landmarks that it has.

In come landmarks and which of them are present; out go codes. On the landmarks ``P`` that a shape has, looks for
``min |P (z - b - sum_j alpha_j atoms_j)|`` over sparse weights and the translation ``b``: shape and atoms are
centered on ``P``, and coded there as always. Shapes of a block with the same landmarks share one coder.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_present, name_rows
from shapelex.coding.blocks import coded_blocks
from shapelex.coding.codes import SparseCodes
from shapelex.coding.decode import decode
from shapelex.coding.settings import CodedBlock, Coding, check_nonzero
from shapelex.exceptions import NonFiniteError, ShapeInputError, UnsupportedBySpaceError
from shapelex.shapes.collection import ArrayShapes, Block, Shapes
from shapelex.spaces import Landmarks
from shapelex.spaces.rows import row_norms


@dataclass(frozen=True)
class MaskedPart:
    """Shapes of a block that have the same landmarks, with their codes.

    Parameters
    ----------
    numbers : ndarray of int, shape (n_rows,)
        Their numbers in the block.
    landmarks : ndarray of int, shape (n_present,)
        The landmarks that they have.
    rows : ndarray of complex, shape (n_rows, n_present)
        These landmarks, centered and of norm 1.
    coded : CodedBlock
        Codes of the rows, and squared distances on these landmarks.
    """

    numbers: IntArray
    landmarks: IntArray
    rows: ComplexArray
    coded: CodedBlock

    def completed(self, atom_rows: ComplexArray) -> ComplexArray:
        """Return all landmarks, centered: those that are present as they are, the others of the reconstructions."""
        rebuilt = decode(self.coded.codes, atom_rows)
        # Sums of columns in another order of memory round a row by how many others there are.
        present = np.ascontiguousarray(rebuilt[:, self.landmarks])
        completed = rebuilt - present.mean(axis=1, keepdims=True)
        completed[:, self.landmarks] = self.rows
        return np.asarray(completed - completed.mean(axis=1, keepdims=True))


def encode_masked(shapes: Shapes, mask: ArrayLike, coding: Coding) -> SparseCodes:
    """Code shapes from the landmarks that `mask` says are present; see :func:`shapelex.encode`."""
    if not isinstance(shapes.space, Landmarks):
        raise UnsupportedBySpaceError(
            f"mask says which landmarks are present, but the space is {shapes.space}, whose coefficients hang "
            "together: fit the curve to the points that are there, by space.fit(points, t)."
        )
    present = _as_mask(mask, shapes.shape)
    coded = []
    for block in shapes.blocks():
        kept = present[block.start : block.start + len(block)]
        _check_finite(block, kept)
        coded.append(code_masked(block, kept, coding, with_errors=False))
    support, coefs = (np.concatenate([getattr(one, name) for one in coded]) for name in ("support", "coefs"))
    return SparseCodes._from_coder(support, coefs[:, 0], len(coding.atom_rows))


def code_masked(block: Block, present: BoolArray, coding: Coding, *, with_errors: bool) -> CodedBlock:
    """Code the shapes of a block from the landmarks that are present; errors are those on these landmarks.

    Weights are scaled for the completed shapes.
    """
    atom_rows = coding.atom_rows
    # One width for all, however few landmarks some shapes have.
    n_nonzero = check_nonzero(coding.n_nonzero, len(atom_rows), atom_rows.shape[1], coding.tol)
    dtype = np.result_type(block.configurations.dtype, atom_rows.dtype)
    support: IntArray = np.empty((len(block), n_nonzero), dtype=np.int32)
    coefs: ComplexArray = np.empty((len(block), 1, n_nonzero), dtype=dtype)
    squares = np.empty(len(block) if with_errors else 0, dtype=coefs.real.dtype)
    for part in masked_parts(block, present, replace(coding, n_nonzero=n_nonzero), with_errors=with_errors):
        places = part.numbers
        support[places], coefs[places] = part.coded.support, part.coded.coefs
        if len(part.landmarks) < present.shape[1]:
            coefs[places] /= row_norms(part.completed(atom_rows))[:, None, None]
        if with_errors:
            squares[places] = part.coded.squares
    return CodedBlock(block.start, support, coefs, squares, len(atom_rows))


def masked_parts(block: Block, present: BoolArray, coding: Coding, *, with_errors: bool) -> Iterator[MaskedPart]:
    """Yield the shapes of a block with their codes, those that have the same landmarks together."""
    check_present(present, block.name, block.first_row)
    dtype = np.result_type(block.configurations.dtype, coding.atom_rows.dtype)
    for numbers, landmarks in equal_masks(present):
        atoms = Landmarks(len(landmarks)).whiten(coding.atom_rows[:, landmarks]).astype(dtype)
        rows = _preshapes_on(block, numbers, landmarks)
        here = replace(coding, atom_rows=atoms, max_weight=_bounds_on(atoms, coding))
        (coded,) = coded_blocks(ArrayShapes(rows), here, with_errors=with_errors)
        yield MaskedPart(numbers, landmarks, rows, coded)


def _bounds_on(atoms: ComplexArray, coding: Coding) -> float | FloatArray | None:
    """Return the bounds of the weights of atoms of norm 1 on some landmarks: those of the complete atoms of norm 1.

    A completed shape has at least the norm of the landmarks that are present, so its weights obey the bounds too.
    """
    if coding.max_weight is None:
        return None
    norms = row_norms(coding.atom_rows)
    bounds: FloatArray = coding.max_weight * row_norms(atoms) / np.where(norms > 0, norms, 1)
    return bounds


def equal_masks(present: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the numbers of the shapes that have the same landmarks, and these landmarks."""
    patterns, pattern_of = np.unique(present, axis=0, return_inverse=True)
    pattern_of = pattern_of.reshape(-1)
    order = np.argsort(pattern_of, kind="stable")
    starts = np.searchsorted(pattern_of[order], np.arange(len(patterns) + 1))
    for number, pattern in enumerate(patterns):
        yield order[starts[number] : starts[number + 1]], np.flatnonzero(pattern)


def _as_mask(mask: ArrayLike, shape: tuple[int, int]) -> BoolArray:
    present = np.asarray(mask)
    if present.dtype != bool:
        raise ShapeInputError(
            f"mask must be an array of booleans, True for landmarks that are present, got dtype {present.dtype}."
        )
    if np.atleast_2d(present).shape != shape:
        raise ShapeInputError(f"mask must have one entry per landmark of X, shape {shape}, got {present.shape}.")
    return np.atleast_2d(present)


def _check_finite(block: Block, present: BoolArray) -> None:
    bad = present & ~np.isfinite(block.configurations)
    if bad.any():
        raise NonFiniteError(
            f"{block.name} has NaN or infinite landmarks that mask says are present, in "
            f"{name_rows(bad.any(axis=1), block.first_row)}."
        )


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
