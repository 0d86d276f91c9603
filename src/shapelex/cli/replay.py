"""``shapelex replay``: the command that made a file, whether its inputs are unchanged, and the same once more."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.errors import CommandError
from shapelex.cli.json_report import current_report
from shapelex.cli.options import ForceOption, JsonOption
from shapelex.cli.outputs import OUTPUT_OPTIONS, options_apart, output_paths
from shapelex.cli.running import run_command
from shapelex.cli.screen import Screen


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any file that a command of shapelex wrote.")],
    everything: Annotated[bool, typer.Option("--all", help="Also print the commands before it, in order.")] = False,
    again: Annotated[bool, typer.Option("--run", help="Run the command again; needs -o.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="With --run: file to write.", show_default=False)
    ] = None,
    allow_changed: Annotated[
        bool, typer.Option("--allow-changed", help="With --run: run even if inputs have changed or were not recorded.")
    ] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the command that made a file, and whether the inputs of that command are unchanged.

    Paths are recorded as they were typed, so run replay in the folder where the command was typed. Inputs are compared
    by size and SHA-256; in Zarr folders, the metadata and the names and sizes of the chunks are compared. With --all,
    the inputs of the earlier commands are compared too, where the files that they wrote still exist.

    With --run, the command runs again and writes to -o. A figure or a movie is written beside this file, with the same
    name; further tables are not written.

    Example: shapelex replay model.npz --run -o again.npz
    """
    from shapelex.files.provenance import read_run

    if again and out is None:
        raise typer.BadParameter("--run needs it: where the new file goes.", param_hint="-o")
    if not again and (out is not None or allow_changed or force):
        raise typer.BadParameter("-o, --allow-changed and --force work only with --run.", param_hint="--run")
    current_report().note_inputs([file])
    run = read_run(file)
    words = _words(run["command"])
    states = _states(run, words)
    all_states = _with_earlier(states) if everything else states
    screen = Screen(as_json=as_json)
    if out is not None:
        _check_states(states, "inputs" in run, allow_changed)
        _run_again(words, out, ["--force"] * force + ["--json"] * as_json, screen)
        return
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


def _states(run: dict[str, Any], words: list[str]) -> dict[str, str]:
    from shapelex.files.input_hashes import state_of_input

    return {one["path"]: state_of_input(one, output_paths(words)) for one in run.get("inputs", [])}


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
        earlier = _states(run, _words(run["command"]))
        pending += [path for path in earlier if path not in found]
        found = earlier | found
    return found


def _check_states(states: dict[str, str], are_recorded: bool, allow_changed: bool) -> None:
    missing = [path for path, state in states.items() if state == "missing"]
    if missing:
        raise CommandError(
            f"{', '.join(missing)} is missing: the command cannot run. Paths are as they were typed: go to the folder "
            "where the command was typed."
        )
    changed = [path for path, state in states.items() if state == "changed"]
    others = [path for path, state in states.items() if state not in ("unchanged", "changed", "missing")]
    if (changed or others or not are_recorded) and not allow_changed:
        what = (
            f"{', '.join(others)} stands for too many files to be compared"
            if others
            else "its inputs were not recorded"
        )
        what = f"{', '.join(changed)} has changed since" if changed else what
        raise CommandError(f"{what}, so the result may differ: pass --allow-changed to run the command all the same.")


def _run_again(words: list[str], out: Path, options: list[str], screen: Screen) -> None:
    """Run a recorded command that writes to `out`, and to nothing else but a figure and a movie beside it."""
    from shapelex.cli.app import app

    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    if words[:1] != ["shapelex"] or not words[1:] or words[1] not in names - {"replay"}:
        raise CommandError("the record is of no command that can be run again: type it yourself.")
    if "--scheduler" in words:
        # Whoever runs a scheduler can run code here.
        raise CommandError("the command ran on a cluster: type it yourself, with the --scheduler to use now.")
    beside: dict[str, Path] = {}
    kept = [words[1]]
    rest = iter(words[2:])
    for word in rest:
        if word in OUTPUT_OPTIONS:
            value = next(rest, "")
            if word in ("--figure", "--movie"):
                beside[word] = out.with_suffix(Path(value).suffix)
        elif word not in ("--force", "--json"):
            kept.append(word)
    # A command that wrote a table alone does so again.
    is_table = "--table" in words and not {"-o", "--out"} & set(words)
    targets = ["--table" if is_table else "-o", str(out)]
    targets += [word for option, path in beside.items() for word in (option, str(path))]
    # After -- nothing is an option.
    end = kept.index("--") if "--" in kept else len(kept)
    kept[end:end] = targets
    # Joined options such as -qoPATH are not told apart above: whatever the command makes of them is compared.
    expected: dict[str, Any] = {"out": None if is_table else out, "table": out if is_table else None}
    expected |= {"scheduler": None, "force": "--force" in options}
    others = set(OUTPUT_OPTIONS) - {"-o", "--out", "--table"}
    expected |= {option.removeprefix("--"): beside.get(option) for option in others}
    screen.say(f"$ {shlex.join(['shapelex', *kept])}")
    run_command(kept, options, expected)
