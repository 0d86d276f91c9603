"""The confusion matrix and the misclassified shapes on the page."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeInputError
from tests.cli.conftest import lines_of, run
from tests.report.visits import HOSTILE_LABEL, Reported, array_of, payload_of

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


def shapes_of(landmarks, labels):
    return sx.ShapeSet(landmarks[1], landmarks[0].space_, labels=labels)


def test_the_table_of_another_set_is_refused(landmarks, tmp_path):
    model, X = landmarks
    table = table_of(len(X))
    own = [NAMES[row % 3] for row in range(len(X))]
    path = sx.report.write_report(model, shapes_of(landmarks, own), tmp_path / "own", tested=table)
    assert payload_of(path)["tested"]["remarks"] == ["1 of the 60 shapes of this set were not tested."]
    for labels, message in (
        (["x", "y", "z"] * 20, "no column of the set has its classes"),
        (own[1:] + own[:1], "59 of the 59 shapes that are in both have another class in it than in the column 'label'"),
    ):
        with pytest.raises(ShapeInputError, match=message):
            sx.report.write_report(model, shapes_of(landmarks, labels), tmp_path / "other", tested=table)
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
    told = run("report", "model.npz", "shapes.npz", "-o", "page.html", "--predictions", "tested.csv")
    lines_of(told)
    assert "note: The set has no column with these classes" in told.stderr
    assert payload_of(tmp_path / "page.html")["tested"]["names"] == ["NA", "b"]
    result = run("report", "model.npz", "shapes.npz", "-o", "other.html", "--predictions", "none.csv")
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
