"""Lines on the terminal: text comes in that may stem from files of others, and only what can be seen goes out."""

import os
import shutil
import sys
import textwrap
from typing import TextIO

import typer

from shapelex._messages import as_printable

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
