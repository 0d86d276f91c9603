"""``shapelex replay``: the command that made a file."""

from pathlib import Path
from typing import Annotated

import typer

from shapelex.cli.options import JsonOption
from shapelex.cli.screen import Screen


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any file that a command of shapelex wrote.")],
    everything: Annotated[bool, typer.Option("--all", help="The commands before it too, in order.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the command that made a file; nothing is run. Paths are as they were typed.

    Example: shapelex replay report.html --all
    """
    from shapelex.store.run_records import read_run

    run = read_run(file)
    screen = Screen(as_json=as_json)
    for command in [*(run["earlier"] if everything else []), run["command"]]:
        screen.say(command)
    screen.show(run)
