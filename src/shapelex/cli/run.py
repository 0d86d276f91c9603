"""What one command is told, reads, writes and says: :class:`Run`, which every command is given."""

import json as json_text
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex._messages import on_one_line
from shapelex.cli.outputs import Outputs, output_paths
from shapelex.cli.terminal import Tell, echo, show_bar

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes

SCHEMA = 1
"""Version of what ``--json`` prints; the keys are described in docs/how-to/command-line.md."""


class Run:
    """One run of a command, given the words that were typed; a command that another one runs has its `parent`."""

    def __init__(self, words: Sequence[str] = (), parent: "Run | None" = None) -> None:
        self.words = tuple(words)
        self.outputs = Outputs(self.words)
        self.inputs: dict[str, None] = {} if parent is None else parent.inputs
        self.written: dict[str, None] = {} if parent is None else parent.written
        self.remarks: dict[str, None] = {} if parent is None else parent.remarks
        self.warnings: list[str] = []
        self.record: dict[str, Any] = {}
        self.told: dict[Path, str] = {}
        self.results: Any = None
        self.context: Any = None
        self.work: Callable[[], Any] = lambda: None
        self.take_options()

    def take_options(
        self,
        *,
        raw_cells: bool = False,
        figure: Path | None = None,
        width: str | None = None,
        style: Path | None = None,
        columns: int | None = None,
        joined: bool = True,
        numbers: bool = False,
        force: bool = False,
        quiet: bool = False,
        json: bool = False,
    ) -> None:
        """Take the options that commands share.

        Options
        -------
        raw_cells : In .csv and .tsv, put no apostrophe before text that a spreadsheet takes for a formula (=, +, -, @).
        figure : Also draw a figure: a .png, .svg, .pdf, .eps or .tiff file.
        width : With --figure: width in millimeters, or single (85 mm) or double (180 mm). [default: double]
        style : With --figure: style file of matplotlib, such as one with the line font.size: 7.
        columns : With --figure: number of shapes per row.
        joined : With --figure: draw a line through the points; use --no-joined for anatomical landmarks.
        numbers : With --figure: mark the landmarks, and number those of the first shape from 1.
        force : Replace files that shapelex wrote, but no others.
        quiet : Print nothing but errors.
        json : Print the results as JSON, and nothing else.
        """
        self.raw_cells, self.quiet, self.json = raw_cells, quiet, json
        self.outputs.force = force
        self.figure, self.width, self.style, self.columns = figure, width, style, columns
        self.look: dict[str, Any] = {"points": "numbers"} if numbers else {}
        self.look |= {} if joined else {"linestyle": "none"}
        self.talks = not (quiet or json)
        if figure is not None:
            from shapelex.cli.figures import prepare_figure

            self.outputs.claim(figure, "--figure", "figure")
            prepare_figure(self)

    def say(self, text: str) -> None:
        """Print a line for people."""
        if self.talks:
            echo(text)

    def note(self, *remarks: str) -> None:
        """Print remarks on the shapes, and keep them for ``--json``."""
        self.keep_remarks(remarks)
        for remark in remarks:
            self.say(f"note: {remark}")

    def keep_remarks(self, remarks: Iterable[str]) -> None:
        """Keep remarks on the shapes for ``--json``."""
        self.remarks |= dict.fromkeys(remarks)

    def progress(self, title: str, *, follows_fit: bool = False) -> "AbstractContextManager[Tell]":
        """Show a bar; what it yields takes a share and words. Where standard error is no terminal there is none."""
        if self.talks and sys.stderr.isatty():
            return show_bar(title, follows_fit)
        return nullcontext(lambda done, text: None)  # noqa: ARG005

    def reads(self, *paths: str | Path | None, leaves_out: bool = False) -> None:
        """Note files that the command reads, and refuse those that it would replace.

        `leaves_out` says that what it writes is not read in folders, or where a pattern finds it.
        """
        names = [str(path) for path in paths if path is not None]
        self.outputs.note_inputs(names, leaves_out=leaves_out)
        self.inputs |= dict.fromkeys(names)

    def make_record(self, seed: int | None, *inputs: str | Path | None, **facts: Any) -> dict[str, Any]:
        """Make the record for all that is written: the command, those before it, versions, seed, inputs and facts."""
        from shapelex.files.provenance import make_run

        self.reads(*inputs)
        names = [str(path) for path in inputs if path is not None]
        self.record = make_run(self.command, seed, names, output_paths(self.command)) | facts
        return self.record

    @property
    def command(self) -> str:
        """The command as it was typed."""
        return shlex.join(["shapelex", *self.words])

    def write_table(self, path: Path, table: Any) -> None:
        """Write columns by name, or a data frame, to a path that was claimed, with the record."""
        import numpy as np

        from shapelex.files.table_file import write_table

        columns = {str(name): np.asanyarray(table[name]) for name in table}
        write_table(self.outputs.place(path), [columns], self.record, raw_cells=self.raw_cells)

    def write_shapes(self, path: Path, shapes: Any) -> None:
        """Write a set that was claimed; formats without a place for the record get a file beside them."""
        import shapelex as sx
        from shapelex.files.provenance import write_sidecar
        from shapelex.io.write import find_writable

        made = self.outputs.place(path)
        shapes = shapes.replace(provenance={**shapes.provenance, "run": self.record})
        # Other formats have no cells that a spreadsheet would take for formulas.
        has_cells = "raw_cells" in find_writable(path).writer_options
        options: dict[str, Any] = {"raw_cells": True} if self.raw_cells and has_cells else {}
        with self.progress("writing"):
            sx.write(shapes, made, command=self.record["command"], **options)
        if path.suffix.lower() not in (".npz", ".zarr", ".parquet"):
            write_sidecar(made, self.record)

    def draw(self, draw: Callable[["Axes"], Any], aspect: float = 0.7) -> None:
        """Draw the figure, if one is wanted; `aspect` is its height divided by its width."""
        if self.figure is not None:
            from shapelex.cli.figures import draw_figure

            draw_figure(self, draw, aspect)

    def finish(self) -> None:
        """Put all that was made in place, and say so."""
        for path in self.outputs.put_in_place():
            self.written[str(path)] = None
            self.say(f"wrote {on_one_line(str(path))}{self.told.get(path, '')}")

    def document(self, command: str | None, error: dict[str, Any] | None = None) -> str:
        """Return what ``--json`` prints: the same keys for every command, also where it fails."""
        from shapelex import __version__

        return json_text.dumps(
            {
                "schema": SCHEMA,
                "version": __version__,
                "command": command,
                "ok": error is None,
                # What a command both writes and reads, as the demo does, is not an input of it.
                "inputs": [path for path in self.inputs if path not in self.written],
                "outputs": list(self.written),
                "remarks": list(self.remarks),
                "warnings": self.warnings,
                "result": self.results if error is None else None,
                "error": error,
            },
            indent=2,
        )


_CURRENT: ContextVar[Run] = ContextVar("_CURRENT")


def current_run() -> Run:
    """Return the run of the command that runs."""
    return _CURRENT.get()


@contextmanager
def begin_run(run: Run) -> Iterator[None]:
    """Run a command whose outputs are put in place together at the end, or not at all."""
    token = _CURRENT.set(run)
    try:
        with run.outputs.stack:
            yield
            run.finish()
    finally:
        _CURRENT.reset(token)
