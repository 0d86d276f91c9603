"""What all commands share: errors of the library in their words, exit statuses, JSON, logs, and a quick start."""

import inspect
import json
import logging
import pickle
import subprocess
import sys

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import shapelex as sx
from shapelex import exceptions
from shapelex._messages import format_option, marked_text, parameter, without_marks
from shapelex.cli.app import app
from shapelex.cli.errors import CommandError, GuardedGroup, describe
from shapelex.cli.option_names import OptionNames
from shapelex.cli.screen import Screen
from shapelex.exceptions import ParameterError, ShapeFileError, ShapeInputError, reason_of
from tests.cli.conftest import run
from tests.cli.test_refusals import KEYS

COMMANDS = get_command(app).commands
CLASSES = [
    one
    for one in vars(exceptions).values()
    if isinstance(one, type) and issubclass(one, Exception) and one.__module__ == exceptions.__name__
]


def options_of(name):
    return OptionNames(COMMANDS[name], COMMANDS["import"])


def run_made(function, *arguments):
    """Run a command line that has this one command."""
    made = typer.Typer(cls=GuardedGroup)
    made.callback()(lambda: None)
    made.command("made")(function)
    return CliRunner().invoke(made, arguments)


def failing(error):
    def fail(number: int = 0) -> None:
        raise error

    return fail


@pytest.mark.parametrize("arguments", [["--debug", "made"], ["made", "--debug"]])
def test_debug_shows_the_error_itself(arguments):
    error = ShapeInputError("no shape.")
    assert run_made(failing(error), *arguments).exception is error


def test_version_and_help():
    assert run("--version").stdout == f"shapelex {sx.__version__}\n"
    shown = run("--help")
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
            "shapelex: started: shapelex made\nshapelex: No space left.\nshapelex: Info.\nshapelex: finished\n",
        ),
    ],
)
def test_logged_warnings_are_one_line(option, shown):
    def work(quiet: bool = False) -> None:
        logging.getLogger("shapelex.io").warning("No space\nleft.")
        logging.getLogger("shapelex.io").info("Info.")

    before = list(logging.getLogger("shapelex").handlers)
    result = run_made(work, "made", *option)
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


@pytest.mark.parametrize("error_class", CLASSES)
def test_messages_are_plain_in_python(error_class):
    text = f"{{a}} {parameter('n_points', 100)}, {format_option('border', 'drop')} of {{b}}.tif."
    error = error_class(text)
    plain = '{a} n_points=100, border="drop" of {b}.tif.'
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert (str(one), f"{one}", one.args) == (plain, plain, (plain,))
        assert type(one) is error_class
        assert marked_text(one) == text
        assert without_marks(marked_text(one)) == plain
    assert reason_of(error) == plain[:-1]


@pytest.mark.parametrize(
    ("command", "marked", "shown"),
    [
        ("import", parameter("n_points", 100), "--points 100"),
        ("import", parameter("n_points"), "--points"),
        ("import", parameter("space=BSpline(40)"), "--space bspline --points 40"),
        ("import", parameter("closed", True), "--closed"),
        ("import", parameter("closed", False), "--open"),
        ("import", parameter("closed"), "--closed/--open"),
        ("import", parameter("overwrite", True), "--force"),
        ("import", parameter("on_error", "skip"), "--skip-bad"),
        ("import", parameter("missing", "allow"), "--missing allow"),
        ("import", parameter("label_from", r"(\w+) {x}"), r"--label-from '(\w+) {x}'"),
        ("import", parameter("format="), "--format"),
        ("import", format_option("min_area", 0), "--option min_area=0"),
        ("import", format_option("dataset="), "--option dataset="),
        ("import", format_option("dataset", "/a b"), "--option 'dataset=/a b'"),
        ("import", format_option("header", True), "--option header=True"),
        ("learn", parameter("n_points", 100), "import --points 100"),
        ("learn", parameter("n_atoms", 10), "--atoms 10"),
        ("learn", parameter("tol", 0.1), "tol=0.1 (in Python)"),
        ("learn", parameter("max_iter"), "--max-iter"),
        ("compare", parameter("methods"), "--method"),
        # An option of a format is never one of the command that happens to have the same name.
        ("encode", format_option("layout", "blocks"), "import --option layout=blocks"),
        ("encode", parameter("layout", "atoms"), "--layout atoms"),
        ("report", parameter("joined", False), "--no-lines"),
    ],
)
def test_parameters_are_options_of_the_command(command, marked, shown):
    assert options_of(command).translate(f"say {marked}, (n, n_points, 2).") == f"say {shown}, (n, n_points, 2)."


@pytest.mark.parametrize("command", COMMANDS)
def test_every_parameter_is_an_option_that_exists_or_python(command):
    functions = (sx.read, sx.suggest, sx.compare, sx.impute, sx.register, sx.ShapeDictionary, sx.report.write_report)
    names = {name for function in functions for name in inspect.signature(function).parameters}
    for marked in (format_option("layout", 3), *(parameter(name, 3) for name in sorted(names))):
        shown = options_of(command).translate(marked)
        if shown.endswith(" (in Python)"):
            continue
        words = shown.removeprefix("without ").split()
        owner = COMMANDS["import" if words[0] == "import" else command]
        option = next(word for word in words if word.startswith("--"))
        assert option in [known for one in owner.params for known in (*one.opts, *one.secondary_opts)]


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        (ParameterError("n_nonzero must be at least 1."), "usage", 2),
        (exceptions.ParameterTypeError("header must be True or False."), "usage", 2),
        (exceptions.SpaceError("no space."), "usage", 2),
        (exceptions.DeviceError("no device."), "usage", 2),
        (typer.BadParameter("is no number.", param_hint="--atoms"), "usage", 2),
        (ShapeFileError("damaged."), "data", 1),
        (CommandError("choose another -o."), "data", 1),
        (FileNotFoundError("There is no file a."), "data", 1),
        (ImportError("needs torch."), "library", 1),
        (MemoryError(), "memory", 1),
        (KeyboardInterrupt(), "interrupted", 130),
        (ZeroDivisionError("by zero"), "bug", 70),
        (ValueError("operands could not be broadcast"), "bug", 70),
        (KeyError("n_points"), "bug", 70),
    ],
)
def test_exit_statuses(error, kind, status, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert (describe(error).kind, describe(error).exit_code) == (kind, status)
    assert run_made(failing(error), "made").exit_code == status


def test_a_bug_leaves_its_traceback_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run_made(failing(ZeroDivisionError("by zero")), "made", "--number", "3")
    (kept,) = tmp_path.iterdir()
    assert result.exit_code == 70
    assert result.stderr == (
        "shapelex: unexpected ZeroDivisionError: by zero. This is a bug of shapelex: the traceback is in "
        f"{kept}; please report it.\n"
    )
    text = kept.read_text()
    assert text.startswith(f"shapelex made --number 3\nshapelex {sx.__version__}, Python ")
    assert text.endswith("ZeroDivisionError: by zero\n")


@pytest.mark.parametrize(
    "command",
    ["info shapes.npz", "encode model.npz shapes.npz -o codes.csv --figure codes.png", "replay shapes.npz"],
)
def test_every_command_prints_the_same_keys(ready, command):
    found = json.loads(run(f"{command} --json").stdout)
    assert set(found) == KEYS
    assert (found["schema"], found["version"], found["command"]) == (1, sx.__version__, command.split()[0])
    assert (found["ok"], found["error"]) == (True, None)
    assert set(found["inputs"]) == {word for word in command.split() if word.endswith(".npz")}
    assert found["outputs"] == [word for word in command.split() if word.startswith("codes")]


@pytest.mark.parametrize("option", [["--log", "run.log"], ["--log=run.log"]])
@pytest.mark.parametrize("first", [True, False])
def test_the_log_goes_to_a_file_that_grows(ready, option, first):
    arguments = ["info", "shapes.npz"]
    before = (logging.getLogger("shapelex").level, list(logging.getLogger("shapelex").handlers))
    for _ in range(2):
        result = run(*option, *arguments) if first else run(*arguments, *option)
        assert (result.exit_code, result.stderr) == (0, "")
    lines = (ready / "run.log").read_text().splitlines()
    assert sum(line.endswith("started: shapelex info shapes.npz") for line in lines) == 2
    assert any("DEBUG shapelex.io" in line for line in lines)
    assert (logging.getLogger("shapelex").level, logging.getLogger("shapelex").handlers) == before
    assert run("info shapes.npz --log").exit_code == 2
    run("info", "gone.npz", *option)
    assert "FileNotFoundError: There is no file gone.npz." in (ready / "run.log").read_text()
