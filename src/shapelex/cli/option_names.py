"""Parameters of Python in messages, as options of the command that runs.

Options are looked up in the command itself, so that no message names one that it does not have: parameters that only
``import`` takes are shown as ``import --n-points 100``, and those that no command takes as ``tol (in Python)``.
"""

import ast
import re
import shlex
from dataclasses import dataclass
from typing import Any

from shapelex._messages import END_MARK, FORMAT_OPTION_MARK, PARAMETER_MARK, without_marks

# Options whose name is not that of the parameter with dashes.
_NAMES = {
    "groups": "--by",
    "method": "--coder",
    "on_error": "--skip-bad",
    "overwrite": "--force",
}
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
