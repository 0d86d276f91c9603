"""Shapes made in code, whose truth is known; equal seeds give equal shapes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import lfilter

from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import as_configurations, check_count, check_not_negative, check_positive
from shapelex.coding import SparseCodes, decode
from shapelex.exceptions import ParameterError
from shapelex.io.contours import check_closed_space, fit_outline
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks, Space

Seed = int | np.random.Generator | None

_FRAMES_PER_WAVE = 24.0
_MOST_POSTURES = 8
_BEHAVIOR_POSTURES = 6
_BLEND_FRAMES = 3
_LEAST_DWELL = 5
_LEAF_SAMPLES = 800

# Widest half width over length; exponents of the profile at base and tip; depth and number of lobes or teeth.
_LEAF_FORMS: dict[str, tuple[float, float, float, float, int]] = {
    "lobed": (0.30, 0.7, 0.9, 0.42, 4),
    "lanceolate": (0.13, 0.8, 1.1, 0.0, 1),
    "ovate": (0.27, 0.6, 1.2, 0.0, 1),
    "toothed": (0.24, 0.7, 1.0, 0.10, 9),
    "obovate": (0.25, 1.3, 0.6, 0.0, 1),
    "orbicular": (0.46, 0.5, 0.5, 0.0, 1),
}


@dataclass(frozen=True)
class DictionarySample:
    """Shapes that are sums of known atoms.

    Parameters
    ----------
    shapes : ShapeSet
        The shapes, noise included.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The true atoms, pre-shapes.
    codes : SparseCodes
        The true codes: without noise, ``decode(codes, atoms)`` gives the shapes.
    """

    shapes: ShapeSet
    atoms: ComplexArray
    codes: SparseCodes


def make_from_dictionary(
    n_samples: int = 1000,
    n_atoms: int = 10,
    n_nonzero: int = 3,
    *,
    space: Space | None = None,
    atoms: ArrayLike | None = None,
    noise: float = 0.0,
    random_state: Seed = None,
) -> DictionarySample:
    """Return shapes that are sparse sums of known atoms, so that a method can be checked.

    The shapes follow the model of the paper [1]_ (section 5.2, "Sparse coding with ORMP", equation 35).

    Parameters
    ----------
    n_samples : int, default 1000
        How many shapes.
    n_atoms : int, default 10
        Number of atoms.
    n_nonzero : int, default 3
        Atoms in each sum, chosen at random, with random phases and moduli between 0.5 and 1.5 before scaling.
    space : Space, optional
        Space of the shapes; ``Landmarks(32, closed=True)`` when not given.
    atoms : array_like of complex, shape (n_atoms, n_coordinates), optional
        Atoms to use instead of random smooth curves; `n_atoms` is then not used.
    noise : float, default 0.0
        Root mean squared norm of what is added to a shape, whose norm is 1.
    random_state : int, Generator or None, default None
        Seed.

    Returns
    -------
    DictionarySample
        ``shapes``, ``atoms`` and ``codes``.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> import shapelex as sx
    >>> sample = sx.datasets.make_from_dictionary(200, n_atoms=6, n_nonzero=2, random_state=0)
    >>> sample.shapes.shape, sample.atoms.shape, sample.codes.n_nonzero
    ((200, 32), (6, 32), 2)
    """
    n_shapes = check_count(n_samples, 1, "n_samples")
    target = Landmarks(32, closed=True) if space is None else space
    generator = np.random.default_rng(random_state)
    if atoms is None:
        true_atoms = _smooth_curves(check_count(n_atoms, 1, "n_atoms"), target, generator)
    else:
        true_atoms = target.preshape(as_configurations(atoms, name="atoms", n_coordinates=target.n_coordinates)[0])
    n_used = _check_between(n_nonzero, len(true_atoms), "n_nonzero")
    support = np.argsort(generator.random((n_shapes, len(true_atoms))), axis=1)[:, :n_used]
    phases = np.exp(2j * np.pi * generator.uniform(size=support.shape))
    coefs = generator.uniform(0.5, 1.5, size=support.shape) * phases
    sums = decode(SparseCodes(support, coefs, len(true_atoms)), true_atoms)
    codes = SparseCodes(support, coefs / target.norm(sums)[:, None], len(true_atoms))
    shapes = decode(codes, true_atoms)
    rows = _complex_normal(generator, shapes.shape) / np.sqrt(2 * max(target.n_coordinates - 1, 1))
    shapes = shapes + check_not_negative(noise, "noise") * target.centered(target.unwhiten(rows))
    return DictionarySample(ShapeSet(shapes, target), true_atoms, codes)


def _smooth_curves(n_curves: int, space: Space, generator: np.random.Generator) -> ComplexArray:
    """Return pre-shapes of random curves, whose finer waves are the weaker ones."""
    t = space.parameters(space.n_coordinates if isinstance(space, Landmarks) else 20 * space.n_coordinates)
    orders = np.arange(1, 7)
    if space.closed:
        waves = np.exp(2j * np.pi * np.concatenate([orders, -orders])[:, None] * t)
        weights = np.tile(orders, 2) ** -1.5
    else:
        waves = np.cos(np.pi * orders[:, None] * t) + 0j
        weights = orders**-1.5
    curves = (weights * _complex_normal(generator, (n_curves, len(weights)))) @ waves
    return space.preshape(curves if isinstance(space, Landmarks) else space.fit(curves, t=t))


def _check_between(value: int, most: int, name: str) -> int:
    if check_count(value, 1, name) > most:
        raise ParameterError(f"{name} must be between 1 and {most}, got {value}.")
    return int(value)


def _complex_normal(generator: np.random.Generator, shape: tuple[int, ...]) -> ComplexArray:
    parts = generator.normal(size=(2, *shape))
    return np.asarray(parts[0] + 1j * parts[1])


def deform(
    X: ArrayLike, n_deformations: int = 10, *, amplitude: float = 0.3, random_state: Seed = None
) -> ComplexArray:
    r"""Return deformed copies of shapes, as the paper makes its dataset 5.

    To each pre-shape ``z`` is added ``c K g``, where ``g`` has a random Gaussian planar vector for each landmark, and
    ``K_ij = |z_i − z_j|²`` smooths them. ``K`` has rank 4, so the deformation of the plane is
    ``a_0 + a_1 x + a_2 y + a_3 |z|²`` with random complex coefficients: it shears and bends the shape as a whole, and
    leaves details what they are.

    Parameters
    ----------
    X : array_like, complex (n_shapes, n_landmarks) or real (n_shapes, n_landmarks, 2)
        Configurations of landmarks.
    n_deformations : int, default 10
        Copies of each shape.
    amplitude : float, default 0.3
        Root mean squared norm of what is added to a pre-shape, whose norm is 1. The paper does not say what it took; at
        0.3 the copies look like those in its figures.
    random_state : int, Generator or None, default None
        Seed of the deformations.

    Returns
    -------
    ndarray of complex, shape (n_shapes * n_deformations, n_landmarks)
        Pre-shapes; the copies of one shape follow each other.

    Raises
    ------
    ShapeInputError
        If `X` holds no configurations, or shapes whose points all coincide.
    TypeError, ValueError
        If `n_deformations` is not a positive integer, or `amplitude` is not a finite number of at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> square = np.array([[0, 1, 1 + 1j, 1j]])
    >>> copies = sx.datasets.deform(square, 3, random_state=0)
    >>> copies.shape
    (3, 4)
    >>> bool(sx.distance(square, copies).max() < 0.5)
    True
    """
    configurations, _ = as_configurations(X)
    n_copies = check_count(n_deformations, 1, "n_deformations")
    size = check_not_negative(amplitude, "amplitude")
    generator = np.random.default_rng(random_state)
    n_shapes, n_landmarks = configurations.shape
    space = Landmarks(n_landmarks)
    preshapes = space.preshape(configurations)
    # K_ij = |z_i|² + |z_j|² − 2 (x_i x_j + y_i y_j) is a product of two factors of four columns, and never formed.
    x, y = preshapes.real, preshapes.imag
    radii, ones = x**2 + y**2, np.ones_like(x)
    left, right = np.stack([radii, ones, x, y], axis=2), np.stack([ones, radii, -2 * x, -2 * y], axis=2)
    left_gram, right_gram = np.swapaxes(left, 1, 2) @ left, np.swapaxes(right, 1, 2) @ right
    # The roots of the expected squared norms of K g: real and imaginary parts of g have variance 1.
    norms = np.sqrt(2 * (left_gram * right_gram).sum(axis=(1, 2)))
    vectors = _complex_normal(generator, (n_shapes, n_copies, n_landmarks))
    smoothed = vectors @ right @ np.swapaxes(left, 1, 2) / norms[:, None, None]
    deformed = preshapes[:, None] + size * smoothed
    return space.preshape(deformed.reshape(-1, n_landmarks).astype(preshapes.dtype, copy=False))


def make_leaves(
    n_per_species: int = 30,
    n_species: int = 4,
    n_points: int = 100,
    *,
    space: Space | None = None,
    variation: float = 0.1,
    random_start: bool = False,
    random_state: Seed = None,
) -> ShapeSet:
    """Return outlines of leaves of several species, in random pose.

    A leaf has a profile ``s^a (1 − s)^b`` along its midrib, with or without teeth or lobes, and its midrib is an arc.

    Parameters
    ----------
    n_per_species : int, default 30
        Leaves of each species.
    n_species : int, default 4
        How many, from 1 to 6: lobed, lanceolate, ovate, toothed, obovate, orbicular.
    n_points : int, default 100
        Points of an outline, at equal steps of arc length.
    space : Space, optional
        A closed space to fit the outlines in instead, such as ``BSpline(40)``; `n_points` is then not used.
    variation : float, default 0.1
        How much leaves of one species differ: relative standard deviation of their proportions; 0 makes them equal.
    random_start : bool, default False
        Start each outline anywhere; otherwise all start at the base. The column ``start`` tells where, as a share of
        the length of the outline.
    random_state : int, Generator or None, default None
        Seed.

    Returns
    -------
    ShapeSet
        Counter-clockwise outlines labeled by species, which follow each other in turn, with columns of true
        proportions: ``width`` and ``lobes`` of the leaf, ``curl`` of its midrib, and ``start``.

    Examples
    --------
    >>> import shapelex as sx
    >>> leaves = sx.datasets.make_leaves(10, 3, random_state=0)
    >>> leaves.shape, leaves.labels[:3].tolist()
    ((30, 100), ['lobed', 'lanceolate', 'ovate'])
    """
    n_each = check_count(n_per_species, 1, "n_per_species")
    n_kinds = _check_between(n_species, len(_LEAF_FORMS), "n_species")
    spread = check_not_negative(variation, "variation")
    n_wanted = check_count(n_points, 3, "n_points")
    target = Landmarks(n_wanted, closed=True) if space is None else check_closed_space(space)
    generator = np.random.default_rng(random_state)
    labels = list(_LEAF_FORMS)[:n_kinds] * n_each
    outlines = np.empty((len(labels), target.n_coordinates), dtype=np.complex128)
    truth = []
    for row, label in enumerate(labels):
        *typical, n_lobes = _LEAF_FORMS[label]
        width, base, tip, lobes = typical * np.exp(spread * generator.normal(size=4))
        curl, start = 2 * spread * generator.normal(), generator.uniform() * bool(random_start)
        leaf = _leaf(width, base, tip, lobes, n_lobes, curl)
        pose = generator.uniform(0.5, 2) * np.exp(2j * np.pi * generator.uniform())
        position = 3 * complex(*generator.normal(size=2))
        leaf = fit_outline(leaf, Landmarks(_LEAF_SAMPLES, closed=True))
        shift = int(start * _LEAF_SAMPLES)
        outlines[row] = fit_outline(pose * np.roll(leaf, -shift) + position, target)
        truth.append((width, lobes, curl, shift / _LEAF_SAMPLES))
    ids = [f"{label}-{row // n_kinds}" for row, label in enumerate(labels)]
    proportions = dict(zip(("width", "lobes", "curl", "start"), np.transpose(truth), strict=True))
    return ShapeSet(outlines, target, ids=ids, labels=labels, metadata=proportions)


def _leaf(width: float, base: float, tip: float, lobes: float, n_lobes: int, curl: float) -> ComplexArray:
    """Return a dense outline from the base at 0, along the right side to the tip at 1, and back along the left."""
    angle = np.linspace(0, np.pi, _LEAF_SAMPLES // 2, endpoint=False)
    s = (1 - np.cos(angle)) / 2
    widest = base / (base + tip)
    peak = widest**base * (1 - widest) ** tip
    # Lobes point forward and fade towards both ends.
    waves = np.cos(2 * np.pi * n_lobes * (s - 0.1 * np.sin(np.pi * s)))
    side = width / peak * s**base * (1 - s) ** tip * (1 - min(lobes, 0.8) * (1 + waves) / 2 * np.sin(np.pi * s))
    right, left = s - 1j * side, s + 1j * side
    outline = np.concatenate([right, [1.0], left[:0:-1]])
    # A midrib of constant curvature, ``(e^iφ − 1) / (i curl)``; the sides stay perpendicular to it.
    along, across, angles = outline.real, outline.imag, curl * outline.real
    midrib = along * np.exp(0.5j * angles) * np.sinc(angles / (2 * np.pi))
    return np.asarray(midrib + 1j * across * np.exp(1j * angles), dtype=np.complex128)


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
    n_rows = _check_between(n_postures, _MOST_POSTURES, "n_postures")
    s = (np.arange(n_segments) + 0.5) / n_segments
    phase = 2.6 * np.pi * (s - 0.5)
    waves = np.array([np.sin(phase), np.cos(phase), s - 0.5, *(np.cos(order * np.pi * s) for order in range(4, 9))])
    directions, triangle = np.linalg.qr((waves - waves.mean(axis=1, keepdims=True))[:n_rows].T)
    # The signs of the factors depend on the linear algebra at hand.
    return np.asarray(np.sqrt(n_segments) * (directions * np.sign(np.diag(triangle))).T)


def make_worms(
    n_frames: int = 200,
    n_worms: int = 1,
    n_points: int = 20,
    *,
    n_postures: int = 4,
    noise: float = 0.0,
    random_state: Seed = None,
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
    series = []
    for _ in range(n_animals):
        amplitudes, pace = _posture_weights(n_times, len(postures), generator)
        heading = generator.uniform(0, 2 * np.pi) + 0.15 * np.cumsum(_wander(n_times, 20.0, generator))
        # The first point is the head, so the body points backward; a wave carries a worm about 2/3 of its length.
        path = np.cumsum(-pace * np.exp(1j * heading)) / (1.5 * _FRAMES_PER_WAVE)
        columns = {f"posture_{number}": column for number, column in enumerate(amplitudes.T, 1)}
        series.append((_midlines(amplitudes @ postures + heading[:, None]) + path[:, None], columns))
    return _record("worm", series, deviation, generator)


def _midlines(angles: FloatArray) -> ComplexArray:
    """Return centered midlines of length 1 with segments of these angles, one row per frame."""
    steps = np.exp(1j * angles) / angles.shape[1]
    bodies = np.concatenate([np.zeros((len(angles), 1)), np.cumsum(steps, axis=1)], axis=1)
    return np.asarray(bodies - bodies.mean(axis=1, keepdims=True))


def _record(
    animal: str, series: list[tuple[ComplexArray, dict[str, Any]]], noise: float, generator: np.random.Generator
) -> ShapeSet:
    """Return the midlines of several animals, with noise and the columns of each."""
    midlines, columns = zip(*series, strict=True)
    points = np.concatenate(midlines)
    sequence, frames = np.divmod(np.arange(len(points)), len(midlines[0]))
    told = {"frame": frames} | {name: np.concatenate([one[name] for one in columns]) for name in columns[0]}
    points = points + noise * _complex_normal(generator, points.shape)
    ids = [f"{animal}{number}-{frame}" for number, frame in zip(sequence, frames, strict=True)]
    return ShapeSet(points, Landmarks(points.shape[1]), ids=ids, sequence=sequence, metadata=told)


def _posture_weights(n_frames: int, n_postures: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return weights in radians, shape (n_frames, n_postures), and +1 where the worm crawls forward, −1 elsewhere."""
    pace = np.where(_wander(n_frames, 60.0, generator) > -1, 1.0, -1.0)
    # Towards the tail, the wave pushes forward.
    phase = generator.uniform(0, 2 * np.pi) - 2 * np.pi / _FRAMES_PER_WAVE * np.cumsum(pace)
    depth = 0.8 * (1 + 0.15 * _wander(n_frames, 40.0, generator))
    others = [(0.6 if posture == 2 else 0.25) * _wander(n_frames, 15.0, generator) for posture in range(2, n_postures)]
    weights = np.stack([depth * np.cos(phase), depth * np.sin(phase), *others], axis=1)
    return weights[:, :n_postures], pace


def _wander(n_frames: int, memory: float, generator: np.random.Generator) -> FloatArray:
    """Return a random walk that is drawn back to 0, of variance 1, forgotten after `memory` frames."""
    keep = np.exp(-1 / memory)
    kicks = generator.normal(size=n_frames) * np.sqrt(1 - keep**2)
    return np.asarray(lfilter([1.0], [1.0, -keep], kicks, zi=[keep * generator.normal()])[0])


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
    random_state: Seed = None,
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
    count = _check_between(n_states, 12, "n_states")
    if check_positive(dwell, "dwell") < _LEAST_DWELL:
        raise ParameterError(f"dwell must be at least {_LEAST_DWELL} frames, got {dwell}.")
    amplitude, deviation = check_not_negative(swing, "swing"), check_not_negative(noise, "noise")
    rate = check_positive(fps, "fps")
    generator = np.random.default_rng(random_state)
    postures = worm_postures(n_points, _BEHAVIOR_POSTURES)
    # Postures of the states: those of fifty draws of which the closest two are farthest apart.
    drawn = generator.normal(size=(50, count, _BEHAVIOR_POSTURES)) * np.array([1.0, 1.0, 1.0, 0.6, 0.4, 0.3])
    drawn *= 0.7 / np.linalg.norm(drawn, axis=2, keepdims=True)
    distances = np.linalg.norm(drawn[:, :, None] - drawn[:, None], axis=3) + 10 * np.eye(count)
    centers = drawn[distances.min(axis=(1, 2)).argmax()]
    directions = generator.normal(size=(count, _BEHAVIOR_POSTURES))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    paces = generator.uniform(2 * np.pi / 30, 2 * np.pi / 12, size=count)
    series = []
    for _ in range(n_animals):
        states = _draw_states(n_times, count, dwell, generator)
        phases = np.cumsum(paces[states]) + generator.uniform(0, 2 * np.pi)
        weights = centers[states] + amplitude * np.sin(phases)[:, None] * directions[states]
        heading = generator.uniform(0, 2 * np.pi) + np.cumsum(generator.normal(size=n_times) * 0.03)
        # A change of state takes some time.
        blended = uniform_filter1d(weights, _BLEND_FRAMES, axis=0, mode="nearest")
        columns = {"time": np.arange(n_times) / rate, "state": states}
        series.append((_midlines(blended @ postures + heading[:, None]), columns))
    return _record("animal", series, deviation, generator)


def _draw_states(n_frames: int, n_states: int, dwell: float, generator: np.random.Generator) -> IntArray:
    states: list[int] = []
    state = int(generator.integers(n_states))
    while len(states) < n_frames:
        stay = _LEAST_DWELL + int(generator.exponential(dwell - _LEAST_DWELL + 1e-9))
        states += [state] * stay
        if n_states > 1:
            state = (state + 1 + int(generator.integers(n_states - 1))) % n_states
    return np.array(states[:n_frames], dtype=np.int64)
