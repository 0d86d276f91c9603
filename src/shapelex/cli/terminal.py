"""Lines, bars and the log on the terminal, in which control characters of the data are escaped.

Warnings of the log go to standard error, all of it with ``--verbose``, and to a file with ``--log``.
"""

import logging
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from shapelex._messages import as_printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Tell = Callable[[float, str], None]

_FILE_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_COMMANDS = ("$ ", "shapelex ", "Next: ")


def echo(text: str, *, err: bool = False) -> None:
    """Print a line in which control characters are escaped.

    A closed pipe, as of ``head``, is not an error: the command goes on without one, so that all that it writes
    is whole.
    """
    stream = sys.stderr if err else sys.stdout
    try:
        typer.echo(_wrap(as_printable(text)) if stream.isatty() else as_printable(text), err=err)
    except BrokenPipeError:
        silence(sys.stderr if err else sys.stdout)
    except OSError as error:
        # A full disk, for example.
        silence(sys.stderr if err else sys.stdout)
        raise OSError(error.errno, error.strerror, f"standard {'error' if err else 'output'}") from error


def _wrap(text: str) -> str:
    """Break the lines of sentences at words; rows of tables and commands to copy stay as they are."""
    width = shutil.get_terminal_size().columns
    lines = text.split("\n")
    is_sentence = [len(line) > width and "  " not in line and not line.startswith(_COMMANDS) for line in lines]
    return "\n".join(
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) if wraps else line
        for line, wraps in zip(lines, is_sentence, strict=True)
    )


def silence(stream: TextIO) -> None:
    """Let all that is printed from now on, and at the end of the process, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


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
    handlers: list[logging.Handler] = [_LineHandler(level, translate)]
    if file is not None:
        handlers.append(_FileHandler(file))
    with _logged_to(handlers, logging.DEBUG if file is not None or level < logging.WARNING else None):
        yield


@contextmanager
def _logged_to(handlers: list[logging.Handler], level: int | None) -> Iterator[None]:
    """Give the log of the package more handlers, and a level, for a while."""
    logger = logging.getLogger("shapelex")
    before = logger.level
    for handler in handlers:
        logger.addHandler(handler)
    if level is not None:
        logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
        for handler in handlers:
            logger.removeHandler(handler)
            handler.close()


@contextmanager
def show_bar(title: str, follows_fit: bool) -> Iterator[Tell]:
    """Show a bar with the time left, and where a fit stands, as the log tells it; `follows_fit` moves it by that."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", style="dim", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0, detail="")

        def tell(done: float, text: str) -> None:
            # Where the text stays, so does what the log told last.
            changes: dict[str, Any] = {"description": as_printable(text), "detail": ""} if text else {}
            bar.update(task, completed=done, **changes)

        with _logged_to([_BarHandler(bar, task, follows_fit)], logging.DEBUG):
            yield tell


class _BarHandler(logging.Handler):
    """Shows where a fit stands, as the log tells it, beside the bar."""

    def __init__(self, bar: "Progress", task: "TaskID", follows_fit: bool) -> None:
        super().__init__(logging.DEBUG)
        self._bar, self._task, self._follows_fit = bar, task, follows_fit

    def emit(self, record: logging.LogRecord) -> None:
        """Show one message, and move the bar by the share of its most work that a fit has done."""
        error = re.search(r"RMSE[^,]*?(\d+\.\d+)", message := record.getMessage())
        detail = f"RMSE {100 * float(error[1]):.2f} %" if error else message[:24]
        self._bar.update(self._task, detail=as_printable(detail))
        state: Any = getattr(record, "iteration", None)
        if state is not None and self._follows_fit:
            half = getattr(record, "half", None)
            self._bar.update(self._task, completed=state.share if half is None else (half + state.share) / 2)
