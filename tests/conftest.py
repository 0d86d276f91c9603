"""Fixtures shared by all tests."""

import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.learning import one_pass

# No test reaches the network: nothing listens at this address.
os.environ["SHAPELEX_DATA_URL"] = "http://127.0.0.1:1"

FOURIER = [
    lambda t: np.ones_like(t),
    lambda t: np.cos(2 * np.pi * t),
    lambda t: np.sin(2 * np.pi * t),
    lambda t: np.exp(4j * np.pi * t),
    lambda t: np.exp(-4j * np.pi * t),
]

CURVE_SPACES = [
    sx.BSpline(7),
    sx.BSpline(3),
    sx.BSpline(6, degree=1),
    sx.BSpline(6, degree=2),
    sx.BSpline(5, degree=4),
    sx.BSpline(7, closed=False),
    sx.BSpline(4, closed=False),
    sx.BSpline(9, degree=5, closed=False),
    sx.BSpline(5, degree=1, closed=False),
    sx.HermiteSpline(6),
    sx.HermiteSpline(2),
    sx.HermiteSpline(5, closed=True),
    sx.HermiteSpline(2, closed=True),
    sx.BasisSpace(FOURIER),
]


def custom_space(n_coordinates: int = 5, seed: int = 0) -> sx.CustomSpace:
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n_coordinates, n_coordinates)) + 1j * rng.normal(size=(n_coordinates, n_coordinates))
    gram = half.conj().T @ half + np.eye(n_coordinates)
    return sx.CustomSpace(gram, rng.normal(size=n_coordinates) + 1j * rng.normal(size=n_coordinates))


ALL_SPACES = [sx.Landmarks(6), sx.Landmarks(20, closed=True), *CURVE_SPACES, custom_space()]
# The Gram matrix is the identity, real or complex: all that most code sees of a space.
in_each_product = pytest.mark.parametrize("space", [sx.Landmarks(6), sx.BSpline(7), custom_space()], ids=repr)


@pytest.fixture(params=ALL_SPACES, ids=repr)
def space(request: pytest.FixtureRequest) -> sx.spaces.Space:
    return request.param


@pytest.fixture(params=ALL_SPACES[:-1], ids=repr)
def drawn_space(request: pytest.FixtureRequest) -> sx.spaces.Space:
    """Return a space whose configurations can be sampled: any but the custom one."""
    return request.param


@pytest.fixture(params=CURVE_SPACES, ids=repr)
def curve_space(request: pytest.FixtureRequest) -> sx.spaces.Space:
    return request.param


@pytest.fixture(scope="session", autouse=True)
def _small_sets_stay_on_devices() -> None:
    """Let devices make the passes over the sets of the tests, which the CPU makes otherwise: they are all small."""
    one_pass.LEAST_PASS_NS = 0.0


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def find_chromium() -> str | None:
    """Return the path of a browser that the pages are tested in."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def pytest_itemcollected(item: pytest.Item) -> None:
    # Fits of tests are short; what the documentation shows must converge.
    if item.path.name != "test_readme.py":
        item.add_marker(pytest.mark.filterwarnings("ignore:The (dictionary|objective) still "))


# Each reason to skip stands in one place, so that the summary has one line for it.
def pytest_runtest_setup(item: pytest.Item) -> None:
    if "SHAPELEX_DATA" not in os.environ and item.get_closest_marker("realdata"):
        pytest.skip("SHAPELEX_DATA, the folder of the shape data, is not set")
    if item.get_closest_marker("browser") and (find_spec("playwright") is None or find_chromium() is None):
        # Where all checks must run, a missing browser is a failure.
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no Chromium: apt-get install chromium")
    if "CI" not in os.environ and item.get_closest_marker("thorough"):
        pytest.skip("CI is not set: kills processes, builds pages of many shapes, or fits for seconds")
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if parameters.get("device", "cpu") != "cpu" and find_spec("torch") is None:
        pytest.skip("torch is not installed")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of the shape data; tests that need it are marked with ``realdata``."""
    return Path(os.environ["SHAPELEX_DATA"])


@pytest.fixture(scope="session")
def load_real(data_folder) -> Callable[[str], np.ndarray]:
    """Return a function that loads a set of the shape data as configurations."""

    def load(name: str) -> np.ndarray:
        with np.load(data_folder / f"{name}.npz", allow_pickle=False) as file:
            return sx.from_points(file["points"])

    return load
