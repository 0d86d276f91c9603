"""Threads: none for small problems, all errors come back."""

import threading

import pytest

from shapelex.coding.threads import count_threads, run_blocks


def test_small_work_gets_one_thread():
    assert count_threads(8, 1e3) == 1
    assert count_threads(8, 1e9) == 8
    assert count_threads(None, 0.0) == 1


@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_block_runs_once(n_threads):
    seen = []
    lock = threading.Lock()

    def code_block(start, stop):
        with lock:
            seen.append((start, stop))

    run_blocks(code_block, 10, 4, n_threads)
    assert sorted(seen) == [(0, 4), (4, 8), (8, 10)]


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("failure", [ZeroDivisionError, KeyboardInterrupt])
def test_failures_come_back_and_stop_the_rest(n_threads, failure):
    seen = []

    def code_block(start, stop):
        seen.append(start)
        raise failure

    with pytest.raises(failure):
        run_blocks(code_block, 1000, 1, n_threads)
    assert len(seen) <= n_threads
    assert threading.active_count() == 1
