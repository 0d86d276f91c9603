"""Errors of the library as the command line shows them: its options, exit statuses, JSON, the log."""

import inspect
import json
import logging
import pickle

import pytest
import typer
from typer.main import get_command

import shapelex as sx
from shapelex import exceptions
from shapelex._messages import format_option, marked_text, parameter, without_marks
from shapelex.cli.app import app
from shapelex.cli.errors import CommandError, describe
from shapelex.cli.option_names import OptionNames
from shapelex.exceptions import ParameterError, ShapeFileError, reason_of
from tests.cli.conftest import run
from tests.cli.test_base import failing_app
from tests.cli.test_base import run as run_made

KEYS = {"schema", "version", "command", "ok", "inputs", "outputs", "remarks", "warnings", "result", "error"}
COMMANDS = get_command(app).commands
CLASSES = [
    one
    for one in vars(exceptions).values()
    if isinstance(one, type) and issubclass(one, Exception) and one.__module__ == exceptions.__name__
]


def options_of(name):
    return OptionNames(COMMANDS[name], COMMANDS["import"])


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
    assert run_made(failing_app(error), "fail").exit_code == status


def test_a_bug_leaves_its_traceback_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run_made(failing_app(ZeroDivisionError("by zero")), "fail", "--number", "3")
    (kept,) = tmp_path.iterdir()
    assert result.exit_code == 70
    assert result.stderr == (
        "shapelex: unexpected ZeroDivisionError: by zero. This is a bug of shapelex: the traceback is in "
        f"{kept}; please report it.\n"
    )
    text = kept.read_text()
    assert text.startswith(f"shapelex fail --number 3\nshapelex {sx.__version__}, Python ")
    assert text.endswith("ZeroDivisionError: by zero\n")


@pytest.mark.parametrize(
    ("arguments", "status", "option"),
    [
        (["learn", "shapes.npz", "-o", "m.npz", "--device", "nonsense"], 2, "--device"),
        (["learn", "shapes.npz", "-o", "m.npz", "--atoms", "0"], 2, "--atoms"),
        (["learn", "shapes.npz", "-o", "m.npz", "--nothing"], 2, "--nothing"),
        (["learn", "shapes.npz", "-o", "m.npz", "--atoms", "3", "--nonzero", "4"], 2, "--nonzero"),
        (["learn", "shapes.npz"], 2, "--out"),
        (["compare", "shapes.npz", "--atoms", "3", "--nonzero", "4"], 2, "--nonzero"),
        (["compare", "shapes.npz", "--folds", "50", "--atoms", "3", "--nonzero", "1"], 2, "--folds"),
        (["compare", "shapes.npz", "--folds", "50", "--shuffle", "--atoms", "3", "--nonzero", "1"], 2, "--folds"),
        (["compare", "shapes.npz", "--method", "magic"], 2, "--method"),
        (["suggest", "shapes.npz", "--atoms", "200"], 2, "--atoms"),
        (["import", "shapes.npz", "-o", "x.npz", "--label-from", "("], 2, "--label-from"),
        (["import", "shapes.npz", "-o", "x.npz", "--format", "magic"], 2, "--format"),
        (["import", "shapes.npz", "-o", "x.npz", "--option", "n_points=3"], 2, "--option"),
        (["import", "shapes.npz", "-o", "x.npz", "--option", "nothing=3"], 2, None),
        (["import", "points.tps", "-o", "x.npz", "--option", "curves=some"], 2, "--option"),
        (["import", "shapes.npz", "-o", "x.npz", "--space", "bspline", "--points", "2"], 2, "--points"),
        (["import", "gone.npz", "-o", "x.npz"], 1, None),
        (["encode", "shapes.npz", "shapes.npz", "-o", "c.csv"], 1, None),
        (["mean", "shapes.npz", "-o", "shapes.npz"], 1, None),
        (["nothing"], 2, None),
        (["--nothing", "learn"], 2, "--nothing"),
    ],
)
def test_errors_are_json_too(ready, arguments, status, option):
    (ready / "points.tps").write_text("LM=3\n0 0\n1 0\n0 1\nID=a\n")
    result = run(*arguments, "--json")
    found = json.loads(result.stdout)
    assert set(found) == KEYS
    assert (found["ok"], found["result"], found["outputs"]) == (False, None, [])
    assert set(found["error"]) == {"kind", "message", "exit_code", "option", "traceback"}
    assert (result.exit_code, found["error"]["exit_code"], found["error"]["option"]) == (status, status, option)
    assert result.stderr == ""
    # People are told the same.
    assert run(*arguments).exit_code == status


def test_every_command_prints_the_same_keys(ready):
    for arguments in (
        ["info", "shapes.npz"],
        ["encode", "model.npz", "shapes.npz", "-o", "codes.csv", "--figure", "codes.png"],
        ["replay", "shapes.npz"],
    ):
        found = json.loads(run(*arguments, "--json").stdout)
        assert set(found) == KEYS
        assert (found["schema"], found["version"], found["command"]) == (1, sx.__version__, arguments[0])
        assert (found["ok"], found["error"]) == (True, None)
        assert set(found["inputs"]) == {word for word in arguments[1:3] if word.endswith(".npz")}
        assert found["outputs"] == [word for word in arguments if word.startswith("codes")]


def test_an_interruption_is_json_and_names_what_was_kept(ready, monkeypatch):
    def interrupt(self, *_):
        self.__dict__.update(model.__dict__)
        raise KeyboardInterrupt

    model = sx.load("model.npz")
    monkeypatch.setattr(sx.ShapeDictionary, "fit", interrupt)
    result = run("learn", "shapes.npz", "-o", "m.npz", "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["error"]["kind"]) == (130, "interrupted")
    assert found["outputs"] == ["m.interrupted.npz"]
    assert "m.interrupted.npz has the best dictionary so far" in found["error"]["message"]


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
    run("info", "gone.npz", *option)
    assert "FileNotFoundError: There is no file gone.npz." in (ready / "run.log").read_text()


def test_a_log_without_a_file_is_wrong_usage(ready):
    assert run("info", "shapes.npz", "--log").exit_code == 2
    assert run("info", "shapes.npz", "--log", "none/run.log").exit_code == 1


@pytest.mark.parametrize("name", ["codes.csv", "codes.npz", "codes.zarr"])
@pytest.mark.parametrize("command", [("reconstruct", "model.npz"), ("mean",)])
def test_codes_in_the_place_of_shapes(ready, command, name):
    assert run("encode", "model.npz", "shapes.npz", "-o", name).exit_code == 0
    result = run(*command, name, "-o", "out.npz")
    assert result.exit_code == 1
    assert f"{name} is a file of codes, not of shapes: give the shapes that were coded" in result.stderr


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("id_column=nosuch", "--option id_column=nosuch is none of the columns"),
        ("layout=blocks", "--option layout=blocks contradicts the names of the columns"),
    ],
)
@pytest.mark.parametrize("command", ["import", "learn"])
def test_options_of_tables_are_named_as_they_are_typed(folder, command, option, words):
    (folder / "a.csv").write_text("id,x1,y1,x2,y2,x3,y3\na,0,0,1,0,0,1\n")
    needed = ("--atoms", "1", "--nonzero", "1") if command == "learn" else ()
    result = run(command, "a.csv", "-o", "a.npz", "--option", option, *needed)
    assert result.exit_code == 1
    assert words in result.stderr
    assert "first run" not in result.stderr
