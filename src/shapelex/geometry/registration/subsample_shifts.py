"""Shifts of closed landmarks by fractions of a point.

In come closed outlines and a target; out go the fractions that bring each closest to it. Points between landmarks come
from the trigonometric polynomial through them: shifting it multiplies Fourier coefficients by phases, so norms and
centers stay, and a shift back gives the landmarks back.
"""

import numpy as np
from scipy import fft

from shapelex._typing import ComplexArray, FloatArray

# The product |C(δ)|² is smooth on the scale of a point: a grid of eighths finds its peak, and Newton's method its top.
_GRID_STEPS = 8
_NEWTON_STEPS = 8
# Products on the grid that are held at a time.
_BLOCK_PRODUCTS = 1 << 20

# Fractions below this are rounding.
_NO_FRACTION = 1e-10


def shift_landmarks(Z: ComplexArray, shifts: FloatArray) -> ComplexArray:
    """Return closed landmarks started at point `shifts`, which may lie between two of them."""
    phases = np.exp(np.multiply.outer(shifts, _angular_steps(Z.shape[1])))
    moved: ComplexArray = fft.ifft(fft.fft(Z) * phases.astype(Z.dtype))
    return moved


def closest_fractions(Z: ComplexArray, targets: ComplexArray) -> FloatArray:
    """Return the shifts, in points, that maximize ``|m* shift_landmarks(z)|``.

    All of the outline is looked at: midway between two points a product may be less than at a whole shift elsewhere,
    and yet have the highest peak beside it.
    Shifts are at most half of the points either way, and 0 where no other is better.
    """
    n_points = Z.shape[1]
    steps = _angular_steps(n_points)
    terms = fft.fft(Z.astype(np.complex128)) * fft.fft(targets.astype(np.complex128)).conj() / n_points
    grid_shifts, on_grid = _best_on_grid(terms)
    fractions = grid_shifts
    for _ in range(_NEWTON_STEPS):
        turned = terms * np.exp(fractions[:, None] * steps)
        value, slope, bend = turned.sum(axis=1), turned @ steps, turned @ steps**2
        first = (value.conj() * slope).real
        second = np.abs(slope) ** 2 + (value.conj() * bend).real
        curved = second < 0
        step = np.where(curved, -first / np.where(curved, second, -1.0), 0.0)
        fractions = fractions + np.clip(step, -0.0625, 0.0625)
    reached = np.abs((terms * np.exp(fractions[:, None] * steps)).sum(axis=1)) ** 2
    fractions = np.where(reached >= on_grid, fractions, grid_shifts)
    return np.where(np.abs(fractions) < _NO_FRACTION, 0.0, fractions)


def _best_on_grid(terms: ComplexArray) -> tuple[FloatArray, FloatArray]:
    """Return the best shifts by eighths of a point, and their squared products."""
    n_shapes, n_points = terms.shape
    n_grid = _GRID_STEPS * n_points
    grid = fft.fftfreq(n_grid, 1 / n_points)
    # Sorted by modulus, so that no shift wins where it is as good as any.
    order = np.argsort(np.abs(grid), kind="stable")
    places = np.round(fft.fftfreq(n_points, 1 / n_points)).astype(int) % n_grid
    shifts, squares = np.empty(n_shapes), np.empty(n_shapes)
    step = max(1, _BLOCK_PRODUCTS // n_grid)
    for start in range(0, n_shapes, step):
        part = slice(start, start + step)
        padded = np.zeros((len(terms[part]), n_grid), dtype=terms.dtype)
        padded[:, places] = terms[part]
        found = (np.abs(fft.ifft(padded)[:, order]) * n_grid) ** 2
        squares[part] = found.max(axis=1)
        close = found >= squares[part, None] - 64 * np.finfo(np.float64).eps
        shifts[part] = grid[order[np.argmax(close, axis=1)]]
    return shifts, squares


def _angular_steps(n_points: int) -> ComplexArray:
    """Return ``2 pi i f / N`` for the signed frequencies ``f``."""
    steps: ComplexArray = 2j * np.pi * fft.fftfreq(n_points)
    return steps
