"""Errors on the command line: one line that says what to do, and an exit status.

In comes any exception of a command; out goes its message on standard error. Status 1 is for files and data, 2 for wrong
usage (typer's own), 130 for an interruption. Warnings, and what the library logs as such, are one line each too.
"""

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import typer
from typer.core import TyperGroup

from shapelex.exceptions import ShapelexError

_DEBUG = "shapelex.debug"
# The base of typer's usage errors, whichever library it comes from.
_UsageError: Any = typer.BadParameter.__mro__[-4]
_EXPECTED = (ShapelexError, OSError, ValueError, TypeError, ImportError, MemoryError)

STATUS_ERROR = 1
STATUS_INTERRUPTED = 130

ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("ARGUMENTS", default=())
"""The arguments of the command that runs, as they were typed."""

_FORMAT_OPTIONS = "layout|axes|kind|border|dataset|variable|curves|which|only|threshold"
# Messages of the library name arguments of Python; here they have other names.
_OPTIONS = (
    (re.compile(r"(\.(?:roi|zip|geojson), .*or) read them apart\b"), r"\1 read one kind alone with only=outlines"),
    (re.compile(r"\bspace=(?:sx\.)?BSpline\((\d+)\)"), r"--space bspline --points \1"),
    (re.compile(r"\bn_points=(\d+)"), r"--points \1"),
    (re.compile(r"\bon_error=\"skip\""), "--skip-bad"),
    (re.compile(r"\bmissing=\"?(allow|negative)\"?"), r"--missing \1"),
    (re.compile(r"\bclosed=True"), "--closed"),
    (re.compile(r"\bclosed=False"), "--open"),
    (re.compile(r"\boverwrite=True"), "--force"),
    (re.compile(r"\bformat=(?=\w)"), "--format "),
    (re.compile(r"\bformat=(?!\w)"), "--format"),
    (re.compile(r"\blabel_from="), "--label-from "),
    (re.compile(r"\blabel=(?=')"), "--label "),
    (re.compile(r"\bon=(?=')"), "--on "),
    (re.compile(r"\bwith on=(?=\W|$)"), "with --on"),
    (re.compile(r"\braise max_iter, or tol\b"), "raise --max-iter"),
    (re.compile(r"\bmax_iter=(\d+)"), r"--max-iter \1"),
    (re.compile(r"\bn_atoms=(\d+)"), r"--atoms \1"),
    (re.compile(r"\bn_nonzero=(\d+)"), r"--nonzero \1"),
    (re.compile(r"\bn_atoms\b"), "--atoms"),
    (re.compile(r"\bn_nonzero\b"), "--nonzero"),
    (re.compile(r"\bmax_iter\b"), "--max-iter"),
    (re.compile(r"\bn_points\b"), "--points"),
    (re.compile(rf"\b({_FORMAT_OPTIONS})=\"?(\w+)\"?"), r"--option \1=\2"),
)  # fmt: skip

_SPACE = re.compile(r"(\b[A-Z]\w+\(n_points=[^()]*\))")


class CommandError(ShapelexError):
    """A command cannot go on; the message is one line that says what to do."""


class GuardedGroup(TyperGroup):
    """Commands that end in one line instead of a traceback, unless ``--debug`` is among the arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` out of the arguments wherever it stands."""
        end = args.index("--") if "--" in args else len(args)
        if "--debug" in args[:end]:
            ctx.meta[_DEBUG] = True
            args = [argument for argument in args[:end] if argument != "--debug"] + args[end:]
        ARGUMENTS.set(tuple(args))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            with _warnings_in_one_line(), _log_in_one_line():
                return super().invoke(ctx)
        except (typer.Exit, typer.Abort, _UsageError):
            raise
        except KeyboardInterrupt:
            report_error("interrupted.")
            raise typer.Exit(STATUS_INTERRUPTED) from None
        except Exception as error:
            if ctx.meta.get(_DEBUG):
                raise
            report_error(describe(error))
            raise typer.Exit(STATUS_ERROR) from None


def describe(error: Exception) -> str:
    """Return what went wrong, on one line."""
    message = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, MemoryError):
        return f"not enough memory ({message or 'no details'}): take fewer shapes, or learn from batches."
    if isinstance(error, _EXPECTED) and message:
        return message if isinstance(error, CommandError) else in_options(message)
    return f"unexpected {type(error).__name__}: {message or 'no message'}. Run again with --debug to see where."


def in_options(message: str) -> str:
    """Return a message of the library with the options of the command line in place of Python's arguments."""
    # Odd parts are spaces, which are named as info names them.
    parts = _SPACE.split(message)
    for place in range(0, len(parts), 2):
        for pattern, words in _OPTIONS:
            parts[place] = pattern.sub(words, parts[place])
    return "".join(parts)


def report_error(message: str) -> None:
    """Print one line on standard error."""
    typer.echo(f"shapelex: {message}", err=True)


def _is_quiet() -> bool:
    return bool({"-q", "--quiet"} & set(ARGUMENTS.get()))


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    is_quiet = _is_quiet()

    def show(message: Any, *_: Any, **__: Any) -> None:
        if not is_quiet:
            report_error(f"warning: {in_options(' '.join(str(message).split()))}")

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


class _LineHandler(logging.Handler):
    """Prints messages of the library, such as that kernels are compiled, on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message."""
        report_error(in_options(" ".join(record.getMessage().split())))


@contextmanager
def _log_in_one_line() -> Iterator[None]:
    handler = _LineHandler(logging.CRITICAL if _is_quiet() else logging.WARNING)
    logger = logging.getLogger("shapelex")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
