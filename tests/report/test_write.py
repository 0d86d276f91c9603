"""Pages as files and in notebooks: what they hold, whole or not there, closed to the outside."""

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import shapelex as sx
from shapelex.exceptions import ShapeInputError
from shapelex.report import document, write_report
from shapelex.report.document import bundle_modules
from shapelex.report.payload import SIZE_LIMIT
from shapelex.report.sampling import N_WORST, choose_shapes
from tests.report.conftest import HOSTILE_ID, HOSTILE_LABEL, array_of, make_shapes, payload_of


def test_findings_in_a_set_are_on_the_page(tmp_path):
    X = np.array([0, 4, 5 + 1j, 1 + 2j]) + 0.1 * np.random.default_rng(0).normal(size=(20, 4, 2)) @ [1, 1j]
    X[[3, 8]] = X[[3, 8]].conj()
    model = sx.ShapeDictionary(n_atoms=3, n_nonzero=1, random_state=0, max_iter=2, tol=1).fit(X)
    (finding,) = payload_of(write_report(model, sx.ShapeSet(X), tmp_path / "page"))["findings"]
    assert finding == "clearly closer to the mean when mirrored: 2 shapes (3, 8)"


def test_shapes_come_back_from_the_file(landmarks, tmp_path):
    model, X = landmarks
    shapes = payload_of(write_report(model, X, tmp_path / "page"))["shapes"]
    pairs = array_of(shapes["configurations"]) * array_of(shapes["steps"])[:, None, None].astype(float)
    np.testing.assert_allclose(pairs[..., 0] + 1j * pairs[..., 1], model.space_.preshape(X), atol=2e-5)
    support, weights = array_of(shapes["supports"][-1]), array_of(shapes["weights"][-1])
    codes = model.encode(X)
    assert np.array_equal(support, codes.support)
    np.testing.assert_allclose(weights[..., 0] + 1j * weights[..., 1], codes.coefs, atol=1e-6)
    errors = np.array([array_of(level) for level in shapes["errors"]])
    np.testing.assert_allclose(errors[-1], model.errors(X), atol=1e-6)
    assert (np.diff(errors, axis=0) <= 1e-6).all(), "more atoms never make it worse"
    assert payload_of(write_report(model, sx.to_points(X), tmp_path / "points"))["shapes"] == shapes
    single = sx.ShapeDictionary(3, 2, space=model.space, random_state=0, tol=1e-2).fit(X.astype(np.complex64))
    assert write_report(single, X.astype(np.complex64), tmp_path / "single").exists()
    # Poses turn the shapes along one mean.
    poses = array_of(shapes["poses"]) @ [1, 1j]
    np.testing.assert_allclose(np.abs(poses), 1, atol=1e-6)
    turned = poses[:, None] * model.space_.preshape(X)
    aligned = sx.align_to_mean(X, space=model.space_)
    products = model.space_.inner(turned, aligned)
    np.testing.assert_allclose(products, products[0] / abs(products[0]), atol=1e-4)


@pytest.mark.parametrize(
    "space",
    [
        sx.Landmarks(5),
        sx.BSpline(7),
        sx.BSpline(6, closed=False),
        sx.HermiteSpline(4, closed=True),
        sx.BasisSpace([np.ones_like, np.sin, lambda t: np.exp(4j * np.pi * t), lambda t: t**2]),
    ],
    ids=repr,
)
def test_any_space_that_can_be_drawn(space, rng, tmp_path):
    X = rng.normal(size=(30, space.n_coordinates)) + 1j * rng.normal(size=(30, space.n_coordinates))
    model = sx.ShapeDictionary(4, 2, space=space, random_state=0, tol=1e-2).fit(X)
    payload = payload_of(write_report(model, X, tmp_path / "page"))
    if not isinstance(space, sx.Landmarks):
        basis = array_of(payload["space"]["basis"])
        assert basis.shape[1] == space.n_coordinates
        assert array_of(payload["space"]["gram"]).shape[:2] == (space.n_coordinates, space.n_coordinates)


def test_many_shapes_are_sampled_and_the_page_says_so(landmarks, tmp_path):
    model, X = landmarks
    path = write_report(model, X, tmp_path / "page", max_shapes=20, labels=["a", "b", "c"] * 20)
    payload = payload_of(path)
    assert (len(payload["shapes"]["ids"]), payload["n_shapes"]) == (20, 60)
    assert "by label" in payload["how_chosen"]
    assert payload["groups"][0]["counts"] == [20, 20, 20]
    assert payload["errors"]["rmse"] == pytest.approx(-model.score(X))
    assert payload["shapes"]["rows"] == [int(name) for name in payload["shapes"]["ids"]]


@pytest.mark.thorough
@pytest.mark.parametrize(("n_points", "n_nonzero"), [(200, 5), (60, 24)])
def test_five_thousand_shapes_stay_under_15_megabytes(n_points, n_nonzero, rng, tmp_path):
    X = rng.normal(size=(5100, n_points)) + 1j * rng.normal(size=(5100, n_points))
    model = sx.ShapeDictionary(24, n_nonzero, coder="omp", random_state=0, max_iter=0).fit(X)
    path = write_report(model, X, tmp_path / "large", labels=["a label of some length", "b"] * 2550)
    n_kept = len(payload_of(path)["shapes"]["ids"])
    assert path.stat().st_size < SIZE_LIMIT == 15_000_000
    assert (n_kept == 5000) == (n_nonzero == 5)
    # As many as fit are kept.
    assert n_kept > 2500


def test_markup_in_texts_is_no_markup(landmark_page):
    class Collector(HTMLParser):
        def __init__(self):
            super().__init__()
            self.tags = []

        def handle_starttag(self, tag, attrs):
            self.tags.append(tag)
            assert not [name for name, _ in attrs if name.startswith("on")]

    collector = Collector()
    collector.feed(landmark_page.path.read_text(encoding="utf-8"))
    assert collector.tags.count("script") == 2
    assert not {"img", "link", "iframe", "b"} & set(collector.tags)
    payload = payload_of(landmark_page.path)
    assert payload["shapes"]["ids"][7] == HOSTILE_ID
    assert HOSTILE_LABEL in payload["columns"][1]["names"]


def test_policy_names_the_only_script_and_style(landmark_page):
    text = landmark_page.path.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    for tag, source in (("style", "style-src"), ('script type="module"', "script-src")):
        content = re.search(rf"<{tag}>(.*?)</{tag.split()[0]}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy


def test_source_of_the_page_has_no_dangerous_words():
    folder = Path(document.__file__).parent / "page"
    sources = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert {"page.html", "main.js", "theme.css"} <= set(sources)
    for name, text in sources.items():
        if name.endswith(".js"):
            words = r"(inner|outer|insertAdjacent)HTML|document\.write|eval\(|</script|fetch\(|import\("
            found = re.search(words, text)
            assert not found, (name, found)
        assert "https://" not in text, name
    modules = {name.removesuffix(".js") for name in sources if name.endswith(".js")}
    bundled = bundle_modules("main")
    assert {name for name in modules if f"const module_{name} = " in bundled} == modules, "every module is used"
    assert not re.search(r"^(import|export)\b", bundled, re.MULTILINE)


def test_an_older_file_is_replaced_only_when_asked_and_as_a_whole(landmarks, tmp_path, monkeypatch):
    model, X = landmarks
    target = tmp_path / "page.html"
    target.write_text("precious")

    def interrupt(stream, page):
        stream.write(page[:100])
        raise KeyboardInterrupt

    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_report(model, X, tmp_path / "page")
    with monkeypatch.context() as patch:
        patch.setattr("shapelex.report.write._write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_report(model, X, target, overwrite=True)
    assert target.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [target]
    assert write_report(model, X, target, overwrite=True) == target
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_bad_arguments_are_refused_before_any_work(landmarks, tmp_path):
    model, X = landmarks
    curves = sx.ShapeDictionary(3, 1, space=sx.BSpline(24), random_state=0, tol=1e-2).fit(X)
    for error, words, fitted, options in (
        (TypeError, "ShapeDictionary", sx.ComplexPCA(2).fit(X), {}),
        (NotFittedError, "not fitted", sx.ShapeDictionary(), {}),
        (ValueError, "max_shapes must be at least 1", model, {"max_shapes": 0}),
        (ValueError, "joined=False draws landmarks", curves, {"joined": False}),
        (ShapeInputError, "labels must have one entry", model, {"labels": ["a"]}),
    ):
        with pytest.raises(error, match=words):
            write_report(fitted, X, tmp_path / "page", **options)
    with pytest.raises(FileNotFoundError, match="no folder"):
        write_report(model, X, tmp_path / "missing" / "page.html")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def shapes():
    circle = np.exp(2j * np.pi * np.arange(12) / 12)
    return circle + 0.1 * np.random.default_rng(0).normal(size=(20, 2)) @ [circle**2, circle**3]


@pytest.fixture(scope="module")
def model(shapes):
    return sx.ShapeDictionary(3, 2, n_swaps=0, max_iter=2, tol=1.0, random_state=0).fit(shapes)


def test_the_page_is_a_document_of_its_own(model, shapes):
    page = model.explore(shapes, height=500, title='"Leaves" & <more>')
    frame = ET.fromstring(page._repr_html_())
    assert frame.tag == "iframe"
    assert frame.get("sandbox") == "allow-scripts allow-downloads"
    assert "height:500px" in frame.get("style")
    assert "&quot;Leaves&quot; &amp; &lt;more&gt;" in page.html
    assert "MB" in repr(page)
    with pytest.raises(ValueError, match="height must be at least 100, got 5"):
        model.explore(shapes, height=5)


@pytest.mark.browser
def test_the_page_runs_in_its_frame(model, shapes, browser):
    tab = browser.new_page()
    failures = []
    tab.on("pageerror", lambda error: failures.append(str(error)))
    tab.on("console", lambda message: failures.append(message.text) if message.type == "error" else None)
    tab.set_content(f"<body>{model.explore(shapes)._repr_html_()}</body>")
    frame = tab.frames[1]
    frame.wait_for_selector("svg", timeout=30_000)
    assert "20 shapes" in frame.inner_text("body")
    assert failures == []
    tab.close()


@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.sampled_from(["labels", "series", "one series", "errors"]),
    st.integers(0, 99),
)
def test_samples_have_the_asked_size_and_differ(n_kept, n_shapes, by, seed):
    rng = np.random.default_rng(seed)
    labels = [f"label {value}" for value in rng.integers(0, 9, n_shapes)] if by == "labels" else None
    sequence = {"series": rng.integers(0, 5, n_shapes), "one series": np.zeros(n_shapes, int)}.get(by)
    errors = rng.uniform(size=n_shapes)
    rows, _ = choose_shapes(n_kept, errors, labels, sequence)
    assert len(rows) == min(n_kept, n_shapes)
    assert (np.diff(rows) > 0).all()
    assert set(np.argsort(-errors)[: min(N_WORST, n_kept // 4)]) <= set(rows)
    if labels is not None and n_kept >= 40:
        assert {labels[row] for row in rows} == set(labels)


@pytest.fixture(scope="module")
def worms():
    shapes = sx.datasets.make_worms(40, 2, 12, random_state=0)
    return shapes, sx.ShapeDictionary(5, 2, random_state=0, tol=1e-2).fit(shapes)


def test_codes_follow_the_motion_and_lie_in_the_tracked_pose(worms, tmp_path):
    shapes, model = worms
    payload = payload_of(write_report(model, shapes, tmp_path / "page"))
    times = payload["times"]
    result = sx.sequences.encode_sequence(shapes, model)
    np.testing.assert_array_equal(array_of(times["support"]), result.codes.support)
    weights = array_of(times["weights"]) @ [1, 1j]
    dense = np.zeros((len(shapes), 5), dtype=complex)
    np.put_along_axis(dense, result.codes.support, weights, axis=1)
    np.testing.assert_allclose(dense, result.weights, atol=1e-6)
    np.testing.assert_allclose(array_of(times["error"]), result.errors, atol=1e-6)
    # The rotation brings each shape to its sum in the tracked pose.
    tracked = shapes.space.preshape(shapes.configurations) * np.exp(-1j * array_of(times["rotation"]))[:, None]
    np.testing.assert_allclose(np.linalg.norm(tracked - dense @ model.atoms_, axis=1), result.errors, atol=1e-5)
    shares = [float(share) for share in re.findall(r"([\d.]+)\u202f%", times["words"])]
    assert shares[0] == pytest.approx(100 * result.flicker, rel=5e-3)
    assert shares[2] >= shares[0]
    assert payload["shapes"]["rows"] == list(range(80))


def test_frame_rates_are_those_of_the_set_or_given(worms, tmp_path):
    def times_of(shapes, **told):
        return payload_of(write_report(model, shapes, tmp_path / "page", overwrite=True, **told))["times"]

    shapes, model = worms
    assert times_of(shapes)["rates"] == [None, None]
    assert times_of(shapes, fps=25.0)["rates"] == [25, 25]
    rates = np.where(shapes.sequence == 0, 30.0, np.nan)
    times = times_of(shapes.replace(metadata={**shapes.metadata, "fps": rates}))
    assert times["rates"] == [30, None]
    assert times["unit"] == "frame"
    times = times_of(np.asarray(shapes), sequence=shapes.sequence)
    assert (times["unit"], times["names"]) == ("number", ["0", "1"])
    np.testing.assert_array_equal(array_of(times["frame"]), np.tile(np.arange(40), 2))
    # Repeated frames are coded one by one.
    times = times_of(shapes, frames=np.zeros(80))
    assert times["words"].startswith("The shapes are coded one by one, each in the pose of the page:")
    codes = model.encode(shapes)
    np.testing.assert_array_equal(array_of(times["support"]), codes.support)
    np.testing.assert_allclose(np.abs(array_of(times["weights"]) @ [1, 1j]), np.abs(codes.coefs), atol=1e-6)


def test_columns_keep_their_values_and_repeated_ones_are_groups(landmarks, tmp_path):
    model, X = landmarks
    rows = np.arange(60)
    metadata = {
        "sex": np.array(["m", "f"] * 30),
        "file": np.array([f"{row}.png" for row in rows]),
        "replicate": rows % 4,
        "frame": rows % 50,
        "size": np.where(rows == 1, np.nan, 0.5),
        "constant": np.array(["same"] * 60),
        "is_left": rows % 2 == 0,
        "huge": 2**60 + rows,
        "exact": 3 * rows - 7,
    }
    shapes = sx.ShapeSet(X, model.space_, labels=["only", ""] * 30, metadata=metadata)
    payload = payload_of(sx.report.write_report(model, shapes, tmp_path / "page"))
    assert [one["column"] for one in payload["groups"]] == ["label", "sex", "replicate", "is_left"]
    packed = {column["name"]: column for column in payload["columns"]}
    numbers = {"replicate", "frame", "size", "exact"}
    assert {name for name, column in packed.items() if column["kind"] == "number"} == numbers
    assert packed["exact"]["integer"]
    assert not packed["size"]["integer"]
    for name, values in metadata.items():
        column = packed[name]
        if name in numbers:
            np.testing.assert_array_equal(array_of(column["values"]), values)
        else:
            assert [column["names"][number] for number in array_of(column["numbers"])] == list(map(str, values))


@pytest.mark.parametrize(
    ("options", "search"),
    [({"effort": 4}, "effort 4"), ({"n_swaps": 12}, "12 swaps of atoms"), ({}, "none"), ({"batch_size": 10}, "none")],
)
def test_the_search_is_told(tmp_path, options, search):
    model = sx.ShapeDictionary(n_atoms=6, n_nonzero=3, max_iter=0, random_state=0, **options).fit(make_shapes(8))
    page = sx.report.write_report(model, make_shapes(8), tmp_path / "page")
    assert ["Search", search] in payload_of(page)["settings"]
