"""Threads: none for small problems, all errors come back."""

import threading

import pytest
from threadpoolctl import ThreadpoolController

from shapelex._blas import single_blas_thread
from shapelex.coding.cpu import run_blocks


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
