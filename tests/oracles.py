"""Slow, obvious versions of what the package computes."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar

import shapelex as sx


def hermite_position(x: float) -> float:
    return (1 + 2 * abs(x)) * (abs(x) - 1) ** 2 if abs(x) <= 1 else 0.0


def hermite_tangent(x: float) -> float:
    return x * (abs(x) - 1) ** 2 if abs(x) <= 1 else 0.0


def centered_bspline(x: float, degree: int) -> float:
    """Return the divided difference of truncated powers."""
    half = (degree + 1) / 2
    terms = (
        (-1) ** j * math.comb(degree + 1, j) * max(x + half - j, 0.0) ** degree
        for j in range(degree + 2)
        if x + half - j > 0
    )
    return sum(terms) / math.factorial(degree) if abs(x) < half else 0.0


def cox_de_boor(t: float, knots: np.ndarray, n: int, degree: int) -> float:
    if degree == 0:
        last = knots[n + 1] == knots[-1] and knots[n] < knots[n + 1]
        return float(knots[n] <= t < knots[n + 1] or (last and t == knots[-1]))
    left, right = knots[n + degree] - knots[n], knots[n + degree + 1] - knots[n + 1]
    value = 0.0
    if left:
        value += (t - knots[n]) / left * cox_de_boor(t, knots, n, degree - 1)
    if right:
        value += (knots[n + degree + 1] - t) / right * cox_de_boor(t, knots, n + 1, degree - 1)
    return value


def basis_functions(space: sx.spaces.Space) -> tuple[list[Callable[[float], complex]], np.ndarray]:
    """Return the basis of a curve space straight from its definition, and its breakpoints."""
    if isinstance(space, sx.BSpline):
        M, d = space.n_points, space.degree
        if space.closed:
            wraps = range(-d - 1, d + 2)
            functions = [lambda t, n=n: sum(centered_bspline(M * t - n - k * M, d) for k in wraps) for n in range(M)]
            inner = (np.arange(M + 1) + (0 if d % 2 else 0.5)) / M
            return functions, np.unique(np.clip(np.concatenate([[0.0], inner, [1.0]]), 0, 1))
        knots = np.concatenate([np.zeros(d), np.linspace(0, 1, M - d + 1), np.ones(d)])
        return [lambda t, n=n: cox_de_boor(t, knots, n, d) for n in range(M)], np.unique(knots)
    if isinstance(space, sx.HermiteSpline):
        M, m = space.n_points, space.n_intervals
        wraps = (-1, 0, 1) if space.closed else (0,)
        functions = [
            lambda t, k=k, f=f: sum(f(m * t - k - w * m) for w in wraps)
            for f in (hermite_position, hermite_tangent)
            for k in range(M)
        ]
        return functions, np.linspace(0, 1, m + 1)
    assert isinstance(space, sx.BasisSpace)
    return [lambda t, f=f: complex(f(np.array([t]))[0]) for f in space.functions], space.breakpoints


def gram_by_quadrature(space: sx.spaces.Space) -> np.ndarray:
    functions, breakpoints = basis_functions(space)

    def integral(f: Callable[[float], complex], g: Callable[[float], complex]) -> complex:
        def piece(part: Callable[[complex], float], a: float, b: float) -> float:
            return quad(lambda t: part(np.conj(f(t)) * g(t)), a, b, epsabs=2e-14, epsrel=1e-12)[0]

        spans = list(pairwise(breakpoints))
        return complex(sum(piece(np.real, *s) for s in spans), sum(piece(np.imag, *s) for s in spans))

    return np.array([[integral(f, g) for g in functions] for f in functions])


def preshape(z: np.ndarray, space: sx.spaces.Space) -> np.ndarray:
    gram, u = space.gram, space.shift
    centered = z - (u.conj() @ gram @ z) / (u.conj() @ gram @ u) * u
    return centered / np.sqrt((centered.conj() @ gram @ centered).real)


def distance(z: np.ndarray, w: np.ndarray, kind: str, space: sx.spaces.Space) -> float:
    """Minimize over rotations (partial) or rotations and scales (full) numerically."""
    z, w = preshape(z, space), preshape(w, space)

    def gap(a: complex) -> float:
        rest = a * z - w
        return math.sqrt(max((rest.conj() @ space.gram @ rest).real, 0.0))

    def best_scale(angle: float) -> float:
        if kind != "full":
            return gap(np.exp(1j * angle))
        return minimize_scalar(
            lambda r: gap(r * np.exp(1j * angle)), bounds=(0, 1), method="bounded", options={"xatol": 1e-12}
        ).fun

    grid = np.linspace(-np.pi, np.pi, 25)
    start = grid[np.argmin([best_scale(angle) for angle in grid])]
    width = grid[1] - grid[0]
    result = minimize_scalar(best_scale, bounds=(start - width, start + width), method="bounded")
    return 2 * math.asin(min(result.fun / 2, 1.0)) if kind == "geodesic" else result.fun


def mean_objective(mean: np.ndarray, Z: np.ndarray, weights: np.ndarray, kind: str, space: sx.spaces.Space) -> float:
    rows = np.array([preshape(z, space) for z in Z]).conj() @ space.gram
    return _weighted_squares(preshape(mean, space), rows, weights, kind)


def _weighted_squares(mean: np.ndarray, rows: np.ndarray, weights: np.ndarray, kind: str) -> float:
    products = np.abs(rows @ mean).clip(max=1)
    squares = {"full": 1 - products**2, "partial": 2 - 2 * products, "geodesic": np.arccos(products) ** 2}[kind]
    return float(weights @ squares / weights.sum())


def best_mean_objective(Z: np.ndarray, weights: np.ndarray, kind: str, space: sx.spaces.Space) -> float:
    """Minimize from every shape of the set."""
    preshapes = np.array([preshape(z, space) for z in Z])
    rows, n = preshapes.conj() @ space.gram, Z.shape[1]

    def objective(parts: np.ndarray) -> float:
        return _weighted_squares(preshape(parts[:n] + 1j * parts[n:], space), rows, weights, kind)

    starts = [np.concatenate([z.real, z.imag]) for z in preshapes]
    return min(minimize(objective, start, method="BFGS", options={"gtol": 1e-9}).fun for start in starts)


def transport_in_small_steps(
    z: np.ndarray, w: np.ndarray, v: np.ndarray, space: sx.spaces.Space, n_steps: int = 2000
) -> np.ndarray:
    """Project the vector onto the horizontal space again and again along the horizontal geodesic from z."""
    gram = space.gram
    z, w = preshape(z, space), preshape(w, space)
    product = z.conj() @ gram @ w
    end = w * np.conj(product) / abs(product)
    rho = math.acos(min(abs(product), 1.0))
    length = math.sqrt((v.conj() @ gram @ v).real)
    for t in np.linspace(0, 1, n_steps + 1)[1:]:
        point = (math.sin((1 - t) * rho) * z + math.sin(t * rho) * end) / math.sin(rho)
        v = v - (point.conj() @ gram @ v) * point
        v = v * length / math.sqrt((v.conj() @ gram @ v).real)
    return v * product / abs(product)
