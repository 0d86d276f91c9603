"""A coder for one dictionary: checked and prepared once, then used for any number of rows.

In come whitened atoms and what is asked for; out go supports and coefficients of whitened rows. A row's code depends on
nothing but the row and the atoms, bit for bit: not on the block, the number of threads or its neighbors.
"""

import threading

import numpy as np

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count
from shapelex.coding.coders import CODERS, CoderOptions, RowBlock, choose_coder
from shapelex.coding.codes import CodePath, SparseCodes
from shapelex.coding.prepared import prepare_atoms
from shapelex.coding.threads import count_threads, run_blocks
from shapelex.exceptions import CoordinateCountError, ShapeInputError
from shapelex.kernels.alignment import aligned_zeros
from shapelex.kernels.correlations import correlate_batch, correlation_width

# Correlations of a block fill about this many bytes: they stay in a core's cache.
_BLOCK_BYTES = 1 << 18

# (independent, gain, refine) by precision: an atom within 1e-4 (3e-3 in single precision) of the span of the
# chosen ones counts as dependent, which also bounds the weights; a gain below 1e-12 (1e-5) of the norm is noise.
TOLERANCES = {"f": (1e-5, 1e-10, 1e-3), "d": (1e-8, 1e-24, 1e-3)}


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
        self._coder = CODERS[choose_coder(method, self.n_atoms, self.n_nonzero, width, tol is not None)]
        self._prepared = prepare_atoms(np.ascontiguousarray(atoms, dtype=self.dtype))
        real_dtype = self._prepared.gram.dtype
        independent, gain, refine = TOLERANCES[real_dtype.char]
        target = -1.0 if tol is None else float(tol) ** 2
        limits = np.array([independent, gain, target, refine, np.finfo(real_dtype).eps], dtype=real_dtype)
        self._options = CoderOptions(self.n_nonzero, width, limits)
        # One division a weight brings the coefficients back to the atoms as they were given.
        norms = self._prepared.norms
        factor: FloatArray = np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0).astype(norms.dtype)
        self._factor = factor if (factor != 1).any() else None
        self._correlation_width = correlation_width(self._prepared.packed, self.n_coordinates)
        self.cost_ns = self._coder.cost_ns(self.n_coordinates, self.n_atoms, self.n_nonzero, width)

    def encode(self, rows: ComplexArray, n_threads: int | None = None) -> SparseCodes:
        """Code rows.

        Parameters
        ----------
        rows : ndarray of complex, shape (n_samples, n_coordinates)
            Whitened rows; finite, not checked.
        n_threads : int, optional
            Most threads to use.

        Returns
        -------
        SparseCodes
            The codes.
        """
        support, coefs = self.allocate(len(rows))
        self.code(rows, support, coefs, n_threads)
        return SparseCodes._from_coder(support, coefs[:, -1], self.n_atoms)

    def allocate(self, n_rows: int) -> tuple[IntArray, ComplexArray]:
        """Arrays for the codes of so many rows.

        Parameters
        ----------
        n_rows : int
            How many.

        Returns
        -------
        support : ndarray of int32, shape (n_rows, n_nonzero)
            Uninitialized.
        coefs : ndarray of complex, shape (n_rows, 1 or n_nonzero, n_nonzero)
            Uninitialized; with ``path`` one row for each sparsity.
        """
        support = np.empty((n_rows, self.n_nonzero), dtype=np.int32)
        return support, np.empty((n_rows, self.n_nonzero if self._path else 1, self.n_nonzero), dtype=self.dtype)

    def wrap(self, support: IntArray, coefs: ComplexArray) -> SparseCodes | CodePath:
        """Give coded arrays their class.

        Parameters
        ----------
        support, coefs : ndarray
            Arrays of :meth:`allocate`, filled by :meth:`code`.

        Returns
        -------
        SparseCodes or CodePath
            A path where one was asked for.
        """
        if self._path:
            return CodePath(support, coefs, self.n_atoms)
        return SparseCodes._from_coder(support, coefs[:, 0], self.n_atoms)

    def code(
        self, rows: ComplexArray, out_support: IntArray, out_coefs: ComplexArray, n_threads: int | None = None
    ) -> None:
        """Code rows into given arrays.

        Parameters
        ----------
        rows : ndarray of complex, shape (n_samples, n_coordinates)
            Whitened rows; finite, not checked.
        out_support, out_coefs : ndarray
            Arrays of :meth:`allocate`.
        n_threads : int, optional
            Most threads to use.

        Raises
        ------
        CoordinateCountError
            If the rows have another number of coordinates than the atoms.
        """
        checked = as_rows(rows, "rows")
        n_rows, n_coordinates = checked.shape
        if n_coordinates != self.n_coordinates:
            raise CoordinateCountError(
                "rows and atom_rows must have the same number of coordinates, "
                f"got {n_coordinates} and {self.n_coordinates}."
            )
        if n_threads is not None:
            n_threads = check_count(n_threads, 1, "n_threads")
        if n_rows == 0:
            return
        real_dtype = self._prepared.atoms.dtype
        real_rows: FloatArray = np.ascontiguousarray(checked, dtype=self.dtype).view(real_dtype)
        real_coefs: FloatArray = out_coefs.view(real_dtype)
        block_rows = max(128, _BLOCK_BYTES // (2 * self._prepared.width * real_dtype.itemsize) // 128 * 128)
        block_rows = min(block_rows, -(-n_rows // 4) * 4)
        # Fresh memory costs more than filling it: every thread keeps its block of correlations.
        kept = threading.local()

        def code_block(start: int, stop: int) -> None:
            if not hasattr(kept, "correlations"):
                kept.correlations = aligned_zeros((block_rows, self._correlation_width), real_dtype)
                kept.norms2 = np.empty(block_rows, dtype=real_dtype)
            size = stop - start
            block = RowBlock(real_rows[start:stop], kept.correlations[:size], kept.norms2[:size])
            correlate_batch(block.rows, self._prepared.packed, block.correlations, block.norms2)
            support = out_support[start:stop]
            self._coder.code_block(self._prepared, block, self._options, support, real_coefs[start:stop])
            if self._factor is not None:
                out_coefs[start:stop] *= self._factor[support][:, None, :]

        run_blocks(code_block, n_rows, block_rows, count_threads(n_threads, self.cost_ns * n_rows))


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
