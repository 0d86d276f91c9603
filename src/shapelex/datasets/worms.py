"""Midlines of worms made in code, whose postures are known.

In come numbers and a seed; out goes a set of open midlines in time. Equal seeds give equal worms.
"""

import numpy as np

from shapelex._typing import FloatArray
from shapelex._validation import check_count, check_not_negative
from shapelex.exceptions import ParameterError
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks

_FRAMES_PER_WAVE = 24.0
_MOST_POSTURES = 8


def worm_postures(n_points: int = 20, n_postures: int = 4) -> FloatArray:
    """Return the postures that :func:`~shapelex.datasets.make_worms` adds up: angles of a body's segments, orthonormal.

    The first two are a sine and a cosine wave, which together make the wave travel; the third bends the whole body, as
    in a turn; the others are waves of higher frequency. They resemble the first eigenworms of *C. elegans*.

    Parameters
    ----------
    n_points : int, default 20
        Points of a midline, which has one segment less.
    n_postures : int, default 4
        How many, from 1 to 8.

    Returns
    -------
    ndarray of float, shape (n_postures, n_points - 1)
        Rows of mean 0 and mean square 1, orthogonal to each other.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> postures = sx.datasets.worm_postures(20)
    >>> bool(np.allclose(postures @ postures.T / 19, np.eye(4)))
    True
    """
    n_segments = check_count(n_points, 12, "n_points") - 1
    n_rows = check_count(n_postures, 1, "n_postures")
    if n_rows > _MOST_POSTURES:
        raise ParameterError(f"n_postures must be at most {_MOST_POSTURES}, got {n_postures}.")
    s = (np.arange(n_segments) + 0.5) / n_segments
    waves = [
        np.sin(2.6 * np.pi * (s - 0.5)),
        np.cos(2.6 * np.pi * (s - 0.5)),
        s - 0.5,
        *(np.cos(order * np.pi * s) for order in (4, 5, 6, 7, 8)),
    ]
    rows: list[FloatArray] = []
    for wave in waves[:n_rows]:
        # Gram-Schmidt, whose signs do not depend on the linear algebra at hand.
        rest = wave - wave.mean()
        for row in rows:
            rest = rest - row * np.mean(row * rest)
        rows.append(rest / np.sqrt(np.mean(rest**2)))
    return np.array(rows)


def make_worms(
    n_frames: int = 200,
    n_worms: int = 1,
    n_points: int = 20,
    *,
    n_postures: int = 4,
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> ShapeSet:
    """Return midlines of worms that crawl: a few postures whose weights change in time.

    The angle of segment `s` at time `t` is ``Σ_k a_k(t) e_k(s)``, plus the heading. The weights of the first two
    postures turn around each other, so that a wave runs along the body, now and then backwards; the others wander.

    Parameters
    ----------
    n_frames : int, default 200
        Frames of each worm.
    n_worms : int, default 1
        How many worms, each a time series of its own.
    n_points : int, default 20
        Points of a midline, at equal steps from head to tail.
    n_postures : int, default 4
        Number of postures, from 1 to 8; the truth a method may find. With one, the wave stands.
    noise : float, default 0.0
        Standard deviation of what is added to every coordinate, in body lengths.
    random_state : int, Generator or None, default None
        Seed.

    Returns
    -------
    ShapeSet
        Open midlines of length 1, with ``sequence`` (the worm), and columns ``frame`` and ``posture_1``,
        ``posture_2``, … with the true weights of the rows of :func:`worm_postures`.

    Examples
    --------
    >>> import shapelex as sx
    >>> worms = sx.datasets.make_worms(50, 3, random_state=0)
    >>> worms.shape, worms.metadata["frame"][48:52].tolist()
    ((150, 20), [48, 49, 0, 1])
    """
    n_times, n_animals = check_count(n_frames, 1, "n_frames"), check_count(n_worms, 1, "n_worms")
    deviation = check_not_negative(noise, "noise")
    postures = worm_postures(n_points, n_postures)
    generator = np.random.default_rng(random_state)
    midlines, weights = [], []
    for _ in range(n_animals):
        amplitudes, pace = _posture_weights(n_times, len(postures), generator)
        heading = generator.uniform(0, 2 * np.pi) + 0.15 * np.cumsum(_wander(n_times, 20.0, generator))
        steps = np.exp(1j * (amplitudes @ postures + heading[:, None])) / postures.shape[1]
        body = np.concatenate([np.zeros((n_times, 1)), np.cumsum(steps, axis=1)], axis=1)
        # The first point is the head, so the body points backward; a wave carries a worm about 2/3 of its length.
        path = np.cumsum(-pace * np.exp(1j * heading)) / (1.5 * _FRAMES_PER_WAVE)
        midlines.append(body - body.mean(axis=1, keepdims=True) + path[:, None])
        weights.append(amplitudes)
    points = np.concatenate(midlines)
    points = points + deviation * (generator.normal(size=points.shape) + 1j * generator.normal(size=points.shape))
    told = np.concatenate(weights)
    frames = np.tile(np.arange(n_times), n_animals)
    sequence = np.repeat(np.arange(n_animals), n_times)
    return ShapeSet(
        points,
        Landmarks(points.shape[1]),
        ids=[f"worm{worm}-{frame}" for worm, frame in zip(sequence, frames, strict=True)],
        sequence=sequence,
        metadata={"frame": frames, **{f"posture_{k + 1}": column for k, column in enumerate(told.T)}},
    )


def _posture_weights(n_frames: int, n_postures: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return weights in radians, shape (n_frames, n_postures), and +1 where the worm crawls forward, −1 elsewhere."""
    weights = np.empty((n_frames, max(n_postures, 2)))
    pace = np.where(_wander(n_frames, 60.0, generator) > -1, 1.0, -1.0)
    # Towards the tail, the wave pushes forward.
    phase = generator.uniform(0, 2 * np.pi) - 2 * np.pi / _FRAMES_PER_WAVE * np.cumsum(pace)
    depth = 0.8 * (1 + 0.15 * _wander(n_frames, 40.0, generator))
    weights[:, 0], weights[:, 1] = depth * np.cos(phase), depth * np.sin(phase)
    for posture in range(2, n_postures):
        size = 0.6 if posture == 2 else 0.25
        weights[:, posture] = size * _wander(n_frames, 15.0, generator)
    return weights[:, :n_postures], pace


def _wander(n_frames: int, memory: float, generator: np.random.Generator) -> FloatArray:
    """Return a random walk that is drawn back to 0, of variance 1, forgotten after `memory` frames."""
    keep = np.exp(-1 / memory)
    kicks = generator.normal(size=n_frames) * np.sqrt(1 - keep**2)
    values = np.empty(n_frames)
    value = generator.normal()
    for frame, kick in enumerate(kicks):
        value = keep * value + kick
        values[frame] = value
    return values
