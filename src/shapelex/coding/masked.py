"""Codes of shapes with missing landmarks, each from the landmarks that it has.

In come landmarks and which of them are present; out go codes. On the landmarks ``P`` that a shape has, looks for
``min |P (z - b - sum_j alpha_j atoms_j)|`` over sparse weights and the translation ``b``: shape and atoms are
centered on ``P``, and coded there as always. Shapes of a block with the same landmarks share one coder.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_present, name_rows
from shapelex.coding.blocks import code_all
from shapelex.coding.codes import SparseCodes
from shapelex.coding.decode import decode
from shapelex.coding.settings import Coding, check_nonzero
from shapelex.exceptions import CollapsedShapeError, NonFiniteError, ShapeInputError, UnsupportedBySpaceError
from shapelex.shapes.collection import ArrayShapes, Shapes
from shapelex.spaces import Landmarks
from shapelex.spaces.rows import row_norms


def encode_masked(shapes: Shapes, mask: ArrayLike, coding: Coding) -> SparseCodes:
    """Code shapes from the landmarks that `mask` says are present; see :func:`shapelex.encode`."""
    if not isinstance(shapes.space, Landmarks):
        raise UnsupportedBySpaceError(
            f"mask says which landmarks are present, but the space is {shapes.space}, whose coefficients hang "
            "together: fit the curve to the points that are there, by space.fit(points, t)."
        )
    present = _as_mask(mask, shapes.shape)
    atom_rows = coding.atom_rows
    # One width for all, however few landmarks some shapes have.
    n_nonzero = check_nonzero(coding.n_nonzero, len(atom_rows), atom_rows.shape[1], coding.tol)
    coding = replace(coding, n_nonzero=n_nonzero)
    dtype = np.result_type(shapes.dtype, atom_rows.dtype)
    support: IntArray = np.empty((len(shapes), n_nonzero), dtype=np.int32)
    coefs: ComplexArray = np.empty(support.shape, dtype=dtype)
    for block in shapes.blocks():
        kept = present[block.start : block.start + len(block)]
        _check_finite(block.configurations, kept, block.start)
        check_present(kept, "X", block.start)
        for numbers, landmarks in equal_masks(kept):
            part = replace(coding, atom_rows=Landmarks(len(landmarks)).whiten(atom_rows[:, landmarks]).astype(dtype))
            rows = _preshapes_on(block.configurations, numbers, landmarks, block.start)
            codes = code_all(ArrayShapes(rows), part)
            assert isinstance(codes, SparseCodes)
            places = block.start + numbers
            support[places], coefs[places] = codes.support, codes.coefs
            if len(landmarks) < kept.shape[1]:
                coefs[places] /= _completed_sizes(rows, landmarks, decode(codes, atom_rows))[:, None]
    return SparseCodes._from_coder(support, coefs, len(atom_rows))


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


def _check_finite(configurations: ComplexArray, present: BoolArray, first_row: int) -> None:
    bad = present & ~np.isfinite(configurations)
    if bad.any():
        raise NonFiniteError(
            f"X has NaN or infinite landmarks that mask says are present, in {name_rows(bad.any(axis=1), first_row)}."
        )


def _preshapes_on(configurations: ComplexArray, numbers: IntArray, landmarks: IntArray, first_row: int) -> ComplexArray:
    """Return pre-shapes of some shapes, on the landmarks that they have."""
    space = Landmarks(len(landmarks))
    try:
        return space.whitened_preshapes(configurations[np.ix_(numbers, landmarks)], "X")
    except CollapsedShapeError:
        # Raised again for the first one, with its number in the set.
        for number in numbers.tolist():
            space.whitened_preshapes(configurations[number, landmarks], "X", first_row + number)
        raise


def _completed_sizes(rows: ComplexArray, landmarks: IntArray, rebuilt: ComplexArray) -> FloatArray:
    """Return the sizes of shapes whose missing landmarks are those of their reconstructions."""
    # Sums of columns in another order of memory round a row by how many others there are.
    present = np.ascontiguousarray(rebuilt[:, landmarks])
    completed = rebuilt - present.mean(axis=1, keepdims=True)
    completed[:, landmarks] = rows
    return row_norms(completed - completed.mean(axis=1, keepdims=True))
