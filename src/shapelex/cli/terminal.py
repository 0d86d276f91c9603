"""Lines on the terminal: text comes in that may stem from files of others, and only what can be seen goes out."""

import os
import sys
from unicodedata import category

import typer

# Control characters, and those that are invisible or turn the direction of text: a terminal would obey them.
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def as_printable(text: str) -> str:
    r"""Return text with escapes such as ``\x1b`` in place of characters that a terminal obeys, but for line ends."""
    if text.isprintable():
        return text
    return "".join(one if one in "\n\t" or category(one) not in _UNSEEN else _escape(one) for one in text)


def echo(text: str, *, err: bool = False) -> None:
    """Print a line in which control characters are escaped.

    A reader who went away, as ``head`` does, is no error: the command goes on without one, so that all that it writes
    is whole.
    """
    try:
        typer.echo(as_printable(text), err=err)
    except BrokenPipeError:
        # What is printed from now on, and at the end of the process, goes nowhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, (sys.stderr if err else sys.stdout).fileno())
        os.close(nowhere)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii", "backslashreplace")
