"""Errors of the library in their words, exit statuses, JSON and logs; and commands that cannot be run."""

import json
import logging
import pickle
import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import shapelex as sx
from shapelex import exceptions
from shapelex._messages import format_option, marked_text, parameter, without_marks
from shapelex.cli.app import GuardedGroup, app
from shapelex.cli.errors import CommandError, OptionNames, describe
from shapelex.cli.run import Run
from shapelex.exceptions import ParameterError, ShapeFileError, reason_of
from tests.cli.conftest import error_of, run

COMMANDS = get_command(app).commands
CLASSES = [
    one
    for one in vars(exceptions).values()
    if isinstance(one, type) and issubclass(one, Exception) and one.__module__ == exceptions.__name__
]


def options_of(name):
    return OptionNames(COMMANDS[name], COMMANDS["import"])


HEAVY = {"dask", "h5py", "matplotlib", "numba", "pandas", "scipy", "skimage", "sklearn", "torch", "zarr"}


def test_commands_load_nothing_heavy_that_they_do_not_need(ready, model, shapes):
    model.encode_to(shapes, "codes.csv")
    code = """
import sys
from shapelex.cli.app import app
for words in ("info --help", "info shapes.npz", "replay model.npz", "info codes.csv"):
    try:
        app(words.split())
    except SystemExit as end:
        assert end.code == 0, end.code
    print("loaded", *sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = [set(line.split()) & (HEAVY | {"numpy"}) for line in result.stdout.splitlines() if line[:7] == "loaded "]
    assert loaded == [set(), {"numpy"}, {"numpy"}, {"numpy", "pandas"}]


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
    with Run().progress("working") as tell:
        tell(0.5, "half of it")
        logger.debug("restart 1/1, iteration 3/9, RMSE 0.0246, best 0.02")
    assert (logger.level, logger.handlers) == before
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "half of it" in shown.err
    assert "RMSE 2.46 %" in shown.err


@pytest.mark.parametrize(("option", "first"), [(["--log", "run.log"], True), (["--log=run.log"], False)])
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
        ("import", parameter("n_points", 100), "--n-points 100"),
        ("import", parameter("space=BSpline(40)"), "--space bspline --n-points 40"),
        ("import", parameter("closed", True), "--closed"),
        ("import", parameter("closed"), "--closed/--open"),
        ("import", parameter("overwrite", True), "--force"),
        ("import", parameter("on_error", "skip"), "--skip-bad"),
        ("import", parameter("missing", "allow"), "--missing allow"),
        ("import", parameter("label_from", r"(\w+) {x}"), r"--label-from '(\w+) {x}'"),
        ("import", parameter("format="), "--format"),
        ("import", format_option("dataset="), "--option dataset="),
        ("import", format_option("dataset", "/a b"), "--option 'dataset=/a b'"),
        ("learn", parameter("n_points", 100), "import --n-points 100"),
        ("learn", parameter("tol", 0.1), "tol=0.1 (in Python)"),
        ("learn", parameter("max_iter"), "--max-iter"),
        ("compare", parameter("methods"), "--methods"),
        # An option of a format is never one of the command that happens to have the same name.
        ("encode", format_option("layout", "blocks"), "import --option layout=blocks"),
        ("encode", parameter("layout", "atoms"), "--layout atoms"),
        ("report", parameter("joined", False), "--no-joined"),
    ],
)
def test_parameters_are_options_of_the_command(command, marked, shown):
    assert options_of(command).translate(f"say {marked}, (n, n_points, 2).") == f"say {shown}, (n, n_points, 2)."


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        (ParameterError("n_nonzero must be at least 1."), "usage", 2),
        (exceptions.ParameterTypeError("header must be True or False."), "usage", 2),
        (exceptions.SpaceError("no space."), "usage", 2),
        (exceptions.DeviceError("no device."), "usage", 2),
        (typer.BadParameter("is no number.", param_hint="--n-atoms"), "usage", 2),
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
            f". This is a bug in shapelex: the traceback is in {kept[0]}; please report it.\n"
        )
        text = kept[0].read_text()
        assert text.startswith(f"shapelex made --number 3\nshapelex {sx.__version__}, Python ")
        assert text.endswith(f"{name}: {error}\n")
        for arguments in (["--debug", "made"], ["made", "--debug"]):
            assert run_made(fail, *arguments).exception is error


KEYS = {"schema", "version", "command", "ok", "inputs", "outputs", "remarks", "warnings", "result", "error"}
FEW = "--permutations 99"
IMPUTE = "shapelex impute gaps.npz -o complete.npz"
SIZES = "--n-atoms 3 --n-nonzero 1"


@pytest.fixture(scope="module")
def files(tmp_path_factory, shapes, model):
    """A folder with sets, a model, codes, and files that cannot be used."""
    folder = tmp_path_factory.mktemp("refused")
    treatment = np.repeat(["drug", "none"], 20)
    plate = np.tile([1, 2], 20)
    dose = np.random.default_rng(1).uniform(size=40)
    sx.write(shapes.replace(metadata={"treatment": treatment, "plate": plate, "dose": dose}), folder / "shapes.npz")
    model.save(folder / "model.npz")
    for name in ("codes.csv", "codes.npz", "codes.zarr"):
        model.encode_to(shapes, folder / name)
    rows = shapes.configurations.copy()
    rows[3:9, 2] = np.nan
    sx.write(shapes.replace(configurations=rows, missing="allow"), folder / "gaps.npz")
    names = np.repeat([f"s{n}" for n in range(10)], 4).astype(object)
    names[3] = ""
    sx.write(shapes.replace(labels=None, metadata={"specimen": names.astype(str)}), folder / "specimens.npz")
    sx.write(shapes.replace(space=sx.Landmarks(16)), folder / "open.npz")
    nine = shapes.replace(configurations=shapes.configurations[:, :9], space=sx.Landmarks(9, closed=True))
    sx.write(nine, folder / "nine.npz")
    (folder / "points.tps").write_text("LM=3\n0 0\n1 0\n0 1\nID=a\n")
    (folder / "table.csv").write_text("id,x1,y1,x2,y2,x3,y3\na,0,0,1,0,0,1\n")
    (folder / "own.csv").write_text("a\n1\n")
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "link.npz").symlink_to("a.npz")
    lists = {
        "names": "cell 3\ncell 4\n",
        "files": "file\none.npz\n",
        "all": "id\n" + "".join(f"cell {n}\n" for n in range(40)),
    }
    for name, text in lists.items():
        (folder / f"{name}.list.csv").write_text(text)
    return folder


# Command, exit status, the option that JSON names (if any), and words of the message.
REFUSED = [
    ("nothing", 2, None, "nothing"),
    ("--nothing learn", 2, "--nothing", "--nothing"),
    ("learn shapes.npz", 2, "--out", "--out"),
    ("learn shapes.npz -o m.npz --n-atoms 0", 2, "--n-atoms", "--n-atoms"),
    ("learn shapes.npz -o m.npz --n-atoms 3 --n-nonzero 4", 2, "--n-nonzero", "4"),
    ("learn shapes.npz -o m.csv", 2, "-o", ".npz"),
    ("learn shapes.npz -o m.npz --figure atoms.gif", 2, "--figure", "gif"),
    (f"learn gaps.npz -o m.npz {SIZES} --batch-size 10", 1, None, IMPUTE),
    ("learn table.csv -o m.npz --n-atoms 1 --n-nonzero 1 --option id_column=nosuch", 1, "--option", "nosuch is"),
    (f"learn shapes.npz -o a.npz --checkpoint link.npz {SIZES}", 2, "--checkpoint", "is the path of"),
    ("learn shapes.npz -o m.npz --exclude names.list.csv", 1, None, "no column id or file"),
    ("learn shapes.npz -o m.npz --exclude files.list.csv", 1, None, "do not say which files"),
    ("learn shapes.npz -o m.npz --exclude all.list.csv", 1, None, "excludes all 40 shapes"),
    ("learn shapes.npz -o m.npz --exclude all.list.csv --scheduler tcp://x:1", 2, "--exclude", "import --exclude"),
    ("compare shapes.npz --n-atoms 3 --n-nonzero 4", 2, "--n-nonzero", "4"),
    ("compare shapes.npz --n-nonzero few", 2, "--n-nonzero", "few"),
    (f"compare shapes.npz --cv 50 {SIZES}", 2, "--cv", "50"),
    ("compare specimens.npz --unit species --cv 5", 1, "--unit", "id, specimen"),
    ("compare specimens.npz --unit specimen", 2, "--unit", "--cv"),
    (f"compare specimens.npz --unit specimen --cv 5 {SIZES}", 1, "--unit", "1 of 40 shapes have no value"),
    ("suggest shapes.npz --n-atoms 200", 2, "--n-atoms", "200"),
    ("suggest shapes.npz --n-atoms 1-99999999", 2, "--n-atoms", "at most 10000 numbers"),
    ("import shapes.npz -o x.npz --label-from (", 2, "--label-from", "("),
    ("import shapes.npz -o x.npz --format magic", 2, "--format", "magic"),
    ("import shapes.npz -o x.npz --option n_points=3", 2, "--option", "n_points"),
    ("import shapes.npz -o x.npz --option bordr=drop", 2, None, "shapelex formats npz"),
    ("import points.tps -o x.npz --option curves=some", 2, "--option", "some"),
    ("import table.csv -o x.npz --option id_column=nosuch", 1, "--option", "--option id_column=nosuch is none"),
    ("import table.csv -o x.npz --option layout=blocks", 1, "--option", "--option layout=blocks contradicts the names"),
    ("import shapes.npz -o x.npz --space bspline --n-points 2", 2, "--n-points", "2"),
    ("import shapes.npz -o x.npz --space bspline", 2, "--space", "--n-points"),
    ("import shapes.npz -o x.npz --reflection", 2, "--reflection", "--register"),
    ("import loop.csv -o x.npz", 1, None, "loop.csv"),
    ("import gone.npz -o x.npz", 1, None, "There is no file gone.npz"),
    ("register gaps.npz -o x.npz", 1, None, IMPUTE),
    ("encode model.npz shapes.npz -o codes.txt", 2, "-o", ".csv"),
    ("encode shapes.npz model.npz -o c.csv", 1, None, "shapes.npz is a set of shapes, no model: the model that learn"),
    ("encode model.npz open.npz -o c.csv", 1, None, "is in Landmarks(n_points=16, closed=True): if they are outlines"),
    ("encode model.npz nine.npz -o c.csv", 1, None, "import these shapes with --like"),
    ("reconstruct model.npz codes.npz -o shapes.doc", 2, "-o", "(.npz)"),
    ("reconstruct model.npz codes.npz -o x.npz", 1, None, "is a file of codes, not of shapes: give the shapes that"),
    ("mean codes.zarr -o x.npz", 1, None, "is a file of codes, not of shapes: give the shapes that"),
    ("mean gaps.npz -o x.npz", 1, None, IMPUTE),
    ("mean shapes.npz", 2, "--out", "-o"),
    ("mean shapes.npz -o shapes.npz", 1, None, "shapes.npz"),
    ("mean shapes.npz -o m.csv --width single", 2, "--width", "works only with --figure"),
    ("report model.npz shapes.npz -o page.pdf", 2, "-o", ".html"),
    ("report model.npz gaps.npz -o x.html", 1, None, IMPUTE),
    ("report model.npz shapes.npz -o x.html --by treatmen", 1, "--by", "did you mean 'treatment'"),
    ("report model.npz shapes.npz -o x.html --tested none.csv", 1, None, "There is no file none.csv"),
    ("sequence model.npz shapes.npz -o s.csv --picture weights", 2, "--picture", "works only with --figure"),
    ("sequence model.npz shapes.npz -o s.csv --series 0", 2, "--series", "works only with --figure or --movie"),
    ("sequence model.npz shapes.npz -o s.csv --movie worm.avi", 2, "--movie", "must end in .gif or .mp4"),
    ("sequence model.npz shapes.npz -o s.csv --switch-cost -1", 2, "--switch-cost", "greater than or equal"),
    ("classify shapes.npz --by species", 1, None, "'species', which is not a column of the shapes: they have id"),
    ("classify shapes.npz --unit garden", 1, "--unit", "names 'garden', which is not a column"),
    ("classify shapes.npz --by id", 1, None, "fewer than 2 classes have 5 shapes or more"),
    ("classify shapes.npz --no-test", 2, "--no-test", "needs -o"),
    ("classify shapes.npz --no-test -o c.npz --tested t.csv", 2, "--no-test", "leaves nothing for"),
    ("classify shapes.npz --tested a.csv --misclassified a.csv", 2, "--misclassified", "is the path of"),
    ("classify shapes.npz shapes.npz", 2, "-o", "needs a table to write the predictions to"),
    ("classify shapes.npz shapes.npz -o p.csv", 1, None, "no model: the model that classify wrote comes first"),
    ("classify shapes.npz shapes.npz -o p.csv --by label", 2, "--by", "works without NEW only"),
    ("classify . shapes.npz -o p.csv", 1, None, "no model file"),
    (f"test specimens.npz {FEW}", 2, "--by", "give the column of the groups"),
    (f"test shapes.npz --by treatmen {FEW}", 1, "--by", "did you mean 'treatment'"),
    (f"test shapes.npz --by treatment --unit plat {FEW}", 1, "--unit", "names 'plat', which is not a column"),
    (f"test shapes.npz --by plate --unit plate {FEW}", 2, "--unit", "--unit is plate, as --by is"),
    (f"test shapes.npz --by dose {FEW}", 1, "--by", 'no groups: test it as a covariate by --formula'),
    (f"test shapes.npz --by treatment --formula '~ dose' {FEW}", 2, "--formula", "does not contain treatment"),
    (f"test shapes.npz --by id {FEW}", 1, "--by", "--by must have at least two shapes in each group, but 'cell 0', "),
    (f"test shapes.npz --by label --dictionary . {FEW}", 1, None, "."),
    (f"test shapes.npz --by label {FEW} --force -o ''", 2, "-o", "needs the name of a folder"),
    (f"test shapes.npz --by label {FEW} --force --out=", 2, "-o", "needs the name of a folder"),
    ("test shapes.npz --by treatment --type 4", 2, "--type", "less than or equal to 3"),
    ("info shapes.npz --log none/run.log", 1, None, "none"),
    ("methods own.csv", 1, None, "own.csv"),
    ("methods gone.csv", 1, None, "there is no file gone.csv"),
    ("replay loop.csv", 1, None, "loop.csv"),
    ("reproduce -o reproduction", 2, None, "run make paper in a copy of the source code"),
    ("formats tpss", 2, None, "morphologika"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "status", "option", "message"), REFUSED)
def test_refused(files, monkeypatch, command, status, option, message):
    monkeypatch.chdir(files)
    before = sorted(files.rglob("*"))
    found = run(f"{command} --json")
    printed = json.loads(found.stdout)
    assert message in printed["error"]["message"]
    if status == 2:
        # Where these are typed, nothing is read.
        result = run(command)
        assert (result.exit_code, result.stdout) == (status, "")
        assert message in error_of(result)
    assert (found.exit_code, found.stderr, set(printed)) == (status, "", KEYS)
    assert (printed["ok"], printed["result"], printed["outputs"]) == (False, None, [])
    assert set(printed["error"]) == {"kind", "message", "exit_code", "option", "traceback"}
    assert (printed["error"]["exit_code"], printed["error"]["option"]) == (status, option)
    assert sorted(files.rglob("*")) == before
