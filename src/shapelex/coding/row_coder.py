"""A coder for one dictionary on the CPU: prepared once, then used for any number of shapes.

In come the atoms and configurations that need be neither centered nor scaled; out go supports and weights of their
pre-shapes. The atoms are centered, so one matrix product gives the correlations of all shapes of a block with them.
"""

import numpy as np

from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count
from shapelex.coding.coders import CoderOptions, KernelBlock
from shapelex.coding.settings import Coding, DictionaryCoder
from shapelex.coding.threads import count_threads, run_blocks, single_blas_thread
from shapelex.exceptions import ShapeInputError
from shapelex.kernels.reconstruction import squared_residuals_batch
from shapelex.kernels.triangle import REFINE
from shapelex.spaces import Space

# A block of rows and its correlations fill about this many bytes: they stay in a core's cache.
_BLOCK_BYTES = 1 << 19

# By precision: squared residuals below this have too few correct digits as differences to 1. Those of a learner are
# right to three digits (seven in double precision), and so are its weights of nearly dependent atoms.
_SMALL_RESIDUAL = {"f": 1e-2, "d": 1e-4}
_SMALL_FOR_LEARNING = {"f": 1e-3, "d": 1e-8}
_REFINE_FOR_LEARNING = {"f": 1e-3, "d": 1e-6}


class RowCoder(DictionaryCoder):
    """Codes shapes of one space over one dictionary, on the CPU, in the precision `dtype`.

    For learning, fewer shapes are coded by their coordinates, where correlations give fewer digits of their weights.
    """

    def __init__(
        self, coding: Coding, space: Space, dtype: np.dtype[np.complexfloating], *, for_learning: bool = False
    ) -> None:
        super().__init__(coding, "numba", dtype)
        self.space = space
        with single_blas_thread():
            self._folded = space.fold(self.prepared.atoms.view(self.dtype))
        self._real_dtype = self.prepared.gram.dtype
        self._small_residual = _SMALL_RESIDUAL[self._real_dtype.char]
        if for_learning:
            self._small_residual = _SMALL_FOR_LEARNING[self._real_dtype.char]
            self.limits[REFINE] = _REFINE_FOR_LEARNING[self._real_dtype.char]
        self._options = CoderOptions(coding.width, self.limits)
        row_bytes = (self.n_atoms + self.n_coordinates) * self.dtype.itemsize
        self._block_rows = min(max(_BLOCK_BYTES // row_bytes // 128 * 128, 128), 1024)

    def allocate(self, n_rows: int) -> tuple[IntArray, ComplexArray]:
        """Return uninitialized arrays for codes: supports, and weights with one level, or one per sparsity."""
        support = np.empty((n_rows, self.n_nonzero), dtype=np.int32)
        return support, np.empty((n_rows, self.n_levels, self.n_nonzero), dtype=self.dtype)

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

        Fills `out_squares`, where it is given, with squared residuals. Returns configurations and scales whose
        products are the pre-shapes up to translation, and the correlations of the pre-shapes with the normalized atoms,
        real and imaginary parts interleaved. `scales` are those of the space, where they are known. Error
        messages call the configurations `name`, and count rows from `first_row`.
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
            again |= ~(left > self._small_residual)
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
        if self.factors is not None:
            out_coefs *= self.factors[out_support][:, None, :]
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
        self.implementation(self.prepared, block, self._options)
        return left, needs_row

    def _preshapes(self, block: ComplexArray, chosen: BoolArray, name: str, first_row: int) -> ComplexArray:
        """Return the chosen rows of a block as pre-shapes; errors name rows of the whole set."""
        try:
            return self.space.preshape(block[chosen])
        except ShapeInputError:
            self.space.whitened_preshapes(block, name, first_row)
            raise
