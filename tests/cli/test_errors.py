"""What all commands share: errors of the library in their words, exit statuses, JSON, logs, and a quick start."""

import inspect
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
from shapelex.exceptions import ParameterError, ShapeFileError, reason_of
from tests.cli.conftest import run

COMMANDS = get_command(app).commands
CLASSES = [
    one
    for one in vars(exceptions).values()
    if isinstance(one, type) and issubclass(one, Exception) and one.__module__ == exceptions.__name__
]


def options_of(name):
    return OptionNames(COMMANDS[name], COMMANDS["import"])


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


def run_made(function, *arguments):
    """Run a command line that has this one command."""
    made = typer.Typer(cls=GuardedGroup)
    made.callback()(lambda: None)
    made.command("made")(function)
    return CliRunner().invoke(made, arguments)


@pytest.mark.parametrize("option", ["", "--quiet", "--verbose"])
def test_logged_warnings_are_one_line(option):
    def work(quiet: bool = False) -> None:
        logging.getLogger("shapelex.io").warning("No space\nleft.")
        logging.getLogger("shapelex.io").info("Info.")

    before = list(logging.getLogger("shapelex").handlers)
    result = run_made(work, "made", *option.split())
    lines = {
        "": ["No space left."],
        "--quiet": [],
        "--verbose": ["started: shapelex made", "No space left.", "Info.", "finished"],
    }
    assert (result.exit_code, result.stderr) == (0, "".join(f"shapelex: {line}\n" for line in lines[option]))
    assert logging.getLogger("shapelex").handlers == before


def test_bar_follows_the_log_and_leaves_it_as_it_was(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    logger = logging.getLogger("shapelex")
    before = (logger.level, list(logger.handlers))
    with Screen().progress("working") as tell:
        tell(0.5, "half of it")
        logger.debug("restart 1/1, iteration 3/9, RMSE 0.0246, best 0.02")
    assert (logger.level, logger.handlers) == before
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "half of it" in shown.err
    assert "RMSE 2.46 %" in shown.err


@pytest.mark.parametrize("option", [["--log", "run.log"], ["--log=run.log"]])
@pytest.mark.parametrize("first", [True, False])
def test_the_log_goes_to_a_file_that_grows(ready, option, first):
    logger = logging.getLogger("shapelex")
    before = (logger.level, list(logger.handlers))
    for name in ("shapes.npz", "shapes.npz", "gone.npz"):
        result = run(*option, "info", name) if first else run("info", name, *option)
        assert (result.exit_code, result.stderr == "") == ((0, True) if name != "gone.npz" else (1, False))
    text = (ready / "run.log").read_text()
    assert text.count("started: shapelex info shapes.npz\n") == 2
    assert "DEBUG shapelex.io" in text
    assert "FileNotFoundError: There is no file gone.npz." in text
    assert (logger.level, logger.handlers) == before
    assert run("info shapes.npz --log").exit_code == 2


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
        ("import", parameter("space=BSpline(40)"), "--space bspline --points 40"),
        ("import", parameter("closed", True), "--closed"),
        ("import", parameter("closed"), "--closed/--open"),
        ("import", parameter("overwrite", True), "--force"),
        ("import", parameter("on_error", "skip"), "--skip-bad"),
        ("import", parameter("missing", "allow"), "--missing allow"),
        ("import", parameter("label_from", r"(\w+) {x}"), r"--label-from '(\w+) {x}'"),
        ("import", parameter("format="), "--format"),
        ("import", format_option("dataset="), "--option dataset="),
        ("import", format_option("dataset", "/a b"), "--option 'dataset=/a b'"),
        ("learn", parameter("n_points", 100), "import --points 100"),
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
def test_exit_statuses_and_tracebacks_of_bugs(error, kind, status, tmp_path, monkeypatch):
    def fail(number: int = 0) -> None:
        raise error

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    described = describe(error)
    assert (described.kind, described.exit_code) == (kind, status)
    before = set(tmp_path.iterdir())
    result = run_made(fail, "made", "--number", "3")
    assert result.exit_code == status
    kept = list(set(tmp_path.iterdir()) - before)
    assert len(kept) == (kind == "bug")
    if kept:
        name = type(error).__name__
        assert result.stderr.startswith(f"shapelex: unexpected {name}: ")
        assert result.stderr.endswith(
            f". This is a bug of shapelex: the traceback is in {kept[0]}; please report it.\n"
        )
        text = kept[0].read_text()
        assert text.startswith(f"shapelex made --number 3\nshapelex {sx.__version__}, Python ")
        assert text.endswith(f"{name}: {error}\n")
        for arguments in (["--debug", "made"], ["made", "--debug"]):
            assert run_made(fail, *arguments).exception is error
