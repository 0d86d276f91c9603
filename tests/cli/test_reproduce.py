"""``shapelex reproduce``: success, downloads, bad input, existing output, interrupted run."""

import pytest

from shapelex.report.reproduction import run as reproduction_run
from shapelex.report.reproduction.measure import measure_set
from tests.cli.conftest import facts_of, run
from tests.datasets.local_server import run_server
from tests.report.made_data import make_table, write_shapes


@pytest.fixture(autouse=True)
def no_data_in_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("SHAPELEX_DATA", raising=False)
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache")


@pytest.fixture
def no_figures(monkeypatch):
    figures = ("dictionaries", "learning", "combination")
    monkeypatch.setattr(reproduction_run, "draw_set", lambda *_: dict.fromkeys(figures, "none"))
    monkeypatch.setattr(reproduction_run, "draw_curves", lambda *_: None)


def reproduce(*words):
    return run("reproduce", *words)


def test_a_server_is_the_only_source_of_data(tmp_path, no_figures, monkeypatch):
    with run_server() as server:
        monkeypatch.setenv("SHAPELEX_DATA_URL", server.address)
        for name, n_points in {"worms": 20, "hands": 56}.items():
            server.serve(name, make_table(n_points), monkeypatch=monkeypatch)
        numbers = facts_of(reproduce("-o", tmp_path / "out", "--quick", "--json"))
    assert {one["dataset"]: (one["file"], one["same_data_as_paper"]) for one in numbers["datasets"]} == {
        "1": ("worms", True),
        "3": ("hands", True),
    }
    names = {"2": "6376_open_worms_6ctrlpts", "4": "leaves_sym", "4b": "leaves_Bsplines", "5": "mpeg7"}
    assert list(numbers["skipped"]) == list(names)
    for name, reason in zip(names.values(), numbers["skipped"].values(), strict=True):
        assert reason.startswith(f"{name}.csv could not be downloaded from {server.address}/ansonang3/2DKSD/")
        assert "(the server answered 404 Not Found)" in reason
    page = (tmp_path / "out" / "reproduction.md").read_text()
    assert page.count("*Data.* The paper's own numbers.") == 2
    assert "Other data than the paper's" not in page
    assert len(list((tmp_path / "cache").iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 1, "none of the datasets 1, 2, 3, 4, 4b, 5 can be had. Dataset 1: worms.csv could not be downloaded"),
        (["--data", "."], 1, "none of the datasets 1, 2, 3, 4, 4b, 5 can be had. Dataset 1: worms.csv is not in .:"),
    ],
)
def test_bad_input(arguments, status, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = reproduce(*arguments)
    assert result.exit_code == status
    assert words in result.stderr
    assert "Traceback" not in result.output
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}


def test_interrupted_run_says_what_is_kept(tmp_path, monkeypatch, no_figures):
    data = tmp_path / "data"
    data.mkdir()
    write_shapes(data, "hands", 56, monkeypatch=monkeypatch)

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
    write_shapes(data, "leaves_Bsplines", 40, monkeypatch=monkeypatch)
    interrupt_after("3")
    result = reproduce("--data", data, "-o", out, "--quiet", "--quick", "--force")
    assert result.exit_code == 130
    assert result.stderr == f"shapelex: interrupted: {out} has dataset 3; run again with --force.\n"
    assert "## Dataset 3" in (out / "reproduction.md").read_text()
