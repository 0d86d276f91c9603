"""Search all start points, directions and mirror images of outlines for those closest to a target.

A change is a mirror image (complex conjugate), then a reversal, then a shift of the start point by whole points:
``roll(reverse(conj(z)), s)``. All of them keep norms, so for every distance the closest is the one of the largest
product ``|m* Phi g(z)|``. The products with all shifts are one cyclic correlation: two FFTs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import fft

from shapelex._messages import parameter
from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex.exceptions import UnsupportedBySpaceError
from shapelex.geometry.distances import row_distances
from shapelex.spaces import Space


@dataclass(frozen=True, eq=False)
class Changes:
    """What is done to each shape of a set: mirror at the x axis, then reverse, then start at point `shift`."""

    shift: IntArray
    is_reversed: BoolArray
    is_mirrored: BoolArray

    def of(self, rows: slice | IntArray) -> "Changes":
        """Return the changes of some of the shapes."""
        return Changes(self.shift[rows], self.is_reversed[rows], self.is_mirrored[rows])

    def apply(self, Z: ComplexArray, space: Space) -> ComplexArray:
        """Return the changed configurations: the same numbers in another order, some with the other sign."""
        changed = np.where(self.is_mirrored[:, None], Z.conj(), Z)
        if self.is_reversed.any():
            changed[self.is_reversed] = space.reverse_rows(changed[self.is_reversed])
        return space.roll_rows(changed, self.shift) if self.shift.any() else changed

    def as_most_are(self, n_points: int) -> "Changes":
        """Return the same changes, followed by one for all.

        After it most shapes keep their direction and their handedness, and the first one keeps its start point.
        """
        turns, mirrors = _are_most(self.is_reversed), _are_most(self.is_mirrored)
        # rev ∘ roll_s = roll_(−s) ∘ rev
        shift = -self.shift if turns else self.shift
        return Changes((shift - shift[0]) % n_points, self.is_reversed ^ turns, self.is_mirrored ^ mirrors)


def _are_most(flags: BoolArray) -> bool:
    """Tell whether most flags are set; of halves, the one of the first flag counts as more."""
    return bool(2 * np.count_nonzero(flags) + flags[0] > len(flags))


@dataclass(frozen=True, eq=False)
class CyclicSearch:
    """The changes of a space that are allowed, and the search among them; refuses those that the space does not have.

    Changes have numbers: start points run fastest, then directions, then mirror images.
    """

    space: Space
    start: bool
    direction: bool
    reflection: bool

    def __post_init__(self) -> None:
        space = self.space
        if self.start and not space.closed:
            raise UnsupportedBySpaceError(
                f"{parameter('start', True)} looks for the start point of closed outlines, but {space} is open: if the "
                f"outlines are closed give a space with {parameter('closed', True)}, else {parameter('start', False)}."
            )
        if self.start and space.coordinates_per_point is None:
            raise UnsupportedBySpaceError(
                f"{parameter('start', True)} moves start points by whole points, but {type(space).__name__} has none: "
                f"use Landmarks, BSpline or HermiteSpline, {parameter('closed', True)}, or {parameter('start', False)}."
            )
        if self.direction:
            try:
                space.reverse(space.shift.astype(np.complex128))
            except UnsupportedBySpaceError as error:
                raise UnsupportedBySpaceError(
                    f"{parameter('direction', True)} needs a space that can reverse: {error}"
                ) from error
        if self.reflection and np.iscomplexobj(space.gram) and space.gram.imag.any():
            raise UnsupportedBySpaceError(
                f"{parameter('reflection', True)} takes complex conjugates, which are mirror images where the gram is "
                f"real; that of {type(space).__name__} is not."
            )

    @cached_property
    def variants(self) -> list[tuple[bool, bool]]:
        """Whether each allowed change but shifts reverses, and whether it mirrors."""
        mirrored, is_reversed = (False, True)[: 1 + self.reflection], (False, True)[: 1 + self.direction]
        return [(reverses, mirrors) for mirrors in mirrored for reverses in is_reversed]

    @cached_property
    def n_points(self) -> int:
        """Number of start points."""
        return self.space.n_coordinates // (self.space.coordinates_per_point or 1) if self.start else 1

    @property
    def n_changes(self) -> int:
        """Number of changes of each shape."""
        return len(self.variants) * self.n_points

    def changes(self, numbers: IntArray) -> Changes:
        """Return changes by their numbers."""
        variants = np.array(self.variants)[numbers // self.n_points]
        return Changes(numbers % self.n_points, variants[:, 0], variants[:, 1])

    def apply(self, Z: ComplexArray, numbers: IntArray) -> ComplexArray:
        """Return configurations after the changes of some numbers."""
        return self.changes(numbers).apply(Z, self.space)

    def spectra(self, preshapes: ComplexArray) -> ComplexArray:
        """Return what :meth:`squared_products` needs of pre-shapes, shape (n_shapes, n_per_point, n_points)."""
        by_point = preshapes.reshape(len(preshapes), -1, self.n_points)
        return fft.fft(by_point) if self.start else by_point

    def duals(self, targets: ComplexArray) -> list[ComplexArray]:
        """Return what multiplies the spectra for each variant: the conjugate spectrum of ``Phi m``.

        The change is made to the target, where it is cheap:
        ``|m* Phi roll_s(rev(conj z))| = |(rev conj m)* Phi roll_(−s) z|``.
        """
        duals = []
        for is_reversed, is_mirrored in self.variants:
            changed = targets.conj() if is_mirrored else targets
            if is_reversed:
                changed = self.space.reverse_rows(changed)
            duals.append(self.spectra(changed @ self.space.gram.T.astype(changed.dtype)).conj())
        return duals

    def squared_products(self, spectra: ComplexArray, targets: ComplexArray) -> FloatArray:
        """Return ``|m* Phi g(z)|²`` for all changes of each shape and one target, or one target per shape."""
        squares = np.empty((len(spectra), len(self.variants), self.n_points), dtype=spectra.real.dtype)
        for number, products in enumerate(self.products(spectra, targets)):
            squares[:, number] = products.real**2 + products.imag**2
        return squares.reshape(len(spectra), -1)

    def products(self, spectra: ComplexArray, targets: ComplexArray) -> Iterator[ComplexArray]:
        """Yield the products ``m* Phi g(z)`` of all start points, up to conjugation, for each variant."""
        for dual, (is_reversed, _) in zip(self.duals(targets), self.variants, strict=True):
            terms = dual * spectra
            found = terms[:, 0] if terms.shape[1] == 1 else terms.sum(axis=1)
            if self.start:
                found = fft.fft(found, norm="forward") if is_reversed else fft.ifft(found)
            yield found

    def closest(self, preshapes: ComplexArray, target: ComplexArray) -> tuple[IntArray, FloatArray]:
        """Return the number of the change of the largest product with one target, and how far that may move.

        Of changes that are equal to rounding the first is taken. While the target moves by less than half of the
        second result, the change remains the same: the products move by less than the gap between the two largest.
        """
        squares = self.squared_products(self.spectra(preshapes), target[None])
        slack = _rounding_of(squares)
        best = squares.max(axis=1)
        first = np.argmax(squares >= (best - slack)[:, None], axis=1)
        squares[np.arange(len(squares)), first] = 0
        return first, np.sqrt(best) - np.sqrt(squares.max(axis=1)) - np.sqrt(slack)

    def settle(self, preshapes: ComplexArray, targets: ComplexArray) -> IntArray:
        """Return the numbers of the closest changes by their residuals, which tell apart what products cannot.

        Products of 1 − 1e-16 belong to distances of 1e-8. Where several changes have the largest product to
        rounding, the smallest residual decides, and the first one where those are equal to rounding too.
        """
        squares = self.squared_products(self.spectra(preshapes), targets)
        is_close = squares >= (squares.max(axis=1) - _rounding_of(squares))[:, None]
        chosen: IntArray = np.argmax(is_close, axis=1)
        for row in np.flatnonzero(np.count_nonzero(is_close, axis=1) > 1):
            candidates = np.flatnonzero(is_close[row])
            changed = self.apply(np.repeat(preshapes[row, None], len(candidates), 0), candidates)
            target = targets[row % len(targets), None]
            residuals = row_distances(self.space.whiten_rows(target), self.space.whiten_rows(changed))
            noise = 32 * np.finfo(residuals.dtype).eps
            chosen[row] = candidates[np.argmax(residuals <= residuals.min() + noise)]
        return chosen


def _rounding_of(squares: FloatArray) -> float:
    """Return by how much squared products that are equal may differ."""
    return 64 * float(np.finfo(squares.dtype).eps)
