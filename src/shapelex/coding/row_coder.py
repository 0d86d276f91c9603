"""A coder for one dictionary: checked and prepared once, then used for any number of rows.

In come whitened atoms and what is asked for; out go supports and weights of whitened rows, or of configurations in
their space. Rows are coded in blocks of a fixed size, so that codes do not depend on the number of threads.
"""

from collections.abc import Callable

import numpy as np

from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count
from shapelex.coding.coders import CODERS, CoderOptions, KernelBlock, choose_coder, implementation, make_limits
from shapelex.coding.codes import CodePath, SparseCodes
from shapelex.coding.decode import residual_norms
from shapelex.coding.prepared import prepare_atoms
from shapelex.coding.threads import count_threads, run_blocks, single_blas_thread
from shapelex.exceptions import CoordinateCountError, ShapeInputError
from shapelex.kernels.normalization import normalize_batch
from shapelex.spaces import Space

# A block of rows and its correlations fill about this many bytes: they stay in a core's cache.
_BLOCK_BYTES = 1 << 19

# By precision: the smallest share of a squared norm that centering may leave before digits are lost (such shapes lie
# far from the origin, measured in their own size), and the range of squared norms that neither over- nor underflow.
_NORM_LIMITS = {"f": np.array([1e-2, 1e-60, 1e60]), "d": np.array([1e-4, 1e-280, 1e280])}

# Squared residuals below this are computed from coordinates, where errors are asked for.
_SMALL_RESIDUAL = {"f": 1e-2, "d": 1e-4}


class RowCoder:
    """Codes whitened rows over one dictionary.

    Parameters
    ----------
    atom_rows : ndarray of complex, shape (n_atoms, n_coordinates)
        Whitened atoms of any norm.
    n_nonzero : int, optional
        Most atoms that a row may use. May be left out when `tol` is given.
    method : str
        A name in ``CODERS``, or ``"auto"``.
    width : int, default 16
        Supports that ``"beam"`` keeps.
    tol : float, optional
        Stop at this residual, relative to the norm of the row.
    path : bool, default False
        Whether to give the coefficients of every sparsity.
    dtype : dtype of complex, optional
        Precision to code in. Default: that of the atoms.

    Attributes
    ----------
    n_atoms, n_nonzero : int
        Size of the codes.
    cost_ns : float
        Estimated nanoseconds a row.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the method is not known.
    SearchTooLargeError
        If an exact search would take too long.

    Examples
    --------
    >>> import numpy as np
    >>> coder = RowCoder(np.eye(3, dtype=complex), 2, method="ormp")
    >>> coder.encode(np.array([[0.8, 0.6j, 0]])).support
    array([[0, 1]], dtype=int32)
    """

    def __init__(
        self,
        atom_rows: ComplexArray,
        n_nonzero: int | None = None,
        *,
        method: str = "auto",
        width: int = 16,
        tol: float | None = None,
        path: bool = False,
        dtype: np.dtype[np.complexfloating] | None = None,
    ) -> None:
        atoms = as_rows(atom_rows, "atom_rows")
        self.dtype: np.dtype[np.complexfloating] = np.dtype(atoms.dtype if dtype is None else dtype)
        self.n_atoms, self.n_coordinates = atoms.shape
        self.n_nonzero = check_nonzero(n_nonzero, self.n_atoms, self.n_coordinates, tol)
        self._path = path
        width = check_count(width, 1, "width")
        if path:
            method = check_nested(method)
        coder = choose_coder(method, self.n_atoms, self.n_nonzero, width, tol is not None)
        self._kernel = implementation(coder, "numba")
        self._atom_rows = np.ascontiguousarray(atoms, dtype=self.dtype)
        with single_blas_thread():
            self._prepared = prepare_atoms(self._atom_rows)
        self._real_dtype = real_dtype = self._prepared.gram.dtype
        self._options = CoderOptions(width, make_limits(real_dtype, tol))
        # One division a weight brings the coefficients back to the atoms as they were given.
        norms = self._prepared.norms
        factor: FloatArray = np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0).astype(norms.dtype)
        self._factor = factor if (factor != 1).any() else None
        self.cost_ns = CODERS[coder].cost_ns(self.n_coordinates, self.n_atoms, self.n_nonzero, width)

    def encode(self, rows: ComplexArray, n_threads: int | None = None) -> SparseCodes:
        """Code whitened rows, which must be finite (not checked), on at most `n_threads` threads."""
        support, coefs = self.allocate(len(rows))
        self.code(rows, support, coefs, n_threads)
        return SparseCodes._from_coder(support, coefs[:, -1], self.n_atoms)

    def allocate(self, n_rows: int) -> tuple[IntArray, ComplexArray]:
        """Return uninitialized arrays for codes: supports, and weights with one level, or one per sparsity."""
        support = np.empty((n_rows, self.n_nonzero), dtype=np.int32)
        return support, np.empty((n_rows, self.n_nonzero if self._path else 1, self.n_nonzero), dtype=self.dtype)

    def wrap(self, support: IntArray, coefs: ComplexArray) -> SparseCodes | CodePath:
        """Return filled arrays of :meth:`allocate` as codes, or as a path where one was asked for."""
        if self._path:
            return CodePath(support, coefs, self.n_atoms)
        return SparseCodes._from_coder(support, coefs[:, 0], self.n_atoms)

    def code(
        self, rows: ComplexArray, out_support: IntArray, out_coefs: ComplexArray, n_threads: int | None = None
    ) -> None:
        """Code whitened rows, which must be finite (not checked), into arrays of :meth:`allocate`."""
        checked = as_rows(rows, "rows")
        n_coordinates = checked.shape[1]
        if n_coordinates != self.n_coordinates:
            raise CoordinateCountError(
                "rows and atom_rows must have the same number of coordinates, "
                f"got {n_coordinates} and {self.n_coordinates}."
            )

        def code_block(start: int, stop: int) -> None:
            block = np.ascontiguousarray(checked[start:stop], dtype=self.dtype)
            self._code_rows(block, out_support[start:stop], out_coefs[start:stop])

        self._run(code_block, len(checked), n_threads)

    def code_configurations(
        self,
        configurations: ComplexArray,
        space: Space,
        out_support: IntArray,
        out_coefs: ComplexArray,
        *,
        out_errors: FloatArray | None = None,
        n_threads: int | None = None,
        name: str = "X",
        first_row: int = 0,
    ) -> None:
        """Code the pre-shapes of configurations into arrays of :meth:`allocate`; fill `out_errors` where it is given.

        The atoms are centered, so correlations need neither centered nor scaled shapes: one product gives those of a
        block, and one pass the norms, which also show NaN and infinity. Only the few rows whose code, norm or residual
        would suffer from rounding are centered and coded by their coordinates. Error messages call the configurations
        `name`, and count rows from `first_row`.
        """
        unit_shift = space.whitened_shift

        def code_block(start: int, stop: int) -> None:
            block = np.ascontiguousarray(configurations[start:stop], dtype=self.dtype)
            # NaN and infinity are found by the norms.
            with np.errstate(invalid="ignore", over="ignore"):
                whitened = space.whiten_uncentered(block)
                correlations = self._correlate(whitened)
            is_usable = np.empty(len(block), dtype=bool)
            limits = _NORM_LIMITS[self._real_dtype.char]
            normalize_batch(whitened.view(self._real_dtype), unit_shift, limits, correlations, is_usable)
            no_rows = np.empty((len(block), 0), dtype=self._real_dtype)
            norms2 = np.ones(len(block), dtype=self._real_dtype)
            support, coefs = out_support[start:stop], out_coefs[start:stop]
            left, needs_row = self._code_block(correlations, norms2, no_rows, support, coefs)
            again = ~is_usable | needs_row
            if out_errors is not None:
                # The residual is a difference to 1: a small one has few correct digits.
                again |= ~(left > _SMALL_RESIDUAL[self._real_dtype.char])
                out_errors[start:stop] = np.sqrt(np.maximum(left, 0))
            if again.any():
                rows = _preshape_rows(block, again, space, name, first_row + start)
                found_support, found_coefs = self.allocate(len(rows))
                self._code_rows(rows, found_support, found_coefs)
                support[again], coefs[again] = found_support, found_coefs
                if out_errors is not None:
                    codes = SparseCodes._from_coder(found_support, found_coefs[:, -1], self.n_atoms)
                    out_errors[start:stop][again] = residual_norms(rows, self._atom_rows, codes)

        self._run(code_block, len(configurations), n_threads)

    def _run(self, code_block: Callable[[int, int], None], n_rows: int, n_threads: int | None) -> None:
        """Code blocks of a fixed size, each on one thread."""
        if n_threads is not None:
            n_threads = check_count(n_threads, 1, "n_threads")
        row_bytes = (self.n_atoms + self.n_coordinates) * self.dtype.itemsize
        block_rows = min(max(_BLOCK_BYTES // row_bytes // 128 * 128, 128), 1024)
        with single_blas_thread():
            run_blocks(code_block, n_rows, block_rows, count_threads(n_threads, self.cost_ns * n_rows))

    def _correlate(self, rows: ComplexArray) -> FloatArray:
        correlations: FloatArray = (rows @ self._prepared.folded).view(self._real_dtype)
        return correlations

    def _code_rows(self, rows: ComplexArray, out_support: IntArray, out_coefs: ComplexArray) -> None:
        reals = rows.view(self._real_dtype)
        norms2 = np.einsum("kn,kn->k", reals, reals)
        self._code_block(self._correlate(rows), norms2, reals, out_support, out_coefs)

    def _code_block(
        self,
        correlations: FloatArray,
        norms2: FloatArray,
        rows: FloatArray,
        out_support: IntArray,
        out_coefs: ComplexArray,
    ) -> tuple[FloatArray, BoolArray]:
        """Code one block; return squared residuals, and which rows must be coded again with their coordinates."""
        left, needs_row = np.empty_like(norms2), np.zeros(len(norms2), dtype=bool)
        # The kernels want contiguous arrays; the outputs are slices of such.
        reals = out_coefs.view(self._real_dtype)
        block = KernelBlock(correlations, norms2, rows, out_support, reals, left, needs_row)
        self._kernel(self._prepared, block, self._options)
        if self._factor is not None:
            out_coefs *= self._factor[out_support][:, None, :]
        return left, needs_row


def _preshape_rows(block: ComplexArray, chosen: BoolArray, space: Space, name: str, first_row: int) -> ComplexArray:
    """Return the chosen pre-shapes of a block as whitened rows; errors name rows of the whole set."""
    try:
        return space.whitened_preshapes(block[chosen], name)
    except ShapeInputError:
        space.whitened_preshapes(block, name, first_row)
        raise


def as_rows(rows: ComplexArray, name: str) -> ComplexArray:
    """Refuse what is no stack of complex rows.

    Parameters
    ----------
    rows : ndarray
        What the caller gave.
    name : str
        What to call it in the error.

    Returns
    -------
    ndarray of complex, shape (n_samples, n_coordinates)
        The same array.

    Raises
    ------
    ShapeInputError
        If it is no complex 2-D array.
    """
    array = np.asarray(rows)
    if array.ndim != 2 or not np.iscomplexobj(array) or array.shape[1] == 0:
        raise ShapeInputError(
            f"{name} must be a 2-D complex array (rows, n_coordinates), got shape {array.shape}, dtype {array.dtype}."
        )
    return array


def check_nonzero(n_nonzero: int | None, n_atoms: int, n_coordinates: int, tol: float | None) -> int:
    """Refuse sparsities that a dictionary does not have.

    Parameters
    ----------
    n_nonzero : int or None
        What the caller gave.
    n_atoms, n_coordinates : int
        Size of the dictionary.
    tol : float or None
        The error target; without one, `n_nonzero` must be given.

    Returns
    -------
    int
        Most atoms a row.
    """
    if tol is not None and not (np.isfinite(tol) and tol >= 0):
        raise ValueError(f"tol must be a distance, finite and not negative, got {tol}.")
    if n_nonzero is None:
        if tol is None:
            raise ValueError("give n_nonzero, tol or both: without them no pursuit knows where to stop.")
        return min(n_atoms, n_coordinates)
    if type(n_nonzero) is bool or not isinstance(n_nonzero, int | np.integer):
        raise TypeError(f"n_nonzero must be an integer, got {n_nonzero!r}.")
    if not 1 <= n_nonzero <= n_atoms:
        raise ValueError(f"n_nonzero must be between 1 and n_atoms={n_atoms}, got {n_nonzero}.")
    return int(n_nonzero)


def check_nested(method: str) -> str:
    """Refuse methods that give no path of codes.

    Parameters
    ----------
    method : str
        What the caller gave.

    Returns
    -------
    str
        The pursuit to use.
    """
    if method == "auto":
        return "ormp"
    if method in CODERS and not CODERS[method].is_nested:
        nested = " or ".join(f'"{name}"' for name, entry in CODERS.items() if entry.is_nested)
        raise ValueError(f"path=True needs a nested pursuit, method {nested}, got {method!r}.")
    return method
