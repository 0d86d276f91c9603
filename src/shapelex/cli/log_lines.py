"""The log of the package: warnings go to standard error, all of it with ``--verbose``, and to a file with ``--log``."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shapelex.cli.terminal import echo

_FILE_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _LineHandler(logging.Handler):
    """Prints one line on standard error for each message."""

    def __init__(self, level: int, translate: Callable[[str], str]) -> None:
        super().__init__(level)
        self._translate = translate

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message."""
        text = " ".join(record.getMessage().split())
        echo(f"shapelex: {self._translate(text)}", err=True)


@contextmanager
def show_log(level: int, file: Path | None, translate: Callable[[str], str]) -> Iterator[None]:
    """Print messages of the package from a level on; all of them go to `file`, after what it holds.

    `translate` puts options of the command in place of marked parameters.
    """
    logger = logging.getLogger("shapelex")
    handlers: list[logging.Handler] = [_LineHandler(level, translate)]
    if file is not None:
        kept = logging.FileHandler(file, encoding="utf-8")
        kept.setFormatter(logging.Formatter(_FILE_LINE))
        handlers.append(kept)
    before = logger.level
    for handler in handlers:
        logger.addHandler(handler)
    if file is not None or level < logging.WARNING:
        logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(before)
        for handler in handlers:
            logger.removeHandler(handler)
            handler.close()
