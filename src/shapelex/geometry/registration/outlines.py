"""Registration of outlines: a common start point, direction and, if wanted, handedness.

In come configurations of curves whose first point and direction are arbitrary; out go the same curves, renumbered so
that they lie closest to a target or to their own mean. Positions, sizes and angles stay as they are.
"""

from dataclasses import dataclass

import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._messages import parameter
from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count, check_flag, check_same_count
from shapelex.exceptions import ParameterError, UnsupportedBySpaceError
from shapelex.geometry.alignment import optimal_rotation
from shapelex.geometry.distances import distance
from shapelex.geometry.registration.cyclic_search import CyclicSearch
from shapelex.geometry.registration.descent import mean_preshape, refine_with_mean, register_to_mean
from shapelex.geometry.registration.subsample_shifts import closest_fractions, shift_landmarks
from shapelex.shapes.opening import read_configurations
from shapelex.shapes.preparation import Preparation
from shapelex.shapes.thumbnails import html_text, html_with_thumbnails
from shapelex.spaces import Landmarks, Space


@dataclass(frozen=True, eq=False, repr=False)
class Registration:
    """Registered shapes, and what was done to each.

    A shape became ``roll(reverse(conj(z)), shift)``: conjugated only where it is mirrored, reversed only where it is
    reversed.

    Parameters
    ----------
    configurations : ndarray of complex, shape (n_shapes, n_coordinates)
        The registered shapes, each at its own place, size and angle.
    target : ndarray of complex, shape (n_coordinates,) or (n_shapes, n_coordinates)
        What they were registered to, as pre-shapes: the mean, or what the caller gave.
    shift : ndarray of int or float, shape (n_shapes,)
        Point that each shape now starts at, counted after mirror and reversal; with fractions for sub-sample shifts.
    is_reversed : ndarray of bool, shape (n_shapes,)
        Whether the shape is run through the other way.
    is_mirrored : ndarray of bool, shape (n_shapes,)
        Whether the shape is mirrored.
    rotation : ndarray of float, shape (n_shapes,)
        Angle by which the registered shape would be turned to lie closest to the target; it is not turned.
    distance_before, distance_after : ndarray of float, shape (n_shapes,)
        Full distance to the target of the shape as it came, and as it is now.
    n_iter : int
        Iterations, each with one new mean; 0 for a given target.
    converged : bool
        Whether the last iteration changed nothing.
    preparation : Preparation or None
        Record of the registration, for the set of the registered shapes; None where each has a target of its own.
    space : Space or None
        Space of the configurations.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> space = sx.Landmarks(5, closed=True)
    >>> outline = np.array([0, 2, 3 + 1j, 1 + 2j, 1j])
    >>> print(sx.register([outline, space.roll(outline, 3), space.reverse(outline)], space))
    3 shapes registered: 1 start point moved, 1 reversed, 0 mirrored.
    RMS full distance to the target: 0.6145 before, 0.0000 after; 2 iterations.
    """

    configurations: ComplexArray
    target: ComplexArray
    shift: IntArray | FloatArray
    is_reversed: BoolArray
    is_mirrored: BoolArray
    rotation: FloatArray
    distance_before: FloatArray
    distance_after: FloatArray
    n_iter: int
    converged: bool
    preparation: Preparation | None = None
    space: Space | None = None

    def __str__(self) -> str:
        before, after = (float(np.sqrt(np.mean(d**2))) for d in (self.distance_before, self.distance_after))
        n_moved = int(np.count_nonzero(self.shift))
        n_shapes = len(self.shift)
        return (
            f"{n_shapes} shape{_plural(n_shapes)} registered: {n_moved} start point{_plural(n_moved)} moved, "
            f"{np.count_nonzero(self.is_reversed)} reversed, {np.count_nonzero(self.is_mirrored)} mirrored.\n"
            f"RMS full distance to the target: {before:.4f} before, {after:.4f} after; "
            f"{self.n_iter} iteration{_plural(self.n_iter)}{'' if self.converged else ', not converged'}."
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return what notebooks show: the words of ``repr``, and pictures of some registered shapes."""
        if self.space is None:
            return html_text(str(self))
        captions = [f"{row}: {distance:.3f}" for row, distance in enumerate(self.distance_after.tolist())]
        return html_with_thumbnails(f"{self}\nRow and distance of shapes:", self.configurations, self.space, captions)


@single_blas_thread()
def register(
    Z: ArrayLike,
    space: Space | None = None,
    to: str | ArrayLike = "mean",
    start: bool = True,
    direction: bool = True,
    reflection: bool = False,
    *,
    subsample: bool = False,
    n_starts: int = 6,
    max_iter: int = 100,
    random_state: int = 0,
) -> Registration:
    """Give curves a common start point and direction: those of least distance to a target.

    Closed outlines come with an arbitrary first point, often in an arbitrary direction, and shapes are compared point
    by point. For each shape all cyclic shifts are tried at once by FFT, in both directions, and the one of least
    distance to the target is taken. The target is given, or it is the mean of the registered shapes, found by
    turns of registering and averaging.

    Parameters
    ----------
    Z : array_like, complex (n_shapes, n_coordinates) or (n_coordinates,), or real (n_shapes, n_points, 2)
        Configurations.
    space : Space, optional
        Their space: closed landmarks, B-splines or Hermite splines; by default that of a `ShapeSet`, else open
        landmarks. The start moves by whole control points. Open curves have no start point to look for:
        ``start=False`` leaves their direction.
    to : "mean" or array_like of complex, shape (n_coordinates,) or (n_shapes, n_coordinates), default "mean"
        What to register to: the mean of the set, one configuration for all, or one per shape.
    start : bool, default True
        Whether to look for the start point.
    direction : bool, default True
        Whether a shape may be run through the other way.
    reflection : bool, default False
        Whether a shape may be mirrored. Left and right specimens become alike: only where that is wanted.
        A mirrored outline runs the other way round, so as a rule it needs `direction` as well.
    subsample : bool, default False
        Whether to shift by fractions of a point, for closed landmarks: a shape then gets new points, by trigonometric
        interpolation between its own. Taken is the best fraction next to the best whole shift.
    n_starts : int, default 6
        From how many first means to begin, for ``to="mean"``: the mean of the shapes as they come, then single shapes.
        They compete on at most 300 shapes, and the best goes on with all.
    max_iter : int, default 100
        Most iterations.
    random_state : int, default 0
        Seed of the choice of single shapes.

    Returns
    -------
    Registration
        The registered configurations, and what was done to each shape.

    Raises
    ------
    UnsupportedBySpaceError
        If the space is open and `start` is asked for, or does not know its points.

    Notes
    -----
    Of changes that are equally good to rounding, the first is taken: unmirrored, unreversed, of the smallest shift.
    Start, direction and handedness of a whole set mean nothing: with ``to="mean"``, most shapes keep their direction
    and handedness, and the first one keeps its start point.

    Every iteration lowers the mean squared distance, down to an optimum that no change of a single shape improves. It
    need not be the best of all: outlines that look alike after half a turn have several.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> space = sx.Landmarks(5, closed=True)
    >>> outline = np.array([0, 2, 3 + 1j, 1 + 2j, 1j])
    >>> found = sx.register([space.roll(outline, 3), space.reverse(outline)], space, to=outline)
    >>> found.shift, found.is_reversed
    (array([2, 0]), array([False,  True]))
    >>> bool((found.configurations == outline).all())
    True
    """
    configurations, space = read_configurations(Z, space, "Z")
    start, direction = check_flag(start, "start"), check_flag(direction, "direction")
    reflection, subsample = check_flag(reflection, "reflection"), check_flag(subsample, "subsample")
    if subsample:
        _check_subsample(start, space)
    n_starts, max_iter = check_count(n_starts, 1, "n_starts"), check_count(max_iter, 1, "max_iter")
    generator = np.random.default_rng(check_count(random_state, 0, "random_state"))
    targets = None if _is_mean(to) else _given_targets(to, len(configurations), space)
    search = CyclicSearch(
        space.preshape(configurations), space, start=start, direction=direction, reflection=reflection
    )
    if targets is None:
        changes, n_iter, converged = register_to_mean(search, n_starts, max_iter, generator)
        targets = mean_preshape(changes.apply(search.Z, space), space)
    else:
        changes, n_iter, converged = search.settle(targets), 0, True
    registered = changes.apply(configurations, space)
    shift: IntArray | FloatArray = changes.shift
    if subsample:
        preshapes = space.preshape(registered)
        if _is_mean(to):
            fractions, targets, n_more, converged = refine_with_mean(preshapes, targets, space, max_iter, converged)
            n_iter += n_more
        else:
            fractions = closest_fractions(preshapes, targets)
        shift = np.where(fractions == 0, changes.shift, (changes.shift + fractions) % space.n_coordinates)
        moved = fractions != 0
        registered[moved] = shift_landmarks(registered[moved], fractions[moved])
    before = getattr(Z, "preparation", None)
    return Registration(
        configurations=registered,
        target=targets[0] if len(targets) == 1 else targets,
        shift=shift,
        is_reversed=changes.is_reversed,
        is_mirrored=changes.is_mirrored,
        rotation=optimal_rotation(registered, targets, space),
        distance_before=distance(configurations, targets, space=space),
        distance_after=distance(registered, targets, space=space),
        n_iter=n_iter,
        converged=converged,
        space=space,
        preparation=None
        if len(targets) > 1
        else Preparation(
            None if before is None else before.resampling, targets[0], start, direction, reflection, subsample
        ),
    )


def _plural(count: int) -> str:
    return "" if count == 1 else "s"


def _is_mean(to: str | ArrayLike) -> bool:
    if isinstance(to, str) and to != "mean":
        raise ParameterError(f'{parameter("to")} must be "mean" or configurations to register to, got {to!r}.')
    return isinstance(to, str)


def _given_targets(to: ArrayLike, n_shapes: int, space: Space) -> ComplexArray:
    targets, _ = read_configurations(to, space, "to")
    if len(targets) > 1:
        check_same_count(n_shapes, len(targets), "Z", "to")
    if len(targets) > n_shapes:
        raise ParameterError(
            f"{parameter('to')} has {len(targets)} shapes, but Z has one: give one target, or one for each shape of Z."
        )
    return space.preshape(targets)


def _check_subsample(start: bool, space: Space) -> None:
    if not start:
        raise ParameterError(
            f"{parameter('subsample', True)} shifts start points by fractions of a point: it needs "
            f"{parameter('start', True)}."
        )
    if not (isinstance(space, Landmarks) and space.closed):
        raise UnsupportedBySpaceError(
            f"subsample=True shifts landmarks of closed outlines, but the space is {space}: its control points move as "
            "a whole; leave subsample=False."
        )
