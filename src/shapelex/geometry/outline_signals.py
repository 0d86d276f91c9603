"""Signals along curves that do not depend on position, size and rotation.

Input: points along curves, complex ``(n_shapes, n_samples)``. Output: real ``(n_shapes, n_signals, n_samples)``:
the distance to the centroid, and the turning angle at several scales.
"""

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.spaces import Space

TURNING_STEPS = (1, 3, 6)
"""Distances, in samples, of the points between which turning angles are measured."""
SIGNAL_NAMES = ("distance", *(f"turning{step}" for step in TURNING_STEPS))

_MIN_CLOSED_SAMPLES = 64
_MIN_OPEN_SAMPLES = 96
_MAX_SAMPLES = 256


def count_samples(space: Space) -> int:
    """Return the number of equispaced curve parameters to evaluate signals at.

    The least multiple of the number of points that is large enough: moving the start point of a closed curve by whole
    points then moves the samples, too. Curves with more than 256 points are sampled at 256 parameters.
    """
    n_points = space.n_coordinates // (space.coordinates_per_point or 1)
    if space.closed:
        n_samples = n_points * -(-_MIN_CLOSED_SAMPLES // n_points)
    else:
        n_steps = max(n_points - 1, 1)
        n_samples = n_steps * -(-(_MIN_OPEN_SAMPLES - 1) // n_steps) + 1
    return min(n_samples, _MAX_SAMPLES)


def signal_margins(closed: bool) -> tuple[int, ...]:
    """Return how many samples at each end of a signal are undefined: none of a closed curve."""
    return (0,) * len(SIGNAL_NAMES) if closed else (0, *TURNING_STEPS)


def outline_signals(points: ComplexArray, closed: bool) -> FloatArray:
    """Return the distance to the centroid, and turning angles per step; closed curves are run counter-clockwise.

    The distance is relative to the root mean square distance. The turning angle at scale ``s`` is the angle from
    ``p[i] − p[i−s]`` to ``p[i+s] − p[i]``, divided by ``s``. At the ends of an open curve it is undefined and set to 0.
    """
    points = points - points.mean(axis=1, keepdims=True)
    if closed:
        areas = np.sum((points.conj() * np.roll(points, -1, axis=1)).imag, axis=1)
        points = np.where(areas[:, None] < 0, points[:, ::-1], points)
    distances = np.abs(points)
    sizes = np.sqrt(np.mean(distances**2, axis=1, keepdims=True))
    signals = np.zeros((len(points), len(SIGNAL_NAMES), points.shape[1]), dtype=np.float32)
    signals[:, 0] = distances / sizes
    for number, step in enumerate(TURNING_STEPS, 1):
        if closed:
            ahead, behind = np.roll(points, -step, axis=1) - points, points - np.roll(points, step, axis=1)
            signals[:, number] = np.angle(ahead * behind.conj()) / step
        else:
            chords = points[:, step:] - points[:, :-step]
            signals[:, number, step:-step] = np.angle(chords[:, step:] * chords[:, :-step].conj()) / step
    return signals


def signal_copies(signals: FloatArray, closed: bool, mirror: bool) -> list[FloatArray]:
    """Return the signals of the same curves in all directions and reflections that must give the same features.

    An open curve has no preferred direction: it is also run backwards, which reverses its signals and the sign of its
    turning angles. With `mirror`, mirrored curves are added: their turning angles have the other sign, and closed ones
    are run counter-clockwise again.
    """
    flipped = signals.copy()
    flipped[:, 1:] *= -1
    if closed:
        copies = [signals, signals[:, :, ::-1]] if mirror else [signals]
    else:
        copies = [signals, flipped[:, :, ::-1]]
        if mirror:
            copies += [flipped, signals[:, :, ::-1]]
    return [np.ascontiguousarray(copy) for copy in copies]
