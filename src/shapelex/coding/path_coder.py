"""Codes over supports that are given, and the errors of all supports of one size.

In: blocks of configurations. Out: codes and errors, as those of :class:`~shapelex.coding.row_coder.RowCoder`.
"""

from functools import partial

import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex.coding.coders import KernelInputs, KernelOutputs, in_double, score_workspace
from shapelex.coding.row_coder import RowCoder
from shapelex.coding.settings import CodedBlock
from shapelex.coding.threads import count_threads, run_blocks
from shapelex.kernels.all_supports import all_errors_batch
from shapelex.kernels.given_supports import bound_all_batch, bound_given_batch, solve_given_batch
from shapelex.shapes.collection import Block


class PathCoder(RowCoder):
    """Computes weights over supports that the caller chose; the method of its `coding` is not used."""

    def code_given(self, block: Block, support: IntArray, n_threads: int | None) -> CodedBlock:
        """Code all shapes of a block, each over the atoms of its row of `support` (padded with −1)."""
        coded = self.allocate(block.start, len(block), with_squares=True)
        coded.support[:] = support
        with single_blas_thread():
            n_used = count_threads(n_threads, 1000.0 * len(block))
            run_blocks(partial(self.code_part, block, coded), len(block), self.part_rows, n_used)
        return coded

    def all_squares(self, block: Block, supports: IntArray, slacks: FloatArray, n_threads: int | None) -> FloatArray:
        """Return the squared errors of all shapes of a block over all supports, shape (n_rows, n_supports).

        With bounded weights, entries that are more than the slack of a row above its least one may be infinite.
        """
        squares: FloatArray = np.empty((len(block), len(supports)))

        def fill(start: int, stop: int) -> None:
            _, _, correlations = self.correlate(block, start, stop)
            part, size = squares[start:stop], supports.shape[1]
            all_errors_batch(correlations, self.prepared.gram, self.limits, size, part)
            if self.bounds is not None:
                gram, limits, bounds = (
                    array.astype(np.float64, copy=False) for array in (self.prepared.gram, self.limits, self.bounds)
                )
                bits = np.empty(gram.shape[2], dtype=np.int64)
                doubles = correlations.astype(np.float64, copy=False)
                bound_all_batch(doubles, gram, limits, bounds, supports, slacks[start:stop], bits, part)

        with single_blas_thread():
            cost_ns = len(supports) * (2.0 if self.bounds is None else 500.0)
            run_blocks(fill, len(block), self.part_rows, count_threads(n_threads, cost_ns * len(block)))
        return squares

    def _run_kernel(
        self, correlations: FloatArray, rows: FloatArray, out_support: IntArray, out_coefs: ComplexArray
    ) -> tuple[FloatArray, BoolArray]:
        n_rows = len(correlations)
        left, needs_row = np.empty(n_rows, dtype=self._real_dtype), np.zeros(n_rows, dtype=bool)
        norms2 = np.ones(n_rows, dtype=self._real_dtype)
        inputs = KernelInputs(correlations, norms2, self.prepared.gram, rows, self.prepared.atoms, self.limits)
        outputs = KernelOutputs(out_support, out_coefs.view(self._real_dtype), left, needs_row)
        solve_given_batch(*inputs, *outputs)
        if self.bounds is not None:
            with in_double(inputs, outputs) as (doubles, found):
                problem = doubles.correlations, doubles.norms2, doubles.gram, doubles.limits
                bounds = self.bounds.astype(np.float64, copy=False)
                bound_given_batch(*problem, bounds, score_workspace(doubles), *found)
        return left, needs_row
