"""``shapelex replay``: the command that made a file, and whether its inputs are unchanged."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.json_report import current_report
from shapelex.cli.options import JsonOption
from shapelex.cli.outputs import options_apart, output_paths
from shapelex.cli.screen import Screen


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any file that a command of shapelex wrote.")],
    everything: Annotated[bool, typer.Option("--all", help="Also print the commands before it, in order.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the command that made a file, and whether the inputs of that command are unchanged.

    Paths are recorded as they were typed, so run replay in the folder where the command was typed. Inputs are compared
    by size and SHA-256; in Zarr folders, the metadata and the names and sizes of the chunks are compared. With --all,
    the inputs of the earlier commands are compared too, where the files that they wrote still exist.

    Example: shapelex replay model.npz
    """
    from shapelex.files.provenance import read_run

    current_report().note_inputs([file])
    run = read_run(file)
    states = _states(run)
    all_states = _with_earlier(states) if everything else states
    screen = Screen(as_json=as_json)
    for command in [*(run["earlier"] if everything else []), run["command"]]:
        screen.say(command)
    for path, state in all_states.items():
        how = " in metadata, names and sizes" if state == "unchanged" and path.rstrip("/").endswith(".zarr") else ""
        screen.say(f"# input {path if path.isprintable() else repr(path)}: {state}{how}")
    if "inputs" not in run:
        screen.say("# inputs: not recorded")
    facts = {**run, "inputs": [{**one, "state": states[one["path"]]} for one in run.get("inputs", [])]}
    if everything:
        facts["earlier_inputs"] = {path: state for path, state in all_states.items() if path not in states}
    screen.show(facts)


def _words(command: str) -> list[str]:
    """Return the words of a recorded command with options apart; none where it is not a command line."""
    try:
        return options_apart(shlex.split(command))
    except ValueError:
        return []


def _states(run: dict[str, Any]) -> dict[str, str]:
    from shapelex.files.provenance import state_of_input

    written = output_paths(_words(run["command"]))
    return {one["path"]: state_of_input(one, written) for one in run.get("inputs", [])}


def _with_earlier(states: dict[str, str]) -> dict[str, str]:
    """Return the states of inputs with those of the inputs of the commands that made them, where these are recorded."""
    from shapelex.exceptions import ShapeFileError
    from shapelex.files.provenance import read_run

    found, pending = dict(states), list(states)
    while pending:
        try:
            run = read_run(Path(pending.pop(0)))
        except (ShapeFileError, OSError):
            # Data as it was measured, or a file that is gone.
            continue
        earlier = _states(run)
        pending += [path for path in earlier if path not in found]
        found = earlier | found
    return found
