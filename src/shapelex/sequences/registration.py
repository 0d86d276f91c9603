"""Start points and directions of outlines that are followed from frame to frame."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex.geometry import distance, optimal_rotation, register
from shapelex.geometry.cyclic_search import Changes, CyclicSearch
from shapelex.geometry.registration import Registration, mean_preshape
from shapelex.sequences.timing import find_timing
from shapelex.shapes.opening import read_configurations
from shapelex.shapes.time_order import TimeOrder
from shapelex.spaces import Space

ANCHOR = 0.1
"""Weight of the squared distance to the mean, relative to that of the frame before."""

_MAX_ITER = 10
# A curve is taken to be reversed where that halves the distance to the frame before.
_CLEARLY_CLOSER = 0.5
# Squared distance between frames of which one may have turned.
_FAR = 0.1
# Centers nearer to 0 than this share of the norm are rounding.
_CENTERED = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class SequenceRegistration(Registration):
    """Registered outlines of time series, and what was done to each.

    Parameters
    ----------
    configurations, target, shift, is_reversed, is_mirrored, rotation, distance_before, distance_after, n_iter, \
converged, preparation, space
        As in the result of :func:`shapelex.register`.
    slippage : ndarray of float, shape (n_shapes,)
        How far the start point that was followed is from the one that a registration of the frame alone would take, as
        a signed share of the outline, between −1/2 and 1/2. It is 0 for open curves.
    step_before, step_after : ndarray of float, shape (n_shapes,)
        Full distance to the frame before, of the shapes as they came and as they are now; NaN for the first one of a
        series.
    remarks : tuple of str
        What was noticed, in words.
    """

    slippage: FloatArray = None  # type: ignore[assignment]
    step_before: FloatArray = None  # type: ignore[assignment]
    step_after: FloatArray = None  # type: ignore[assignment]
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        before, after = (
            float(np.sqrt(np.nanmean(step**2))) if np.isfinite(step).any() else 0.0
            for step in (self.step_before, self.step_after)
        )
        n_slipped = int(np.count_nonzero(self.slippage))
        lines = [
            super().__str__(),
            f"RMS full distance to the frame before: {before:.4f} before, {after:.4f} after; the start point of "
            f"{n_slipped} frame{'' if n_slipped == 1 else 's'} differs from that of the frame alone.",
        ]
        return "\n".join([*lines, *self.remarks])

    __repr__ = __str__


@single_blas_thread()
def register_sequence(
    X: ArrayLike,
    space: Space | None = None,
    frames: ArrayLike | None = None,
    sequence: ArrayLike | None = None,
    *,
    to: str | ArrayLike = "mean",
    direction: bool = True,
    reflection: bool = False,
    random_state: int = 0,
) -> SequenceRegistration:
    """Give the outlines of time series start points that follow the motion.

    Registered one by one, outlines that are nearly symmetric change their start point from frame to frame. Here the
    start points ``s_t`` of each series minimize ``Σ_t d²(z_t, z_(t−1)) / g_t + 0.1 Σ_t d²(z_t, mean)``, with full
    Procrustes distances ``d`` and gaps of ``g_t`` steps of time. Outlines that are not centered do not turn by more
    than a quarter from frame to frame, unless they are far from each other otherwise: so heads and tails that look
    alike are told apart by where they are. The distances of all start points are computed by FFT, and the minimum is
    found by dynamic programming; this takes turns with a new mean, if none is given. Directions are those of
    :func:`shapelex.register`.

    Open curves have no start point: their ends are exchanged where they swapped between two frames, that is, where the
    reversed curve is at most half as far from the frame before. The distance is that of the points where they are, and
    where it decides nothing, because an animal moved far or the curves were aligned, that of the shapes. Most
    frames of a series keep their direction.

    Parameters
    ----------
    X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2), or a set of shapes
        Configurations.
    space : Space, optional
        Their space; by default that of a set, else open landmarks.
    frames, sequence : array_like, shape (n_shapes,), optional
        Frame or time, and series, of each shape, see :func:`~shapelex.sequences.encode_sequence`; by default those of a
        set.
    to, direction, reflection, random_state
        For closed outlines, as in :func:`shapelex.register`; `to` is one target, or the mean.

    Returns
    -------
    SequenceRegistration
        What :func:`shapelex.register` returns, with ``slippage`` and distances to the frames before.

    Raises
    ------
    ParameterError
        If frames repeat in a series or are not finite.
    NonFiniteError
        If coordinates are missing.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> space = sx.Landmarks(40, closed=True)
    >>> t = 2 * np.pi * np.arange(40) / 40
    >>> cells = [np.exp(1j * t) + (0.3 + 0.01 * k) * np.exp(-1j * t) + 0.1 * np.exp(2j * t) for k in range(5)]
    >>> rolled = [space.roll(cell, 7 * k) for k, cell in enumerate(cells)]
    >>> found = sx.sequences.register_sequence(rolled, space)
    >>> bool(np.allclose(found.configurations, cells))
    True
    """
    configurations, space = read_configurations(X, space, "X")
    time = find_timing(X, len(configurations), frames, sequence).time
    step_before = _steps(configurations, time, space)
    if space.closed:
        given = X if hasattr(X, "preparation") else configurations
        options: dict[str, Any] = {"direction": direction, "reflection": reflection, "random_state": random_state}
        found: Registration | None = register(given, space, to, **options)
        assert found is not None
        changes, target, slippage, n_iter, converged = _follow(found, time, space, to_mean=isinstance(to, str))
        remarks: tuple[str, ...] = ()
    else:
        is_reversed, remarks = _mend_swaps(configurations, time, space)
        changes = Changes(np.zeros(len(configurations), dtype=np.int64), is_reversed, np.zeros_like(is_reversed))
        n_iter, converged, slippage = 0, True, np.zeros(len(configurations))
        target = mean_preshape([changes.apply(space.preshape(configurations), space)], space)
        found = None
    registered = changes.apply(configurations, space)
    return SequenceRegistration(
        configurations=registered,
        target=target,
        shift=changes.shift,
        is_reversed=changes.is_reversed,
        is_mirrored=changes.is_mirrored,
        rotation=optimal_rotation(registered, target, space),
        distance_before=distance(configurations, target, space=space),
        distance_after=distance(registered, target, space=space),
        n_iter=n_iter,
        converged=converged,
        preparation=None if found is None else _preparation(found, target),
        space=space,
        slippage=slippage,
        step_before=step_before,
        step_after=_steps(registered, time, space),
        remarks=(*time.remarks, *remarks),
    )


def _follow(
    found: Registration, time: TimeOrder, space: Space, *, to_mean: bool
) -> tuple[Changes, ComplexArray, FloatArray, int, bool]:
    """Move the start points of outlines that were registered one by one so that they follow each other."""
    order, starts = time.order, time.steps == 0
    preshapes = space.preshape(found.configurations[order])
    search = CyclicSearch(space, start=True, direction=False, reflection=False)
    n_points, spectra = search.n_points, search.spectra(preshapes)
    before = np.concatenate([preshapes[:1], preshapes[:-1]])
    # Outlines around 0 were centered, and perhaps aligned, so that how they lie has no meaning.
    is_placed = bool((np.abs(space.center(found.configurations)) > _CENTERED * space.norm(found.configurations)).any())
    (products,) = search.products(spectra, before)
    to_previous = _steps_to_starts(products, is_placed) / np.maximum(time.steps, 1)[:, None]
    target, shift = space.preshape(found.target), np.zeros_like(order)
    n_iter, converged = found.n_iter, False
    for _ in range(_MAX_ITER):
        n_iter += 1
        to_target = _all_distances(search, spectra, target[None])
        followed = follow_shifts(ANCHOR * to_target, to_previous, starts)
        target = mean_preshape([space.roll(preshapes, followed)], space) if to_mean else target
        converged = bool((followed == shift).all())
        shift = followed
        if converged:
            break
    alone = _all_distances(search, spectra, target[None]).argmin(axis=1)
    whole = np.empty(len(order), dtype=np.int64)
    whole[order] = shift
    slipped = np.empty(len(order))
    slipped[order] = (shift - alone + n_points // 2) % n_points - n_points // 2
    return (
        Changes((found.shift.astype(np.int64) + whole) % n_points, found.is_reversed, found.is_mirrored),
        target,
        slipped / n_points,
        n_iter,
        converged,
    )


def follow_shifts(to_target: FloatArray, to_previous: FloatArray, starts: BoolArray) -> IntArray:
    """Return the start points of least ``Σ_t to_target[t, s_t] + Σ_t to_previous[t, (s_t − s_(t−1)) mod n]``.

    Both are squared distances, of shape (n_frames, n_points); entry `u` of a row of `to_previous` is for a start point
    `u` points after that of the frame before, if that is at 0. It is not used where a series `starts`.
    """
    n_frames, n_points = to_target.shape
    pointers = np.empty((n_frames, n_points), dtype=np.int32)
    cost = np.zeros(n_points)
    for t in range(n_frames):
        if starts[t] or t == 0:
            pointers[t] = cost.argmin()
            cost = to_target[t]
            continue
        # Row s of all steps is to_previous[t, (s - before) mod n] for each point before.
        backwards = np.tile(to_previous[t, ::-1], 2)
        steps = np.lib.stride_tricks.sliding_window_view(backwards, n_points)[n_points - 1 :: -1]
        totals = cost + steps
        pointers[t] = totals.argmin(axis=1)
        cost = totals[np.arange(n_points), pointers[t]] + to_target[t]
    shifts: IntArray = np.empty(n_frames, dtype=np.int64)
    state = int(cost.argmin())
    for t in range(n_frames - 1, -1, -1):
        shifts[t] = state
        state = int(pointers[t, state])
    return shifts


def _steps_to_starts(products: ComplexArray, is_placed: bool) -> FloatArray:
    """Return the squared distances to the frame before for all start points.

    Outlines that have a place do not turn by more than a quarter, unless they are far from each other otherwise.
    """
    squares = np.maximum(1 - np.abs(products.astype(np.complex128)) ** 2, 0)
    kept = np.where(products.real >= 0, squares, 1) if is_placed else squares
    turns = (squares.min(axis=1) < _CLEARLY_CLOSER**2 * kept.min(axis=1)) & (kept.min(axis=1) > _FAR)
    return np.where(turns[:, None], squares, kept)


def _all_distances(search: CyclicSearch, spectra: ComplexArray, targets: ComplexArray) -> FloatArray:
    """Return the squared full distances for all start points, shape (n_shapes, n_points)."""
    return np.maximum(1 - search.squared_products(spectra, targets).astype(np.float64), 0)


def _mend_swaps(configurations: ComplexArray, time: TimeOrder, space: Space) -> tuple[BoolArray, tuple[str, ...]]:
    """Return which open curves are to be reversed, and what to tell about it."""
    ordered = configurations[time.order]
    follows = time.steps > 0
    swaps: BoolArray = np.zeros(len(ordered), dtype=bool)
    is_unsure = swaps.copy()
    if follows.any():
        rows = np.flatnonzero(follows)
        before, turned = ordered[rows - 1], space.reverse(ordered[rows])
        as_is, back = (distance(curves, before, space=space) for curves in (ordered[rows], turned))
        moved, moved_back = (space.norm(curves - before) for curves in (ordered[rows], turned))
        nearest, farthest = np.minimum(moved, moved_back), np.maximum(moved, moved_back)
        size = space.norm(space.centered(before))
        is_clear = (nearest < _CLEARLY_CLOSER * farthest) & (nearest < _CLEARLY_CLOSER * size)
        swaps[rows] = np.where(is_clear, moved_back < moved, back < _CLEARLY_CLOSER * as_is)
        is_unsure[rows] = ~is_clear & (back < as_is) & ~swaps[rows]
    series = np.cumsum(~follows) - 1
    turned = np.cumsum(swaps)
    is_reversed = (turned - turned[np.flatnonzero(~follows)][series]) % 2 == 1
    # Most frames of a series keep their direction.
    share = np.bincount(series, is_reversed) / np.bincount(series)
    is_reversed ^= (share > 0.5)[series]
    found: BoolArray = np.zeros(len(ordered), dtype=bool)
    found[time.order] = is_reversed
    remarks = []
    if swaps.any():
        remarks.append(
            f"The ends of the curve were exchanged between two frames {int(swaps.sum())} times: "
            f"{int(found.sum())} of {len(found)} frames were reversed, the fewer ones of each series."
        )
    if is_unsure.any():
        remarks.append(
            f"{int(is_unsure.sum())} frames are somewhat closer to the frame before when they are reversed, but not "
            "clearly: they were left as they are. Gaps and fast motion make this likely."
        )
    return found, tuple(remarks)


def _steps(configurations: ComplexArray, time: TimeOrder, space: Space) -> FloatArray:
    """Return the full distance of each shape to the one before it, NaN at the beginning of a series."""
    steps = np.full(len(configurations), np.nan)
    ordered, rows = configurations[time.order], np.flatnonzero(time.steps > 0)
    if len(rows):
        steps[time.order[rows]] = distance(ordered[rows], ordered[rows - 1], space=space)
    return steps


def _preparation(found: Registration, target: ComplexArray) -> Any:
    return None if found.preparation is None else replace(found.preparation, mean=target)
