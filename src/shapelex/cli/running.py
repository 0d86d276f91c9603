"""Commands that run other commands, in this process."""

from collections.abc import Sequence
from typing import Any

from shapelex.cli.errors import ARGUMENTS
from shapelex.cli.outputs import written_together


def run_command(words: Sequence[str], options: Sequence[str] = ()) -> None:
    """Run a command, such that the files it writes record `words`, without `options`, as the command.

    Parameters
    ----------
    words : sequence of str
        Name and arguments of the command.
    options : sequence of str
        More options.
    """
    from typer.main import get_command

    from shapelex.cli.app import app

    group: Any = get_command(app)
    command = group.commands[words[0]]
    token = ARGUMENTS.set(tuple(words))
    try:
        with command.make_context(words[0], [*options, *words[1:]]) as context, written_together():
            command.invoke(context)
    finally:
        ARGUMENTS.reset(token)
