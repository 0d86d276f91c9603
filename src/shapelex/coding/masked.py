"""Codes of shapes with missing landmarks, each from the landmarks that it has.

In come landmarks and which of them are present; out go codes. On the landmarks ``P`` that a shape has, looks for
``min |P (z - b - sum_j alpha_j atoms_j)|`` over sparse weights and the translation ``b``: shape and atoms are
re-centered on ``P``, and coded there as always. Shapes with the same landmarks share one coder.
"""

from collections.abc import Iterator

import numpy as np

from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import as_configurations, as_numeric_array, check_present, name_rows
from shapelex.coding.codes import SparseCodes
from shapelex.coding.decode import decode
from shapelex.coding.row_coder import RowCoder
from shapelex.exceptions import NonFiniteError, ShapeInputError, UnsupportedBySpaceError
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.rows import row_norms


def encode_masked(
    X: ArrayLike,
    mask: ArrayLike,
    atoms: ArrayLike,
    n_nonzero: int | None,
    *,
    method: str,
    width: int,
    tol: float | None,
    space: Space | None,
    n_threads: int | None,
) -> SparseCodes:
    """Code shapes from the landmarks that `mask` says are present; see :func:`shapelex.encode`."""
    if space is not None and not isinstance(space, Landmarks):
        raise UnsupportedBySpaceError(
            f"mask says which landmarks are present, but the space is {space}, whose coefficients hang together: fit "
            "the curve to the points that are there, by space.fit(points, t)."
        )
    configurations, present = as_masked(X, mask, None if space is None else space.n_coordinates)
    atom_rows, _ = as_configurations(atoms, name="atoms", n_coordinates=configurations.shape[1])
    dtype = np.result_type(configurations.dtype, atom_rows.dtype)
    support: IntArray | None = None
    for numbers, landmarks in equal_masks(present):
        part_space = Landmarks(len(landmarks))
        coder = RowCoder(
            part_space.whiten(atom_rows[:, landmarks]), n_nonzero, method=method, width=width, tol=tol, dtype=dtype
        )
        rows = part_space.whitened_preshapes(configurations[np.ix_(numbers, landmarks)], "X")
        codes = coder.encode(rows, n_threads)
        if support is None:
            support = np.empty((len(present), codes.n_nonzero), dtype=np.int32)
            coefs = np.empty(support.shape, dtype=dtype)
        support[numbers] = codes.support
        coefs[numbers] = codes.coefs
        if len(landmarks) < present.shape[1]:
            coefs[numbers] /= _completed_sizes(rows, landmarks, decode(codes, atom_rows))[:, None]
    assert support is not None
    return SparseCodes._from_coder(support, coefs, len(atom_rows))


def equal_masks(present: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the numbers of the shapes that have the same landmarks, and these landmarks."""
    patterns, pattern_of = np.unique(present, axis=0, return_inverse=True)
    pattern_of = pattern_of.reshape(-1)
    order = np.argsort(pattern_of, kind="stable")
    starts = np.searchsorted(pattern_of[order], np.arange(len(patterns) + 1))
    for number, pattern in enumerate(patterns):
        yield order[starts[number] : starts[number + 1]], np.flatnonzero(pattern)


def as_masked(X: ArrayLike, mask: ArrayLike, n_coordinates: int | None) -> tuple[ComplexArray, BoolArray]:
    """Return landmarks, 0 where they are missing, and which ones are present; what is present must be finite."""
    numeric = as_numeric_array(X, "X")
    present = np.asarray(mask)
    if present.dtype != bool:
        raise ShapeInputError(
            f"mask must be an array of booleans, True for landmarks that are present, got dtype {present.dtype}."
        )
    is_complex = np.iscomplexobj(numeric)
    n_axes = numeric.ndim if is_complex else numeric.ndim - 1
    if present.shape != numeric.shape[:n_axes]:
        raise ShapeInputError(
            f"mask must have one entry a landmark of X, shape {numeric.shape[:n_axes]}, got {present.shape}."
        )
    kept = present if is_complex else present[..., None]
    bad = kept & ~np.isfinite(numeric)
    if bad.any():
        rows = np.atleast_2d(bad if is_complex else bad.any(axis=-1)).any(axis=1)
        raise NonFiniteError(f"X has NaN or infinite landmarks that mask says are present, in {name_rows(rows)}.")
    configurations, _ = as_configurations(np.where(kept, numeric, 0), name="X", n_coordinates=n_coordinates)
    present = np.atleast_2d(present)
    check_present(present, "X")
    return configurations, present


def _completed_sizes(rows: ComplexArray, landmarks: IntArray, rebuilt: ComplexArray) -> FloatArray:
    """Return the sizes of shapes whose missing landmarks are those of their reconstructions."""
    completed = rebuilt - rebuilt[:, landmarks].mean(axis=1, keepdims=True)
    completed[:, landmarks] = rows
    return row_norms(completed - completed.mean(axis=1, keepdims=True))
