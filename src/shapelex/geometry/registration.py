"""Register outlines: give them a common start point, direction and, if wanted, handedness."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, repeat

import numpy as np
from scipy import fft

from shapelex._blas import single_blas_thread
from shapelex._messages import parameter
from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count, check_flag
from shapelex.exceptions import ParameterError, ShapeInputError, UnsupportedBySpaceError
from shapelex.geometry.alignment import phases
from shapelex.geometry.cyclic_search import Changes, CyclicSearch
from shapelex.geometry.distances import row_distances
from shapelex.geometry.means import full_mean, turned_along
from shapelex.shapes.opening import read_configurations
from shapelex.shapes.preparation import Preparation
from shapelex.shapes.summary import counted, html_text, html_with_thumbnails
from shapelex.spaces import Landmarks, Space

# Coordinates of the shapes that are worked on at a time: 4 MB.
_BLOCK_ENTRIES = 1 << 18

# Shapes on which the starts compete.
_MAX_TRIAL_SHAPES = 300
# Share of the loss by which an iteration over more shapes lowers it, at least.
_LEAST_GAIN = 1e-6

# Fractions of a point that change by no more are settled, and those below the second bound are rounding.
_FRACTION_TOL = 1e-4
_NO_FRACTION = 1e-10

# The squared product is smooth on the scale of a point: a grid of eighths finds its peak, and Newton's method its top.
_GRID_STEPS = 8
_NEWTON_STEPS = 8


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
        return (
            f"{counted(len(self.shift), 'shape')} registered: {counted(n_moved, 'start point')} moved, "
            f"{np.count_nonzero(self.is_reversed)} reversed, {np.count_nonzero(self.is_mirrored)} mirrored.\n"
            f"RMS full distance to the target: {before:.4f} before, {after:.4f} after; "
            f"{counted(self.n_iter, 'iteration')}{'' if self.converged else ', not converged'}."
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

    The iterations end at an optimum of the mean squared distance that no change of a single shape improves; those over
    more than 300 shapes also where an iteration lowers it by less than a millionth. It need not be the best of all:
    outlines that look alike after half a turn have several.

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
    changeable = {"start": start, "direction": direction, "reflection": reflection}
    changeable = {name: check_flag(value, name) for name, value in changeable.items()}
    subsample = check_flag(subsample, "subsample")
    if subsample:
        _check_subsample(start, space)
    n_starts, max_iter = check_count(n_starts, 1, "n_starts"), check_count(max_iter, 1, "max_iter")
    generator = np.random.default_rng(check_count(random_state, 0, "random_state"))
    to_mean = isinstance(to, str)
    if to_mean and to != "mean":
        raise ParameterError(f'{parameter("to")} must be "mean" or configurations to register to, got {to!r}.')
    targets = None if to_mean else _given_targets(to, len(configurations), space)
    search = CyclicSearch(space, **changeable)
    curves = _Curves(configurations, search)
    n_iter, converged = 0, True
    if targets is None:
        mean, n_iter, converged = curves.register_to_mean(n_starts, max_iter, generator)
        changes = curves.settle(mean[None]).as_most_are(search.n_points)
        targets = curves.mean(changes)[None]
    else:
        changes = curves.settle(targets)
    registered = np.empty_like(configurations)
    for rows in _row_blocks(*configurations.shape):
        registered[rows] = changes.of(rows).apply(configurations[rows], space)
    shift: IntArray | FloatArray = changes.shift
    if subsample:
        if to_mean:
            fractions, mean, n_more, settled = _refine_with_mean(registered, targets[0], space, max_iter)
            targets, n_iter, converged = mean[None], n_iter + n_more, converged and settled
        else:
            fractions = _closest_fractions(registered, targets, space)
        shift = np.where(fractions == 0, changes.shift, (changes.shift + fractions) % space.n_coordinates)
        for rows in _row_blocks(*registered.shape):
            registered[rows] = _shift_landmarks(registered[rows], fractions[rows])
    rotation, before, after = _compare(configurations, registered, targets, space)
    target, preparation = targets, None
    if len(targets) == 1:
        target, given = targets[0], getattr(Z, "preparation", None) or Preparation()
        preparation = replace(given, mean=target, subsample=subsample, is_recorded=True, **changeable)
    moved = registered, target, shift, changes.is_reversed, changes.is_mirrored
    return Registration(*moved, rotation, before, after, n_iter, converged, preparation, space)


def _given_targets(to: ArrayLike, n_shapes: int, space: Space) -> ComplexArray:
    targets, _ = read_configurations(to, space, "to")
    if len(targets) not in (1, n_shapes):
        raise ShapeInputError(f"{parameter('to')} must have one shape, or {n_shapes} as Z has, got {len(targets)}.")
    return space.preshapes(targets, "to")


def _check_subsample(start: bool, space: Space) -> None:
    if not start:
        raise ParameterError(f"{parameter('subsample', True)} moves start points: it needs {parameter('start', True)}.")
    if not (isinstance(space, Landmarks) and space.closed):
        raise UnsupportedBySpaceError(
            f"subsample=True shifts landmarks of closed outlines, but the space is {space}: its control points move as "
            "a whole; leave subsample=False."
        )


@dataclass(frozen=True, eq=False)
class _Curves:
    """Configurations and the changes that are allowed; pre-shapes are computed in blocks, whenever they are needed."""

    configurations: ComplexArray
    search: CyclicSearch

    def register_to_mean(
        self, n_starts: int, max_iter: int, generator: np.random.Generator
    ) -> tuple[ComplexArray, int, bool]:
        """Return the mean of the registered shapes, the iterations over all shapes, and whether they settled.

        Of `n_starts` first means, which `generator` draws, the best goes on with all shapes.
        """
        n_shapes = len(self.configurations)
        mean = self.mean(self.search.changes(np.zeros(n_shapes, dtype=np.int64)))
        if n_starts > 1 and n_shapes > 1:
            drawn = generator.permutation(n_shapes)
            trial = replace(self, configurations=self.configurations[np.sort(drawn[:_MAX_TRIAL_SHAPES])])
            singles = self.search.space.preshapes(self.configurations[drawn[: n_starts - 1]])
            found = list(map(trial._descend, (mean, *singles), repeat(max_iter)))
            losses = np.array([loss for _, _, _, loss in found])
            # The first of equals, so that shapes that are registered already stay.
            mean = found[np.argmax(losses <= losses.min() * (1 + 1e-9) + 64 * np.finfo(mean.dtype).eps)][0]
            # Means of more and more shapes, so that few iterations remain for all.
            for n_drawn in _MAX_TRIAL_SHAPES * 10 ** np.arange(1, int(np.log10(max(n_shapes / 1000, 1))) + 1):
                part = replace(self, configurations=self.configurations[np.sort(drawn[:n_drawn])])
                mean = part._descend(mean, max_iter)[0]
        return self._descend(mean, max_iter)[:3]

    def settle(self, targets: ComplexArray) -> Changes:
        """Return the closest changes to one target, or to one per shape."""
        found = [
            self.search.settle(preshapes, targets[numbers] if len(targets) > 1 else targets)
            for numbers, preshapes in self._blocks()
        ]
        return self.search.changes(np.concatenate(found))

    def mean(self, changes: Changes) -> ComplexArray:
        """Return the full mean pre-shape of the changed shapes."""
        space = self.search.space
        return mean_preshape((changes.of(rows).apply(block, space) for rows, block in self._blocks()), space)

    def _blocks(self, numbers: IntArray | None = None) -> Iterator[tuple[IntArray, ComplexArray]]:
        """Yield blocks of the shapes of some numbers, all by default, as pre-shapes."""
        numbers = np.arange(len(self.configurations)) if numbers is None else numbers
        space = self.search.space
        for rows in _row_blocks(len(numbers), max(space.n_coordinates, self.search.n_changes)):
            block = numbers[rows]
            yield block, space.preshapes(self.configurations[block], first_row=int(block[0]))

    def _descend(self, mean: ComplexArray, max_iter: int) -> tuple[ComplexArray, int, bool, float]:
        """Register and average in turn; return the mean, the iterations, whether these settled, and the loss.

        Both halves of a turn lower ``Σ_k d_F(m, g_k(z_k))²``. When the mean moves by δ, no product changes by more, so
        shapes whose best product leads by more than 2 δ keep their change and are not looked at.

        The more shapes, the smaller the steps in which the mean moves on. The means of many shapes are therefore moved
        further in the direction of the last step (Nesterov's method, started again where the sum has risen).
        """
        search, space, n_shapes = self.search, self.search.space, len(self.configurations)
        chosen = np.full(n_shapes, -1)
        gaps: FloatArray = np.full(n_shapes, -np.inf)
        # Σ_k z_k z_k* of the changed pre-shapes.
        moments = np.zeros((space.n_coordinates, space.n_coordinates), dtype=np.complex128)
        exact = converged = False
        largest, n_steps, last, loss = 0.0, 0, mean, np.inf
        for n_iter in range(max_iter + 1):
            settled = True
            for numbers, preshapes in self._blocks(np.flatnonzero(gaps <= 0)):
                closest, gaps[numbers] = search.closest(preshapes, mean)
                moved = np.flatnonzero(closest != chosen[numbers])
                if len(moved):
                    settled = False
                    part = preshapes[moved]
                    if n_iter:
                        left = search.apply(part, chosen[numbers[moved]])
                        moments -= left.T @ left.conj()
                    after = search.apply(part, closest[moved])
                    moments += after.T @ after.conj()
                    chosen[numbers] = closest
            dual = space.gram @ mean
            before, loss = loss, 1 - float(np.vdot(dual, moments @ dual).real) / n_shapes
            # Of many shapes a few always move on, as their mean drifts along the outline.
            settled |= n_shapes > _MAX_TRIAL_SHAPES and 0 <= before - loss <= _LEAST_GAIN * loss
            converged = settled and exact and n_iter < max_iter
            if converged or n_iter == max_iter:
                break
            if settled:
                following = self.mean(search.changes(chosen))
            else:
                # One step of the power method already lowers the loss, at a small part of the price of an eigenvector.
                raised = moments @ (space.gram @ mean)
                size = space.norm(raised)
                following = step = raised / size
                if n_shapes > _MAX_TRIAL_SHAPES:
                    n_steps = n_steps + 1 if size >= largest else 0
                    following = step + max(0, n_steps - 1) / (n_steps + 2) * (step - last)
                    following /= space.norm(following)
                    largest, last = size, step
                following = following.astype(mean.dtype)
            rows = space.whiten_rows(np.stack([mean, following]))
            gaps -= 2 * row_distances(rows[:1], rows[1:], "partial")
            mean, exact = following, settled
        return mean, n_iter, converged, loss


def mean_preshape(blocks: Iterable[ComplexArray], space: Space) -> ComplexArray:
    """Return the full mean of pre-shapes that come in blocks, turned along the first of them."""
    rows = (space.whiten_rows(block) for block in blocks)
    first = next(rows)
    mean, _ = full_mean((part, np.ones(len(part), part.real.dtype)) for part in chain([first], rows))
    return np.asarray(space.unwhiten_rows(turned_along(mean, first[0]).astype(first.dtype)[None])[0])


def _row_blocks(n_rows: int, n_entries: int) -> list[slice]:
    """Return blocks of consecutive rows, of which each needs memory for so many numbers."""
    step = max(1, _BLOCK_ENTRIES // n_entries)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def _compare(configurations: ComplexArray, registered: ComplexArray, targets: ComplexArray, space: Space) -> FloatArray:
    """Return the rotations of registered shapes onto their targets, and the full distances before and after."""
    found = []
    for rows in _row_blocks(*registered.shape):
        end = space.unit_rows(targets[rows] if len(targets) > 1 else targets)
        before, after = space.unit_rows(configurations[rows]), space.unit_rows(registered[rows])
        rotations = np.angle(phases(np.vecdot(after, end)))
        found.append([rotations, row_distances(before, end), row_distances(after, end)])
    return np.concatenate(found, axis=1)


def _refine_with_mean(
    registered: ComplexArray, mean: ComplexArray, space: Space, max_iter: int
) -> tuple[FloatArray, ComplexArray, int, bool]:
    """Shift registered closed landmarks by fractions of a point, in turn with their mean.

    Returns the shifts, that of the first shape being 0, the mean of the shifted shapes, the iterations, and whether
    the shifts settled to 1e-4 of a point.
    """
    n_shapes, n_points = registered.shape
    fractions: FloatArray = np.zeros(n_shapes)
    for n_iter in range(1, max_iter + 1):
        following = _closest_fractions(registered, mean[None], space)
        # The mean would drift along the outlines: only what shapes differ by counts.
        following = _around_zero(following - following[0], n_points)
        moved = float(np.abs(_around_zero(following - fractions, n_points)).max())
        fractions = following
        blocks = ((space.preshapes(registered[rows]), fractions[rows]) for rows in _row_blocks(*registered.shape))
        mean = mean_preshape((_shift_landmarks(*block) for block in blocks), space)
        if moved <= _FRACTION_TOL:
            return fractions, mean, n_iter, True
    return fractions, mean, max_iter, False


def _around_zero(shifts: FloatArray, n_points: int) -> FloatArray:
    """Return the same start points, at most half of the points away either way."""
    return shifts - n_points * np.round(shifts / n_points)


def _shift_landmarks(Z: ComplexArray, shifts: FloatArray) -> ComplexArray:
    """Return closed landmarks started at point `shifts`, which may lie between two of them.

    Points between landmarks come from the trigonometric polynomial through them: shifting it multiplies Fourier
    coefficients by phases, so norms and centers stay, and a shift back gives the landmarks back.
    """
    turns = np.exp(np.multiply.outer(shifts, _angular_steps(Z.shape[1])))
    # A shift by nothing leaves the landmarks as they are, to the bit.
    return np.asarray(np.where(shifts[:, None] == 0, Z, fft.ifft(fft.fft(Z) * turns.astype(Z.dtype))))


def _closest_fractions(registered: ComplexArray, targets: ComplexArray, space: Space) -> FloatArray:
    """Return the shifts, in points, that maximize the products ``|m* shift_landmarks(z)|`` of pre-shapes.

    All of the outline is looked at: midway between two points a product may be less than at a whole shift elsewhere,
    and yet have the highest peak beside it.
    Shifts are at most half of the points either way, and 0 where no other is better.
    """
    n_shapes, n_points = registered.shape
    steps, n_grid = _angular_steps(n_points), _GRID_STEPS * n_points
    # Sorted by modulus, so that no shift wins where it is as good as any.
    grid = fft.fftfreq(n_grid, 1 / n_points)
    order = np.argsort(np.abs(grid), kind="stable")
    duals = fft.fft(targets.astype(np.complex128)).conj() / n_points
    found: FloatArray = np.empty(n_shapes)
    for rows in _row_blocks(n_shapes, n_grid):
        preshapes = space.preshapes(registered[rows]).astype(np.complex128)
        terms = fft.fft(preshapes) * (duals[rows] if len(duals) > 1 else duals)
        padded = np.zeros((len(terms), n_grid), dtype=np.complex128)
        padded[:, fft.ifftshift(np.arange(n_points) - n_points // 2)] = terms
        squares = (np.abs(fft.ifft(padded)[:, order]) * n_grid) ** 2
        on_grid = squares.max(axis=1)
        is_close = squares >= on_grid[:, None] - 64 * np.finfo(np.float64).eps
        fractions = grid_shifts = grid[order[np.argmax(is_close, axis=1)]]
        for _ in range(_NEWTON_STEPS):
            turned = terms * np.exp(fractions[:, None] * steps)
            value, slope, bend = turned.sum(axis=1), turned @ steps, turned @ steps**2
            first = (value.conj() * slope).real
            second = np.abs(slope) ** 2 + (value.conj() * bend).real
            step = np.divide(-first, second, out=np.zeros_like(first), where=second < 0)
            fractions = fractions + np.clip(step, -0.0625, 0.0625)
        reached = np.abs((terms * np.exp(fractions[:, None] * steps)).sum(axis=1)) ** 2
        fractions = np.where(reached >= on_grid, fractions, grid_shifts)
        found[rows] = np.where(np.abs(fractions) < _NO_FRACTION, 0.0, fractions)
    return found


def _angular_steps(n_points: int) -> ComplexArray:
    """Return ``2 pi i f / N`` for the signed frequencies ``f``."""
    return np.asarray(2j * np.pi * fft.fftfreq(n_points))
