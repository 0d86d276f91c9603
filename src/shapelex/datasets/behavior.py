"""Recordings of bodies that pass through known states of behavior.

In come numbers and a seed; out goes a set of open midlines in time. Equal seeds give equal recordings.
"""

import numpy as np

from shapelex._typing import FloatArray, IntArray
from shapelex._validation import check_count, check_not_negative, check_positive
from shapelex.datasets.worms import worm_postures
from shapelex.exceptions import ParameterError
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks

_N_POSTURES = 6
_BLEND_FRAMES = 3
_LEAST_DWELL = 5


def make_behavior(
    n_frames: int = 500,
    n_series: int = 2,
    n_points: int = 20,
    *,
    n_states: int = 4,
    dwell: float = 40.0,
    swing: float = 0.25,
    noise: float = 0.01,
    fps: float = 30.0,
    random_state: int | np.random.Generator | None = None,
) -> ShapeSet:
    """Return midlines of bodies that change between known states of behavior.

    Every state has a posture of its own, around which the body swings in a direction and at a rate of the state. The
    body stays in a state for a random time, and then takes another one within three frames.

    Parameters
    ----------
    n_frames : int, default 500
        Frames of each series.
    n_series : int, default 2
        Number of series.
    n_points : int, default 20
        Points of a midline, at equal steps.
    n_states : int, default 4
        Number of states, from 1 to 12.
    dwell : float, default 40.0
        Mean number of frames in a state, at least 5; no stay is shorter than 5 frames, except at the ends of a series.
    swing : float, default 0.25
        Amplitude of the swing around the posture of a state, in radians.
    noise : float, default 0.01
        Standard deviation of what is added to every coordinate, in body lengths.
    fps : float, default 30.0
        Frames per second, for the column ``time``.
    random_state : int, Generator or None, default None
        Seed.

    Returns
    -------
    ShapeSet
        Open midlines of length 1, with ``sequence``, and columns ``frame``, ``time`` (seconds) and ``state``, the truth
        to be found.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> shapes = sx.datasets.make_behavior(200, 1, n_states=3, random_state=0)
    >>> shapes.shape, np.unique(shapes.metadata["state"]).tolist()
    ((200, 20), [0, 1, 2])
    """
    n_times, n_animals = check_count(n_frames, 1, "n_frames"), check_count(n_series, 1, "n_series")
    count = check_count(n_states, 1, "n_states")
    if count > 12:
        raise ParameterError(f"n_states must be at most 12, got {n_states}.")
    if check_positive(dwell, "dwell") < _LEAST_DWELL:
        raise ParameterError(f"dwell must be at least {_LEAST_DWELL} frames, got {dwell}.")
    amplitude, deviation = check_not_negative(swing, "swing"), check_not_negative(noise, "noise")
    rate = check_positive(fps, "fps")
    generator = np.random.default_rng(random_state)
    postures = worm_postures(n_points, _N_POSTURES)
    weights: FloatArray
    centers = _spread_directions(count, generator)
    directions = generator.normal(size=(count, _N_POSTURES))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    paces = generator.uniform(2 * np.pi / 30, 2 * np.pi / 12, size=count)
    midlines, told = [], []
    for _ in range(n_animals):
        states = _draw_states(n_times, count, dwell, generator)
        phases = np.cumsum(paces[states]) + generator.uniform(0, 2 * np.pi)
        weights = centers[states] + amplitude * np.sin(phases)[:, None] * directions[states]
        weights = _blend(weights)
        heading = generator.uniform(0, 2 * np.pi) + np.cumsum(generator.normal(size=n_times) * 0.03)
        steps = np.exp(1j * (weights @ postures + heading[:, None])) / postures.shape[1]
        body = np.concatenate([np.zeros((n_times, 1)), np.cumsum(steps, axis=1)], axis=1)
        midlines.append(body - body.mean(axis=1, keepdims=True))
        told.append(states)
    points = np.concatenate(midlines)
    points = points + deviation * (generator.normal(size=points.shape) + 1j * generator.normal(size=points.shape))
    frames = np.tile(np.arange(n_times), n_animals)
    sequence = np.repeat(np.arange(n_animals), n_times)
    return ShapeSet(
        points,
        Landmarks(points.shape[1]),
        ids=[f"animal{animal}-{frame}" for animal, frame in zip(sequence, frames, strict=True)],
        sequence=sequence,
        metadata={"frame": frames, "time": frames / rate, "state": np.concatenate(told)},
    )


def _spread_directions(n_states: int, generator: np.random.Generator) -> FloatArray:
    """Return weights of postures, one row per state, drawn such that the closest two are not close."""
    best, widest = np.zeros((n_states, _N_POSTURES)), -1.0
    for _ in range(50):
        drawn = generator.normal(size=(n_states, _N_POSTURES)) * np.array([1.0, 1.0, 1.0, 0.6, 0.4, 0.3])
        drawn *= 0.7 / np.linalg.norm(drawn, axis=1, keepdims=True)
        distances = np.linalg.norm(drawn[:, None] - drawn[None], axis=2) + 10 * np.eye(n_states)
        if distances.min() > widest:
            best, widest = drawn, float(distances.min())
    return best


def _draw_states(n_frames: int, n_states: int, dwell: float, generator: np.random.Generator) -> IntArray:
    states: list[int] = []
    state = int(generator.integers(n_states))
    while len(states) < n_frames:
        stay = _LEAST_DWELL + int(generator.exponential(dwell - _LEAST_DWELL + 1e-9))
        states += [state] * stay
        if n_states > 1:
            state = (state + 1 + int(generator.integers(n_states - 1))) % n_states
    return np.array(states[:n_frames], dtype=np.int64)


def _blend(weights: FloatArray) -> FloatArray:
    """Average over three frames, so that a change takes some time."""
    padded = np.pad(weights, ((_BLEND_FRAMES // 2, _BLEND_FRAMES // 2), (0, 0)), mode="edge")
    return np.asarray(sum(padded[shift : shift + len(weights)] for shift in range(_BLEND_FRAMES)) / _BLEND_FRAMES)
