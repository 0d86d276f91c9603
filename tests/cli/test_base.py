"""What all commands share: errors in one line, exit statuses, outputs that are not replaced, a quick start."""

import logging
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import shapelex as sx
from shapelex.cli.app import app
from shapelex.cli.errors import CommandError, GuardedGroup, describe
from shapelex.cli.json_report import begin_report, current_report
from shapelex.cli.outputs import claim_file, claim_folder
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


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ShapeInputError("X holds\nno shape."), "shapelex: X holds no shape.\n"),
        (CommandError("choose another -o."), "shapelex: choose another -o.\n"),
        (ImportError('pip install "shapelex[plot]".'), 'shapelex: pip install "shapelex[plot]".\n'),
        (FileNotFoundError(2, "No such file", "worms.npz"), "shapelex: worms.npz: No such file.\n"),
    ],
)
def test_errors_are_one_line_and_status_1(error, line):
    result = run(failing_app(error), "fail")
    assert (result.exit_code, result.stderr, result.stdout) == (1, line, "")


@pytest.mark.parametrize("arguments", [["--debug", "fail"], ["fail", "--debug"]])
def test_debug_shows_the_error_itself(arguments):
    error = ShapeInputError("no shape.")
    assert run(failing_app(error), *arguments).exception is error


def test_debug_after_two_dashes_is_an_argument():
    assert run(failing_app(ShapeInputError("no shape.")), "fail", "--", "--debug").exit_code == 2


def test_interruption_is_status_130():
    result = run(failing_app(KeyboardInterrupt()), "fail")
    assert (result.exit_code, result.stderr) == (130, "shapelex: interrupted.\n")


def test_wrong_usage_is_status_2():
    made = failing_app(ValueError("not reached"))
    assert run(made, "fail", "--number", "many").exit_code == 2
    assert run(made, "unknown").exit_code == 2
    assert "not reached" not in run(made, "fail", "--nothing").stderr


def test_memory_is_said_in_words():
    failure = describe(MemoryError("8 GiB"))
    assert (failure.kind, failure.exit_code) == ("memory", 1)
    assert failure.message == "not enough memory (8 GiB): take fewer shapes, or learn from batches."


def test_version_and_help():
    assert run(app, "--version").stdout == f"shapelex {sx.__version__}\n"
    shown = run(app, "--help")
    assert shown.exit_code == 0
    assert "reproduce" in shown.stdout


HEAVY = {"dask", "h5py", "matplotlib", "numba", "pandas", "scipy", "skimage", "sklearn", "torch", "zarr"}


@pytest.mark.parametrize(
    ("arguments", "not_loaded"),
    [
        (["--help"], HEAVY | {"numpy"}),
        (["info", "--help"], HEAVY | {"numpy"}),
        (["info", "shapes.npz"], HEAVY),
        (["info", "model.npz"], HEAVY),
        (["info", "codes.npz"], HEAVY),
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


def test_python_m_runs_the_commands():
    result = subprocess.run([sys.executable, "-m", "shapelex", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"shapelex {sx.__version__}\n"


def test_folders_are_not_replaced(tmp_path):
    new = tmp_path / "a" / "b"
    assert claim_folder(new, force=False).is_dir()
    assert claim_folder(new, force=False) == new
    (new / "old").touch()
    with pytest.raises(CommandError, match="is not empty: choose another -o, or pass --force"):
        claim_folder(new, force=False)
    assert claim_folder(new, force=True) == new
    with pytest.raises(CommandError, match="is a file, not a folder"):
        claim_folder(new / "old", force=True)


def test_files_are_not_replaced(tmp_path):
    path = tmp_path / "model.npz"
    assert claim_file(path, force=False) == path
    path.touch()
    with pytest.raises(CommandError, match="exists: choose another -o, or pass --force to replace it"):
        claim_file(path, force=False)
    assert claim_file(path, force=True) == path
    with pytest.raises(CommandError, match="is a folder: name a file in it"):
        claim_file(tmp_path, force=True)
    with pytest.raises(CommandError, match="there is no folder"):
        claim_file(tmp_path / "none" / "model.npz", force=False)


@pytest.mark.parametrize(
    ("options", "out", "kept"), [({}, "words\n", None), ({"quiet": True}, "", None), ({"as_json": True}, "", {"a": 1})]
)
def test_screen_says_what_it_may(options, out, kept, capsys):
    begin_report()
    screen = Screen(**options)
    with screen.progress("working") as tell:
        tell(0.5, "half")
    screen.say("words")
    screen.show({"a": 1})
    assert capsys.readouterr().out == out
    assert current_report().result == kept


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
