"""Commands from functions: parameters are options, which docstrings explain; help fits on one screen."""

import inspect
import re
from collections.abc import Callable
from enum import Enum, StrEnum
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand

from shapelex.cli.errors import refuse
from shapelex.cli.run import Run, current_run

Distance = Literal["full", "partial", "geodesic"]
Missing = Literal["error", "allow", "negative"]
# Files to write, whose places are claimed before the command begins.
Table = Annotated[Path, "table"]
ShapesFile = Annotated[Path, "shapes"]
ModelFile = Annotated[Path, "model"]
CodesFile = Annotated[Path, "codes"]
MovieFile = Annotated[Path, "movie"]
Page = Annotated[Path, "page"]
TextFile = Annotated[Path, "text"]
Checkpoint = Annotated[Path, "checkpoint"]

_FIGURE = ("figure", "width", "style")
_GROUPS_OF_OPTIONS = {"figure": _FIGURE, "shapes_figure": (*_FIGURE, "columns", "joined", "numbers")}
_LEAST = {
    "n_atoms": 1, "n_nonzero": 1, "n_points": 2, "weight_penalty": 0, "effort": 1, "tie": 0, "n_swaps": 0,
    "n_restarts": 1, "max_iter": 0, "batch_size": 1, "random_state": 0, "cv": 2, "max_shapes": 1, "permutations": 19,
    "switch_cost": 0, "fps": 0, "min_duration": 1, "columns": 1, "type": 1,
}  # fmt: skip
"""The least values of options that are numbers, which help tells."""
_MOST = {"type": 3}
_SPELLED = {"out": ["-o", "--out"], "quiet": ["--quiet", "-q"], "closed": ["--closed/--open"]}

# Options that few people need, by the group in which --help-all shows them.
_GROUPS = {
    "Search": (
        "--coder", "--weight-penalty", "--effort", "--tie", "--n-swaps", "--n-restarts", "--max-iter", "--batch-size",
        "--checkpoint", "--max-shapes", "--stability",
    ),
    "Reading": ("--missing", "--option", "--skip-bad", "--format", "--fps", "--on"),
    "States of behavior": ("--states", "--min-duration", "--bouts", "--transitions"),
    "Computing": ("--device", "--scheduler"),
    "Figure": ("--width", "--style", "--columns", "--numbers", "--picture", "--movie", "--series"),
    "Tables": ("--layout", "--raw-cells"),
}  # fmt: skip
_GROUP_OF = {option: group for group, options in _GROUPS.items() for option in options}
# Parts of the names of types, and how values of these are shown.
_VALUES = {"path": "FILE", "int": "N", "float": "X"}
_ENTRY = re.compile(r"^(\w+) : (.+(?:\n[ ]+.+)*)", re.MULTILINE)
_NEEDS = re.compile(r"(With|Without) (--[a-z-]+(?: or --[a-z-]+)*):")
_DEFAULT = re.compile(r"\s*\[default: ([^]]+)\]$")


def command(*groups: str) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a command of a function, whose first parameter is the run, and which returns its results.

    When the arguments are read, the run knows them and what to do: it begins when the parser has finished.

    Positional parameters are arguments, keyword parameters options; the section "Options" of the docstring, or of the
    one below, explains them. `groups` names those of all commands that the function leaves to the run.

    Options
    -------
    by : Column whose groups are compared.
    device : Device to compute on: cpu, cuda, or another torch device.
    distance : Procrustes distance.
    exclude : Leave out these shapes: ids with commas between them, or a .csv or .tsv file with a column id or file.
    missing : Missing landmarks: error refuses them, allow keeps them, negative reads negative coordinates as missing.
    model : Model file that learn wrote.
    n_atoms : Number of atoms.
    n_nonzero : Maximum number of atoms per shape.
    option : Option of the file format, such as border=drop; can be repeated. See shapelex formats NAME.
    random_state : Seed of the random numbers.
    scheduler : Address of the Dask scheduler of the cluster to compute on.
    shapes : File that import wrote, or any file, folder or pattern that import can read.
    stability : Measure which atoms are found again from halves of the shapes.
    unit : Column of what is independent, such as animal, or none. By default time series, else images or files.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., None]:
        text, explained = _explanations(function)
        explained = {**_explanations(command)[1], **_explanations(Run.take_options)[1], **explained}
        own = list(inspect.signature(function).parameters.values())[1:]
        shared = inspect.signature(Run.take_options).parameters
        wanted = [name for group in groups for name in _GROUPS_OF_OPTIONS.get(group, (group,))]
        wanted += ["force"] * any(one.name == "out" for one in own) + ["quiet", "json"]
        declared = [*own, *(shared[name] for name in wanted)]
        defaults = {one.name: one.default for one in declared}
        # An option whose explanation begins with "With --this or --that:" works only with one of these, and without
        # them if it begins with "Without --this:".
        needs = {
            name: (told[1] == "With", told[2]) for name in defaults if (told := _NEEDS.match(explained.get(name, "")))
        }
        kinds = {one.name: kind for one in own if (kind := _kind_of(one.annotation))}

        @wraps(function)
        def run_command(**values: Any) -> None:
            run = current_run()
            for name, (is_with, needed) in needs.items():
                is_given = values[name] is not None and values[name] != defaults[name]
                has_needed = any(values[other.strip("-").replace("-", "_")] for other in needed.split(" or "))
                option = _option_of(f"no_{name}" if defaults[name] is True else name)
                refuse(
                    is_given and has_needed != is_with, option, f"works only with{'' if is_with else 'out'} {needed}."
                )
            values = {name: one.value if isinstance(one, Enum) else one for name, one in values.items()}
            shared = {name: values.pop(name) for name in wanted}
            run.outputs.force = shared.get("force", False)
            for name, kind in kinds.items():
                if values[name] is not None:
                    run.outputs.claim(values[name], _option_of(name), kind)
            run.take_options(**shared)
            run.work = partial(function, run, **values)

        parameters = [_declare(one, explained) for one in declared]
        run_command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run_command.__annotations__, run_command.__doc__ = {}, text
        return run_command

    return declare


def _explanations(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring, and what its section "Options" says."""
    text, _, section = inspect.cleandoc(function.__doc__ or "").partition("\nOptions\n-------\n")
    return text.strip(), {name: " ".join(words.split()) for name, words in _ENTRY.findall(section)}


def _kind_of(annotation: Any) -> str | None:
    """Return which kind of file to write a parameter is; None for other parameters."""
    for one in (annotation, *get_args(annotation)):
        if get_origin(one) is Annotated:
            return str(one.__metadata__[0])
    return None


def _option_of(name: str) -> str:
    return _SPELLED[name][0] if name == "out" else f"--{name.replace('_', '-')}"


def _declare(one: inspect.Parameter, explained: dict[str, str]) -> inspect.Parameter:
    """Return a parameter of a function as typer wants it declared."""
    kind, default = one.annotation, one.default
    if _kind_of(kind):
        kind = Path | None if default is None else Path
    if get_origin(kind) is Literal:
        make_enum: Any = StrEnum
        kind = make_enum(one.name, {value: value for value in get_args(kind)})
        default = kind(default)
    help_text = explained.get(one.name, "")
    told = _DEFAULT.search(help_text)
    settings: dict[str, Any] = {
        "autocompletion": _complete_format if one.name in ("format", "name") else None,
        "help": _DEFAULT.sub("", help_text),
        "show_default": told[1] if told else default is not None and not isinstance(default, bool),
    }
    if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        settings["metavar"] = one.name.upper() + "..." * (get_origin(kind) is list)
        declared = typer.Argument(**settings | {"show_default": False})
    else:
        flag = f"{_option_of(one.name)}/--no-{one.name.replace('_', '-')}"
        names = _SPELLED.get(one.name, [flag if default is True else _option_of(one.name)])
        least, most = (None, None) if "str" in str(kind) else (_LEAST.get(one.name), _MOST.get(one.name))
        declared = typer.Option(*names, min=least, max=most, **settings)
    return inspect.Parameter(
        one.name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, declared], default=default
    )


def _complete_format(typed: str) -> list[str]:
    """Return the names of formats that begin with what was typed, for shell completion."""
    from shapelex.io.registry import FORMATS

    return [name for name in FORMATS if name.startswith(typed)]


class Command(TyperCommand):
    """A command whose ``--help`` explains common options only, and names the others."""

    def invoke(self, ctx: Any) -> Any:
        """Tell the run what to do, and the context for what it will say of wrong usage."""
        current_run().context = ctx
        return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        groups: dict[str, list[Any]] = {}
        for one in self.get_params(ctx):
            one.rich_help_panel = _GROUP_OF.get(_name(one))  # type: ignore[attr-defined]
            is_argument = one.param_type_name == "argument"
            groups.setdefault("Arguments" if is_argument else one.rich_help_panel or "Options", []).append(one)  # type: ignore[attr-defined]
        if ctx.meta.get("shapelex.help_all"):
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
