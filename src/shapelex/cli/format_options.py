"""Options of file formats on the command line: ``--option NAME=VALUE``."""

import ast
from typing import Annotated, Any

import typer

FormatOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="Option of the file format, such as border=drop; can be repeated. See shapelex formats NAME.",
        show_default=False,
    ),
]

_OWN_OPTION = {
    "space": "--space", "n_points": "--n-points", "closed": "--closed or --open", "progress": "--quiet",
    "missing": "--missing", "on_error": "--skip-bad", "label_from": "--label-from", "format": "--format",
    "join": "--join", "on": "--on", "label": "--label", "fps": "--fps",
}  # fmt: skip


def parse_format_options(words: list[str] | None) -> dict[str, Any]:
    """Return what ``--option`` says as arguments of :func:`shapelex.read`."""
    options = {}
    for word in words or []:
        name, sign, value = word.partition("=")
        if not sign or not name.isidentifier():
            raise typer.BadParameter(f"expected NAME=VALUE, got {word!r}.", param_hint="--option")
        options[name] = _as_value(value)
    taken = sorted(_OWN_OPTION.keys() & options)
    if taken:
        where = "" if taken[0] == "missing" else " of shapelex import"
        raise typer.BadParameter(
            f"{taken[0]} is not an option of a format: use {_OWN_OPTION[taken[0]]}{where}.", param_hint="--option"
        )
    return options


def complete_format(typed: str) -> list[str]:
    """Return the names of formats that begin with what was typed, for shell completion."""
    from shapelex.io.registry import FORMATS

    return [name for name in FORMATS if name.startswith(typed)]


def _as_value(text: str) -> Any:
    """Return a number, True, False or None where the text is one, else the text."""
    try:
        return ast.literal_eval(text.capitalize() if text in ("true", "false", "none") else text)
    except (ValueError, SyntaxError):
        return text
