"""Where a fit stands, as the log of the library tells it: a share of its most work, for a bar."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shapelex.cli.screen import Tell


class _FitHandler(logging.Handler):
    def __init__(self, tell: Tell) -> None:
        super().__init__(logging.DEBUG)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Move the bar."""
        state: Any = getattr(record, "iteration", None)
        if state is not None:
            half = getattr(record, "half", None)
            self._tell(state.share if half is None else (half + state.share) / 2, "")


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
