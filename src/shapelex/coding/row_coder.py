"""A coder for one dictionary on the CPU: prepared once, then used for any number of shapes.

In come the atoms and configurations that need be neither centered nor scaled; out go supports and weights of their
pre-shapes. The atoms are centered, so one matrix product gives the correlations of all shapes of a block with them.
"""

import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex.coding.coders import KernelInputs, KernelOutputs, bound_on_cpu, polish_on_cpu
from shapelex.coding.settings import CodedBlock, Coding, DictionaryCoder
from shapelex.kernels.reconstruction import squared_residuals_batch
from shapelex.kernels.triangle import REFINE
from shapelex.shapes.collection import Block
from shapelex.spaces import Space

# The rows that a thread codes in one go, and their correlations, fill about this many bytes: they stay in its cache.
_PART_BYTES = 1 << 21

MAX_PART_ROWS = 1024
"""Maximum number of shapes that a thread codes in one go."""

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
            folded = space.fold(self.prepared.atoms.view(self.dtype))
        self._real_dtype = self.prepared.gram.dtype
        # As a real matrix of twice the size: BLAS multiplies small real matrices faster than complex ones.
        self._folded = np.empty((2 * folded.shape[0], 2 * folded.shape[1]), dtype=self._real_dtype)
        self._folded[0::2, 0::2] = self._folded[1::2, 1::2] = folded.real
        self._folded[0::2, 1::2], self._folded[1::2, 0::2] = folded.imag, -folded.imag
        self._small_residual = _SMALL_RESIDUAL[self._real_dtype.char]
        if for_learning:
            self._small_residual = _SMALL_FOR_LEARNING[self._real_dtype.char]
            self.limits[REFINE] = _REFINE_FOR_LEARNING[self._real_dtype.char]
        self._polish = polish_on_cpu if self.search.polishes else None
        row_bytes = (self.n_atoms + self.n_coordinates) * self.dtype.itemsize
        self.part_rows = min(max(_PART_BYTES // row_bytes // 128 * 128, 128), MAX_PART_ROWS)
        self._no_rows = np.empty((MAX_PART_ROWS, 0), dtype=self._real_dtype)

    def allocate(self, start: int, n_rows: int, *, with_squares: bool) -> CodedBlock:
        """Return arrays for the codes of consecutive shapes, not initialized."""
        return CodedBlock(
            start,
            np.empty((n_rows, self.n_nonzero), dtype=np.int32),
            np.empty((n_rows, self.n_levels, self.n_nonzero), dtype=self.dtype),
            np.empty(n_rows if with_squares else 0, dtype=self._real_dtype),
            self.n_atoms,
        )

    def correlate(self, block: Block, start: int, stop: int) -> tuple[ComplexArray, FloatArray, FloatArray]:
        """Return what :meth:`code_part` returns, without coding."""
        rows = np.ascontiguousarray(block.configurations[start:stop], dtype=self.dtype)
        if block.scales is None:
            rows, scales = self.space.scaled_parts(rows, block.name, block.first_row + start)
        else:
            scales = block.scales[start:stop]
        correlations: FloatArray = rows.view(self._real_dtype) @ self._folded
        correlations *= scales[:, None].astype(self._real_dtype)
        return rows, scales, correlations

    def code_part(
        self, block: Block, out: CodedBlock, start: int, stop: int
    ) -> tuple[ComplexArray, FloatArray, FloatArray]:
        """Code the pre-shapes of some shapes of a block, on one thread, into arrays for the whole block.

        Returns configurations and scales whose products are the pre-shapes up to translation, and the correlations of
        the pre-shapes with the normalized atoms, real and imaginary parts interleaved.
        """
        rows, scales, correlations = self.correlate(block, start, stop)
        support, coefs, squares = out.support[start:stop], out.coefs[start:stop], out.squares[start:stop]
        left, again = self._run_kernel(correlations, self._no_rows[: len(rows)], support, coefs)
        if len(squares):
            again |= ~(left > self._small_residual)
            np.maximum(left, 0, out=squares)
        if again.any():
            self._code_by_coordinates(rows[again], again, support, coefs, squares)
        if self.factors is not None:
            coefs *= self.factors[support][:, None, :]
        return rows, scales, correlations

    def _code_by_coordinates(
        self,
        configurations: ComplexArray,
        chosen: BoolArray,
        out_support: IntArray,
        out_coefs: ComplexArray,
        out_squares: FloatArray,
    ) -> None:
        """Code again the chosen rows of a part, whose correlations alone have too few correct digits."""
        rows = np.ascontiguousarray(self.space.unit_rows(configurations), dtype=self.dtype)
        reals = rows.view(self._real_dtype)
        found = self.allocate(0, len(rows), with_squares=True)
        # Where supports are given, they are the ones to use again.
        found.support[:] = out_support[chosen]
        self._run_kernel((rows @ self.prepared.folded).view(self._real_dtype), reals, found.support, found.coefs)
        out_support[chosen], out_coefs[chosen] = found.support, found.coefs
        if len(out_squares):
            weights = np.ascontiguousarray(found.coefs[:, -1]).view(self._real_dtype)
            squared_residuals_batch(found.support, weights, self.prepared.atoms, reals, found.squares)
            out_squares[chosen] = found.squares

    def _run_kernel(
        self, correlations: FloatArray, rows: FloatArray, out_support: IntArray, out_coefs: ComplexArray
    ) -> tuple[FloatArray, BoolArray]:
        """Code rows of norm 1; return squared residuals, and which rows must be coded again with their coordinates."""
        n_rows = len(correlations)
        left, needs_row = np.empty(n_rows, dtype=self._real_dtype), np.zeros(n_rows, dtype=bool)
        norms2 = np.ones(n_rows, dtype=self._real_dtype)
        inputs = KernelInputs(correlations, norms2, self.prepared.gram, rows, self.prepared.atoms, self.limits)
        outputs = KernelOutputs(out_support, out_coefs.view(self._real_dtype), left, needs_row)
        self.implementation(inputs, outputs, self.search.width)
        if self._polish is not None:
            self._polish(inputs, outputs)
        if self.bounds is not None:
            bound_on_cpu(inputs, outputs, self.bounds, self.search.tries_all)
        return left, needs_row
