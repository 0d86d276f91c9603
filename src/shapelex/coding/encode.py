"""Codes of shapes over a fixed dictionary.

In: configurations and atoms (:func:`encode`), or whitened rows of both (:func:`encode_rows`). Out:
:class:`~shapelex.coding.codes.SparseCodes`. Rows go through in blocks: beyond input and output, memory does not grow
with the number of shapes. A row's code depends on nothing but the row and the atoms, bit for bit: not on the
block, the number of threads or its neighbours.
"""

import threading
from typing import Literal, overload

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import as_configurations, check_count
from shapelex.coding.coders import CODERS, CoderOptions, RowBlock, choose_coder
from shapelex.coding.codes import CodePath, SparseCodes
from shapelex.coding.prepared import PreparedAtoms, prepare_atoms
from shapelex.coding.threads import count_threads, run_blocks
from shapelex.exceptions import CoordinateCountError, ShapeInputError
from shapelex.kernels.alignment import aligned_zeros
from shapelex.kernels.correlations import correlate_batch, correlation_width
from shapelex.spaces import Landmarks, Space

# Correlations of a block fill about this many bytes: they stay in a core's cache.
_BLOCK_BYTES = 1 << 18
# Configurations that `encode` whitens at a time.
_WHITENED_ROWS = 8192

# (independent, gain, refine) by precision: an atom within 1e-4 (3e-3 in single precision) of the span of the
# chosen ones counts as dependent, which also bounds the weights; a gain below 1e-12 (1e-5) of the norm is noise.
_TOLERANCES = {"f": (1e-5, 1e-10, 1e-3), "d": (1e-8, 1e-24, 1e-3)}


@overload
def encode(
    X: ArrayLike,
    atoms: ArrayLike,
    n_nonzero: int | None = ...,
    method: str = ...,
    *,
    width: int = ...,
    tol: float | None = ...,
    path: Literal[False] = ...,
    space: Space | None = ...,
    n_threads: int | None = ...,
) -> SparseCodes: ...


@overload
def encode(
    X: ArrayLike,
    atoms: ArrayLike,
    n_nonzero: int | None = ...,
    method: str = ...,
    *,
    width: int = ...,
    tol: float | None = ...,
    path: Literal[True],
    space: Space | None = ...,
    n_threads: int | None = ...,
) -> CodePath: ...


def encode(
    X: ArrayLike,
    atoms: ArrayLike,
    n_nonzero: int | None = None,
    method: str = "auto",
    *,
    width: int = 16,
    tol: float | None = None,
    path: bool = False,
    space: Space | None = None,
    n_threads: int | None = None,
) -> SparseCodes | CodePath:
    """Code shapes over a dictionary (paper, eq. sparse_coding).

    For the pre-shape `z` of each shape, looks for the weights that solve
    ``min |z - sum_j alpha_j atoms_j|  subject to  |alpha|_0 <= n_nonzero`` in the norm of the space. The minimum
    is the full Procrustes distance of the shape to its reconstruction.

    Parameters
    ----------
    X : array_like of complex, shape (n_samples, n_coordinates), or real, shape (n_samples, n_coordinates, 2)
        Configurations.
    atoms : array_like of complex, shape (n_atoms, n_coordinates)
        The dictionary. Atoms need not be pre-shapes, nor independent, nor different from zero.
    n_nonzero : int, optional
        Most atoms that a shape may use. May be left out when `tol` is given.
    method : {"auto", "ormp", "omp", "beam", "exact"}
        How to search.

        - ``"ormp"``: order recursive matching pursuit (paper, algorithm ORMP): each step takes the atom that
          lowers the error most.
        - ``"omp"``: orthogonal matching pursuit: each step takes the atom that correlates most with the residual.
        - ``"beam"``: ORMP that keeps the best `width` supports at each step, its own path always among them.
        - ``"exact"``: the true minimum over all supports, by enumeration.
        - ``"auto"``: ``"exact"`` where ``comb(n_atoms, n_nonzero)`` is at most 50,000 (up to 40 µs a shape),
          otherwise ``"beam"``.
    width : int, default 16
        Supports that ``"beam"`` keeps; 1 is ORMP, bit for bit.
    tol : float, optional
        Stop at this full distance: a shape gets no more atoms once ``|z - sum_j alpha_j atoms_j| <= tol``.
    path : bool, default False
        Give the codes of every sparsity up to `n_nonzero`, from one pursuit: ``"ormp"``, which ``"auto"`` means
        here, or ``"omp"``.
    space : Space, optional
        Space of the configurations. Default: landmarks.
    n_threads : int, optional
        Most threads to use. Default: all processors of this process. Few shapes are coded by one thread.

    Returns
    -------
    SparseCodes or CodePath
        The codes; with ``path=True`` a :class:`CodePath`, whose item `s` has the codes of sparsity `s`.

    Raises
    ------
    ValueError
        If an argument is out of range, or the method is not known.
    SearchTooLargeError
        If an exact search would take too long.
    NonFiniteError
        If a coordinate is NaN or infinite.

    Notes
    -----
    A pursuit stops early when no atom lowers the error by more than rounding, skips atoms that the chosen
    ones span (to a distance of 1e-4 of their norm in double precision, 3e-3 in single), and settles ties for the
    lowest index. ``"exact"`` is the minimum over the supports that are independent in this sense, to a few roundings
    of the squared norm.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import decode, encode
    >>> triangle = np.array([1, 1j, -1, -1j]) / 2
    >>> kite = np.array([2, 1j, -1, -1j])
    >>> codes = encode([3 * triangle + 5], [triangle, kite], n_nonzero=1)
    >>> np.round(codes.toarray(), 6) + 0
    array([[1.+0.j, 0.+0.j]])
    """
    configurations, _ = as_configurations(X, name="X")
    in_space = Landmarks(n_points=configurations.shape[1]) if space is None else space
    atom_rows = in_space.whiten(as_configurations(atoms, name="atoms", n_coordinates=in_space.n_coordinates)[0])
    if n_threads is not None:
        n_threads = check_count(n_threads, 1, "n_threads")
    dtype = np.result_type(configurations.dtype, atom_rows.dtype)
    prepared = prepare_atoms(np.ascontiguousarray(atom_rows, dtype=dtype))
    request = _check_request(prepared, in_space.n_coordinates, n_nonzero, method, width, tol, path)
    support, coefs = _allocate(configurations.shape[0], request, path, dtype)
    for start in range(0, configurations.shape[0], _WHITENED_ROWS):
        part = slice(start, start + _WHITENED_ROWS)
        rows = np.ascontiguousarray(in_space.whitened_preshapes(configurations[part], "X"), dtype=dtype)
        _code_rows(prepared, rows, request, n_threads, support[part], coefs[part])
    return _wrap(support, coefs, prepared, path)


def encode_rows(
    rows: ComplexArray,
    atom_rows: ComplexArray,
    n_nonzero: int | None = None,
    *,
    method: str = "auto",
    width: int = 16,
    tol: float | None = None,
    n_threads: int | None = None,
) -> SparseCodes:
    """Code whitened rows over whitened atoms.

    Parameters
    ----------
    rows : ndarray of complex, shape (n_samples, n_coordinates)
        Whitened rows; finite, not checked. `tol` is relative to their norms.
    atom_rows : ndarray of complex, shape (n_atoms, n_coordinates)
        Whitened atoms of any norm.
    n_nonzero, method, width, tol, n_threads
        As in :func:`encode`.

    Returns
    -------
    SparseCodes
        The codes, in complex64 when both inputs are.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import encode_rows
    >>> codes = encode_rows(np.array([[0.8, 0.6j, 0]]), np.eye(3, dtype=complex), 2, method="ormp")
    >>> codes.support
    array([[0, 1]], dtype=int32)
    """
    support, coefs, prepared = _encode_rows(rows, atom_rows, n_nonzero, method, width, tol, False, n_threads)
    return SparseCodes._from_coder(support, coefs[:, 0], prepared.n_atoms)


def encode_path_rows(
    rows: ComplexArray,
    atom_rows: ComplexArray,
    n_nonzero: int | None = None,
    *,
    method: str = "ormp",
    tol: float | None = None,
    n_threads: int | None = None,
) -> CodePath:
    """Code whitened rows at every sparsity up to `n_nonzero`, by one pursuit.

    Parameters
    ----------
    rows, atom_rows, n_nonzero
        As in :func:`encode_rows`.
    method : {"ormp", "omp"}
        The pursuit.
    tol, n_threads
        As in :func:`encode_rows`.

    Returns
    -------
    CodePath
        Item `s` has the codes of sparsity `s`.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import encode_path_rows
    >>> path = encode_path_rows(np.array([[0.8, 0.6j]]), np.eye(2, dtype=complex), 2)
    >>> path[1].support
    array([[0]], dtype=int32)
    """
    support, coefs, prepared = _encode_rows(rows, atom_rows, n_nonzero, method, 1, tol, True, n_threads)
    return CodePath(support, coefs, prepared.n_atoms)


class _Request:
    """A checked request: the coder's name and its options."""

    def __init__(self, coder: str, options: CoderOptions) -> None:
        self.coder = coder
        self.options = options


def _check_request(
    prepared: PreparedAtoms,
    n_coordinates: int,
    n_nonzero: int | None,
    method: str,
    width: int,
    tol: float | None,
    path: bool,
) -> _Request:
    n_atoms = prepared.n_atoms
    if n_nonzero is None:
        if tol is None:
            raise ValueError("give n_nonzero, tol or both: without them no pursuit knows where to stop.")
        n_nonzero = min(n_atoms, n_coordinates)
    if isinstance(n_nonzero, bool) or not isinstance(n_nonzero, int | np.integer):
        raise TypeError(f"n_nonzero must be an integer, got {n_nonzero!r}.")
    if not 1 <= n_nonzero <= n_atoms:
        raise ValueError(f"n_nonzero must be between 1 and n_atoms={n_atoms}, got {n_nonzero}.")
    if tol is not None and not (np.isfinite(tol) and tol >= 0):
        raise ValueError(f"tol must be a distance, finite and not negative, got {tol}.")
    width = check_count(width, 1, "width")
    if path and method == "auto":
        method = "ormp"
    if path and method in CODERS and not CODERS[method].is_nested:
        nested = " or ".join(f'"{name}"' for name, entry in CODERS.items() if entry.is_nested)
        raise ValueError(f"path=True needs a nested pursuit, method {nested}, got {method!r}.")
    coder = choose_coder(method, n_atoms, int(n_nonzero), width, tol is not None)
    dtype = prepared.gram.dtype
    independent, gain, refine = _TOLERANCES[dtype.char]
    target = -1.0 if tol is None else float(tol) ** 2
    limits = np.array([independent, gain, target, refine, np.finfo(dtype).eps], dtype=dtype)
    return _Request(coder, CoderOptions(int(n_nonzero), width, limits))


def _allocate(
    n_rows: int, request: _Request, path: bool, dtype: np.dtype[np.complexfloating]
) -> tuple[IntArray, ComplexArray]:
    n_nonzero = request.options.n_nonzero
    support = np.empty((n_rows, n_nonzero), dtype=np.int32)
    return support, np.empty((n_rows, n_nonzero if path else 1, n_nonzero), dtype=dtype)


def _code_rows(
    prepared: PreparedAtoms,
    rows: ComplexArray,
    request: _Request,
    n_threads: int | None,
    out_support: IntArray,
    out_coefs: ComplexArray,
) -> None:
    coder = CODERS[request.coder]
    options = request.options
    n_rows, n_coordinates = rows.shape
    if n_rows == 0:
        return
    real_rows: FloatArray = rows.view(prepared.atoms.dtype)
    real_coefs: FloatArray = out_coefs.view(prepared.atoms.dtype)
    # One division a weight brings the coefficients back to the atoms as they were given.
    factor = np.where(prepared.norms > 0, 1 / np.where(prepared.norms > 0, prepared.norms, 1), 0)
    factor = factor.astype(prepared.norms.dtype)
    is_scaled = bool((factor != 1).any())

    # Fresh memory costs more than filling it: every thread keeps its block of correlations.
    kept = threading.local()
    width = correlation_width(prepared.packed, n_coordinates)

    def code_block(start: int, stop: int) -> None:
        if not hasattr(kept, "correlations"):
            kept.correlations = aligned_zeros((block_rows, width), real_rows.dtype)
            kept.norms2 = np.empty(block_rows, dtype=real_rows.dtype)
        size = stop - start
        block = RowBlock(real_rows[start:stop], kept.correlations[:size], kept.norms2[:size])
        correlate_batch(block.rows, prepared.packed, block.correlations, block.norms2)
        support = out_support[start:stop]
        coder.code_block(prepared, block, options, support, real_coefs[start:stop])
        if is_scaled:
            out_coefs[start:stop] *= factor[support][:, None, :]

    cost = coder.cost_ns(n_coordinates, prepared.n_atoms, options.n_nonzero, options.width)
    block_rows = max(128, _BLOCK_BYTES // (2 * prepared.width * prepared.gram.dtype.itemsize) // 128 * 128)
    block_rows = min(block_rows, -(-n_rows // 4) * 4)
    run_blocks(code_block, n_rows, block_rows, count_threads(n_threads, cost * n_rows))


def _encode_rows(
    rows: ComplexArray,
    atom_rows: ComplexArray,
    n_nonzero: int | None,
    method: str,
    width: int,
    tol: float | None,
    path: bool,
    n_threads: int | None,
) -> tuple[IntArray, ComplexArray, PreparedAtoms]:
    rows, atom_rows = _as_rows(rows, "rows"), _as_rows(atom_rows, "atom_rows")
    if rows.shape[1] != atom_rows.shape[1]:
        raise CoordinateCountError(
            "rows and atom_rows must have the same number of coordinates, "
            f"got {rows.shape[1]} and {atom_rows.shape[1]}."
        )
    if n_threads is not None:
        n_threads = check_count(n_threads, 1, "n_threads")
    dtype = np.result_type(rows.dtype, atom_rows.dtype)
    prepared = prepare_atoms(np.ascontiguousarray(atom_rows, dtype=dtype))
    request = _check_request(prepared, rows.shape[1], n_nonzero, method, width, tol, path)
    support, coefs = _allocate(rows.shape[0], request, path, dtype)
    _code_rows(prepared, np.ascontiguousarray(rows, dtype=dtype), request, n_threads, support, coefs)
    return support, coefs, prepared


def _as_rows(rows: ComplexArray, name: str) -> ComplexArray:
    array = np.asarray(rows)
    if array.ndim != 2 or not np.iscomplexobj(array) or array.shape[1] == 0:
        raise ShapeInputError(
            f"{name} must be a 2-D complex array (rows, n_coordinates), got shape {array.shape}, dtype {array.dtype}."
        )
    return array


def _wrap(support: IntArray, coefs: ComplexArray, prepared: PreparedAtoms, path: bool) -> SparseCodes | CodePath:
    if path:
        return CodePath(support, coefs, prepared.n_atoms)
    return SparseCodes._from_coder(support, coefs[:, 0], prepared.n_atoms)
