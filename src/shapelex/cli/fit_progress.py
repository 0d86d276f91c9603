"""Where a fit stands, as the log of the library tells it: a share of its most work, for a bar."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shapelex.cli.screen import Tell

# The search for a first dictionary takes about this part of a descent.
_SEARCH_SHARE = 0.5


class _FitHandler(logging.Handler):
    def __init__(self, tell: Tell) -> None:
        super().__init__(logging.DEBUG)
        self._tell = tell
        self._searched = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Move the bar."""
        iteration: Any = getattr(record, "iteration", None)
        if iteration is not None:
            share, half = self._share(iteration), getattr(record, "half", None)
            self._tell(share if half is None else (half + share) / 2, "")

    def _share(self, iteration: Any) -> float:
        if iteration.explored is not None:
            self._searched = _SEARCH_SHARE
            done = _SEARCH_SHARE * iteration.explored
        else:
            updates = iteration.iteration / max(iteration.max_iter, 1)
            done = self._searched + (1 - self._searched) * updates if iteration.iteration else 0.0
        return float((iteration.restart + done) / iteration.n_restarts)


@contextmanager
def follow_fit(tell: Tell) -> Iterator[None]:
    """Move a bar with the fit that goes on inside."""
    logger = logging.getLogger("shapelex")
    handler = _FitHandler(tell)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
