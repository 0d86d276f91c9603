"""The app: all commands, what they share, and how they end."""

import logging
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shapelex._messages import marked_text
from shapelex.cli.check import check
from shapelex.cli.classify import classify
from shapelex.cli.command import Command
from shapelex.cli.compare import compare, suggest
from shapelex.cli.demo import demo
from shapelex.cli.encode import encode, reconstruct
from shapelex.cli.errors import Failure, OptionNames, UsageError, describe, make_printable, refuse, without_breaks
from shapelex.cli.formats import formats
from shapelex.cli.group_tests import compare_groups
from shapelex.cli.import_shapes import import_shapes
from shapelex.cli.impute import impute
from shapelex.cli.info import info, replay
from shapelex.cli.learn import learn
from shapelex.cli.measure import distances, mean, measure
from shapelex.cli.methods import methods
from shapelex.cli.register import register
from shapelex.cli.report import report
from shapelex.cli.run import Run, begin_run
from shapelex.cli.sequence import sequence
from shapelex.cli.terminal import echo, show_log
from shapelex.cli.warmup import warmup

# In the order of use.
_COMMANDS = {
    "import": import_shapes, "formats": formats, "info": info, "check": check, "measure": measure,
    "register": register, "impute": impute, "suggest": suggest, "learn": learn, "encode": encode, "sequence": sequence,
    "reconstruct": reconstruct, "report": report, "mean": mean, "distances": distances, "classify": classify,
    "compare": compare, "test": compare_groups, "demo": demo, "replay": replay, "methods": methods, "warmup": warmup,
}  # fmt: skip
_SHARED = "shapelex.shared"
_EPILOG = "For every command: --verbose, --log FILE and --debug, see shapelex --help."

_QUIET = re.compile(r"--quiet|-q+(o.*)?", re.DOTALL)
logger = logging.getLogger(__name__)


@dataclass
class _SharedOptions:
    """Options of all commands, wherever they stand among the arguments, and the other arguments."""

    debug: bool = False
    verbose: bool = False
    log: Path | None = None
    words: tuple[str, ...] = ()


class GuardedGroup(TyperGroup):
    """Commands that end in one line instead of a traceback, unless ``--debug`` is among the arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the options that all commands have out of the arguments."""
        try:
            shared = ctx.meta[_SHARED] = _take_shared(args, is_complete=not ctx.resilient_parsing)
            ctx.meta["shapelex.help_all"] = "--help-all" in args
            return super().parse_args(ctx, list(shared.words))
        except UsageError as error:
            if "--json" in args:
                _print_failure(Run(), None, describe(error))
                raise typer.Exit(2) from None
            make_printable(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        shared = ctx.meta[_SHARED]
        run = Run(shared.words)
        is_quiet, as_json = any(map(_QUIET.fullmatch, run.words)), "--json" in run.words
        level = logging.DEBUG if shared.verbose else logging.ERROR if is_quiet else logging.WARNING

        def translate(text: str) -> str:
            return self._options(ctx).translate(text)

        # The log is open until a failure is told, too.
        with ExitStack() as log:
            try:
                if shared.log is not None:
                    run.outputs.reserve_log(shared.log)
                log.enter_context(show_log(level, shared.log, translate))
                log.enter_context(_log_warnings(run, translate))
                logger.info("started: %s", run.command)
                with begin_run(run):
                    value = super().invoke(ctx)
                    run.results = run.work()
                logger.info("finished")
            except (typer.Exit, typer.Abort, BrokenPipeError):
                raise
            except (Exception, KeyboardInterrupt) as error:
                logger.debug("failed: %s", error, exc_info=True)
                is_usage = isinstance(error, UsageError)
                if is_usage:
                    make_printable(error, run.context)
                if (is_usage and not as_json) or (shared.debug and isinstance(error, Exception)):
                    raise
                failure = describe(error, self._options(ctx), run.command)
                failure = replace(failure, message=run.outputs.shown(failure.message))
                if as_json:
                    _print_failure(run, ctx.invoked_subcommand, failure)
                else:
                    echo(f"shapelex: {failure.message}", err=True)
                raise typer.Exit(failure.exit_code) from None
        if as_json:
            echo(run.document(ctx.invoked_subcommand))
        return value

    def _options(self, ctx: Any) -> OptionNames:
        name = ctx.invoked_subcommand
        return OptionNames(name and self.get_command(ctx, name), self.get_command(ctx, "import"))


def _print_failure(run: Run, command: str | None, failure: Failure) -> None:
    echo(run.document(command, asdict(failure)))


def _take_shared(args: list[str], is_complete: bool) -> _SharedOptions:
    """Return the options that all commands have, and the arguments without them."""
    shared, kept = _SharedOptions(), list[str]()
    rest = iter(args)
    for word in rest:
        name, sign, value = word.partition("=")
        if word == "--":
            kept += [word, *rest]
        elif word in ("--debug", "--verbose"):
            setattr(shared, word[2:], True)
        elif name == "--log":
            file = value if sign else next(rest, "")
            refuse(is_complete and not file, "--log", "needs the name of a file.")
            shared.log = Path(file)
        else:
            kept.append("--help" if word == "--help-all" else word)
    shared.words = tuple(kept)
    return shared


@contextmanager
def _log_warnings(run: Run, translate: Callable[[str], str]) -> Iterator[None]:
    """Log warnings, on one line each."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = translate(without_breaks(marked_text(message) if isinstance(message, Warning) else str(message)))
        run.warnings.append(text)
        logger.warning("warning: %s", text)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


app = typer.Typer(
    cls=GuardedGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 success, 1 a file or its data cannot be used, 2 wrong usage or a wrong value of an option, "
    "70 internal error (please report it), 130 interrupted.",
)
for _name, _command in _COMMANDS.items():
    app.command(_name, cls=Command, epilog=_EPILOG)(_command)


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
