"""Commands that run other commands, in this process."""

from collections.abc import Mapping, Sequence
from typing import Any

from shapelex.cli.errors import ARGUMENTS, CommandError


def run_command(words: Sequence[str], options: Sequence[str] = (), expected: Mapping[str, Any] | None = None) -> None:
    """Run a command, such that the files it writes record `words`, without `options`, as the command.

    Parameters
    ----------
    words : sequence of str
        Name and arguments of the command.
    options : sequence of str
        More options.
    expected : mapping, optional
        Values that parameters must have, where the command has them; with others it is refused.
    """
    from typer.main import get_command

    from shapelex.cli.app import app

    group: Any = get_command(app)
    command = group.commands[words[0]]
    token = ARGUMENTS.set(tuple(words))
    try:
        with command.make_context(words[0], [*options, *words[1:]]) as context:
            for name, value in (expected or {}).items():
                # Some versions of typer make paths of text only when the command is called.
                if name in context.params and str(context.params[name]) != str(value):
                    raise CommandError(
                        f"this command cannot be run with {name} {context.params[name]}: type it yourself."
                    )
            command.invoke(context)
    finally:
        ARGUMENTS.reset(token)
