"""The panels of tests and of misclassified shapes: what is compared, and what the numbers are."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ParameterError, ShapeInputError
from tests.cli.conftest import lines_of, run
from tests.report.conftest import HOSTILE_LABEL, Reported, array_of, payload_of


@pytest.fixture(scope="module")
def coded():
    leaves = sx.datasets.make_leaves(12, 3, 30, random_state=0)
    animals = np.arange(36) % 6
    leaves = leaves.replace(metadata={"animal": animals, "batch": np.repeat(["x", "y"], 18)})
    model = sx.ShapeDictionary(n_atoms=4, n_nonzero=2, n_restarts=1, max_iter=5, tol=0.1, random_state=0).fit(leaves)
    return leaves, model


def read_page(path):
    return payload_of(path)["group_tests"]


def test_labels_are_compared_by_default_as_atom_tests_does(coded, tmp_path):
    leaves, model = coded
    found = read_page(sx.report.write_report(model, leaves, tmp_path / "page"))
    assert found["column"] == "label"
    assert found["names"] == ["lanceolate", "lobed", "ovate"]
    assert found["counts"] == [12, 12, 12]
    expected = sx.statistics.atom_tests(model.encode(leaves), leaves.labels)
    for row in found["atoms"]:
        same = expected.table[(expected.table["atom"] == row["atom"]) & (expected.table["measure"] == row["measure"])]
        p = same["P"].iloc[0]
        assert (row["p"] is None and np.isnan(p)) or row["p"] == pytest.approx(p, rel=1e-4)
        means = expected.means[(expected.means["atom"] == row["atom"]) & (expected.means["measure"] == row["measure"])]
        np.testing.assert_allclose(np.array(row["means"], dtype=float), means["mean"], rtol=1e-3)
    assert found["shape"]["df"] == [2, 33]
    assert found["shape"]["p"] == 0.001
    by_animal = read_page(sx.report.write_report(model, leaves[:24], tmp_path / "two", by="animal"))
    assert by_animal["counts"] == [4] * 6


@pytest.mark.parametrize(("by", "unit"), [("label", None), ("batch", "plant")])
def test_shape_is_tested_as_the_linear_model_does(coded, tmp_path, by, unit):
    leaves, model = coded
    leaves = leaves.replace(metadata={**leaves.metadata, "plant": np.arange(36) // 6})
    page = read_page(sx.report.write_report(model, leaves, tmp_path / "page", by=by, unit=unit))
    assert (page["column"], page["unit"], page["units"]) == (by, unit, f"values of {unit}" if unit else "shapes")
    found = page["shape"]
    expected = sx.statistics.shape_lm(f"shape ~ {by}", leaves, unit=unit).table.loc[by]
    assert (found["f"], found["r2"], found["p"]) == pytest.approx((expected["F"], expected["Rsq"], expected["P"]))


@pytest.mark.parametrize("labels", [None, ["a"] * 36, [f"kind {k}" for k in range(36)], ["a"] * 33 + ["b"] * 3])
def test_labels_that_form_no_groups_are_not_compared(coded, tmp_path, labels):
    leaves, model = coded
    page = sx.report.write_report(model, leaves.replace(labels=labels), tmp_path / "page")
    assert read_page(page) is None


def test_columns_that_do_not_exist_are_refused(coded, tmp_path):
    leaves, model = coded
    for options, error, words in (
        ({"by": "bach"}, ShapeInputError, "did you mean 'batch'"),
        ({"unit": "animal"}, ParameterError, "unit needs by"),
        ({"by": "id"}, ShapeInputError, "at least two shapes in each group"),
    ):
        with pytest.raises(error, match=words):
            sx.report.write_report(model, leaves, tmp_path / "page", **options)


@pytest.mark.browser
@pytest.mark.parametrize("by", ["label", "batch"])
def test_panel_shows_the_answer_and_a_line_for_each_atom(visit, coded, tmp_path, by):
    leaves, model = coded
    path = sx.report.write_report(model, leaves, tmp_path / "page", by=by)
    tests = read_page(path)
    view = visit(Reported(path, model, leaves.configurations, leaves))
    panel = view.page.locator("#group-tests")
    assert view.page.get_by_label("Group shapes by").input_value() == by
    assert f"by {by}: P = {tests['shape']['p']:.3f}" in panel.locator(".verdict").inner_text()
    assert panel.locator(".legend .label-button").count() == len(tests["names"])
    for measure in ("use", "weight"):
        view.page.get_by_label("Compare atoms by").select_option(measure)
        compared = [row for row in tests["atoms"] if row["measure"] == measure and row["p"] is not None]
        assert panel.locator("tbody tr").count() == len(compared)
        found = [row for row in compared if row["fdr"] <= tests["alpha"]]
        assert panel.locator("tbody tr.found").count() == len(found)
    panel.get_by_text("What was tested").click()
    assert "All 36 shapes were used" in panel.inner_text()
    assert view.complaints == []


NAMES = ["a", HOSTILE_LABEL, "c"]


def table_of(n_shapes):
    """Return the test of all shapes but the first: every fifth is misclassified; rows in another order."""
    rows = np.random.default_rng(0).permutation(np.arange(1, n_shapes))
    true = rows % 3
    predicted = np.where(rows % 5 == 0, (true + 1) % 3, true)
    names = np.array(NAMES)
    return {"id": [str(row) for row in rows], "class": names[true], "predicted": names[predicted]}


@pytest.fixture(scope="module")
def page(landmarks, tmp_path_factory) -> Reported:
    model, X = landmarks
    path = tmp_path_factory.mktemp("tested") / "page.html"
    return Reported(sx.report.write_report(model, X, path, tested=table_of(len(X))), model, X)


def test_matrix_counts_all_and_classes_belong_to_the_shapes(page):
    tested, n_shapes = payload_of(page.path)["tested"], len(page.X)
    names = tested["names"]
    assert sorted(names) == sorted(NAMES)
    rows = np.arange(1, n_shapes)
    expected = np.zeros((3, 3), dtype=int)
    for row in rows:
        true = names.index(NAMES[row % 3])
        predicted = names.index(NAMES[(row + (row % 5 == 0)) % 3])
        expected[true, predicted] += 1
        assert array_of(tested["true"])[row] == true
        assert array_of(tested["predicted"])[row] == predicted
    assert tested["counts"] == expected.tolist()
    assert array_of(tested["true"])[0] == -1
    assert tested["n_tested"] == n_shapes - 1
    assert tested["accuracy"] == pytest.approx(np.mean(rows % 5 != 0))


def test_the_table_of_another_set_is_refused(landmarks, tmp_path):
    model, X = landmarks
    table = table_of(len(X))
    own = [NAMES[row % 3] for row in range(len(X))]
    shapes = sx.ShapeSet(X, model.space_, labels=own)
    path = sx.report.write_report(model, shapes, tmp_path / "own", tested=table)
    assert payload_of(path)["tested"]["remarks"] == ["1 of the 60 shapes of this set were not tested."]
    for labels, message in (
        (["x", "y", "z"] * 20, "no column of the set has its classes"),
        (own[1:] + own[:1], "59 of the 59 shapes that are in both have another class in it than in the column 'label'"),
    ):
        with pytest.raises(ShapeInputError, match=message):
            sx.report.write_report(model, shapes.replace(labels=labels), tmp_path / "other", tested=table)
    with pytest.raises(ShapeInputError, match="and 40 of its 99 ids are not in the set"):
        sx.report.write_report(model, X, tmp_path / "more", tested=table_of(100))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": ["x", "y"]}, "must hold ids of these shapes"),
        ({"id": ["1", "1"]}, "every id once"),
        ({"id": ["1"]}, "columns of one length"),
        ({"class": None}, "class is missing"),
    ],
)
def test_bad_tables_are_refused(landmarks, tmp_path, change, message):
    model, X = landmarks
    table = {"id": ["1", "2"], "class": ["a", "b"], "predicted": ["a", "a"]} | change
    table = {name: column for name, column in table.items() if column is not None}
    with pytest.raises(ShapeInputError, match=message):
        sx.report.write_report(model, X, tmp_path / "page.html", tested=table)


def test_the_command_reads_the_table_of_a_test(landmarks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, X = landmarks
    model.save("model.npz")
    sx.write(sx.ShapeSet(X, model.space_), "shapes.npz")
    (tmp_path / "tested.csv").write_text("id,class,predicted,probability,fold\n3,NA,NA,0.7,1\n4,b,NA,0.9,2\n")
    told = run("report", "model.npz", "shapes.npz", "-o", "page.html", "--tested", "tested.csv")
    lines_of(told)
    assert "note: The set has no column with these classes" in told.stderr
    assert payload_of(tmp_path / "page.html")["tested"]["names"] == ["NA", "b"]
    result = run("report", "model.npz", "shapes.npz", "-o", "other.html", "--tested", "none.csv")
    assert result.exit_code == 1
    assert "There is no file none.csv" in result.stderr


@pytest.mark.browser
def test_numbers_of_the_matrix_show_their_shapes(page, visit):
    view = visit(page)
    found = view.page.evaluate("window.shapelex.confusion()")
    wrong = [row for row in range(1, len(page.X)) if row % 5 == 0]
    assert found["shapes"] == wrong
    assert view.page.locator("#confused .shape-button").count() == min(len(wrong), 24)
    cell = view.page.locator("#confusion td.wrong button").first
    row, column = map(int, cell.get_attribute("data-cell").split(","))
    cell.click()
    listed = view.page.evaluate("window.shapelex.confusion()")["shapes"]
    assert len(listed) == found["counts"][row][column]
    assert set(listed) <= set(wrong)
    view.page.get_by_role("button", name="all misclassified").click()
    assert view.page.evaluate("window.shapelex.confusion()")["shapes"] == wrong
    assert view.complaints == []
