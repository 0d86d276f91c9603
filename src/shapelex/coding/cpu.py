"""Code blocks of shapes on the CPU, over threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex.coding.coders import CodedBlock, Coding, DictionaryCoder, KernelInputs, KernelOutputs, polish_on_cpu
from shapelex.coding.codes import squared_residuals
from shapelex.shapes.storage import Block
from shapelex.spaces import Space

# A thread costs about 0.1 ms to start: below this many nanoseconds of work for each, it does not pay.
_MIN_WORK_NS = 500_000.0


def count_threads(n_threads: int | None, work_ns: float) -> int:
    """Return how many threads are worth starting for so many nanoseconds of work on one core.

    At most `n_threads`; by default the processors that this process may use, or fewer where ``NUMBA_NUM_THREADS`` says
    so (joblib sets it in its workers).
    """
    most = int(numba.config.NUMBA_NUM_THREADS) if n_threads is None else n_threads  # type: ignore[attr-defined]
    return max(1, min(most, int(work_ns / _MIN_WORK_NS)))


@single_blas_thread()
def run_blocks(code_block: Callable[[int, int], object], n_rows: int, block_rows: int, n_threads: int) -> None:
    """Call ``code_block(start, stop)`` for every block of rows, on `n_threads` threads; raise the first error."""
    starts = range(0, n_rows, block_rows)
    if n_threads == 1:
        for start in starts:
            code_block(start, min(start + block_rows, n_rows))
        return
    failed: list[int] = []

    def work(start: int) -> None:
        # Blocks before one that failed still run: which error is the first does not depend on timing.
        if start > min(failed, default=n_rows):
            return
        try:
            code_block(start, min(start + block_rows, n_rows))
        except BaseException:
            failed.append(start)
            raise

    with ThreadPoolExecutor(n_threads) as pool:
        # Errors come in the order of the blocks; what has not begun is then canceled, after Ctrl-C too.
        list(pool.map(work, starts))


# The rows that a thread codes in one go, and their correlations, fill about this many bytes: they stay in its cache.
_PART_BYTES = 1 << 21

# Maximum number of shapes that a thread codes in one go.
MAX_PART_ROWS = 1024

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
        # Computed once, before threads need it.
        _ = space._unit_shift
        with single_blas_thread():
            self._atoms = np.ascontiguousarray(self.unit_atoms[:, : self.n_coordinates])
            folded = space.fold(self._atoms)
        self._real_dtype = self.gram.dtype
        # As a real matrix of twice the size: BLAS multiplies small real matrices faster than complex ones.
        self._folded = np.empty((2 * folded.shape[0], 2 * folded.shape[1]), dtype=self._real_dtype)
        self._folded[0::2, 0::2] = self._folded[1::2, 1::2] = folded.real
        self._folded[0::2, 1::2], self._folded[1::2, 0::2] = folded.imag, -folded.imag
        self._small_residual = _SMALL_RESIDUAL[self._real_dtype.char]
        if for_learning:
            self._small_residual = _SMALL_FOR_LEARNING[self._real_dtype.char]
            refine = self._real_dtype.type(_REFINE_FOR_LEARNING[self._real_dtype.char])
            self.limits = self.limits._replace(refine=refine)
        row_bytes = (self.n_atoms + self.n_coordinates) * self.dtype.itemsize
        self.part_rows = min(max(_PART_BYTES // row_bytes // 128 * 128, 128), MAX_PART_ROWS)

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
        """Return what :meth:`code_part` returns, and the correlations of the pre-shapes with the normalized atoms.

        Real and imaginary parts of the correlations are interleaved.
        """
        rows = np.ascontiguousarray(block.configurations[start:stop], dtype=self.dtype)
        if block.scales is None:
            rows, scales = self.space.scaled_parts(rows, block.name, block.first_row + start)
        else:
            scales = block.scales[start:stop]
        correlations: FloatArray = rows.view(self._real_dtype) @ self._folded
        correlations *= scales[:, None].astype(self._real_dtype)
        return rows, scales, correlations

    def code_part(self, block: Block, out: CodedBlock, start: int, stop: int) -> tuple[ComplexArray, FloatArray]:
        """Code the pre-shapes of some shapes of a block, on one thread, into arrays for the whole block.

        Returns configurations and scales whose products are the pre-shapes up to translation.
        """
        rows, scales, correlations = self.correlate(block, start, stop)
        support, coefs, squares = out.support[start:stop], out.coefs[start:stop], out.squares[start:stop]
        left, again = self._run_kernel(correlations, correlations[:, :0], support, coefs)
        if len(squares):
            if self.factors is not None and self.coding.weight_penalty:
                weights = coefs[:, -1] * self.factors[support]
                left -= self.coding.weight_penalty * (weights.real**2 + weights.imag**2).sum(axis=1)
            again |= ~(left > self._small_residual)
            np.maximum(left, 0, out=squares)
        if again.any():
            found = self._code_by_coordinates(rows[again], support[again], with_squares=len(squares) > 0)
            support[again], coefs[again] = found.support, found.coefs
            if len(squares):
                squares[again] = found.squares
        if self.factors is not None:
            coefs *= self.factors[support][:, None, :]
        return rows, scales

    def _code_by_coordinates(self, configurations: ComplexArray, given: IntArray, with_squares: bool) -> CodedBlock:
        """Code rows whose correlations alone have too few correct digits; `given` are supports that may be given."""
        rows = np.ascontiguousarray(self.space.unit_rows(configurations), dtype=self.dtype)
        # With a price on weights, atoms have more coordinates, which are 0 here.
        padded = np.zeros((len(rows), self.unit_atoms.shape[1]), dtype=self.dtype)
        padded[:, : self.n_coordinates] = rows
        found = self.allocate(0, len(rows), with_squares=with_squares)
        found.support[:] = given
        correlations = (padded @ self.unit_atoms.conj().T).view(self._real_dtype)
        self._run_kernel(correlations, padded.view(self._real_dtype), found.support, found.coefs)
        if with_squares:
            found.squares[:] = squared_residuals(rows, self._atoms, found.codes)
        return found

    def _run_kernel(
        self, correlations: FloatArray, rows: FloatArray, out_support: IntArray, out_coefs: ComplexArray
    ) -> tuple[FloatArray, BoolArray]:
        """Code rows of norm 1; return squared residuals, and which rows must be coded again with their coordinates."""
        n_rows = len(correlations)
        left, needs_row = np.empty(n_rows, dtype=self._real_dtype), np.zeros(n_rows, dtype=bool)
        atoms = self.unit_atoms.view(self._real_dtype)
        inputs = KernelInputs(correlations, self.gram, rows, atoms, self.limits)
        outputs = KernelOutputs(out_support, out_coefs, left, needs_row)
        self.implementation(inputs, outputs, self.search.width)
        if self.search.polishes:
            polish_on_cpu(inputs, outputs)
        return left, needs_row
