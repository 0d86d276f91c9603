"""Says that kernels are being compiled: it takes seconds, and happens once per machine, since numba keeps the result.

numba announces every compilation, but not the loading of a kernel from its cache. The first compilation of a process is
logged as a warning, which Python prints where logging is not configured; every single one at level DEBUG.
"""

import logging
from typing import Any

from numba.core import event
from numba.core.caching import NullCache

logger = logging.getLogger(__name__)

NOTICE = (
    "Compiling numerical kernels for their first use on this machine (up to about 30 s in total); later runs load them "
    "from a cache."
)


class CompilationLog(event.Listener):
    """Logs the compilations of this package."""

    def __init__(self) -> None:
        self._has_told = False

    def on_start(self, event: Any) -> None:
        """Log a compilation that begins."""
        dispatcher = event.data["dispatcher"]
        kernel = dispatcher.py_func
        if kernel.__module__.partition(".")[0] != "shapelex":
            return
        # Where nothing is kept, kernels/cache.py has said so.
        if not self._has_told and not isinstance(dispatcher._cache, NullCache):
            self._has_told = True
            logger.warning(NOTICE)
        logger.debug("compiling %s", kernel.__name__)

    def on_end(self, event: Any) -> None:
        """Do nothing: the next message of the library shows that it goes on."""
