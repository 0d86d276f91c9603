"""The commands that made files, in order, with their settings and with what their outputs hold.

Input: files with a record of the run that made them. Output: one step per command; settings include defaults.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shapelex.cli.errors import OLD_WORDS, CommandError
from shapelex.cli.outputs import words_of
from shapelex.exceptions import ShapelexError


@dataclass(frozen=True)
class Step:
    """One command.

    Attributes
    ----------
    command : str
        As it was typed.
    name : str
        Name of the command; empty where it was none of shapelex.
    settings : dict
        Its parameters by name, defaults included; empty where they cannot be read.
    facts : dict
        What its output holds: numbers, preparation, notes.
    """

    command: str
    name: str
    settings: dict[str, Any]
    facts: dict[str, Any]


def find_steps(files: Iterable[Path]) -> tuple[list[Step], list[dict[str, str]]]:
    """Return the steps that led to some files, and the different versions that made these files."""
    from shapelex.files.provenance import read_run

    commands: dict[str, dict[str, Any]] = {}
    versions: list[dict[str, str]] = []
    for file in files:
        if not file.exists():
            raise CommandError(f"there is no file {file}.")
        run = read_run(file)
        for command in run["earlier"]:
            commands.setdefault(command, {})
        facts = run.get("facts")
        commands.setdefault(run["command"], {})
        commands[run["command"]] |= facts if isinstance(facts, dict) else {}
        made_with = _as_versions(run.get("versions"))
        if made_with and made_with not in versions:
            versions.append(made_with)
    return [_make_step(command, facts) for command, facts in commands.items()], versions


def _as_versions(value: Any) -> dict[str, str]:
    if isinstance(value, str):
        # On a page they are one text: "shapelex 0.1.0, python 3.12, …".
        return dict(part.rpartition(" ")[::2] for part in value.split(", "))
    return {str(name): str(version) for name, version in value.items()} if isinstance(value, dict) else {}


def _make_step(command: str, facts: dict[str, Any]) -> Step:
    words = words_of(command)
    if words[:1] != ["shapelex"] or len(words) < 2:
        return Step(command, "", {}, facts)
    settings = _settings(words[1], words[2:])
    target = settings.get("out")
    return Step(command, words[1], settings, {**(_describe(Path(target)) if target else {}), **facts})


def _settings(name: str, arguments: list[str]) -> dict[str, Any]:
    """Return all parameters of a command, as typer reads them, without running it or checking that files exist."""
    from typer.main import get_command

    from shapelex.cli.app import app

    group: Any = get_command(app)
    declared = group.commands.get(name)
    if declared is None:
        return {}
    known = {option for one in declared.params for option in (*one.opts, *one.secondary_opts)}
    renamed = {old: new for old, new in OLD_WORDS.items() if new.startswith("--") and old not in known}
    arguments = [renamed.get(word, word) for word in arguments]
    try:
        return dict(declared.make_context(name, arguments, resilient_parsing=True).params)
    except Exception:  # an option of an earlier version, for example
        return {}


def _describe(path: Path) -> dict[str, Any]:
    """Return what a file of shapes or a model holds; nothing for other files, or files that are gone."""
    from shapelex.files.archive import read_header
    from shapelex.files.atomic import is_zarr_folder
    from shapelex.files.model_file import read_model

    is_archive = path.suffix.lower() == ".npz" and path.is_file()
    if not (is_archive or is_zarr_folder(path)):
        return {}
    try:
        header = read_header(path) if is_archive else {}
        if header.get("format") == "shapelex model":
            model = read_model(path)
            return {"kind": model.kind, "space": repr(model.space), "rmse": model.results.get("rmse_")}
        if header.get("format", "shapelex shapes") != "shapelex shapes":
            return {}
        return _describe_shapes(path)
    except (ShapelexError, OSError, KeyError, ValueError):
        return {}


def _describe_shapes(path: Path) -> dict[str, Any]:
    import shapelex as sx
    from shapelex.shapes.preparation import FLAGS

    shapes = sx.open_shapes(path)
    done = shapes.preparation
    is_registered = done is not None and done.is_registered
    return {
        "n_shapes": len(shapes),
        "described": _in_words(shapes.space, done),
        "resampling": None if done is None else done.resampling,
        "registered": [words for name, words in FLAGS.items() if is_registered and getattr(done, name)],
        "left_out": [] if done is None else list(done.left_out),
        "notes": list(shapes.notes),
    }


def _in_words(space: Any, preparation: Any) -> str:
    """Return what the shapes of a space are, as in "closed outlines, each described by 80 points"."""
    import shapelex as sx

    kind = "closed outlines" if space.closed else "open curves"
    if isinstance(space, sx.Landmarks):
        if not space.closed and (preparation is None or preparation.resampling in (None, "as given")):
            return f"configurations of {space.n_coordinates} landmarks"
        return f"{kind}, each described by {space.n_coordinates} points"
    name = {"BSpline": "a B-spline", "HermiteSpline": "a Hermite spline"}.get(type(space).__name__, "a curve")
    return f"{kind}, each described by {name} with {space.n_coordinates} coefficients"
