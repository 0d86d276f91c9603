"""The app: all commands, and what they share."""

from pathlib import Path
from typing import Annotated

import typer

from shapelex.cli.check import check
from shapelex.cli.classify import classify
from shapelex.cli.compare import compare
from shapelex.cli.demo import demo
from shapelex.cli.distances import distances
from shapelex.cli.encode import encode
from shapelex.cli.errors import GuardedGroup
from shapelex.cli.formats import formats
from shapelex.cli.group_tests import compare_groups
from shapelex.cli.help import Command
from shapelex.cli.import_shapes import import_shapes
from shapelex.cli.impute import impute
from shapelex.cli.info import info
from shapelex.cli.learn import learn
from shapelex.cli.mean import mean
from shapelex.cli.measure import measure
from shapelex.cli.methods import methods
from shapelex.cli.reconstruct import reconstruct
from shapelex.cli.register import register
from shapelex.cli.replay import replay
from shapelex.cli.report import report
from shapelex.cli.sequence import sequence
from shapelex.cli.suggest import suggest
from shapelex.cli.warmup import warmup

app = typer.Typer(
    cls=GuardedGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 success, 1 a file or its data cannot be used, 2 wrong usage or a wrong value of an option, "
    "70 internal error (please report it), 130 interrupted.",
)
_SHARED = "For every command: --verbose, --log FILE and --debug, see shapelex --help."

app.command("import", cls=Command, epilog=_SHARED)(import_shapes)
_NAMES = {"compare_groups": "test"}
# In the order of use.
for command in (
    formats,
    info,
    check,
    measure,
    register,
    impute,
    suggest,
    learn,
    encode,
    sequence,
    reconstruct,
    report,
    mean,
    distances,
    classify,
    compare,
    compare_groups,
    demo,
    replay,
    methods,
    warmup,
):
    app.command(_NAMES.get(command.__name__), cls=Command, epilog=_SHARED)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from shapelex import __version__

        typer.echo(f"shapelex {__version__}")
        raise typer.Exit


@app.callback()
def shapelex(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the log on standard error.")] = False,
    log: Annotated[Path | None, typer.Option("--log", help="Append the log to this file.", show_default=False)] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Sparse dictionaries of planar shapes.

    --verbose, --log and --debug can also be given after every command.
    """
