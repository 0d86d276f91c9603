"""The reproduction: what is measured, drawn and written, on made-up shapes under the names of the paper's sets."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from paper import PAPER_SETS, find_sets, reproduce, run
from paper.measure import ALIGN_FIRST, COMPLEX_PCA, OURS, measure_set
from shapelex.datasets.public import REGISTRY
from tests.datasets.local_server import blob_id
from tests.report.conftest import make_shapes, make_table, write_shapes

ROOT = Path(__file__).parents[2] / "benchmarks"
BY_NAME = {paper_set.name: paper_set for paper_set in PAPER_SETS}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as monkeypatch:
        write_shapes(folder, "hands", 56, monkeypatch=monkeypatch)
        write_shapes(folder, "worms_open_from_hermite_20", 20, monkeypatch=monkeypatch)
        yield folder


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    """A whole quick run, and what it said on the way."""
    told = []
    found = reproduce(
        tmp_path_factory.mktemp("out") / "new",
        find_sets(data),
        quick=True,
        random_state=3,
        command="python -m paper --quick",
        tell=lambda done, text: told.append((done, text)),
    )
    return found, told


def test_sets_are_those_of_the_papers_table():
    table = {
        "1": (20, 5, 10, 2.36, 4.19),
        "2": (12, 5, 10, 4.04, 7.95),
        "3": (56, 3, 10, 2.48, 2.73),
        "4": (200, 5, 20, 6.45, 7.12),
        "4b": (40, 5, 20, 6.41, 7.01),
        "5": (200, 30, 230, 1.57, 2.71),
    }
    found = {
        one.name: (one.space.n_coordinates, one.n_nonzero, one.n_atoms, one.paper_rmse, one.paper_align_first)
        for one in PAPER_SETS
    }
    assert found == table
    assert [one.name for one in PAPER_SETS if one.is_same_data] == ["2", "3", "4b"]
    assert all(one.n_nonzero in one.sparsities and max(one.sparsities) == one.n_atoms for one in PAPER_SETS[:5])


def test_the_papers_own_files_come_first(tmp_path, monkeypatch):
    write_shapes(tmp_path, "worms_open_from_hermite_20", 20, monkeypatch=monkeypatch)
    for name, content in {"worms": make_table(20, n_shapes=7), "mpeg7": make_table(200, n_shapes=3)}.items():
        (file,) = REGISTRY[name].files
        (tmp_path / file.name).write_bytes(content)
        registered = replace(file, blob=blob_id(content), n_bytes=len(content))
        monkeypatch.setitem(REGISTRY, name, replace(REGISTRY[name], files=(registered,)))
    sets = find_sets(tmp_path, ["1", "5"])
    assert sets.missing == {}
    (first, worms), (last, outlines) = sets.found
    assert (first.name, first.file, len(worms)) == ("1", "worms", 7)
    assert first.is_same_data
    assert (last.name, last.file, len(outlines)) == ("5", "mpeg7", 3)
    # The paper's deformations of them are not public.
    assert not last.is_same_data
    assert "the paper's own outlines" in last.data


def test_measures_are_the_errors_of_the_models():
    paper_set = replace(BY_NAME["1"], n_seeds=2, sparsities=(2, 5))
    shapes = make_shapes(20)
    result = measure_set(paper_set, shapes, random_state=0)
    preshapes = paper_set.space.preshape(shapes)
    left = np.linalg.norm(preshapes - result.dictionary.reconstruct(shapes), axis=1)
    assert result.measured[OURS].rmse == pytest.approx(np.sqrt(np.mean(left**2)))
    assert result.measured[COMPLEX_PCA].rmse == pytest.approx(
        -sx.ComplexPCA(5, subtract_average=True).fit(shapes).score(shapes)
    )
    assert result.measured[ALIGN_FIRST].rmse == pytest.approx(-result.align_first.score(shapes))
    assert result.align_first.get_params()["n_nonzero"] == 5
    assert len(result.paper_algorithm) == 2
    assert set(result.curves) == {OURS, ALIGN_FIRST, COMPLEX_PCA}
    for method, curve in result.curves.items():
        assert list(curve) == [2, 5]
        assert curve[5] == result.measured[method].rmse < curve[2]
    assert result.realism[OURS] == pytest.approx(np.median(result.dictionary.realism(shapes)))


def test_whole_run_writes_page_numbers_and_figures(finished):
    found, told = finished
    assert [one.paper_set.name for one in found.results] == ["1", "3"]
    assert list(found.missing) == ["2", "4", "4b", "5"]
    assert found.unfinished == []
    page = found.page.read_text()
    folder = found.page.parent
    images = [line.partition("](")[2].rstrip(")") for line in page.splitlines() if line.startswith("![")]
    assert len(images) == 1 + 2 * 3
    for image in images:
        assert (folder / image).is_file()
        assert (folder / image).with_suffix(".svg").is_file()
    assert {path.name for path in folder.iterdir()} == {"reproduction.md", "results.json", "figures"}
    assert len(list((folder / "figures").iterdir())) == 2 * 2 * len(images)
    assert "**Dataset 2 is skipped:** 6376_open_worms_6ctrlpts.npz or 6376_open_worms_6ctrlpts.csv is not in" in page
    assert "A quick run" in page
    shares = [done for done, _ in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    # The page has the numbers that were measured.
    row = next(line for line in page.splitlines() if line.startswith("| 3 |"))
    cells = [cell.strip(" *") for cell in row.strip("|").split("|")]
    result = found.results[1]
    assert cells[:6] == ["3", "56", "30", "3", "10", "2.48"]
    measured = [100 * result.measured[method].rmse for method in (OURS, ALIGN_FIRST, COMPLEX_PCA)]
    assert [cells[7], *cells[9:]] == [f"{rmse:.2f}" for rmse in measured]
    numbers = json.loads(found.page.with_name("results.json").read_text())
    assert numbers["datasets"][1]["measured"][OURS]["rmse"] == measured[0]
    assert numbers["run"]["seed"] == 3
    assert numbers["skipped"] == found.missing


def run_program(*words):
    command = [sys.executable, "-m", "paper", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "nowhere"], "there is no folder nowhere"),
        (["--only", "6"], "got '6'"),
        (["--only", ","], "datasets are 1, 2, 3, 4, 4b, 5"),
        (["--data", "paper", "-o", "against"], "holds other files"),
        (
            ["--data", "paper"],
            "none of the datasets 1, 2, 3, 4, 4b, 5 can be had. Dataset 1: worms.csv is not in",
        ),
    ],
)
def test_what_the_program_refuses(words, message):
    done = run_program(*words)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())


def test_an_interruption_keeps_what_is_finished(data, tmp_path, monkeypatch):
    def interrupt(paper_set, *arguments, **options):
        if paper_set.name != "1":
            raise KeyboardInterrupt
        return measure_set(paper_set, *arguments, **options)

    monkeypatch.setattr(run, "measure_set", interrupt)
    monkeypatch.setattr(run, "draw_set", lambda *_: dict.fromkeys(("dictionaries", "learning", "combination"), "none"))
    monkeypatch.setattr(run, "draw_curves", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path, find_sets(data), quick=True)
    assert "## Dataset 1" in (tmp_path / "reproduction.md").read_text()
