"""Errors on the command line: one line that says what to do, and an exit status.

Status 1 is for files and data, 2 for wrong usage and wrong values of options, 70 for errors that are bugs of shapelex,
130 for an interruption. Parameters of Python in messages are shown as options of the command that runs, so that no
message names one that it does not have: those that only ``import`` takes are shown as ``import --n-points 100``, and
those that no command takes as ``tol (in Python)``.
"""

import ast
import os
import re
import shlex
from dataclasses import dataclass
from typing import Any

import typer

from shapelex._messages import END_MARK, FORMAT_OPTION_MARK, PARAMETER_MARK, as_printable, marked_text, without_marks
from shapelex.exceptions import (
    DeviceError,
    ParameterError,
    ParameterTypeError,
    SearchTooLargeError,
    ShapelexError,
    SpaceError,
)

# The base of typer's usage errors, whichever library it comes from.
UsageError: Any = typer.BadParameter.__mro__[-4]
OLD_WORDS = {
    "--atoms": "--n-atoms", "--nonzero": "--n-nonzero", "--points": "--n-points", "--restarts": "--n-restarts",
    "--swaps": "--n-swaps", "--folds": "--cv", "--labels": "--join", "--lines": "--joined", "--no-lines": "--no-joined",
    "--max-weight": "--weight-penalty", "--method": "--methods", "--model": "--formula", "--predictions": "--tested",
    "--seed": "--random-state", "--within": "--unit", "--group": "--unit",
    "reproduce": "run make paper in a copy of the source code of shapelex.",
    "--allow-changed": "replay prints the command; type it yourself to run it again.",
    "--dpi": "give a style file by --style, with the line savefig.dpi: 600.",
    "--font-size": "give a style file by --style, with the line font.size: 7.",
    "--letter": "in Python, shapelex.plotting.letter_panels puts letters on panels.",
    "--run": "replay prints the command; type it yourself to run it again.",
    "--safe-cells": "text that a spreadsheet would take for a formula is always written safely; --raw-cells opts out.",
}  # fmt: skip
"""What replaces options and commands of earlier versions, in commands that do not have them: an option, or advice."""

# Errors of the library about values that come from options.
_WRONG_VALUES = (ParameterError, ParameterTypeError, SpaceError, DeviceError, SearchTooLargeError)

# Options whose name is not that of the parameter with dashes.
_NAMES = {"groups": "--by", "method": "--coder", "on_error": "--skip-bad", "overwrite": "--force"}
_SPACES = {"BSpline": "bspline", "HermiteSpline": "hermite"}
_MARKED = re.compile(rf"([{PARAMETER_MARK}{FORMAT_OPTION_MARK}])(\w+)(=?)([^{END_MARK}]*){END_MARK}")


def parameters_in(text: str) -> set[str]:
    """Return the names of the parameters that a marked text names; an option of a format is ``"option"``."""
    return {"option" if found[1] == FORMAT_OPTION_MARK else found[2] for found in _MARKED.finditer(text)}


@dataclass(frozen=True)
class OptionNames:
    """The options of a command, and of ``import`` for what the command itself cannot be told.

    Parameters
    ----------
    command : Command or None
        The command that runs; None before it is known.
    importer : Command or None
        The command ``import``.
    """

    command: Any = None
    importer: Any = None

    def translate(self, text: str) -> str:
        """Return a marked text with options in place of parameters."""
        return without_marks(_MARKED.sub(lambda found: self._words(found)[0], text))

    def first_option(self, text: str) -> str | None:
        """Return the first option of the command that a marked text names."""
        named = (self._words(found)[1] for found in _MARKED.finditer(text))
        return next((option for option in named if option), None)

    def _words(self, found: re.Match[str]) -> tuple[str, str | None]:
        """Return what to show for a parameter, and the option of the command that it is, if there is one."""
        mark, name, sign, value = found.groups()
        option = "--option" if mark == FORMAT_OPTION_MARK else _NAMES.get(name, f"--{name.replace('_', '-')}")
        for command, prefix in ((self.command, ""), (self.importer, "import ")):
            declared = _find_option(command, option)
            if declared is None:
                continue
            words = f"--option {_quote(f'{name}{sign}', value)}" if mark == FORMAT_OPTION_MARK else None
            return prefix + (words or _typed(declared, option, value)), None if prefix else option
        return f"{name}{sign}{value} (in Python)", None


def _find_option(command: Any, option: str) -> Any:
    return next((one for one in getattr(command, "params", ()) if option in one.opts), None)


def _typed(declared: Any, option: str, value: str) -> str:
    """Return an option with a value, as it is typed."""
    space = re.fullmatch(r"(?:sx\.)?(\w+)\((\d+)\)", value)
    if space and space[1] in _SPACES:
        return f"{option} {_SPACES[space[1]]} --n-points {space[2]}"
    if declared.is_flag:
        opposite = (*declared.secondary_opts, f"without {option}")[0]
        return opposite if value == "False" else option if value else "/".join([option, *declared.secondary_opts])
    if value == "None":
        return f"{option} none"
    return f"{option} {_quote('', value)}" if value else option


def _quote(name: str, value: str) -> str:
    """Return a value in Python's notation as a shell takes it, after `name`."""
    try:
        return shlex.quote(f"{name}{ast.literal_eval(value)}")
    except (ValueError, SyntaxError):
        return f"{name}{value}"


class CommandError(ShapelexError):
    """A command cannot go on; the message is one line that says what to do."""


def refuse(is_wrong: object, option: str, reason: str) -> None:
    """Refuse the value of an option, if it is wrong."""
    if is_wrong:
        raise typer.BadParameter(reason, param_hint=option)


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


def describe(error: BaseException, options: OptionNames | None = None, command: str = "shapelex") -> Failure:
    """Return what to tell of an error of a command, as it was typed."""
    options = options or OptionNames()
    if isinstance(error, KeyboardInterrupt):
        return Failure("interrupted", f"{error}" or "interrupted.", 130)
    if isinstance(error, UsageError):
        make_printable(error)
        return Failure("usage", without_breaks(error.format_message()), error.exit_code, _option_of(error))
    marked = without_breaks(marked_text(error))
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
    file = _keep_traceback(error, command)
    where = "run again with --debug to see where" if file is None else f"the traceback is in {file}"
    what = f"unexpected {type(error).__name__}: {message.rstrip('.') or 'no message'}"
    return Failure("bug", f"{what}. This is a bug in shapelex: {where}; please report it.", 70, traceback=file)


def make_printable(error: Any, context: Any = None) -> None:
    """Escape control characters in a usage error, which typer prints by itself; name what replaces old options."""
    command = re.match(r"No such command '(\w+)'", str(error.message))
    missing = command[1] if command else getattr(error, "option_name", "")
    error.message, error.ctx = as_printable(str(error.message)), error.ctx or context
    advice = OLD_WORDS.get(missing, "")
    if advice and (command or type(error).__name__ == "NoSuchOption"):
        error.message = f"{missing} is now spelled {advice}." if advice[0] == "-" else f"{missing} is gone: {advice}"
        # In place of similar names.
        error.possibilities = None


def without_breaks(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(text.split())


def _option_of(error: Any) -> str | None:
    """Return the option that a usage error is about: its name, or that of the parameter of the command."""
    hint = getattr(error, "option_name", None) or getattr(error, "param_hint", None)
    if hint is None and getattr(error, "param", None) is not None:
        hint = max(error.param.opts, key=len)
    return hint if isinstance(hint, str) and hint.startswith("-") else None


def _keep_traceback(error: BaseException, command: str) -> str | None:
    """Write the traceback of an error to a new file in the temporary folder, and return its path."""
    import platform
    import tempfile
    import traceback

    from shapelex import __version__

    head = [command, f"shapelex {__version__}, Python {platform.python_version()}, {platform.platform()}"]
    try:
        handle, path = tempfile.mkstemp(prefix="shapelex-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write("\n".join([*head, "", *traceback.format_exception(error)]))
    except OSError:
        return None
    return path
