"""Small dictionaries to report on, made-up shapes under the names of the paper's datasets, pages, and a browser."""

import base64
import hashlib
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.datasets.public import REGISTRY
from shapelex.spaces import to_columns
from tests.conftest import find_chromium

HOSTILE_ID = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
HOSTILE_LABEL = '"><svg onload=alert(1)>&amp;<!-- \u2028 {{script}} =HYPERLINK("x")'
HOSTILE_TITLE = "<script>window.hacked = 3</script> {{data}} & title"


def payload_of(path: Path) -> dict:
    """Return what the page holds, as it was before it was written."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="shapelex-data">(.*?)</script>', text)[1])


def array_of(packed: dict) -> np.ndarray:
    """Return an array that the page holds as text."""
    return np.frombuffer(base64.b64decode(packed["base64"]), dtype=packed["dtype"]).reshape(packed["shape"])


@dataclass
class Reported:
    """A page, and what it was made of."""

    path: Path
    model: sx.ShapeDictionary
    X: np.ndarray
    shapes: sx.ShapeSet | None = None

    @property
    def url(self) -> str:
        return self.path.as_uri()


class Visit:
    """An open page: what it complained about, what it asked for, and the numbers it shows."""

    def __init__(self, browser, reported: Reported, **options) -> None:
        self.reported = reported
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(reported.url)
        self.page.wait_for_function("window.shapelex !== undefined")

    def state(self) -> dict:
        state = self.page.evaluate("window.shapelex.state()")
        for holder, name in ((state, "sum"), (state["morph"], "configuration")):
            numbers = np.array(holder[name])
            holder[name] = numbers[::2] + 1j * numbers[1::2]
        state["weights"] = {
            term["atom"]: complex(term["re"], term["im"]) for term in state["terms"] if term["on"]
        }  # fmt: skip
        return state

    def drawn(self, selector: str) -> np.ndarray:
        """Points of a path as it is drawn, in units of shape space; y points up."""
        text = self.page.locator(selector).get_attribute("d")
        numbers = np.array(text.replace("M", " ").replace("L", " ").split(), dtype=float) / 1000
        return numbers[::2] - 1j * numbers[1::2]

    def save(self, locator, folder: Path) -> Path:
        """Click a link of a download, and return the file."""
        with self.page.expect_download() as download:
            locator.click()
        target = folder / download.value.suggested_filename
        download.value.save_as(target)
        return target

    def close(self) -> None:
        self.context.close()


def outlines(rng: np.random.Generator, n_shapes: int, n_points: int) -> np.ndarray:
    """Wobbly closed outlines in random poses, complex."""
    circle = np.exp(2j * np.pi * np.arange(n_points) / n_points)
    a, b, c = 0.3 * rng.normal(size=(3, n_shapes, 1))
    pose = np.exp(2j * np.pi * rng.uniform(size=(n_shapes, 1)))
    return pose * (1.6 * circle + circle**-1 + a * circle**-2 + b * circle**2 + 0.4 * c * circle**-3) + 3


def fit(X: np.ndarray, space: sx.spaces.Space, n_atoms: int = 7, n_nonzero: int = 3) -> sx.ShapeDictionary:
    return sx.ShapeDictionary(n_atoms, n_nonzero, space=space, random_state=0, tol=1e-2).fit(X)


@pytest.fixture(scope="session")
def landmarks() -> tuple[sx.ShapeDictionary, np.ndarray]:
    X = outlines(np.random.default_rng(1), 60, 24)
    return fit(X, sx.Landmarks(24, closed=True)), X


@pytest.fixture(scope="session")
def landmark_page(landmarks, tmp_path_factory) -> Reported:
    """Landmarks, with names and labels that try to be markup."""
    model, X = landmarks
    ids = [f"shape {row}" for row in range(len(X))]
    ids[7] = HOSTILE_ID
    labels = ["plain", HOSTILE_LABEL, ""] * 20
    path = sx.report.write_report(
        model,
        X,
        tmp_path_factory.mktemp("page") / "hostile <b>.html",
        ids=ids,
        labels=labels,
        title=HOSTILE_TITLE,
        provenance={
            "command": "shapelex report <img src=x onerror=alert(1)>",
            "earlier": "shapelex import\nshapelex learn",
        },
    )
    return Reported(path, model, X)


@pytest.fixture(scope="session")
def column_page(landmarks, tmp_path_factory) -> Reported:
    """A set with columns of all kinds, of which some names and texts are hostile."""
    model, X = landmarks
    rng = np.random.default_rng(4)
    n_shapes = len(X)
    size = rng.lognormal(size=n_shapes)
    size[5] = np.nan
    sizes = {"size": size, "large": size * 1e20, "small": size * 1e-9, "whole": np.arange(n_shapes, dtype=float)}
    shapes = sx.ShapeSet(
        X,
        model.space_,
        ids=[f"leaf, {row}" for row in range(n_shapes - 1)] + [HOSTILE_ID],
        labels=["oak", "a lime whose name is much too long for a column of a table", ""] * (n_shapes // 3),
        sequence=np.arange(n_shapes) // 20 - 1,
        metadata={
            **sizes,
            "replicate": np.arange(n_shapes) % 4 + 1,
            "huge": np.arange(n_shapes) + 2**60,
            "is_left": np.arange(n_shapes) % 2 == 0,
            "file": [f"folder/{HOSTILE_LABEL} {row}.png" for row in range(n_shapes)],
            "error": np.arange(n_shapes),
            "<b>=1+1</b>": ["+1", "-x", '"quoted"\n'] * (n_shapes // 3),
        },
    )
    path = sx.report.write_report(model, shapes, tmp_path_factory.mktemp("page") / "columns.html")
    return Reported(path, model, X, shapes)


@pytest.fixture(scope="session")
def bspline_page(tmp_path_factory) -> Reported:
    space = sx.BSpline(14)
    X = space.fit(outlines(np.random.default_rng(2), 50, 120))
    model = fit(X, space)
    return Reported(sx.report.write_report(model, X, tmp_path_factory.mktemp("page") / "splines"), model, X)


@pytest.fixture(scope="session")
def series_page(tmp_path_factory) -> Reported:
    """Open Hermite curves in two series, with missing frames."""
    rng = np.random.default_rng(3)
    phase = 0.25 * np.arange(80)[:, None]
    along = np.linspace(-1, 1, 60)
    space = sx.HermiteSpline(5)
    X = space.fit(along + 0.3j * np.sin(4 * along + phase) + 0.1j * rng.normal(size=(80, 1)) * along**2)
    model = fit(X, space, n_nonzero=2)
    frames = np.concatenate([np.arange(30), np.arange(20) + 45, np.arange(30)])
    path = tmp_path_factory.mktemp("page") / "series.html"
    sequence = ["first"] * 50 + ["second"] * 28 + [None, None]
    return Reported(sx.report.write_report(model, X, path, sequence=sequence, frames=frames, fps=10), model, X)


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open a page; it must have nothing to complain about, and may ask for nothing but itself."""
    visits: list[Visit] = []

    def open_page(reported: Reported, **options) -> Visit:
        visits.append(Visit(browser, reported, **options))
        return visits[-1]

    yield open_page
    for one in visits:
        one.close()
    for one in visits:
        assert one.complaints == []
        assert [url for url in one.requests if not url.startswith(("blob:", "data:"))] == [one.reported.url]


def make_shapes(n_points: int, n_shapes: int = 30, seed: int = 0) -> np.ndarray:
    """Make closed outlines in random poses, smooth but for some noise: no few atoms rebuild them perfectly."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_points) / n_points
    waves = np.exp(1j * np.outer([1, -1, 2, -2, 3], angle))
    weights = np.array([1.5, 0.7, 0.4, 0.3, 0.2]) * rng.normal(size=(n_shapes, 5)) + [2, 0, 0, 0, 0]
    shapes = np.exp(2j * np.pi * rng.uniform(size=(n_shapes, 1))) * (weights @ waves)
    return shapes + 0.05 * (rng.normal(size=shapes.shape) + 1j * rng.normal(size=shapes.shape))


def make_table(n_points: int, n_shapes: int = 30) -> bytes:
    """Make such outlines as a file of the paper's repository: all x, then all y, no header."""
    rows = to_columns(make_shapes(n_points, n_shapes), layout="blocks").tolist()
    return "".join(",".join(map(repr, row)) + "\n" for row in rows).encode()


def write_shapes(
    folder: Path, name: str, n_points: int, n_shapes: int = 30, *, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Write such outlines as the file ``<name>.npz`` that the registry knows."""
    shapes = make_shapes(n_points, n_shapes)
    path = folder / f"{name}.npz"
    np.savez(path, points=np.stack([shapes.real, shapes.imag], axis=-1))
    content = path.read_bytes()
    entry = replace(REGISTRY[name], n_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(REGISTRY, name, entry)
    return path
