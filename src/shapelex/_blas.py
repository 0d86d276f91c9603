"""The threads of the linear algebra library, kept from spinning beside ours."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


class _SingleBlasThread:
    """Holds the BLAS at one thread while at least one caller asks for it; the last one to leave restores it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_users = 0
        self._controller: ThreadpoolController | None = None
        self._limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._n_users == 0:
                # Looking for the libraries takes milliseconds, setting their threads does not.
                if self._controller is None:
                    self._controller = ThreadpoolController()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._n_users += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_users -= 1
                if self._n_users == 0:
                    self._limit.restore_original_limits()


single_blas_thread = _SingleBlasThread()
"""``with single_blas_thread():`` keeps the BLAS to one thread: its others would go on spinning beside ours after every
small product."""
