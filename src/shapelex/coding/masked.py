"""Codes of shapes with missing landmarks, each from the landmarks that it has.

In come landmarks and which of them are present; out go codes. On the landmarks ``P`` that a shape has, looks for
``min |P (z - b - sum_j alpha_j atoms_j)|`` over sparse weights and the translation ``b``: shape and atoms are
re-centered on ``P``, and coded there as always. Shapes with the same landmarks share one coder.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import as_configurations, as_numeric_array, check_present, name_rows
from shapelex.coding.codes import SparseCodes
from shapelex.coding.decode import decode
from shapelex.coding.row_coder import RowCoder, check_nonzero
from shapelex.exceptions import CollapsedShapeError, NonFiniteError, ShapeInputError, UnsupportedBySpaceError
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.rows import row_norms
from shapelex.spaces.stored import StoredConfigurations, open_stored

# Configurations of a stored set that are read at a time: shapes of a block that miss the same landmarks share a coder.
_BLOCK_ROWS = 1 << 15


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
    first_row: int = 0,
) -> SparseCodes:
    """Code shapes from the landmarks that `mask` says are present; see :func:`shapelex.encode`."""
    if space is not None and not isinstance(space, Landmarks):
        raise UnsupportedBySpaceError(
            f"mask says which landmarks are present, but the space is {space}, whose coefficients hang together: fit "
            "the curve to the points that are there, by space.fit(points, t)."
        )
    stored = open_stored(X)
    if stored is not None:
        options: dict[str, Any] = {"method": method, "width": width, "tol": tol, "n_threads": n_threads}
        return _encode_stored(stored, _as_mask(mask, stored.shape), atoms, n_nonzero, space=space, **options)
    n_coordinates = None if space is None else space.n_coordinates
    configurations, present = as_masked(X, mask, n_coordinates, first_row)
    atom_rows, _ = as_configurations(atoms, name="atoms", n_coordinates=configurations.shape[1])
    dtype = np.result_type(configurations.dtype, atom_rows.dtype)
    # One width for all, however few landmarks some shapes have.
    n_most = check_nonzero(n_nonzero, len(atom_rows), atom_rows.shape[1], tol)
    support: IntArray = np.empty((len(present), n_most), dtype=np.int32)
    coefs: ComplexArray = np.empty(support.shape, dtype=dtype)
    for numbers, landmarks in equal_masks(present):
        part_space = Landmarks(len(landmarks))
        coder = RowCoder(
            part_space.whiten(atom_rows[:, landmarks]), n_most, method=method, width=width, tol=tol, dtype=dtype
        )
        rows = _preshapes_on(configurations, numbers, landmarks, first_row)
        codes = coder.encode(rows, n_threads)
        support[numbers] = codes.support
        coefs[numbers] = codes.coefs
        if len(landmarks) < present.shape[1]:
            coefs[numbers] /= _completed_sizes(rows, landmarks, decode(codes, atom_rows))[:, None]
    return SparseCodes._from_coder(support, coefs, len(atom_rows))


def _encode_stored(
    stored: StoredConfigurations, mask: BoolArray, atoms: ArrayLike, n_nonzero: int | None, **options: Any
) -> SparseCodes:
    """Code a stored set block by block; each shape is coded as in a set of its own."""
    parts = []
    for start in range(0, len(stored), _BLOCK_ROWS):
        stretch = slice(start, start + _BLOCK_ROWS)
        parts.append(encode_masked(stored[stretch], mask[stretch], atoms, n_nonzero, first_row=start, **options))
    support, coefs = (np.concatenate([getattr(part, name) for part in parts]) for name in ("support", "coefs"))
    return SparseCodes._from_coder(support, coefs, parts[0].n_atoms)


def equal_masks(present: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the numbers of the shapes that have the same landmarks, and these landmarks."""
    patterns, pattern_of = np.unique(present, axis=0, return_inverse=True)
    pattern_of = pattern_of.reshape(-1)
    order = np.argsort(pattern_of, kind="stable")
    starts = np.searchsorted(pattern_of[order], np.arange(len(patterns) + 1))
    for number, pattern in enumerate(patterns):
        yield order[starts[number] : starts[number + 1]], np.flatnonzero(pattern)


def as_masked(
    X: ArrayLike, mask: ArrayLike, n_coordinates: int | None, first_row: int = 0
) -> tuple[ComplexArray, BoolArray]:
    """Return landmarks, 0 where they are missing, and which ones are present; what is present must be finite.

    Errors count rows from `first_row`, that of a block of a larger set.
    """
    numeric = as_numeric_array(X, "X")
    is_complex = np.iscomplexobj(numeric)
    present = _as_mask(mask, numeric.shape[: numeric.ndim if is_complex else numeric.ndim - 1])
    kept = present if is_complex else present[..., None]
    bad = kept & ~np.isfinite(numeric)
    if bad.any():
        rows = np.atleast_2d(bad if is_complex else bad.any(axis=-1)).any(axis=1)
        raise NonFiniteError(
            f"X has NaN or infinite landmarks that mask says are present, in {name_rows(rows, first_row)}."
        )
    configurations, _ = as_configurations(np.where(kept, numeric, 0), name="X", n_coordinates=n_coordinates)
    present = np.atleast_2d(present)
    check_present(present, "X", first_row)
    return configurations, present


def _as_mask(mask: ArrayLike, shape: tuple[int, ...]) -> BoolArray:
    present = np.asarray(mask)
    if present.dtype != bool:
        raise ShapeInputError(
            f"mask must be an array of booleans, True for landmarks that are present, got dtype {present.dtype}."
        )
    if present.shape != shape:
        raise ShapeInputError(f"mask must have one entry a landmark of X, shape {shape}, got {present.shape}.")
    return present


def _preshapes_on(configurations: ComplexArray, numbers: IntArray, landmarks: IntArray, first_row: int) -> ComplexArray:
    """Return pre-shapes of some shapes, on the landmarks that they have."""
    space = Landmarks(len(landmarks))
    try:
        return space.whitened_preshapes(configurations[np.ix_(numbers, landmarks)], "X")
    except CollapsedShapeError:
        # Said again of the first one, by its number in the set.
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
