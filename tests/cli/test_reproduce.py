"""``shapelex reproduce``: success, bad input, existing output, interrupted run."""

import json
import os

import pytest
from typer.testing import CliRunner

from shapelex.cli.app import app
from shapelex.cli.reproduce import DATASETS
from shapelex.report.reproduction import PAPER_SETS
from shapelex.report.reproduction import run as reproduction_run
from shapelex.report.reproduction.measure import measure_set
from tests.report.made_data import write_shapes


@pytest.fixture(autouse=True)
def no_data_in_the_environment(monkeypatch):
    monkeypatch.delenv("SHAPELEX_DATA", raising=False)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    write_shapes(folder, "hands", 56)
    return folder


@pytest.fixture
def no_figures(monkeypatch):
    monkeypatch.setattr(reproduction_run, "draw_set", lambda *_: dict.fromkeys(FIGURES, "none"))
    monkeypatch.setattr(reproduction_run, "draw_curves", lambda *_: None)


def reproduce(*arguments, env=None):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)], env=env)


REAL_DATA = os.environ.get("SHAPELEX_DATA", "")
FIGURES = ("dictionaries", "learning", "combination")


def test_names_are_those_of_the_sets():
    assert tuple(paper_set.name for paper_set in PAPER_SETS) == DATASETS


def test_success(data, tmp_path):
    result = reproduce("--data", data, "-o", tmp_path / "out", "--quick", "--only", "2,3")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("dataset 3: shape dictionary ")
    assert lines[-2:] == [
        "skipped, not there: 6376_open_worms_6ctrlpts.npz",
        f"wrote {tmp_path / 'out' / 'reproduction.md'}",
    ]
    assert (tmp_path / "out" / "figures" / "dataset-3-dictionaries.svg").is_file()


def test_json_from_the_environment_and_force(data, tmp_path, no_figures):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    result = reproduce("-o", out, "--quick", "--json", "--force", env={"SHAPELEX_DATA": str(data)})
    assert result.exit_code == 0
    numbers = json.loads(result.stdout)
    assert [one["dataset"] for one in numbers["datasets"]] == ["3"]
    assert numbers["skipped"] == ["1", "2", "4", "4b", "5"]
    assert (out / "mine.txt").read_text() == "kept"


def test_existing_output_stays(data, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "reproduction.md").write_text("old")
    result = reproduce("--data", data, "-o", out, "--quick")
    assert result.exit_code == 1
    assert (
        result.stderr == f"shapelex: {out} is not empty: choose another -o, or pass --force to replace what is there.\n"
    )
    assert [path.name for path in out.iterdir()] == ["reproduction.md"]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 1, "no data: pass --data FOLDER, or set SHAPELEX_DATA"),
        (["--data", "nowhere"], 1, "there is no folder nowhere"),
        (["--only", "6"], 2, "got 6"),
        (["--only", ","], 2, "got nothing"),
        (["--seed", "-1"], 2, "--seed"),
        (["--data", "."], 1, "none of the datasets is in .: expected at least one of"),
    ],
)
def test_bad_input(arguments, status, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = reproduce(*arguments)
    assert result.exit_code == status
    assert words in result.stderr
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_damaged_file(data, tmp_path):
    (data / "hands.npz").write_bytes(b"damaged")
    result = reproduce("--data", data, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "hands.npz cannot be read as shapes" in result.stderr


def test_interrupted_run_says_what_is_kept(data, tmp_path, monkeypatch, no_figures):
    def interrupt_after(name):
        def interrupt(paper_set, *arguments, **options):
            if paper_set.name != name:
                raise KeyboardInterrupt
            return measure(paper_set, *arguments, **options)

        measure = measure_set
        monkeypatch.setattr(reproduction_run, "measure_set", interrupt)

    out = tmp_path / "out"
    interrupt_after("none")
    result = reproduce("--data", data, "-o", out, "--quiet")
    assert result.exit_code == 130
    assert result.stderr == "shapelex: interrupted: no dataset was finished; run again with --force.\n"
    write_shapes(data, "leaves_Bsplines", 40)
    interrupt_after("3")
    result = reproduce("--data", data, "-o", out, "--quiet", "--quick", "--force")
    assert result.exit_code == 130
    assert result.stderr == f"shapelex: interrupted: {out} has dataset 3; run again with --force.\n"
    assert "## Dataset 3" in (out / "reproduction.md").read_text()


@pytest.mark.realdata
def test_quick_run_on_real_hands(load_real, tmp_path, no_figures):
    load_real("hands")
    result = reproduce("--data", REAL_DATA, "-o", tmp_path / "out", "--quick", "--only", "3", "--json")
    assert result.exit_code == 0
    (hands,) = json.loads(result.stdout)["datasets"]
    assert hands["n_shapes"] == 40
    assert hands["measured"]["shape dictionary"]["rmse"] < 2.48
