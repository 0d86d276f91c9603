"""A coder for one dictionary: checked and prepared once, then used for any number of shapes.

In come the atoms and configurations that need be neither centered nor scaled; out go supports and weights of their
pre-shapes. The atoms are centered, so one matrix product gives the correlations of all shapes of a block with them.
"""

import numpy as np

from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count
from shapelex.coding.coders import CODERS, CoderOptions, KernelBlock, choose_coder
from shapelex.coding.prepared import prepare_atoms
from shapelex.coding.threads import count_threads, run_blocks, single_blas_thread
from shapelex.exceptions import ShapeInputError
from shapelex.kernels.reconstruction import squared_residuals_batch
from shapelex.spaces import Space

# A block of rows and its correlations fill about this many bytes: they stay in a core's cache.
_BLOCK_BYTES = 1 << 19

# Squared residuals below this are computed from coordinates, where they are asked for.
_SMALL_RESIDUAL = {"f": 1e-2, "d": 1e-4}

# (independent, gain, refine) by precision: an atom within 1e-4 (3e-3 in single precision) of the span of the
# chosen ones counts as dependent, which also bounds the weights; a gain below 1e-12 (1e-5) of the norm is noise.
TOLERANCES = {"f": (1e-5, 1e-10, 1e-3), "d": (1e-8, 1e-24, 1e-3)}


class RowCoder:
    """Codes shapes of one space over one dictionary, on the CPU.

    Parameters
    ----------
    atom_rows : ndarray of complex, shape (n_atoms, n_coordinates)
        Whitened atoms of any norm.
    space : Space
        Space of the configurations to code.
    n_nonzero : int, optional
        Maximum number of atoms per shape. May be left out when `tol` is given.
    method : str
        A name in ``CODERS``, or ``"auto"``.
    width : int, default 16
        Number of supports that ``"beam"`` keeps.
    tol : float, optional
        Stop at this residual.
    path : bool, default False
        Whether to give the weights of every sparsity.
    dtype : dtype of complex, optional
        Precision to code in. Default: that of the atoms.
    """

    def __init__(
        self,
        atom_rows: ComplexArray,
        space: Space,
        n_nonzero: int | None = None,
        *,
        method: str = "auto",
        width: int = 16,
        tol: float | None = None,
        path: bool = False,
        dtype: np.dtype[np.complexfloating] | None = None,
    ) -> None:
        atoms = as_rows(atom_rows, "atom_rows")
        self.space = space
        self.dtype: np.dtype[np.complexfloating] = np.dtype(atoms.dtype if dtype is None else dtype)
        self.n_atoms, self.n_coordinates = atoms.shape
        self.n_nonzero = check_nonzero(n_nonzero, self.n_atoms, self.n_coordinates, tol)
        self._path = path
        width = check_count(width, 1, "width")
        if path:
            method = check_nested(method)
        self._coder = CODERS[choose_coder(method, self.n_atoms, self.n_nonzero, width, tol is not None)]
        with single_blas_thread():
            self.prepared = prepare_atoms(np.ascontiguousarray(atoms, dtype=self.dtype))
            self._folded = space.fold(self.prepared.atoms.view(self.dtype))
        self._real_dtype = real_dtype = self.prepared.gram.dtype
        independent, gain, refine = TOLERANCES[real_dtype.char]
        target = -1.0 if tol is None else float(tol) ** 2
        limits = np.array([independent, gain, target, refine, np.finfo(real_dtype).eps], dtype=real_dtype)
        self._options = CoderOptions(width, limits)
        # Weights are divided by the norms that the atoms had.
        norms = self.prepared.norms
        factor: FloatArray = np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0).astype(norms.dtype)
        self._factor = factor if (factor != 1).any() else None
        self.cost_ns = self._coder.cost_ns(self.n_coordinates, self.n_atoms, self.n_nonzero, width)
        row_bytes = (self.n_atoms + self.n_coordinates) * self.dtype.itemsize
        self._block_rows = min(max(_BLOCK_BYTES // row_bytes // 128 * 128, 128), 1024)

    def allocate(self, n_rows: int) -> tuple[IntArray, ComplexArray]:
        """Return uninitialized arrays for codes: supports, and weights with one level, or one per sparsity."""
        support = np.empty((n_rows, self.n_nonzero), dtype=np.int32)
        return support, np.empty((n_rows, self.n_nonzero if self._path else 1, self.n_nonzero), dtype=self.dtype)

    def code(
        self,
        configurations: ComplexArray,
        out_support: IntArray,
        out_coefs: ComplexArray,
        out_squares: FloatArray | None = None,
        *,
        scales: FloatArray | None = None,
        n_threads: int | None = None,
        name: str = "X",
        first_row: int = 0,
    ) -> None:
        """Code configurations in blocks of a fixed size, each on one thread; see :meth:`code_block`."""

        def code_block(start: int, stop: int) -> None:
            part = slice(start, stop)
            self.code_block(
                configurations[part],
                out_support[part],
                out_coefs[part],
                None if out_squares is None else out_squares[part],
                scales=None if scales is None else scales[part],
                name=name,
                first_row=first_row + start,
            )

        if n_threads is not None:
            n_threads = check_count(n_threads, 1, "n_threads")
        n_rows = len(configurations)
        with single_blas_thread():
            run_blocks(code_block, n_rows, self._block_rows, count_threads(n_threads, self.cost_ns * n_rows))

    def code_block(
        self,
        configurations: ComplexArray,
        out_support: IntArray,
        out_coefs: ComplexArray,
        out_squares: FloatArray | None = None,
        *,
        scales: FloatArray | None = None,
        name: str = "X",
        first_row: int = 0,
    ) -> tuple[ComplexArray, FloatArray, FloatArray]:
        """Code the pre-shapes of configurations into arrays of :meth:`allocate`.

        Fills `out_squares`, where it is given, with squared residuals. Returns configurations and scales whose products
        are the pre-shapes up to translation, and the correlations of the pre-shapes with the normalized atoms, real and
        imaginary parts interleaved. `scales` are those of the space, where they are known. Error messages call the
        configurations `name`, and count rows from `first_row`.
        """
        block = np.ascontiguousarray(configurations, dtype=self.dtype)
        if scales is None:
            scales = self.space.unit_scales(block)
        is_centered = scales == 0
        if is_centered.any():
            block, scales = block.copy(), scales.copy()
            block[is_centered] = self._preshapes(block, is_centered, name, first_row)
            scales[is_centered] = 1
        correlations: FloatArray = (block @ self._folded).view(self._real_dtype)
        correlations *= scales[:, None].astype(self._real_dtype)
        no_rows = np.empty((len(block), 0), dtype=self._real_dtype)
        left, again = self._run_kernel(correlations, no_rows, out_support, out_coefs)
        if out_squares is not None:
            # The residual is a difference to 1: a small one has few correct digits.
            again |= ~(left > _SMALL_RESIDUAL[self._real_dtype.char])
            out_squares[:] = np.maximum(left, 0)
        if again.any():
            rows = np.ascontiguousarray(self.space.whitened_preshapes(block[again], name), dtype=self.dtype)
            reals = rows.view(self._real_dtype)
            support, coefs = self.allocate(len(rows))
            self._run_kernel((rows @ self.prepared.folded).view(self._real_dtype), reals, support, coefs)
            if out_squares is not None:
                weights = np.ascontiguousarray(coefs[:, -1]).view(self._real_dtype)
                squares = np.empty(len(rows), dtype=self._real_dtype)
                squared_residuals_batch(support, weights, self.prepared.atoms, reals, squares)
                out_squares[again] = squares
            out_support[again], out_coefs[again] = support, coefs
        if self._factor is not None:
            out_coefs *= self._factor[out_support][:, None, :]
        return block, scales, correlations

    def _run_kernel(
        self, correlations: FloatArray, rows: FloatArray, out_support: IntArray, out_coefs: ComplexArray
    ) -> tuple[FloatArray, BoolArray]:
        """Code one block; return squared residuals, and which rows must be coded again with their coordinates."""
        n_rows = len(correlations)
        left, needs_row = np.empty(n_rows, dtype=self._real_dtype), np.zeros(n_rows, dtype=bool)
        norms2 = np.ones(n_rows, dtype=self._real_dtype)
        reals = out_coefs.view(self._real_dtype)
        block = KernelBlock(correlations, norms2, rows, out_support, reals, left, needs_row)
        self._coder.code_block(self.prepared, block, self._options)
        return left, needs_row

    def _preshapes(self, block: ComplexArray, chosen: BoolArray, name: str, first_row: int) -> ComplexArray:
        """Return the chosen rows of a block as pre-shapes; errors name rows of the whole set."""
        try:
            return self.space.preshape(block[chosen])
        except ShapeInputError:
            self.space.whitened_preshapes(block, name, first_row)
            raise


def as_rows(rows: ComplexArray, name: str) -> ComplexArray:
    """Return the array; refuse what is no stack of complex rows."""
    array = np.asarray(rows)
    if array.ndim != 2 or not np.iscomplexobj(array) or array.shape[1] == 0:
        raise ShapeInputError(
            f"{name} must be a 2-D complex array (rows, n_coordinates), got shape {array.shape}, dtype {array.dtype}."
        )
    return array


def check_nonzero(n_nonzero: int | None, n_atoms: int, n_coordinates: int, tol: float | None) -> int:
    """Return the maximum number of atoms per row; refuse sparsities that a dictionary does not have."""
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
    """Return the pursuit to use for a path of codes; refuse methods that give none."""
    if method == "auto":
        return "ormp"
    if method in CODERS and not CODERS[method].is_nested:
        nested = " or ".join(f'"{name}"' for name, entry in CODERS.items() if entry.is_nested)
        raise ValueError(f"path=True needs a nested pursuit, method {nested}, got {method!r}.")
    return method
