"""Errors on the command line: one line that says what to do, and an exit status.

Status 1 is for files and data, 2 for wrong usage and wrong values of options, 70 for errors that are bugs of shapelex,
130 for an interruption. Warnings, and what the library logs as such, are one line each too.
"""

import logging
import os
import re
import shlex
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from shapelex._messages import as_printable, marked_text
from shapelex.cli.json_report import JsonReport, begin_report
from shapelex.cli.log_lines import show_log
from shapelex.cli.option_names import OptionNames
from shapelex.cli.terminal import echo
from shapelex.exceptions import (
    DeviceError,
    ParameterError,
    ParameterTypeError,
    SearchTooLargeError,
    ShapelexError,
    SpaceError,
)

_SHARED = "shapelex.shared"
# The base of typer's usage errors, whichever library it comes from.
_UsageError: Any = typer.BadParameter.__mro__[-4]
RENAMED_OPTIONS = {
    "--atoms": "--n-atoms", "--nonzero": "--n-nonzero", "--points": "--n-points", "--restarts": "--n-restarts",
    "--swaps": "--n-swaps", "--folds": "--cv", "--labels": "--join", "--lines": "--joined", "--no-lines": "--no-joined",
    "--max-weight": "--weight-penalty", "--method": "--methods", "--model": "--formula", "--predictions": "--tested",
    "--seed": "--random-state", "--within": "--unit", "--group": "--unit",
}  # fmt: skip
"""What replaces options, in commands that do not have them any more."""

_REMOVED = {
    "reproduce": "run make paper in a copy of the source code of shapelex.",
    "--allow-changed": "replay prints the command; type it yourself to run it again.",
    "--dpi": "give a style file by --style, with the line savefig.dpi: 600.",
    "--font-size": "give a style file by --style, with the line font.size: 7.",
    "--letter": "in Python, shapelex.plotting.letter_panels puts letters on panels.",
    "--run": "replay prints the command; type it yourself to run it again.",
    "--safe-cells": "text that a spreadsheet would take for a formula is always written safely; --raw-cells opts out.",
}
# Errors of the library about values that come from options.
_WRONG_VALUES = (ParameterError, ParameterTypeError, SpaceError, DeviceError, SearchTooLargeError)

logger = logging.getLogger(__name__)

ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("ARGUMENTS", default=())
"""The arguments of the command that runs, as they were typed."""


class CommandError(ShapelexError):
    """A command cannot go on; the message is one line that says what to do."""


class Interruption(KeyboardInterrupt):
    """A command was interrupted; the message says what it has written."""


@dataclass(frozen=True)
class Failure:
    """What an error is to the user.

    Parameters
    ----------
    kind : str
        ``"usage"``, ``"data"``, ``"library"``, ``"memory"``, ``"bug"`` or ``"interrupted"``.
    message : str
        What went wrong, on one line.
    exit_code : int
        The exit status.
    option : str or None
        The option of the command that is wrong, or that would help.
    traceback : str or None
        The file that has the traceback of a bug.
    """

    kind: str
    message: str
    exit_code: int
    option: str | None = None
    traceback: str | None = None


@dataclass
class _SharedOptions:
    """Options of all commands, wherever they stand among the arguments."""

    debug: bool = False
    verbose: bool = False
    help_all: bool = False
    log: Path | None = None


class GuardedGroup(TyperGroup):
    """Commands that end in one line instead of a traceback, unless ``--debug`` is among the arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the options that all commands have out of the arguments."""
        try:
            kept, ctx.meta[_SHARED] = _take_shared(args, is_complete=not ctx.resilient_parsing)
            ARGUMENTS.set(tuple(kept))
            return super().parse_args(ctx, kept)
        except _UsageError as error:
            if "--json" in args:
                _print_failure(begin_report(), None, describe(error))
                raise typer.Exit(2) from None
            _make_printable(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        shared, report, outputs = ctx.meta[_SHARED], begin_report(), None
        is_quiet, as_json = bool({"-q", "--quiet"} & set(ARGUMENTS.get())), "--json" in ARGUMENTS.get()
        level = logging.DEBUG if shared.verbose else logging.ERROR if is_quiet else logging.WARNING
        try:
            with (
                show_log(level, shared.log, lambda text: self._options(ctx).translate(text)),
                _log_warnings(report, lambda text: self._options(ctx).translate(text)),
            ):
                logger.info("started: %s", shlex.join(["shapelex", *ARGUMENTS.get()]))
                from shapelex.cli.outputs import written_together

                try:
                    with written_together() as outputs:
                        value = super().invoke(ctx)
                except (typer.Exit, typer.Abort, BrokenPipeError):
                    raise
                except BaseException as error:
                    logger.debug("failed: %s", error, exc_info=True)
                    raise
                logger.info("finished")
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except (Exception, KeyboardInterrupt) as error:
            is_usage = isinstance(error, _UsageError)
            if is_usage:
                _make_printable(error)
            if (is_usage and not as_json) or (shared.debug and isinstance(error, Exception)):
                raise
            failure = describe(error, self._options(ctx))
            if outputs is not None:
                failure = replace(failure, message=outputs.shown(failure.message))
            if as_json:
                _print_failure(report, ctx.invoked_subcommand, failure)
            else:
                report_error(failure.message)
            raise typer.Exit(failure.exit_code) from None
        if as_json:
            echo(report.document(ctx.invoked_subcommand))
        return value

    def _options(self, ctx: Any) -> OptionNames:
        name = ctx.invoked_subcommand
        return OptionNames(name and self.get_command(ctx, name), self.get_command(ctx, "import"))


def wants_all_help(ctx: Any) -> bool:
    """Tell whether help on all options was asked for."""
    return bool(ctx.meta.get(_SHARED, _SharedOptions()).help_all)


def describe(error: BaseException, options: OptionNames | None = None) -> Failure:
    """Return what to tell of an error."""
    options = options or OptionNames()
    if isinstance(error, KeyboardInterrupt):
        return Failure("interrupted", f"{error}" or "interrupted.", 130)
    if isinstance(error, _UsageError):
        _make_printable(error)
        return Failure("usage", _one_line(error.format_message()), error.exit_code, _option_of(error))
    marked = _one_line(marked_text(error))
    message, option = options.translate(marked), options.first_option(marked)
    if isinstance(error, MemoryError):
        return Failure(
            "memory", f"not enough memory ({message or 'no details'}): take fewer shapes, or learn from batches.", 1
        )
    if isinstance(error, OSError) and error.strerror and error.filename:
        return Failure("data", f"{error.filename}: {error.strerror}.", 1)
    if isinstance(error, _WRONG_VALUES):
        return Failure("usage", message, 2, option)
    if isinstance(error, ImportError):
        return Failure("library", message, 1)
    if isinstance(error, ShapelexError | OSError):
        return Failure("data", message, 1, option)
    file = _keep_traceback(error)
    where = "run again with --debug to see where" if file is None else f"the traceback is in {file}"
    what = f"unexpected {type(error).__name__}: {message.rstrip('.') or 'no message'}"
    return Failure("bug", f"{what}. This is a bug in shapelex: {where}; please report it.", 70, traceback=file)


def _make_printable(error: Any) -> None:
    """Escape control characters in a usage error, which typer prints by itself; name what replaces old options."""
    command = re.match(r"No such command '(\w+)'", str(error.message))
    missing = command[1] if command else getattr(error, "option_name", "")
    error.message = as_printable(str(error.message))
    if missing in _REMOVED:
        error.message = f"{missing} is gone: {_REMOVED[missing]}"
    elif missing in RENAMED_OPTIONS and type(error).__name__ == "NoSuchOption":
        error.message = f"{missing} is now spelled {RENAMED_OPTIONS[missing]}."
    if missing in {**_REMOVED, **RENAMED_OPTIONS}:
        # In place of similar names.
        error.possibilities = None


def report_error(message: str) -> None:
    """Print one line on standard error."""
    echo(f"shapelex: {message}", err=True)


def _print_failure(report: JsonReport, command: str | None, failure: Failure) -> None:
    echo(report.document(command, asdict(failure)))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _option_of(error: Any) -> str | None:
    """Return the option that a usage error is about: its name, or that of the parameter of the command."""
    hint = getattr(error, "option_name", None) or getattr(error, "param_hint", None)
    if hint is None and getattr(error, "param", None) is not None:
        hint = max(error.param.opts, key=len)
    return hint if isinstance(hint, str) and hint.startswith("-") else None


def _keep_traceback(error: BaseException) -> str | None:
    """Write the traceback of an error to a new file in the temporary folder, and return its path."""
    import platform
    import tempfile
    import traceback

    from shapelex import __version__

    head = [
        shlex.join(["shapelex", *ARGUMENTS.get()]),
        f"shapelex {__version__}, Python {platform.python_version()}, {platform.platform()}",
    ]
    try:
        handle, path = tempfile.mkstemp(prefix="shapelex-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write("\n".join([*head, "", *traceback.format_exception(error)]))
    except OSError:
        return None
    return path


def _take_shared(args: list[str], is_complete: bool) -> tuple[list[str], _SharedOptions]:
    """Return the arguments without the options that all commands have, and these."""
    shared, kept = _SharedOptions(), []
    rest = iter(args)
    for word in rest:
        name, sign, value = word.partition("=")
        if word == "--":
            kept += [word, *rest]
        elif word in ("--debug", "--verbose"):
            setattr(shared, word[2:], True)
        elif word == "--help-all":
            shared.help_all = True
            kept.append("--help")
        elif name == "--log":
            file = value if sign else next(rest, "")
            if not file and is_complete:
                raise typer.BadParameter("needs the name of a file.", param_hint="--log")
            shared.log = Path(file)
        else:
            kept.append(word)
    return kept, shared


@contextmanager
def _log_warnings(report: JsonReport, translate: Callable[[str], str]) -> Iterator[None]:
    """Log warnings, on one line each."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = translate(_one_line(marked_text(message) if isinstance(message, Warning) else str(message)))
        report.warnings.append(text)
        logger.warning("warning: %s", text)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield
