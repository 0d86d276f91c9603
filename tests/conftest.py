"""Fixtures shared by all tests."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import shapelex as sx

settings.register_profile("shapelex", max_examples=50, deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("shapelex")

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


@pytest.fixture(params=ALL_SPACES, ids=repr)
def space(request: pytest.FixtureRequest) -> sx.spaces.Space:
    return request.param


@pytest.fixture(params=CURVE_SPACES, ids=repr)
def curve_space(request: pytest.FixtureRequest) -> sx.spaces.Space:
    return request.param


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture(scope="session")
def load_real() -> Callable[[str], np.ndarray]:
    """Load a set of the shared data as configurations, or skip."""
    folder = os.environ.get("SHAPELEX_DATA")

    def load(name: str) -> np.ndarray:
        if not folder:
            pytest.skip("SHAPELEX_DATA is not set")
        with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as file:
            return sx.from_points(file["points"])

    return load


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of the shared data, or skip."""
    folder = os.environ.get("SHAPELEX_DATA")
    if not folder:
        pytest.skip("SHAPELEX_DATA is not set")
    return Path(folder)
