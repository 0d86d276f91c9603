"""The page in a real browser: colors, filter, table, groups, exclusion and downloads by any column of the set."""

import csv
import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import shapelex as sx
from shapelex.cli.exclusion import Exclusion, read_exclusion
from shapelex.coding.codes import shape_columns
from shapelex.files.code_files import write_codes
from tests.report.conftest import HOSTILE_ID, Reported, Visit

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"


def add_filter(view: Visit, column: str, **values: str) -> dict:
    """Fill in the filter: `choose` a value, or a text for `contains`, `from_` and `to`."""
    page = view.page
    page.get_by_label("Filter by").select_option(label=column)
    for name, value in values.items():
        if name == "choose":
            page.get_by_label(f"Value of {column}", exact=True).select_option(label=value)
        else:
            page.get_by_label(f"{column} {name.strip('_')}", exact=True).fill(value)
    page.locator("#add-condition").click()
    return view.state()


def test_download_is_the_table_of_the_command_line(visit, column_page, tmp_path):
    view = visit(column_page)
    model, shapes = column_page.model, column_page.shapes
    written = write_codes(
        tmp_path / "codes.csv", [(model.encode(shapes), model.errors(shapes), shape_columns(shapes))], {}
    )
    with written.open(newline="", encoding="utf-8") as stream:
        expected = list(csv.reader(stream))
    found = list(csv.reader(io.StringIO(view.page.evaluate("window.shapelex.codes()"), newline="")))
    assert found[0] == expected[0]
    n_columns = expected[0].index("error")
    assert [row[:n_columns] for row in found] == [row[:n_columns] for row in expected]
    numbers = [[[float(cell or "nan") for cell in row[n_columns:]] for row in table[1:]] for table in (found, expected)]
    difference = np.subtract(*numbers)
    is_angle = np.char.startswith(expected[0][n_columns:], "angle")
    # Angles of -180° and 180° are the same.
    turns = np.where(is_angle, 2 * np.pi * np.round(difference / (2 * np.pi)), 0)
    np.testing.assert_allclose(difference - turns, 0 * difference, atol=1e-6)
    columns = sx.read_codes(view.save(view.page.locator("#save-codes"), tmp_path)).columns
    assert columns["id"].tolist() == shapes.ids.tolist()


def test_dots_are_colored_by_any_column(visit, column_page):
    view = visit(column_page)
    select = view.page.get_by_label("Color dots by")
    legend = view.page.locator("#legend")
    for option in select.locator("option").all_inner_texts():
        select.select_option(label=option)
        view.state()
        if option in ("label", "replicate", "sequence", "is_left", "<b>=1+1</b>"):
            assert legend.locator("button").count() == len(np.unique(column_of(column_page, option)))
        elif option in column_page.shapes.metadata and column_page.shapes.metadata[option].dtype.kind == "f":
            assert option in legend.inner_text()
            assert legend.locator(".ramp").count() == 1


def column_of(reported: Reported, name: str) -> np.ndarray:
    return shape_columns(reported.shapes)[name]


def test_filters_are_met_by_the_shapes_that_are_shown(visit, column_page):
    view = visit(column_page)
    shapes = column_page.shapes
    size, replicate = shapes.metadata["size"], shapes.metadata["replicate"]
    state = add_filter(view, "replicate", choose="2")
    assert state["shown"] == np.flatnonzero(replicate == 2).tolist()
    state = add_filter(view, "replicate", choose="4")
    assert state["shown"] == np.flatnonzero(replicate % 2 == 0).tolist()
    state = add_filter(view, "size", from_="0.5", to="2")
    expected = np.flatnonzero((replicate % 2 == 0) & (size >= 0.5) & (size <= 2))
    assert state["shown"] == expected.tolist()
    assert view.page.locator("#table tbody tr").count() == min(20, len(expected))
    view.page.get_by_role("button", name="Remove the filter replicate").click()
    assert view.state()["shown"] == np.flatnonzero((size >= 0.5) & (size <= 2)).tolist()
    view.page.get_by_role("button", name="Remove the filter size").click()
    state = add_filter(view, "id", contains="LEAF, 1")
    assert state["shown"] == [row for row, name in enumerate(shapes.ids.tolist()) if "leaf, 1" in name]
    view.page.get_by_role("button", name="Remove the filter id").click()
    errors = 100 * column_page.model.errors(shapes)
    limit = f"{np.median(errors):.4f}"
    state = add_filter(view, "error (%)", from_=limit)
    assert state["shown"] == np.flatnonzero(errors >= float(limit)).tolist()


def test_table_is_sorted_by_any_column(visit, column_page):
    view = visit(column_page)
    shapes = column_page.shapes
    rows = view.page.locator("#table tbody tr")

    def shown() -> list[int]:
        view.state()
        return [int(row.get_attribute("data-shape")) for row in rows.all()]

    errors = column_page.model.errors(shapes)
    np.testing.assert_allclose(errors[shown()], np.sort(errors)[::-1][:20], atol=1e-6)
    sizes = shapes.metadata["size"]
    view.page.get_by_role("button", name="size", exact=True).click()
    assert shown() == np.argsort(sizes, kind="stable")[:20].tolist()
    view.page.get_by_label("Next rows").click()
    view.page.get_by_label("Next rows").click()
    # Missing numbers come last.
    assert shown()[-1] == 5
    view.page.get_by_role("button", name="id", exact=True).click()
    view.page.locator("#table tbody button").first.click()
    assert view.state()["selected"] == shown()[0]
    assert rows.first.get_attribute("aria-current") == "true"


def test_excluded_shapes_leave_groups_and_go_into_the_list(visit, column_page, tmp_path):
    view = visit(column_page)
    model, shapes = column_page.model, column_page.shapes
    view.page.evaluate("window.shapelex.select(59)")
    view.state()
    view.page.locator("#exclude").click()
    view.page.locator("#table tbody input").first.check()
    worst = int(np.argmax(model.errors(shapes)))
    assert set(view.state()["excluded"]) == {59, worst}
    add_filter(view, "replicate", choose="2")
    view.page.locator("#exclude-shown").click()
    excluded = view.state()["excluded"]
    assert set(excluded) == {59, worst, *np.flatnonzero(shapes.metadata["replicate"] == 2).tolist()}
    view.page.get_by_role("button", name="Remove the filter").click()
    is_left = ~np.isin(np.arange(60), excluded)
    use = view.page.evaluate("window.shapelex.use()")
    assert sum(use["counts"]) == is_left.sum()
    kept = [int(k) for k in np.flatnonzero(is_left & (shapes.labels == "oak"))]
    place = use["names"].index("oak")
    np.testing.assert_allclose(use["use"][place], np.mean(model.transform(shapes)[kept] != 0, axis=0), atol=1e-6)
    assert use["rmse"][place] == pytest.approx(np.sqrt(np.mean(model.errors(shapes)[kept] ** 2)), abs=1e-6)
    # Hostile ids and files come back from the list as they are.
    exclusion = read_exclusion(view.save(view.page.locator("#save-excluded"), tmp_path))
    assert isinstance(exclusion, Exclusion)
    assert HOSTILE_ID in {entry["id"] for entry in exclusion.entries}
    assert exclusion.keeps(shapes).tolist() == is_left.tolist()
    assert exclusion.unmatched == []
    view.page.locator("#include-all").click()
    assert view.state()["excluded"] == []


@pytest.mark.parametrize("page", ["column_page", "bspline_page", "series_page"])
def test_mean_shapes_are_those_of_python(visit, page, request):
    reported = request.getfixturevalue(page)
    view = visit(reported)
    space = reported.model.space_
    X = reported.X
    means = view.page.evaluate("window.shapelex.means()")
    labels = np.array(["all shapes"] * len(X))
    if reported.shapes is not None:
        labels = np.where(reported.shapes.labels == "", "none", reported.shapes.labels)
    elif page == "series_page":
        labels = np.repeat(["first", "second", "none"], [50, 28, 2])
    assert {mean["name"] for mean in means} == set(labels.tolist())
    for mean in means:
        members = X[labels == mean["name"]]
        assert mean["n"] == len(members)
        parts = np.array(mean["configuration"])
        assert sx.distance(parts[::2] + 1j * parts[1::2], sx.mean_shape(members, space=space), space=space) < 2e-4


@pytest.mark.parametrize("coloring", ["label", "size"])
def test_map_atoms_means_and_use_table_are_saved_as_svg(visit, column_page, tmp_path, coloring):
    view = visit(column_page)
    view.page.get_by_label("Color dots by").select_option(label=coloring)
    view.page.locator("#exclude").click()
    view.state()
    view.page.evaluate("window.shapelex.means()")

    def parse(tools: str) -> ET.Element:
        return ET.parse(view.save(view.page.locator(tools).get_by_text("SVG"), tmp_path)).getroot()

    def texts(drawing: ET.Element) -> list[str]:
        return [one.text for one in drawing.iter(f"{SVG}text")]

    model = column_page.model
    drawing = parse("#map-tools")
    n_swatches = 3 if coloring == "label" else 0
    assert len(list(drawing.iter(f"{SVG}circle"))) == 60 + n_swatches
    assert any("a lime whose name is much too long for a column of a table" in one for one in texts(drawing)) == (
        coloring == "label"
    )
    assert {f"atom {atom}" for atom in range(len(model.atoms_))} <= set(texts(parse("#atoms-tools")))
    assert "oak" in texts(parse("#means-tools"))
    table = parse("#use-tools")
    assert len([one for one in table.iter(f"{SVG}rect") if one.get("width") == "30"]) == 3 * len(model.atoms_)
    assert "a lime whose name is much too long for a column of a table" in texts(table)
    assert view.save(view.page.locator("#use-tools").get_by_text("PNG"), tmp_path).read_bytes().startswith(b"\x89PNG")

    for label in ("Color dots by", "Group shapes by"):
        view.page.get_by_label(label).select_option(label="<b>=1+1</b>")
    add_filter(view, "<b>=1+1</b>", choose="-x")
    assert (
        view.page.evaluate("document.querySelectorAll('main b:not([id]):not(.atom-use b):not(.morph-end b)').length")
        == 0
    )
    assert view.page.evaluate("window.hacked") is None
