"""What ``--json`` prints: one document with the same keys for every command, also where it fails.

Commands and what they share note their files, remarks and results here while they run; :class:`GuardedGroup` prints
the document at the end. The keys are described in docs/how-to/command-line.md; a change of their meaning
raises ``SCHEMA``.
"""

import json
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = 1


@dataclass
class JsonReport:
    """Notes of one command: files that it read and wrote, remarks on the shapes, warnings and results."""

    inputs: dict[str, None] = field(default_factory=dict)
    outputs: dict[str, None] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    result: Any = None

    def note_inputs(self, paths: Iterable[str | Path], *, leaves_out: bool = False) -> None:
        """Note files that the command reads, and refuse those that it would replace.

        `leaves_out` says that what it writes is not read in folders, or where a pattern finds it.
        """
        from shapelex.cli.outputs import current_outputs

        names = [str(path) for path in paths]
        current_outputs().note_inputs(names, leaves_out=leaves_out)
        self.inputs |= dict.fromkeys(names)

    def note_output(self, path: str | Path) -> None:
        """Note a file that the command has written."""
        self.outputs[str(path)] = None

    def note_remarks(self, notes: Iterable[str]) -> None:
        """Note remarks on the shapes that the command reads."""
        self.remarks |= dict.fromkeys(notes)

    def document(self, command: str | None, error: dict[str, Any] | None = None) -> str:
        """Return the document, as text."""
        from shapelex import __version__

        return json.dumps(
            {
                "schema": SCHEMA,
                "version": __version__,
                "command": command,
                "ok": error is None,
                # What a command both writes and reads, as the demo does, is not an input of it.
                "inputs": [path for path in self.inputs if path not in self.outputs],
                "outputs": list(self.outputs),
                "remarks": list(self.remarks),
                "warnings": self.warnings,
                "result": self.result if error is None else None,
                "error": error,
            },
            indent=2,
        )


_CURRENT: ContextVar[JsonReport] = ContextVar("_CURRENT")


def begin_report() -> JsonReport:
    """Make the report of the command that runs from now on."""
    report = JsonReport()
    _CURRENT.set(report)
    return report


def current_report() -> JsonReport:
    """Return the report of the command that runs."""
    return _CURRENT.get(None) or begin_report()
