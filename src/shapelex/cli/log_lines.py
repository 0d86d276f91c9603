"""The log of the package: warnings go to standard error, all of it with ``--verbose``, and to a file with ``--log``."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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


class _FileHandler(logging.FileHandler):
    """Writes to a file; where that fails, as on a full disk, it says so once and goes on without."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, encoding="utf-8")
        self.setFormatter(logging.Formatter(_FILE_LINE))
        self._file, self._has_failed = file, False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802, ARG002
        """Say what is wrong with the file."""
        if not self._has_failed:
            self._has_failed = True
            echo(f"shapelex: the log is not complete: {self._file}: {sys.exc_info()[1]}", err=True)

    def close(self) -> None:
        """Close the file; what does not fit on the disk is lost."""
        with suppress(OSError):
            super().close()


@contextmanager
def show_log(level: int, file: Path | None, translate: Callable[[str], str]) -> Iterator[None]:
    """Print messages of the package from a level on; all of them go to `file`, after what it holds.

    `translate` puts options of the command in place of marked parameters.
    """
    logger = logging.getLogger("shapelex")
    handlers: list[logging.Handler] = [_LineHandler(level, translate)]
    if file is not None:
        handlers.append(_FileHandler(file))
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
