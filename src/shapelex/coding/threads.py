"""Blocks of rows over threads.

The kernels hold no lock, so ordinary threads run them side by side. No pool outlives a call, none starts for a small
problem, and numba's pool is not touched. Blocks have a fixed size and each is computed by one thread, so results do not
depend on the number of threads.
"""

import threading
from collections.abc import Callable

import numba

# A thread costs about 0.1 ms to start: below this many nanoseconds of work for each, it does not pay.
_MIN_WORK_NS = 500_000.0


def count_threads(n_threads: int | None, work_ns: float) -> int:
    """Return how many threads are worth starting for so many nanoseconds of work on one core.

    At most `n_threads`; by default the processors that this process may use, or fewer where ``NUMBA_NUM_THREADS`` says
    so (joblib sets it in its workers).
    """
    most = int(numba.config.NUMBA_NUM_THREADS) if n_threads is None else n_threads  # type: ignore[attr-defined]
    return max(1, min(most, int(work_ns / _MIN_WORK_NS)))


def run_blocks(code_block: Callable[[int, int], object], n_rows: int, block_rows: int, n_threads: int) -> None:
    """Call ``code_block(start, stop)`` for every block of rows, on `n_threads` threads, this one included."""
    if n_threads == 1:
        for start in range(0, n_rows, block_rows):
            code_block(start, min(start + block_rows, n_rows))
        return
    starts = iter(range(0, n_rows, block_rows))
    lock = threading.Lock()
    failures: list[tuple[int, BaseException]] = []

    def work() -> None:
        while not failures:
            with lock:
                start = next(starts, None)
            if start is None:
                return
            try:
                code_block(start, min(start + block_rows, n_rows))
            except BaseException as failure:  # Ctrl-C too: it must stop the other threads
                # An interruption comes before all errors.
                failures.append((start if isinstance(failure, Exception) else -1, failure))

    helpers = [threading.Thread(target=work, daemon=True) for _ in range(n_threads - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if failures:
        # Blocks are taken in order and finished: the first of them that failed does not depend on timing.
        raise min(failures, key=lambda one: one[0])[1]
