"""Lines on the terminal: text comes in that may stem from files of others, and only what can be seen goes out."""

import os
import sys
from typing import TextIO

import typer

from shapelex._messages import as_printable


def echo(text: str, *, err: bool = False) -> None:
    """Print a line in which control characters are escaped.

    A closed pipe, as of ``head``, is not an error: the command goes on without one, so that all that it writes
    is whole.
    """
    try:
        typer.echo(as_printable(text), err=err)
    except BrokenPipeError:
        silence(sys.stderr if err else sys.stdout)
    except OSError as error:
        # A full disk, for example.
        silence(sys.stderr if err else sys.stdout)
        raise OSError(error.errno, error.strerror, f"standard {'error' if err else 'output'}") from error


def silence(stream: TextIO) -> None:
    """Let all that is printed from now on, and at the end of the process, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
