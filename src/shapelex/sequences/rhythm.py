"""The rhythm of a motion: how fast postures change, and how fast they go around a cycle."""

from itertools import combinations

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_count
from shapelex.exceptions import ParameterError
from shapelex.geometry import distance
from shapelex.sequences.postures import PostureMap, curve_points
from shapelex.sequences.result import SequenceCodes
from shapelex.shapes.opening import read_configurations
from shapelex.shapes.time_order import TimeOrder
from shapelex.spaces import Space


def phase_velocity(result: SequenceCodes, atoms: tuple[int, int] | None = None, *, window: int = 9) -> FloatArray:
    """Speed at which postures go around in the plane of two atoms: the rhythm of crawling.

    Postures are tangent angles along an open curve, or tangent vectors at the mean of closed outlines, of the
    reconstructed shapes, minus their mean over time. The postures of two atoms span a plane; the phase of a frame is
    the angle of its posture in this plane. The velocity is the slope of the phase, fitted by least squares in a window
    of time. For worms it is close to the phase velocity of the first two eigenworms [1]_.

    Parameters
    ----------
    result : SequenceCodes
        Codes over time.
    atoms : tuple of two int, optional
        Numbers of the atoms. By default the pair whose plane holds most of the variance of the postures.
    window : int, default 9
        Number of usual time steps that a slope is fitted to.

    Returns
    -------
    ndarray of float, shape (n_shapes,)
        Radians per second where the frame rate is known, else radians per frame. For open curves it is positive where
        bends run from the first point to the last one: with the head first, in forward crawling. NaN where
        less than three frames are in the window, or the frame could not be coded.

    Raises
    ------
    ParameterError
        If `atoms` are not two different atoms of the dictionary.

    References
    ----------
    .. [1] G. J. Stephens, B. Johnson-Kerner, W. Bialek and W. S. Ryu, "Dimensionality and dynamics in the behavior of
       C. elegans", PLoS Computational Biology 4 (2008), e1000028.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> worms = sx.datasets.make_worms(200, random_state=3)
    >>> model = sx.ShapeDictionary(8, 3, random_state=0).fit(worms)
    >>> result = sx.sequences.encode_sequence(worms, model, switch_cost=0.001)
    >>> rhythm = np.nanmedian(sx.sequences.phase_velocity(result))
    >>> bool(abs(rhythm - 2 * np.pi / 24) < 0.05)
    True
    """
    n_steps = check_count(window, 3, "window")
    path, _ = phase_plane(result, atoms)
    time = result.time_order
    slopes = _slopes(np.angle(path[time.order]), time, (n_steps - 1) / 2)
    velocity = np.full(len(result), np.nan)
    velocity[time.order] = slopes * (1.0 if result.fps is None else result.fps)
    return velocity


def phase_plane(result: SequenceCodes, atoms: tuple[int, int] | None = None) -> tuple[ComplexArray, tuple[int, int]]:
    """Return the postures in the plane of two atoms, as complex numbers whose angle is the phase, and these atoms.

    NaN for frames that could not be coded.
    """
    shapes = result.reconstruct()[result.time_order.order]
    make = PostureMap(shapes, result.space, by_angles=True)
    postures = make(shapes)
    atom_postures = make(result.atoms)
    pair = _main_pair(postures, atom_postures) if atoms is None else _check_pair(atoms, len(atom_postures))
    basis = np.linalg.qr(atom_postures[list(pair)].T)[0]
    places = postures @ basis
    way = -1 if not result.space.closed and _runs_to_the_head(basis) else 1
    path: ComplexArray = np.full(len(result), complex(np.nan, np.nan))
    path[result.time_order.order] = places[:, 0] + way * 1j * places[:, 1]
    return path, pair


def posture_speed(result: SequenceCodes) -> FloatArray:
    """Geodesic distance from the reconstructed shape of the frame before, divided by the time between the frames.

    Parameters
    ----------
    result : SequenceCodes
        Codes over time.

    Returns
    -------
    ndarray of float, shape (n_shapes,)
        Radians of shape space per second where the frame rate is known, else per frame. NaN for the first frame of a
        series, and for frames that could not be coded.

    Examples
    --------
    >>> import shapelex as sx
    >>> worms = sx.datasets.make_worms(60, random_state=0)
    >>> model = sx.ShapeDictionary(6, 3, random_state=0).fit(worms)
    >>> sx.sequences.posture_speed(sx.sequences.encode_sequence(worms, model, switch_cost=0.001)).shape
    (60,)
    """
    time = result.time_order
    shapes = result.reconstruct()[time.order]
    speed = np.full(len(result), np.nan)
    follows = time.steps[1:] > 0
    if follows.any():
        steps = distance(shapes[:-1][follows], shapes[1:][follows], kind="geodesic", space=result.space)
        rate = steps / time.steps[1:][follows] * (1.0 if result.fps is None else result.fps)
        speed[time.order[1:][follows]] = rate
    return speed


def curvature(X: ArrayLike, space: Space | None = None) -> FloatArray:
    """Signed curvature along each curve: the turning angle at each inner point, divided by the length around it.

    It does not depend on place, size and rotation. Drawn as an image with time as one axis, it is a kymograph, in which
    bends that travel along a body are slanted stripes.

    Parameters
    ----------
    X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2), or a set of shapes
        Configurations, or ``result.reconstruct()[result.is_coded]`` of codes over time.
    space : Space, optional
        Their space; by default that of a set, else landmarks.

    Returns
    -------
    ndarray of float, shape (n_shapes, n_points − 2), or (n_shapes, n_points) for closed curves
        Curvatures, times the length of the curve: 2π for a circle. Positive to the left. NaN where a point coincides
        with both of its neighbors.

    Raises
    ------
    CollapsedShapeError
        If all points of a shape coincide, or its size is below the smallest number of full precision.
    NonFiniteError
        If coordinates are missing.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> circle = np.exp(2j * np.pi * np.arange(40) / 40)
    >>> bool(np.allclose(sx.sequences.curvature([3 * circle], sx.Landmarks(40, closed=True)), 2 * np.pi))
    True
    """
    configurations, space = read_configurations(X, space, "X")
    # At size 1, since products of steps vanish or overflow far from it.
    points = curve_points(space.unwhiten(space.whitened_preshapes(configurations, "X")), space)
    if space.closed:
        points = np.concatenate([points[:, -1:], points, points[:, :1]], axis=1)
    steps = np.diff(points, axis=1)
    lengths = np.abs(steps)
    turns = np.angle(steps[:, 1:] * steps[:, :-1].conj())
    whole = (lengths[:, 1:] if space.closed else lengths).sum(axis=1, keepdims=True)
    around = (lengths[:, 1:] + lengths[:, :-1]) / 2
    return np.asarray(turns / np.where(around > 0, around, np.nan) * whole)


def _main_pair(postures: FloatArray, atom_postures: FloatArray) -> tuple[int, int]:
    """Return the two atoms whose plane holds most of the squared postures."""
    moments = postures.T @ postures
    best, most = (0, 1), -1.0
    for pair in combinations(range(len(atom_postures)), 2):
        basis, triangle = np.linalg.qr(atom_postures[list(pair)].T)
        if abs(triangle[1, 1]) > 1e-6 * abs(triangle[0, 0]):
            held = float(np.trace(basis.T @ moments @ basis))
            if held > most:
                best, most = pair, held
    return best


def _check_pair(atoms: tuple[int, int], n_atoms: int) -> tuple[int, int]:
    pair = tuple(int(atom) for atom in atoms)
    if len(pair) != 2 or pair[0] == pair[1] or not all(0 <= atom < n_atoms for atom in pair):
        raise ParameterError(
            f"{parameter('atoms')} must be two different atoms from 0 to {n_atoms - 1}, got {atoms!r}."
        )
    return pair[0], pair[1]


def _runs_to_the_head(basis: FloatArray) -> bool:
    """Tell whether a wave of growing phase runs from the last point of a curve to the first one."""
    slopes = np.gradient(basis, axis=0)
    # A wave towards larger s has d/dt = −c d/ds: their mean product over a cycle is negative.
    return bool(basis[:, 1] @ slopes[:, 0] - basis[:, 0] @ slopes[:, 1] > 0)


def _slopes(angles: FloatArray, time: TimeOrder, half: float) -> FloatArray:
    """Return the slopes of angles over time, in radians per usual step, from all frames at most `half` steps away."""
    starts = time.steps == 0
    moments = np.cumsum(time.steps)
    series = np.cumsum(starts)
    # Within a series the angle is unwrapped; a series far after the one before it is in no window of it.
    turns = np.diff(angles, prepend=angles[:1])
    turns = np.where(starts, 0, (turns + np.pi) % (2 * np.pi) - np.pi)
    moments = moments + series * (2 * half + 2)
    unwrapped = np.cumsum(turns)
    first = np.searchsorted(moments, moments - half - 1e-9)
    last = np.searchsorted(moments, moments + half + 1e-9)
    count, s_t, s_a, s_tt, s_ta = np.zeros((5, len(angles)))
    for offset in range(int((last - first).max(initial=0))):
        # Relative to the frame itself: long recordings lose no digits.
        place = np.minimum(first + offset, len(angles) - 1)
        inside = first + offset < last
        t, a = np.where(inside, moments[place] - moments, 0), np.where(inside, unwrapped[place] - unwrapped, 0)
        count += inside
        s_t, s_a, s_tt, s_ta = s_t + t, s_a + a, s_tt + t * t, s_ta + t * a
    spread = s_tt - s_t**2 / np.maximum(count, 1)
    has_slope = (count >= 3) & (spread > 0)
    slopes = (s_ta - s_t * s_a / np.maximum(count, 1)) / np.where(has_slope, spread, 1)
    return np.where(has_slope, slopes, np.nan)
