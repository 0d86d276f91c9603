"""Help on one screen: the options that most people need; ``--help-all`` explains all of them."""

import inspect
from enum import Enum
from typing import Any

from typer.core import TyperCommand

# Options that few people need, by the group in which --help-all shows them.
_GROUPS = {
    "Search": (
        "--coder", "--weight-penalty", "--effort", "--tie", "--n-swaps", "--n-restarts", "--max-iter", "--batch-size",
        "--checkpoint", "--max-shapes", "--stability",
    ),
    "Reading": ("--missing", "--option", "--skip-bad", "--format", "--fps", "--on"),
    "Computing": ("--device", "--scheduler"),
    "Figure": ("--width", "--style", "--columns", "--no-lines", "--numbers"),
    "Tables": ("--layout", "--raw-cells"),
}  # fmt: skip
_GROUP_OF = {option: group for group, options in _GROUPS.items() for option in options}
# Parts of the names of types, and how values of these are shown.
_VALUES = {"path": "FILE", "int": "N", "float": "X"}


class Command(TyperCommand):
    """A command whose ``--help`` explains common options only, and names the others."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from shapelex.cli.errors import wants_all_help

        groups: dict[str, list[Any]] = {}
        for one in self.get_params(ctx):
            one.rich_help_panel = _GROUP_OF.get(_name(one), getattr(one, "rich_help_panel", None))  # type: ignore[attr-defined]
            is_argument = one.param_type_name == "argument"
            groups.setdefault("Arguments" if is_argument else one.rich_help_panel or "Options", []).append(one)  # type: ignore[attr-defined]
        if wants_all_help(ctx):
            super().format_help(ctx, formatter)
            return
        self.format_usage(ctx, formatter)
        summary, *others = inspect.cleandoc(self.help or "").split("\n\n")
        for text in [summary, *(one for one in others if one.startswith("Example"))]:
            formatter.write_paragraph()
            formatter.write_text(text)
        common = [groups.pop(title) for title in ("Arguments", "Options") if title in groups]
        with formatter.section("Options"):
            formatter.write_dl([_row(one, ctx) for options in common for one in options])
        if groups:
            with formatter.section("More options, which --help-all explains"):
                formatter.write_dl([(title, ", ".join(map(_name, options))) for title, options in groups.items()])
        self.format_epilog(ctx, formatter)


def _name(option: Any) -> str:
    return str(max(option.opts, key=len))


def _row(one: Any, ctx: Any) -> tuple[str, str]:
    """Return a parameter, and what it is for."""
    if one.param_type_name == "argument":
        return one.metavar or one.name.upper(), one.help or ""
    default = one.get_default(ctx)
    choices = [str(choice.value) for choice in type(default)] if isinstance(default, Enum) else []
    # Versions of typer keep the type in different places.
    kind = getattr(getattr(one, "type_descriptor", None), "annotation", None) or one.type.name
    value = next((word for part, word in _VALUES.items() if part in str(kind).lower()), "TEXT")
    names = ", ".join(sorted([*one.opts, *one.secondary_opts], key=len))
    notes = one.show_default if isinstance(one.show_default, str) else getattr(default, "value", default)
    told = one.required or one.is_flag or not one.show_default or notes is None
    more = " [required]" if one.required else "" if told else f" [default: {notes}]"
    explained = ((one.help or "").rstrip(".") + f": {', '.join(choices)}." if choices else one.help or "") + more
    return names if one.is_flag else f"{names} {'NAME' if choices else value}", explained
