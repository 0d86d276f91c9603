"""Shifts of closed landmarks by fractions of a point.

In come closed outlines and a target; out go the fractions that bring each closest to it. Points between landmarks come
from the trigonometric polynomial through them: shifting it multiplies Fourier coefficients by phases, so norms and
centers stay, and a shift back gives the landmarks back.
"""

import numpy as np
from scipy import fft

from shapelex._typing import ComplexArray, FloatArray

# The product |C(δ)|² is smooth on the scale of a point: this grid finds its peak, and Newton's method its top.
_GRID = np.array(sorted(np.linspace(-1.0, 1.0, 17), key=abs))
_NEWTON_STEPS = 8

# Fractions below this are rounding.
_NO_FRACTION = 1e-10


def shift_landmarks(Z: ComplexArray, shifts: FloatArray) -> ComplexArray:
    """Return closed landmarks started at point `shifts`, which may lie between two of them."""
    phases = np.exp(np.multiply.outer(shifts, _angular_steps(Z.shape[1])))
    moved: ComplexArray = fft.ifft(fft.fft(Z) * phases.astype(Z.dtype))
    return moved


def closest_fractions(Z: ComplexArray, targets: ComplexArray) -> FloatArray:
    """Return shifts between −1 and 1, in points, that maximize ``|m* shift_landmarks(z)|``.

    Parameters
    ----------
    Z : ndarray of complex, shape (n_shapes, n_points)
        Pre-shapes, started at the best of their points.
    targets : ndarray of complex, shape (1 or n_shapes, n_points)
        One pre-shape for all, or one a shape.

    Returns
    -------
    ndarray of float, shape (n_shapes,)
        The shifts; 0 where no fraction is better.
    """
    n_points = Z.shape[1]
    steps = _angular_steps(n_points)
    terms = fft.fft(Z.astype(np.complex128)) * fft.fft(targets.astype(np.complex128)).conj() / n_points
    on_grid = np.abs(terms @ np.exp(np.multiply.outer(steps, _GRID))) ** 2
    # The grid is sorted by modulus, so no shift wins where it is as good as any.
    best = np.argmax(on_grid >= on_grid.max(axis=1, keepdims=True) - 64 * np.finfo(np.float64).eps, axis=1)
    fractions = _GRID[best]
    for _ in range(_NEWTON_STEPS):
        turned = terms * np.exp(fractions[:, None] * steps)
        value, slope, bend = turned.sum(axis=1), turned @ steps, turned @ steps**2
        first = (value.conj() * slope).real
        second = np.abs(slope) ** 2 + (value.conj() * bend).real
        curved = second < 0
        step = np.where(curved, -first / np.where(curved, second, -1.0), 0.0)
        fractions = fractions + np.clip(step, -0.0625, 0.0625)
    fractions = np.clip(fractions, -1.0, 1.0)
    reached = np.abs((terms * np.exp(fractions[:, None] * steps)).sum(axis=1)) ** 2
    fractions = np.where(reached >= on_grid[np.arange(len(Z)), best], fractions, _GRID[best])
    return np.where(np.abs(fractions) < _NO_FRACTION, 0.0, fractions)


def _angular_steps(n_points: int) -> ComplexArray:
    """Return ``2 pi i f / N`` for the signed frequencies ``f``."""
    steps: ComplexArray = 2j * np.pi * fft.fftfreq(n_points)
    return steps
