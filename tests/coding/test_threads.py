"""Threads: none for small problems, all errors come back."""

import threading

import pytest
from threadpoolctl import ThreadpoolController

from shapelex._blas import single_blas_thread
from shapelex.coding.cpu import count_threads, run_blocks


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
    n_before = threading.active_count()

    def code_block(start, stop):
        seen.append(start)
        raise failure

    with pytest.raises(failure):
        run_blocks(code_block, 1000, 1, n_threads)
    assert len(seen) <= n_threads
    assert threading.active_count() == n_before


def test_overlapping_users_restore_the_threads_of_the_blas():
    controller = ThreadpoolController()

    def n_threads():
        return [library["num_threads"] for library in controller.info() if library["user_api"] == "blas"]

    before = n_threads()
    first, second = single_blas_thread(), single_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(n_threads()) <= {1}
    second.__exit__(None, None, None)
    assert n_threads() == before
