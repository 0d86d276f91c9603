"""``shapelex formats``: the file formats, and the options of each, which ``--option NAME=VALUE`` sets."""

import ast
import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shapelex.cli.command import command
from shapelex.cli.errors import refuse
from shapelex.cli.run import Run

if TYPE_CHECKING:
    from shapelex.io.registry import Format

# An entry of a section Parameters, and a clause of running text that begins with the name of an option.
_ENTRY = re.compile(r"^(?P<names>\w+(?:, \w+)*) : (?P<type>.+)\n(?P<text>(?:[ \t]+.+\n?)+)", re.MULTILINE)
_CLAUSE = re.compile(r"`(?P<names>\w+)` (?P<text>[^`].*?)(?=[.;](?:\s|$)|,? `\w+` )", re.DOTALL)
# The formats of tables share their options, which this one explains.
_TABLE_OPTIONS = "csv"
_OWN_OPTION = {
    "space": "--space", "n_points": "--n-points", "closed": "--closed or --open", "progress": "--quiet",
    "missing": "--missing", "on_error": "--skip-bad", "label_from": "--label-from", "format": "--format",
    "join": "--join", "on": "--on", "label": "--label", "fps": "--fps",
}  # fmt: skip


@command()
def formats(run: Run, name: str | None = None) -> dict[str, Any]:
    """List the file formats that can be read and written, or the options of one of them.

    import, learn and impute take these options as --option NAME=VALUE, and shapelex.read takes them as arguments.

    Example: shapelex formats image

    Options
    -------
    name : Format whose options to list.
    """
    from shapelex.io.registry import FORMATS

    refuse(name and name not in FORMATS, "NAME", f"expected one of {', '.join(FORMATS)}, got {name!r}.")
    chosen = list(FORMATS.values()) if name is None else [FORMATS[name]]
    described = [describe_format(one) for one in chosen]
    if name is None:
        width = max(len(one["name"]) for one in described)
        for one in described:
            access = "read, write" if one["can_write"] else "read"
            run.say(f"{one['name']:{width}}  {access:11}  {' '.join(one['endings'])}")
        run.say("\nshapelex formats NAME lists the options of a format.")
    else:
        run.say(_in_words(described[0]))
    return {"formats": described}


def describe_format(known: "Format") -> dict[str, Any]:
    """Return what a format is called, what its files end in, and its options, as JSON values."""
    from shapelex.io.registry import FORMATS

    shared = _explanations(FORMATS[_TABLE_OPTIONS].reader)
    own = _explanations(known.reader)
    options = []
    for option in list(inspect.signature(known.reader).parameters.values())[1:]:
        kind, text = own.get(option.name) or shared.get(option.name, (None, ""))
        options.append({"name": option.name, "default": option.default, "type": kind, "explanation": text})
    return {"name": known.name, "endings": list(known.extensions), "can_write": known.can_write, "options": options}


def _in_words(described: dict[str, Any]) -> str:
    access = "read and written" if described["can_write"] else "read, not written"
    lines = [f"{described['name']} ({' '.join(described['endings'])}): {access}"]
    for option in described["options"]:
        default = "" if option["default"] is None else f"={option['default']}"
        kind = "" if option["type"] is None else f" {option['type']}:"
        lines.append(f"  {option['name']}{default}{kind} {option['explanation']}")
    if not described["options"]:
        lines.append("  has no options")
    return "\n".join(lines)


def _explanations(reader: Callable[..., Any]) -> dict[str, tuple[str | None, str]]:
    """Return type and explanation of each option that the docstring of a reader explains."""
    text = inspect.getdoc(reader) or ""
    found: dict[str, tuple[str | None, str]] = {}
    for clause in _CLAUSE.finditer(text):
        found.setdefault(clause["names"], (None, _one_line(clause["text"])))
    for entry in _ENTRY.finditer(text):
        # The signature has the default.
        kind = re.sub(r",? (?:default:? .*|optional)$", "", entry["type"])
        found |= dict.fromkeys(entry["names"].split(", "), (kind, _one_line(entry["text"])))
    return found


def _one_line(text: str) -> str:
    return " ".join(text.replace("``", "").split()).rstrip(".") + "."


def parse_format_options(words: list[str] | None) -> dict[str, Any]:
    """Return what ``--option`` says as arguments of :func:`shapelex.read`."""
    options = {}
    for word in words or []:
        name, sign, value = word.partition("=")
        refuse(not (sign and name.isidentifier()), "--option", f"expected NAME=VALUE, got {word!r}.")
        options[name] = _as_value(value)
    for name in _OWN_OPTION.keys() & options:
        where = "" if name == "missing" else " of shapelex import"
        refuse(True, "--option", f"{name} is not an option of a format: use {_OWN_OPTION[name]}{where}.")
    return options


def _as_value(text: str) -> Any:
    """Return a number, True, False or None where the text is one, else the text."""
    try:
        return ast.literal_eval(text.capitalize() if text in ("true", "false", "none") else text)
    except (ValueError, SyntaxError):
        return text
