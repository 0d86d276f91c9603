"""Messages of errors and warnings that name parameters, in Python and on the command line.

Messages name parameters with :func:`parameter` and :func:`format_option`, so that the command line can show its own
options instead. These functions put marks around the name, which :class:`Message` keeps apart from the text: what
``str`` returns has none. The errors and warnings of shapelex make their text a message by themselves; that of other
classes, such as FileExistsError or ConvergenceWarning, is made with ``Message(...)``.
"""

from typing import Any, Self
from unicodedata import category

# Unicode reserves these characters for use inside a program, so that no text has them.
PARAMETER_MARK, FORMAT_OPTION_MARK, END_MARK = "\ufdd0", "\ufdd1", "\ufdd2"
_WITHOUT_MARKS = dict.fromkeys(map(ord, PARAMETER_MARK + FORMAT_OPTION_MARK + END_MARK))

# Control characters, and those that are invisible or turn the direction of text: a terminal would obey them.
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def as_printable(text: str, kept: str = "\n\t") -> str:
    r"""Return text with escapes such as ``\x1b`` in place of characters that a terminal obeys, except those `kept`."""
    if text.isprintable():
        return text
    return "".join(one if one in kept or category(one) not in _UNSEEN else _escape(one) for one in text)


def on_one_line(text: str) -> str:
    r"""Return text of a file that goes into a line, such as a label, with escapes such as ``\n``."""
    return as_printable(text, kept="")


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii", "backslashreplace")


def parameter(name: str, *value: Any) -> str:
    """Return a parameter as an error or warning names it: ``n_points=100``, on the command line ``--n-points 100``.

    `name` is the name in Python, and `value` the value that it has or should have, if the message tells one. With
    ``=`` at the end of the name, any value is meant.
    """
    return _mark(PARAMETER_MARK, name, *value)


def format_option(name: str, *value: Any) -> str:
    """Return an option of a file format as an error names it: ``border="drop"``, or ``--option border=drop``."""
    return _mark(FORMAT_OPTION_MARK, name, *value)


def _mark(mark: str, name: str, *value: Any) -> str:
    words = [f'"{one}"' if isinstance(one, str) and one.isidentifier() else repr(one) for one in value]
    return f"{mark}{'='.join([name, *words])}{END_MARK}"


def without_marks(text: str) -> str:
    """Return a text in which parameters have their names in Python."""
    return text.translate(_WITHOUT_MARKS)


def marked_text(error: BaseException) -> str:
    """Return the message of an error with the marks of its parameters, to go into another message."""
    # Text of a LookupError is quoted.
    words = error.args[0] if error.args and (len(error.args) == 1 or isinstance(error, LookupError)) else error
    return words.marked if isinstance(words, Message) else str(words)


class Message(str):
    """The text of an error or warning; `marked` is the same text with marks around parameters."""

    marked: str

    def __new__(cls, text: str) -> Self:
        """Make the text without marks, and keep the one with them."""
        made = super().__new__(cls, without_marks(text))
        made.marked = text
        return made
