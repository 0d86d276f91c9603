"""The page in a real browser: what it draws are the numbers that Python computes."""

import xml.etree.ElementTree as ET
from copy import copy

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from shapelex.geometry.matching import DictionaryStability
from shapelex.report.payload import drawing_parameters
from shapelex.report.pose import common_pose
from tests.report.conftest import HOSTILE_ID, HOSTILE_LABEL, HOSTILE_TITLE, Reported, Visit
from tests.rounding import assert_close_codes

pytestmark = pytest.mark.browser

# Paths have two digits after the point in units of 1/1000; 16-bit coordinates are good to 1e-4.
DRAWN, QUANTIZED = 1e-5, 1e-4


@pytest.fixture(params=["landmark_page", "bspline_page", "series_page"])
def reported(request) -> Reported:
    return request.getfixturevalue(request.param)


def curve(configuration: np.ndarray, space: sx.spaces.Space) -> np.ndarray:
    """Points that stand for a configuration in a drawing."""
    if isinstance(space, sx.Landmarks):
        return np.append(configuration, configuration[0]) if space.closed else configuration
    return space.sample(configuration, drawing_parameters(space))


def assert_same_up_to_rotation(first: np.ndarray, second: np.ndarray, tolerance: float) -> None:
    turn = np.exp(1j * np.angle(np.vdot(second, first)))
    np.testing.assert_allclose(first, turn * second, atol=tolerance)


def assert_drawn_sum(view: Visit) -> dict:
    """The drawn curve is the complex sum of atoms and weights, in the pose of the drawing."""
    state, model = view.state(), view.reported.model
    total = sum(
        (weight * model.atoms_[atom] for atom, weight in state["weights"].items()), np.zeros(model.atoms_.shape[1])
    )
    np.testing.assert_allclose(state["sum"], total, atol=1e-12)
    assert_same_up_to_rotation(view.drawn("#sum-path"), curve(total, model.space_), DRAWN)
    return state


def test_opens_quietly_and_shows_the_code_of_a_shape(visit, reported):
    view = visit(reported)
    state = assert_drawn_sum(view)
    model, x = reported.model, reported.X[state["selected"]]
    expected = model.transform(x[None])[0]
    assert set(state["weights"]) == set(np.flatnonzero(expected))
    for atom, weight in state["weights"].items():
        assert weight == pytest.approx(expected[atom], abs=1e-6)
    assert view.page.locator("#error").inner_text().startswith(f"{100 * model.errors(x[None])[0]:.2f}")
    original = view.drawn(".original >> nth=0")
    assert_same_up_to_rotation(original, curve(model.space_.preshape(x), model.space_), QUANTIZED)


def test_dragging_an_arrow_turns_and_scales_its_atom(visit, reported):
    view = visit(reported)
    before = view.state()
    handle = view.page.locator(".arrow").first
    atom = int(handle.get_attribute("data-atom"))
    plane = view.page.locator(".plane")
    plane.scroll_into_view_if_needed()
    box, tip = plane.bounding_box(), handle.locator(".arrow-target").bounding_box()
    center = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    view.page.mouse.move(tip["x"] + tip["width"] / 2, tip["y"] + tip["height"] / 2)
    view.page.mouse.down()
    for step in ([40, -30], [-60, -55]):
        view.page.mouse.move(*(center + step))
        state = assert_drawn_sum(view)
        # The arrow points to the pointer: its angle, against the pose of the atoms, is that on the screen.
        turn = np.angle(state["weights"][atom] / before["weights"][atom])
        expected = np.arctan2(-step[1], step[0]) - first_angle(view, before, atom)
        assert np.angle(np.exp(1j * (turn - expected))) == pytest.approx(0, abs=1e-3)
    view.page.mouse.up()
    after = view.state()
    assert after["isEdited"]
    assert {other: after["weights"][other] for other in after["weights"] if other != atom} == {
        other: before["weights"][other] for other in before["weights"] if other != atom
    }
    x = reported.model.space_.preshape(reported.X[after["selected"]])
    assert after["error"] == pytest.approx(reported.model.space_.norm(x - after["sum"]), abs=QUANTIZED)
    view.page.locator("#reset").click()
    assert view.state()["weights"] == before["weights"]


def first_angle(view: Visit, before: dict, atom: int) -> float:
    """Angle on the screen of the arrow before it was dragged."""
    model = view.reported.model
    X = view.reported.X
    mean = common_pose(model.space_.preshape(X), model.space_)
    pose = sx.optimal_rotation(X[before["selected"]], mean, model.space_)
    return float(np.angle(before["weights"][atom]) + pose - sx.optimal_rotation(model.atoms_[atom], mean, model.space_))


def test_sparsity_slider_reaches_the_codes_of_python(visit, reported):
    view = visit(reported)
    model = reported.model
    slider = view.page.locator("#sparsity")
    slider.focus()
    view.page.keyboard.press("Home")
    for n_nonzero in range(1, model.n_nonzero + 1):
        state = assert_drawn_sum(view)
        assert state["sparsity"] == n_nonzero
        x = reported.X[state["selected"]][None]
        codes = sx.encode(x, model.atoms_, n_nonzero, model.coder, space=model.space_)
        dense = np.zeros(len(model.atoms_), dtype=complex)
        for atom, weight in state["weights"].items():
            dense[atom] = weight
        np.testing.assert_allclose(dense, codes.toarray()[0], atol=1e-6)
        error = model.space_.norm(model.space_.preshape(x[0]) - sx.decode(codes, model.atoms_)[0])
        assert float(view.page.locator("#error").inner_text().split("\u202f")[0]) == pytest.approx(
            100 * error, abs=0.051
        )
        assert state["error"] == pytest.approx(error, abs=QUANTIZED)
        view.page.keyboard.press("ArrowRight")


def test_morph_follows_the_geodesic_of_python(visit, reported):
    view = visit(reported)
    space = reported.model.space_
    view.page.evaluate("window.shapelex.morph(3, 11, 0)")
    slider = view.page.locator("#morph-time")
    for time in (0.0, 0.35, 1.0):
        slider.evaluate("(input, time) => { input.value = time; input.dispatchEvent(new Event('input')); }", time)
        morph = view.state()["morph"]
        expected = sx.geodesic(reported.X[3], reported.X[11], time, space)
        np.testing.assert_allclose(morph["configuration"], expected, atol=QUANTIZED)
        assert_same_up_to_rotation(view.drawn("#morph-path"), curve(expected, space), 3 * QUANTIZED)
        assert morph["length"] == pytest.approx(
            sx.distance(reported.X[3], reported.X[11], "geodesic", space), abs=QUANTIZED
        )


def test_names_and_labels_stay_text_and_controls_have_names(visit, landmark_page):
    view = visit(landmark_page)
    page = view.page
    search = page.get_by_role("combobox", name="Find a shape")
    search.fill("window.hacked")
    search.press("Enter")
    view.state()
    assert page.locator("#shape-title").inner_text() == f"Shape {HOSTILE_ID}"
    assert HOSTILE_LABEL in page.evaluate("document.getElementById('legend').textContent")
    page.locator("#map").hover()
    assert page.title() == HOSTILE_TITLE
    assert page.locator("h1").inner_text() == HOSTILE_TITLE
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.scripts.length") == 2
    assert page.evaluate("document.querySelectorAll('img, iframe, object, a[href]:not(.skip)').length") == 0
    # Every control has a name.
    page.locator(".atom").first.click()
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, [tabindex='0']")]
            .filter((e) => !(e.ariaLabel || e.textContent.trim() || e.closest("label")?.textContent.trim()
                || e.getAttribute("aria-labelledby")))
            .map((e) => e.outerHTML)"""
    )
    assert unnamed == []


def test_policy_lets_no_foreign_script_run_and_nothing_out(browser, landmark_page):
    view = Visit(browser, landmark_page)
    refused = []
    view.page.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
    view.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.hacked = 1";
            document.body.append(script);
            const image = "<img src='https://example.org/x.png' onerror='window.hacked = 2'>";
            document.body.insertAdjacentHTML("beforeend", image);
        }"""
    )
    answer = view.page.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'refused')")
    hacked = view.page.evaluate("window.hacked")
    view.close()
    assert answer == "refused"
    assert hacked is None
    # The browser names what it did not even try to send.
    assert {url for url in view.requests if url.startswith("http")} == {url for url, why in refused if why == "csp"}
    assert len(view.complaints) >= 3


def test_keyboard_chooses_shapes_and_changes_weights(visit, landmark_page):
    view = visit(landmark_page)
    page = view.page
    first = view.state()["selected"]
    page.locator("#map").focus()
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.press("ArrowRight")
    assert "Shape" in page.locator("#announce").inner_text()
    page.get_by_role("combobox", name="Find a shape").fill("shape 41")
    page.keyboard.press("Enter")
    assert view.state()["selected"] == 41 != first
    handle = page.get_by_role("slider", name="Weight of atom").first
    atom = int(handle.get_attribute("data-atom"))
    handle.focus()
    before = view.state()["weights"][atom]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowLeft")
    after = assert_drawn_sum(view)["weights"][atom]
    assert abs(after) == pytest.approx(abs(before) + 0.01)
    assert np.degrees(np.angle(after / before)) == pytest.approx(10)
    page.keyboard.press("Space")
    assert atom not in assert_drawn_sum(view)["weights"]
    page.keyboard.press("Escape")
    assert view.state()["weights"][atom] == before
    card = page.locator(".atom").first
    card.focus()
    page.keyboard.press("Enter")
    view.state()
    assert card.get_attribute("aria-pressed") == "true"
    page.locator("#atom-users button").first.focus()
    page.keyboard.press("Enter")
    chosen = view.state()["selected"]
    assert chosen == np.argmax(shares(landmark_page, int(card.get_attribute("data-atom"))))


def shares(reported: Reported, atom: int) -> np.ndarray:
    """Squared cosine between an atom and the reconstruction of each shape that uses it."""
    model, space = reported.model, reported.model.space_
    codes = model.transform(reported.X)
    rebuilt = codes @ model.atoms_
    cosines = np.abs(space.inner(model.atoms_[atom], rebuilt)) ** 2 / space.norm(rebuilt) ** 2
    return np.where(codes[:, atom] != 0, cosines, 0)


def test_shapes_of_an_atom_are_ranked_by_the_share_that_it_explains_and_phones_show_all(visit, reported):
    view = visit(reported)
    for atom in range(len(reported.model.atoms_)):
        view.page.locator(f".atom[data-atom='{atom}']").click()
        view.state()
        expected = shares(reported, atom)
        shown = [int(one.get_attribute("data-shape")) for one in view.page.locator("#atom-users button").all()]
        assert len(shown) == min(12, np.count_nonzero(expected))
        np.testing.assert_allclose(expected[shown], np.sort(expected)[::-1][: len(shown)], atol=1e-6)
    for width in (390, 320):
        view.page.set_viewport_size({"width": width, "height": 800})
        assert view.page.evaluate("document.documentElement.scrollWidth") <= width


def test_time_line_goes_to_shapes(visit, series_page):
    view = visit(series_page)
    line = view.page.get_by_role("slider", name="Weights along time")
    line.focus()
    view.page.evaluate("window.shapelex.select(3)")
    view.state()
    places = []
    for _ in range(4):
        view.page.keyboard.press("ArrowRight")
        places.append(view.state()["selected"])
    assert places == [4, 5, 6, 7]
    assert line.get_attribute("aria-valuetext").startswith("series first, 0.70 s · frame 7 · error ")
    view.page.keyboard.press("End")
    assert view.state()["selected"] == 49
    view.page.evaluate("window.shapelex.select(79)")
    view.state()
    assert line.get_attribute("aria-valuetext") == "in no series"


def wait_until(view, is_so):
    """Look again and again: the page forbids the functions that a browser would wait for."""
    for _ in range(200):
        if is_so():
            return
        view.page.wait_for_timeout(50)
    pytest.fail("It did not happen within ten seconds.")


def test_series_is_chosen_played_and_paused(visit, series_page):
    view = visit(series_page)
    view.page.get_by_label("Series", exact=True).select_option(label="series second (28 frames)")
    assert view.page.evaluate("window.shapelex.time().series") == 1
    # 28 frames at 10 per second, four times as fast.
    view.page.get_by_label("Speed", exact=True).select_option(label="4× speed")
    button = view.page.locator("#time-play")
    button.click()
    assert button.text_content() == "Pause"
    before = view.drawn("#time-sum")
    wait_until(view, lambda: view.page.evaluate("window.shapelex.time().place") > 2)
    button.click()
    assert button.text_content() == "Play"
    state = view.page.evaluate("window.shapelex.time()")
    assert view.state()["selected"] == state["shape"] == 50 + state["place"]
    assert np.abs(view.drawn("#time-sum") - before).max() > 0.01
    button.click()
    wait_until(view, lambda: button.text_content() == "Play")
    assert view.page.evaluate("window.shapelex.time().place") == 27


def series_of(reported: Reported):
    """Return the codes of the frames that are in a series, as Python computes them."""
    frames = np.concatenate([np.arange(30), np.arange(20) + 45, np.arange(28)])
    sequence = [0] * 50 + [1] * 28
    return sx.sequences.encode_sequence(reported.X[:78], reported.model, frames=frames, sequence=sequence, fps=10)


def test_moving_sum_is_the_reconstruction_in_the_tracked_pose_and_is_saved(visit, series_page, tmp_path):
    view = visit(series_page)
    view.page.evaluate("window.shapelex.select(20)")
    view.state()
    result = series_of(series_page)
    drawn = view.drawn("#time-sum")
    space = series_page.model.space_
    curve = space.sample(result.reconstruct(tracked=True)[20], np.linspace(0, 1, len(drawn)))
    # One rotation lays the series flat.
    turn = np.vdot(curve, drawn)
    np.testing.assert_allclose(drawn, curve * turn / abs(turn), atol=2e-3)

    # The series is saved as a table and a drawing.
    table = pd.read_csv(view.save(view.page.locator("#save-series"), tmp_path))
    result = result.to_dataframe()[:50]
    assert table["sequence"].eq("first").all()
    for name in ("frame", "time", "error", *(f"modulus_a{atom}" for atom in range(7))):
        np.testing.assert_allclose(table[name], result[name], atol=1e-5)
    for atom in range(7):
        np.testing.assert_allclose(table[f"phase_a{atom}"], result[f"phase_a{atom}"], atol=1e-4)
    text = view.save(view.page.locator("#time-tools").get_by_text("SVG"), tmp_path).read_text()
    assert "time (s)" in text
    assert text.count("<rect") > 100


def test_codes_and_views_can_be_saved(visit, landmark_page, tmp_path):
    view = visit(landmark_page)
    model, X = landmark_page.model, landmark_page.X

    def save(locator) -> bytes:
        return view.save(locator, tmp_path).read_bytes()

    # The same table as the command encode writes.
    save(view.page.locator("#save-codes"))
    found = sx.read_codes(tmp_path / "shapelex-codes.csv")
    assert_close_codes(found.codes, model.encode(X), 1e-6)
    np.testing.assert_allclose(found.errors, model.errors(X), atol=1e-6)
    assert found.columns["id"][7] == HOSTILE_ID
    tools = view.page.locator("#shape-tools")
    drawing = ET.fromstring(save(tools.get_by_text("SVG")))
    paths = [path.get("d") for path in drawing.iter("{http://www.w3.org/2000/svg}path")]
    assert view.page.locator("#sum-path").get_attribute("d") in paths
    assert save(tools.get_by_text("PNG")).startswith(b"\x89PNG")
    assert save(view.page.locator("#map-tools").get_by_text("PNG")).startswith(b"\x89PNG")


def test_atoms_can_be_added_and_get_their_best_weights(visit, bspline_page):
    view, reported = visit(bspline_page), bspline_page
    model, space = reported.model, reported.model.space_
    view.page.locator(".terms input").first.uncheck()
    before = view.state()
    added = next(atom for atom in range(len(model.atoms_)) if atom not in {term["atom"] for term in before["terms"]})
    view.page.get_by_role("combobox", name="Add an atom").select_option(str(added))
    assert set(assert_drawn_sum(view)["weights"]) == {*before["weights"], added}
    view.page.locator("#refit").click()
    after = assert_drawn_sum(view)
    chosen = list(after["weights"])
    rows = space.whiten(model.atoms_[chosen])
    expected = np.linalg.lstsq(rows.T, space.whitened_preshapes(reported.X[after["selected"]])[0], rcond=None)[0]
    np.testing.assert_allclose([after["weights"][atom] for atom in chosen], expected, atol=10 * QUANTIZED)
    view.page.locator("#reset").click()
    assert len(view.state()["terms"]) == model.n_nonzero


def test_a_finger_drags_an_arrow_and_the_page_stays(visit, landmark_page):
    view = visit(landmark_page, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    plane = view.page.locator(".plane")
    plane.evaluate("element => element.scrollIntoView({ block: 'center', behavior: 'instant' })")
    box = view.page.locator(".arrow-target").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    scrolled = view.page.evaluate("scrollY")
    before = view.state()
    session = view.context.new_cdp_session(view.page)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in (10, 25, 40):
        session.send(
            "Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x - step, "y": y - 2 * step}]}
        )
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    after = assert_drawn_sum(view)
    assert after["isEdited"]
    assert after["weights"] != before["weights"]
    assert view.page.evaluate("scrollY") == scrolled


def test_origin_is_folded_and_has_preparation_and_notes(visit, landmarks, tmp_path):
    model, X = landmarks
    notes = (f"3 objects left out: {HOSTILE_LABEL}", "1 row of sheet.csv fits no shape")
    shapes = sx.ShapeSet(X, model.space_, notes=notes)
    shapes = shapes.replace(preparation=sx.register(shapes).preparation)
    path = sx.report.write_report(model, shapes, tmp_path / "origin", provenance={"input a.npz": "SHA-256 abc"})
    view = visit(Reported(path, model, X))
    origin = view.page.locator("#origin")
    note = origin.get_by_text(notes[1])
    assert not note.is_visible()
    hint = view.page.locator("#origin-hint")
    assert hint.is_visible()
    assert str(shapes.preparation) in hint.inner_text()
    assert "2 notes" in hint.inner_text()
    origin.locator("summary").click()
    assert note.is_visible()
    assert origin.locator("li").evaluate_all("items => items.map((item) => item.textContent)") == list(notes)
    assert origin.locator("td").last.inner_text() == "SHA-256 abc"


def test_the_error_is_named_and_says_whether_it_is_that_of_training(visit, landmarks, landmark_page, tmp_path):
    lead = visit(landmark_page).page.locator("#lead").inner_text()
    assert "root mean square error (RMSE)" in lead
    assert lead.endswith("The dictionary was learned from these shapes.")
    model, X = landmarks
    others = X[::-1][:20] + 0.2 * X[:20]
    view = visit(Reported(sx.report.write_report(model, others, tmp_path / "others"), model, others))
    lead = view.page.locator("#lead").inner_text()
    assert lead.endswith("on the shapes that the dictionary was learned from.")
    assert f"It was {100 * model.rmse_:.2f}" in lead


def test_atoms_that_do_not_come_back_are_marked(visit, landmarks, landmark_page, tmp_path):
    assert not visit(landmark_page).page.locator(".atom-stability").count()
    model, X = landmarks
    model = copy(model)
    distances = np.linspace(0.05, 0.35, len(model.atoms_))
    model._stability = DictionaryStability(distances, np.full(len(distances), 0.4), 0.1, 0.4, n_shapes=60)
    path = sx.report.write_report(model, X, tmp_path / "stability.html")
    page = visit(Reported(path, model, X)).page
    assert model.stability_.summary() == page.locator("#stability").inner_text()
    for atom, (distance, can_be_named) in enumerate(zip(distances, model.stability_.can_be_named, strict=True)):
        card = page.locator(f".atom[data-atom='{atom}']")
        words = card.locator(".atom-stability").inner_text()
        assert f"distance {distance:.2f}" in words
        assert "chance 0.40" in words
        assert ("comes back" if can_be_named else "do not name") in words
        assert ("unnamed" in card.get_attribute("class")) != can_be_named
        assert ("can be named" if can_be_named else "Do not name") in card.get_attribute("aria-label")
