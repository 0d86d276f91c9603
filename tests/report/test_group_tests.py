"""The panel of tests on the page: what is compared, and what the numbers are."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ParameterError, ShapeInputError
from tests.report.visits import Reported, payload_of


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


@pytest.mark.parametrize(("by", "within"), [("label", None), ("batch", "animal"), ("batch", "plant")])
def test_shape_is_tested_as_the_linear_model_does(coded, tmp_path, by, within):
    leaves, model = coded
    leaves = leaves.replace(metadata={**leaves.metadata, "plant": np.arange(36) // 6})
    found = read_page(sx.report.write_report(model, leaves, tmp_path / "page", by=by, within=within))["shape"]
    expected = sx.statistics.shape_lm(f"shape ~ {by}", leaves, blocks=within).table.loc[by]
    assert (found["f"], found["r2"], found["p"]) == pytest.approx((expected["F"], expected["Rsq"], expected["P"]))


def test_a_column_and_strata_can_be_chosen(coded, tmp_path):
    leaves, model = coded
    found = read_page(sx.report.write_report(model, leaves, tmp_path / "page", by="batch", within="animal"))
    assert (found["column"], found["within"], found["unit"]) == ("batch", "animal", "shapes")
    averaged = read_page(sx.report.write_report(model, leaves[:24], tmp_path / "two", by="animal"))
    assert averaged["counts"] == [4] * 6


@pytest.mark.parametrize("labels", [None, ["a"] * 36, [f"kind {k}" for k in range(36)], ["a"] * 33 + ["b"] * 3])
def test_labels_that_form_no_groups_are_not_compared(coded, tmp_path, labels):
    leaves, model = coded
    page = sx.report.write_report(model, leaves.replace(labels=labels), tmp_path / "page")
    assert read_page(page) is None


def test_columns_that_do_not_exist_are_refused(coded, tmp_path):
    leaves, model = coded
    with pytest.raises(ShapeInputError, match="did you mean 'batch'"):
        sx.report.write_report(model, leaves, tmp_path / "page", by="bach")
    with pytest.raises(ParameterError, match="within needs by"):
        sx.report.write_report(model, leaves, tmp_path / "page", within="animal")
    with pytest.raises(ShapeInputError, match="at least two shapes in each group"):
        sx.report.write_report(model, leaves, tmp_path / "page", by="id")


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
