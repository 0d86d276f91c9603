"""Where a fit stands, as the log of the library tells it: a share of its most work, for a bar."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shapelex.cli.screen import Tell

# The swaps before the first descent take about as long as so many updates.
_SWAPS_AS_UPDATES = 10


class _FitHandler(logging.Handler):
    def __init__(self, tell: Tell, n_swaps: int) -> None:
        super().__init__(logging.DEBUG)
        self._tell, self._n_swaps = tell, n_swaps

    def emit(self, record: logging.LogRecord) -> None:
        """Move the bar."""
        iteration: Any = getattr(record, "iteration", None)
        if iteration is not None:
            share, half = self._share(iteration), getattr(record, "half", None)
            self._tell(share if half is None else (half + share) / 2, "")

    def _share(self, iteration: Any) -> float:
        extra = _SWAPS_AS_UPDATES if self._n_swaps else 0
        total = max(iteration.max_iter, 1) + extra
        if iteration.swap is not None:
            done = extra * min(iteration.swap / max(self._n_swaps, 1), 1.0)
        else:
            done = iteration.iteration + (extra if iteration.iteration else 0)
        return float((iteration.restart + done / total) / iteration.n_restarts)


@contextmanager
def follow_fit(tell: Tell, n_swaps: int) -> Iterator[None]:
    """Move a bar with the fit that goes on inside."""
    logger = logging.getLogger("shapelex")
    handler = _FitHandler(tell, n_swaps)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
