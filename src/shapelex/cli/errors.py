"""Errors on the command line: one line that says what to do, and an exit status.

In comes any exception of a command; out goes its message on standard error. Status 1 is for files and data, 2 for wrong
usage (typer's own), 130 for an interruption.
"""

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
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
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
        return message
    return f"unexpected {type(error).__name__}: {message or 'no message'}. Run again with --debug to see where."


def report_error(message: str) -> None:
    """Print one line on standard error."""
    typer.echo(f"shapelex: {message}", err=True)
