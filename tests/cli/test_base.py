"""What all commands share: errors in one line, exit statuses, outputs that are not replaced, a quick start."""

import logging
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import shapelex as sx
from shapelex.cli.app import app
from shapelex.cli.errors import GuardedGroup
from shapelex.cli.screen import Screen
from shapelex.exceptions import ShapeInputError


def failing_app(error: BaseException) -> typer.Typer:
    made = typer.Typer(cls=GuardedGroup)

    @made.callback()
    def group() -> None:
        """Commands."""

    @made.command()
    def fail(number: int = 0) -> None:
        raise error

    return made


def run(made, *arguments):
    return CliRunner().invoke(made, list(arguments))


@pytest.mark.parametrize("arguments", [["--debug", "fail"], ["fail", "--debug"]])
def test_debug_shows_the_error_itself(arguments):
    error = ShapeInputError("no shape.")
    assert run(failing_app(error), *arguments).exception is error


def test_wrong_usage_is_status_2():
    made = failing_app(ValueError("not reached"))
    assert run(made, "fail", "--number", "many").exit_code == 2
    assert run(made, "unknown").exit_code == 2
    assert "not reached" not in run(made, "fail", "--nothing").stderr


def test_version_and_help():
    assert run(app, "--version").stdout == f"shapelex {sx.__version__}\n"
    shown = run(app, "--help")
    assert shown.exit_code == 0
    assert "reproduce" in shown.stdout


HEAVY = {"dask", "h5py", "matplotlib", "numba", "pandas", "scipy", "skimage", "sklearn", "torch", "zarr"}


@pytest.mark.parametrize(
    ("arguments", "not_loaded"),
    [
        (["info", "--help"], HEAVY | {"numpy"}),
        (["info", "shapes.npz"], HEAVY),
        (["info", "codes.csv"], HEAVY - {"pandas"}),
        (["replay", "model.npz"], HEAVY),
    ],
)
def test_commands_load_nothing_heavy_that_they_do_not_need(ready, model, shapes, arguments, not_loaded):
    for name in {"codes.npz", "codes.csv"} & set(arguments):
        model.encode_to(shapes, name)
    code = (
        "import sys; from shapelex.cli.app import app\n"
        f"try: app({arguments})\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        "print(*sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not_loaded.isdisjoint(result.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        ([], "shapelex: No space left.\n"),
        (["--quiet"], ""),
        (
            ["--verbose"],
            "shapelex: started: shapelex work\nshapelex: No space left.\nshapelex: Info.\nshapelex: finished\n",
        ),
    ],
)
def test_logged_warnings_are_one_line(option, shown):
    made = typer.Typer(cls=GuardedGroup)

    @made.callback()
    def group() -> None:
        """Commands."""

    @made.command()
    def work(quiet: bool = False) -> None:
        logging.getLogger("shapelex.io").warning("No space\nleft.")
        logging.getLogger("shapelex.io").info("Info.")

    before = list(logging.getLogger("shapelex").handlers)
    result = run(made, "work", *option)
    assert (result.exit_code, result.stderr) == (0, shown)
    assert logging.getLogger("shapelex").handlers == before


def test_bar_follows_the_log_and_leaves_it_as_it_was(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    logger = logging.getLogger("shapelex")
    before = (logger.level, list(logger.handlers))
    with Screen().progress("working") as tell:
        tell(0.5, "half of it")
        assert len(logger.handlers) == len(before[1]) + 1
        logger.debug("restart 1/1, iteration 3/9, RMSE 0.0246, best 0.02")
    assert (logger.level, logger.handlers) == before
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "half of it" in shown.err
    assert "RMSE 2.46 %" in shown.err
