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


def scattered_shapes(
    space: sx.spaces.Space, seed: int, farthest: float = 1.0, exponents: tuple[float, float] = (0, 0)
) -> tuple[np.ndarray, np.ndarray]:
    """Return 60 configurations, and 5 whitened atoms of norm 1.

    Each shape is a sum of two atoms, one of them clearly larger, and of some noise, so that rounding does not decide
    which atoms a coder takes. Each has a size of its own, between powers of ten of the two exponents, and lies up to
    `farthest` times its size from the origin.
    """
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    def turn(n_rows: int) -> np.ndarray:
        return np.exp(1j * rng.uniform(0, 7, size=(n_rows, 1)))

    # At about right angles to each other.
    orthonormal = np.linalg.qr(space.whiten(normal(5, space.n_coordinates)).T)[0].T
    atoms = space.whitened_preshapes(space.unwhiten(orthonormal + 0.05 * space.whiten(normal(*orthonormal.shape))))
    codes = np.zeros((60, 5), dtype=complex)
    for code in codes:
        code[rng.permutation(5)[:2]] = normal(2) / 10 + [1, 0.5]
    noise = space.whitened_preshapes(normal(60, space.n_coordinates)) * rng.uniform(0, 0.2, size=(60, 1))
    preshapes = space.preshape(space.unwhiten(codes @ atoms + noise)) * turn(60)
    offsets = farthest ** rng.uniform(size=(60, 1)) * turn(60)
    shares = rng.uniform(size=(60, 1))
    sizes = 10 ** (shares * exponents[0] + (1 - shares) * exponents[1])
    return sizes * (preshapes + offsets * space.shift / space.norm(space.shift + 0j)), atoms
