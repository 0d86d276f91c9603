"""Hypothesis strategies: spaces, configurations, phases, similitudes."""

import numpy as np
from hypothesis import strategies as st

import shapelex as sx
from tests.conftest import ALL_SPACES, custom_space

seeds = st.integers(0, 2**32 - 1)
phases = st.floats(-np.pi, np.pi).map(lambda angle: np.exp(1j * angle))
kinds = st.sampled_from(["full", "partial", "geodesic"])
sizes = st.floats(-6, 6).map(lambda exponent: 10.0**exponent)
offsets = st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)).map(lambda xy: complex(*xy))


@st.composite
def spaces(draw: st.DrawFn) -> sx.spaces.Space:
    kind = draw(st.sampled_from(["listed", "landmarks", "bspline", "hermite", "custom"]))
    if kind == "listed":
        return draw(st.sampled_from(ALL_SPACES))
    closed = draw(st.booleans())
    if kind == "landmarks":
        return sx.Landmarks(draw(st.integers(3, 24)), closed=closed)
    if kind == "bspline":
        degree = draw(st.integers(1, 5))
        return sx.BSpline(draw(st.integers(max(3, degree + 1), 16)), degree=degree, closed=closed)
    if kind == "hermite":
        return sx.HermiteSpline(draw(st.integers(2, 10)), closed=closed)
    return custom_space(draw(st.integers(3, 8)), draw(st.integers(0, 1000)))


def random_configurations(space: sx.spaces.Space, n_shapes: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape = (n_shapes, space.n_coordinates)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@st.composite
def stacks(draw: st.DrawFn, n_shapes: int = 3) -> tuple[sx.spaces.Space, np.ndarray]:
    """Return a space and configurations in it."""
    space = draw(spaces())
    return space, random_configurations(space, n_shapes, draw(seeds))
