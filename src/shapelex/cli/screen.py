"""What a command shows: results on standard output, progress on standard error.

``--quiet`` silences the progress; with ``--json`` the results are the document of :mod:`shapelex.cli.json_report`.
"""

import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex._messages import as_printable
from shapelex.cli.json_report import current_report
from shapelex.cli.outputs import current_outputs

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Tell = Callable[[float, str], None]


class Screen:
    """Prints what a command has to say.

    Parameters
    ----------
    quiet : bool
        Whether to print nothing but errors.
    as_json : bool
        Whether to keep results, which are printed as JSON.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self._is_talking = not (quiet or as_json)
        self._as_json = as_json

    def say(self, text: str) -> None:
        """Print a line for people."""
        if self._is_talking:
            current_outputs().tell(text)

    def wrote(self, path: Path, more: str = "") -> None:
        """Say that a file was written, as soon as all files of the command are in place."""
        current_outputs().wrote(path, more, is_told=self._is_talking)

    def show(self, results: Any) -> None:
        """Keep results for machines, where they were asked for: they are printed when the command has finished."""
        if self._as_json:
            current_report().result = results

    @contextmanager
    def progress(self, title: str) -> Iterator[Tell]:
        """Show a bar with the time left, and where a fit stands; what it yields takes a share and words.

        Where standard error is no terminal there is no bar.
        """
        if not (self._is_talking and sys.stderr.isatty()):
            yield lambda done, text: None  # noqa: ARG005
            return
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

            with _log_on_bar(bar, task):
                yield tell


class _BarHandler(logging.Handler):
    """Shows where a fit stands, as the log tells it, beside the bar."""

    def __init__(self, bar: "Progress", task: "TaskID") -> None:
        super().__init__(logging.DEBUG)
        self._bar, self._task = bar, task

    def emit(self, record: logging.LogRecord) -> None:
        """Show one message."""
        self._bar.update(self._task, detail=as_printable(_shorten(record.getMessage())))


def _shorten(message: str) -> str:
    """Return what of a message fits beside a bar: the error, where it tells one."""
    error = re.search(r"RMSE[^,]*?(\d+\.\d+)", message)
    return f"RMSE {100 * float(error[1]):.2f} %" if error else message[:24]


@contextmanager
def _log_on_bar(bar: "Progress", task: "TaskID") -> Iterator[None]:
    logger = logging.getLogger("shapelex")
    handler, level = _BarHandler(bar, task), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
