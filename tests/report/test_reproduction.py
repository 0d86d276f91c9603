"""The reproduction: what is measured, drawn and written, on made-up shapes under the names of the paper's sets."""

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import shapelex as sx
from shapelex.datasets.registry import REGISTRY
from shapelex.exceptions import DatasetUnavailableError, ShapeFileError
from shapelex.report.reproduction import PAPER_SETS, find_sets, reproduce, run
from shapelex.report.reproduction.figures import choose_combination, choose_examples, draw_curves
from shapelex.report.reproduction.measure import ALIGN_FIRST, COMPLEX_PCA, OURS, PAPER_ALGORITHM, measure_set
from shapelex.report.reproduction.page import write_page
from shapelex.store.provenance import read_run
from tests.datasets.local_server import blob_id
from tests.report.made_data import make_shapes, make_table, write_shapes

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
        command="shapelex reproduce --quick",
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


def test_deformations_are_made_where_the_paper_makes_them():
    outlines = make_shapes(200, n_shapes=3)
    shapes = BY_NAME["5"].configurations(sx.ShapeSet(outlines), 1)
    assert shapes.shape == (30, 200)
    assert sx.pairwise_distances(shapes, outlines).argmin(axis=1).tolist() == np.repeat(range(3), 10).tolist()
    assert len(BY_NAME["5"].configurations(sx.ShapeSet(outlines), 1, max_shapes=7)) == 7


def register_table(folder, name, content, monkeypatch):
    entry = REGISTRY[name]
    (file,) = entry.files
    (folder / file.name).write_bytes(content)
    registered = replace(file, blob=blob_id(content), n_bytes=len(content))
    monkeypatch.setitem(REGISTRY, name, replace(entry, files=(registered,)))


def test_the_papers_own_files_come_first(tmp_path, monkeypatch):
    write_shapes(tmp_path, "worms_open_from_hermite_20", 20, monkeypatch=monkeypatch)
    register_table(tmp_path, "worms", make_table(20, n_shapes=7), monkeypatch)
    register_table(tmp_path, "mpeg7", make_table(200, n_shapes=3), monkeypatch)
    sets = find_sets(tmp_path, ["1", "5"])
    assert sets.missing == {}
    (first, worms), (last, outlines) = sets.found
    assert (first.name, first.file, len(worms)) == ("1", "worms", 7)
    assert first.is_same_data
    assert (last.name, last.file, len(outlines)) == ("5", "mpeg7", 3)
    # The paper's deformations of them are not public.
    assert not last.is_same_data
    assert "the paper's own outlines" in last.data


def test_relatives_say_why_they_are_used(data):
    ((worms, _),) = find_sets(data, ["1"]).found
    assert worms.file == "worms_open_from_hermite_20"
    assert worms.data.startswith("A relative of the paper's crawling worms")
    assert f"Why not the paper's own: worms.csv is not in {data}: download http" in worms.data
    reason = find_sets(data, ["3", "4"]).missing["4"]
    assert f"leaves_sym.csv is not in {data}" in reason
    assert f"Nor is there a relative: leaves_kaggle_outlines_200.npz is not in {data}" in reason


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


def test_dataset_5_is_learned_in_the_papers_batches():
    assert {one.name: one.batch_size for one in PAPER_SETS if one.batch_size} == {"5": 4096}
    shapes = make_shapes(20)
    paper_set = replace(BY_NAME["1"], name="5", n_seeds=1, sparsities=(), batch_size=16)
    told = []
    result = measure_set(paper_set, shapes, random_state=2, tell=lambda _, text: told.append(text))
    expected = sx.ShapeDictionary(10, 5, **PAPER_ALGORITHM, batch_size=16, random_state=2).fit(shapes)
    assert result.paper_algorithm[0].rmse == pytest.approx(-expected.score(shapes), rel=1e-12)
    assert "the paper's algorithm, in batches of 16 shapes" in told
    assert result.to_json()["paper_batch_size"] == 16
    figures = {"5": {"dictionaries": "a", "learning": "b", "combination": "c"}}
    run = {"versions": {}, "command": None, "seed": 2, "processors": 1}
    page = write_page([result], figures, None, {}, [], run, quick=False)
    assert "On dataset 5 the paper's algorithm updates the weights of random batches of 16 shapes." in page
    without = write_page([replace(result, paper_set=BY_NAME["1"])], {"1": figures["5"]}, None, {}, [], run, quick=False)
    assert "batches" not in without


def test_refinement_goes_on_from_the_first_fit():
    paper_set = replace(
        BY_NAME["1"],
        settings={"coder": "ormp", "tie": 0, "n_swaps": 0, "max_iter": 3},
        refinement={"coder": "beam", "max_iter": 2},
        sparsities=(),
    )
    shapes = make_shapes(20)
    plain = measure_set(replace(paper_set, refinement={}), shapes)
    refined = measure_set(paper_set, shapes)
    assert plain.curves == {}
    n_first = len(plain.loss_curve)
    np.testing.assert_array_equal(refined.loss_curve[:n_first], plain.loss_curve)
    assert len(refined.loss_curve) > n_first
    assert refined.measured[OURS].rmse < plain.measured[OURS].rmse
    assert refined.dictionary.coder == "beam"


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


def test_page_has_the_numbers_that_were_measured(finished):
    found, _ = finished
    row = next(line for line in found.page.read_text().splitlines() if line.startswith("| 3 |"))
    cells = [cell.strip(" *") for cell in row.strip("|").split("|")]
    result = found.results[1]
    assert cells[:6] == ["3", "56", "30", "3", "10", "2.48"]
    assert cells[7] == f"{100 * result.measured[OURS].rmse:.2f}"
    assert cells[9:] == [f"{100 * result.measured[method].rmse:.2f}" for method in (ALIGN_FIRST, COMPLEX_PCA)]
    numbers = json.loads(found.page.with_name("results.json").read_text())
    assert numbers["datasets"][1]["measured"][OURS]["rmse"] == 100 * result.measured[OURS].rmse
    assert numbers["run"]["seed"] == 3
    assert numbers["skipped"] == found.missing


def test_every_output_says_what_made_it(finished):
    found, _ = finished
    command = "shapelex reproduce --quick"
    assert command in found.page.read_text()
    assert json.loads(found.page.with_name("results.json").read_text())["run"]["command"] == command
    for path in (found.page.parent / "figures").iterdir():
        if path.suffix != ".json":
            run_of_image = read_run(path)
            assert (run_of_image["command"], run_of_image["seed"]) == (command, 3)


def test_relatives_are_named_as_such_and_own_data_are_not(finished):
    page = finished[0].page.read_text()
    assert "| 1 ⁺ |" in page
    assert "Other data than the paper's" in page
    own = write_page(finished[0].results[1:], {"3": dict.fromkeys(("dictionaries", "learning", "combination"), "x")},
                     None, {}, [], {"command": None, "seed": 0, "versions": {}, "processors": 1}, False)  # fmt: skip
    assert "Other data than the paper's" not in own
    assert "A quick run" not in own


def test_page_says_which_curves_are_missing_and_what_the_first_iteration_is(finished):
    first, second = finished[0].results
    of_set = dict.fromkeys(("dictionaries", "learning", "combination"), "x")
    run_of_page = {"command": None, "seed": 0, "versions": {}, "processors": 1}

    def write(*results):
        return write_page(results, {"1": of_set, "3": of_set}, "curves", {}, [], run_of_page, False)

    assert "is left out: " not in write(first, second)
    assert "Dataset 3 is left out: 10 atoms" in write(first, replace(second, curves={}))
    assert "iteration 1 is a search" in write(second)
    plain = replace(second, paper_set=replace(second.paper_set, settings={"coder": "ormp"}))
    assert "iteration 1 is a search" not in write(plain)


def test_interruption_keeps_what_is_finished(data, tmp_path, monkeypatch):
    measure = run.measure_set

    def stop_at_second(paper_set, *args, **options):
        if paper_set.name != "1":
            raise KeyboardInterrupt
        return measure(paper_set, *args, **options)

    monkeypatch.setattr(run, "measure_set", stop_at_second)
    monkeypatch.setattr(run, "draw_set", lambda *_: dict.fromkeys(("dictionaries", "learning", "combination"), "none"))
    monkeypatch.setattr(run, "draw_curves", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path, find_sets(data), quick=True)
    page = (tmp_path / "reproduction.md").read_text()
    assert "## Dataset 1" in page
    assert "## Dataset 3" not in page
    assert "**Not finished:** 3." in page
    assert json.loads((tmp_path / "results.json").read_text())["unfinished"] == ["3"]
    assert not list(tmp_path.rglob("*.partial"))


def test_nothing_to_be_had_is_an_error_that_says_why(tmp_path):
    with pytest.raises(
        DatasetUnavailableError, match=r"none of the datasets 3, 4b can be had\. Dataset 3: hands\.npz or"
    ):
        find_sets(tmp_path, ["3", "4b"])


def test_damage_shows_before_any_work(tmp_path, monkeypatch):
    write_shapes(tmp_path, "worms_open_from_hermite_20", 20, monkeypatch=monkeypatch)
    (tmp_path / "hands.npz").write_bytes(b"PK")
    with pytest.raises(ShapeFileError, match=r"hands\.npz has 2 bytes"):
        find_sets(tmp_path)


def test_unknown_dataset(tmp_path):
    with pytest.raises(ValueError, match="only must be one of '1', '2', '3', '4', '4b', '5', got '6'"):
        find_sets(tmp_path, only=["6"])


def test_examples_span_the_errors(rng):
    errors = rng.uniform(size=101)
    chosen = choose_examples(errors)
    assert (np.argsort(np.argsort(errors))[chosen]).tolist() == [5, 35, 65, 95]


def test_combination_is_a_code_of_its_shape(finished):
    result = finished[0].results[1]
    row, code = choose_combination(result)
    best = sx.encode(result.shapes[row : row + 1], result.dictionary.atoms_, 3, method="exact")
    np.testing.assert_allclose(code.toarray(), best.toarray(), atol=1e-10)


def test_curves_mark_the_paper_only_on_its_own_data(finished, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    draw_curves(finished[0].results, tmp_path, {})
    crosses = [[line for line in axes.lines if line.get_marker() == "x"] for axes in drawn[0].axes]
    assert [len(marks) for marks in crosses] == [0, 1]
    assert crosses[1][0].get_ydata().tolist() == [2.48]
    assert draw_curves([], tmp_path, {}) is None


@pytest.mark.realdata
def test_hands_beat_the_paper(load_real, tmp_path):
    shapes = load_real("hands")
    result = measure_set(replace(BY_NAME["3"], sparsities=()), shapes)
    errors = {method: 100 * one.rmse for method, one in result.measured.items()}
    assert errors[OURS] < 2.48
    assert errors[OURS] < errors[ALIGN_FIRST] < errors[COMPLEX_PCA]
    assert max(100 * one.rmse for one in result.paper_algorithm) < 1.15 * 2.48
