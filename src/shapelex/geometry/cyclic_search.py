"""Search all start points, directions and mirror images of outlines for those closest to a target.

A change is a mirror image (complex conjugate), then a reversal, then a shift of the start point by whole points:
``roll(reverse(conj(z)), s)``. All of them keep norms, so for every distance the closest is the one of the largest
product ``|m* Phi g(z)|``. The products with all shifts are one cyclic correlation: two FFTs.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy import fft

from shapelex._messages import parameter
from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex.exceptions import UnsupportedBySpaceError
from shapelex.geometry.distances import row_distances
from shapelex.spaces import Space

# Products that are held at a time: 4 MB, and twice that in squares and comparisons.
_BLOCK_PRODUCTS = 1 << 18


@dataclass(frozen=True, eq=False)
class Changes:
    """What is done to each shape of a set: mirror at the x axis, then reverse, then start at point `shift`."""

    shift: IntArray
    is_reversed: BoolArray
    is_mirrored: BoolArray

    def of(self, rows: slice) -> "Changes":
        """Return the changes of some of the shapes."""
        return Changes(self.shift[rows], self.is_reversed[rows], self.is_mirrored[rows])

    @classmethod
    def joined(cls, parts: "list[Changes]") -> "Changes":
        """Return the changes of consecutive blocks of shapes as one."""
        names = ("shift", "is_reversed", "is_mirrored")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def apply(self, Z: ComplexArray, space: Space) -> ComplexArray:
        """Return the changed configurations: the same numbers in another order, some with the other sign."""
        changed = np.where(self.is_mirrored[:, None], Z.conj(), Z)
        if self.is_reversed.any():
            changed[self.is_reversed] = space.reverse(changed[self.is_reversed])
        return space.roll(changed, self.shift) if self.shift.any() else changed

    def as_most_are(self, n_points: int) -> "Changes":
        """Return the same changes, followed by one for all.

        After it most shapes keep their direction and their handedness, and the first one keeps its start point.
        """
        is_reversed, shift = self.is_reversed, self.shift
        if _is_minority(~is_reversed):
            # rev ∘ roll_s = roll_(−s) ∘ rev
            is_reversed, shift = ~is_reversed, -shift
        is_mirrored = ~self.is_mirrored if _is_minority(~self.is_mirrored) else self.is_mirrored
        return Changes((shift - shift[0]) % n_points, is_reversed, is_mirrored)


def _is_minority(flags: BoolArray) -> bool:
    """Tell whether fewer than half of the flags are set; of halves, the one of the first flag counts as more."""
    n_set, n_all = int(np.count_nonzero(flags)), len(flags)
    return 2 * n_set < n_all or (2 * n_set == n_all and not flags[0])


class CyclicSearch:
    """Finds the closest change of each pre-shape of `Z` to a target; refuses changes that the space does not have."""

    def __init__(self, Z: ComplexArray, space: Space, *, start: bool, direction: bool, reflection: bool) -> None:
        _check_changes(space, start=start, direction=direction, reflection=reflection)
        self.Z = Z
        self.space = space
        self.start = start
        self._variants = [
            (is_reversed, is_mirrored)
            for is_mirrored in ((False, True) if reflection else (False,))
            for is_reversed in ((False, True) if direction else (False,))
        ]
        self.n_points = space.n_coordinates // (space.coordinates_per_point or 1) if start else 1
        self._spectra = fft.fft(self._by_point(Z), axis=-1) if start else Z[:, None, :]

    @property
    def n_products(self) -> int:
        """Number of products with one target: shapes times changes."""
        return len(self.Z) * len(self._variants) * self.n_points

    def of(self, numbers: IntArray) -> "CyclicSearch":
        """Return the same search over some of the shapes."""
        part = copy(self)
        part.Z, part._spectra = self.Z[numbers], self._spectra[numbers]
        return part

    def closest(self, target: ComplexArray) -> tuple[IntArray, FloatArray]:
        """Return the number of the change of the largest product with one target, and by how much it is the largest.

        Of changes that are equal to rounding the first is taken: unmirrored before mirrored, unreversed before
        reversed, then the smallest shift. The gap is that between the moduli of the largest and the next product; it
        is 0 where rounding decides.
        """
        chosen, gaps = [], []
        for _, squares in self.squared_products(target[None]):
            best = squares.max(axis=1)
            first = np.argmax(squares >= (best - self._slack)[:, None], axis=1)
            squares[np.arange(len(squares)), first] = 0
            chosen.append(first)
            gaps.append(np.sqrt(best) - np.sqrt(squares.max(axis=1)))
        return np.concatenate(chosen), np.concatenate(gaps)

    @property
    def least_gap(self) -> float:
        """Gap above which rounding does not decide, see :meth:`closest`."""
        return float(np.sqrt(self._slack))

    def largest(self, target: ComplexArray) -> FloatArray:
        """Return the largest squared product of each shape with one target, over all changes."""
        return np.concatenate([squares.max(axis=1) for _, squares in self.squared_products(target[None])])

    def duals(self, targets: ComplexArray) -> tuple[list[ComplexArray], list[bool]]:
        """Return what multiplies the spectra of shapes for each variant of the targets, and which ones are reversed."""
        duals = [self._dual(targets, *variant) for variant in self._variants]
        return duals, [is_reversed for is_reversed, _ in self._variants]

    def settle(self, targets: ComplexArray) -> Changes:
        """Find the closest changes by their residuals, which tell apart what products cannot.

        Products of 1 − 1e-16 belong to distances of 1e-8. Where several changes have the largest product to
        rounding, the smallest residual decides, and the first one where those are equal to rounding too.
        """
        chosen = []
        for block, squares in self.squared_products(targets):
            is_close = squares >= (squares.max(axis=1) - self._slack)[:, None]
            first = np.argmax(is_close, axis=1)
            for row in np.flatnonzero(np.count_nonzero(is_close, axis=1) > 1):
                candidates = np.flatnonzero(is_close[row])
                whole = self.Z[block][row : row + 1]
                changed = self.changes(candidates).apply(np.repeat(whole, len(candidates), axis=0), self.space)
                target = targets[block][row] if len(targets) > 1 else targets[0]
                residuals = row_distances(self.space.whiten(target)[None], self.space.whiten(changed))
                noise = 32 * np.finfo(residuals.dtype).eps
                first[row] = candidates[np.argmax(residuals <= residuals.min() + noise)]
            chosen.append(first)
        return self.changes(np.concatenate(chosen))

    @property
    def _slack(self) -> float:
        return 64 * float(np.finfo(self.Z.real.dtype).eps)

    def squared_products(self, targets: ComplexArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield blocks of rows and ``|m* Phi g(z)|²`` of all their changes: one column each, shifts running fastest."""
        # The change is made to the target, where it is cheap:
        # |m* Phi roll_s(rev(conj z))| = |(rev conj m)* Phi roll_(−s) z|.
        duals = [self._dual(targets, *variant) for variant in self._variants]
        n_columns = len(self._variants) * self.n_points
        n_rows = max(1, _BLOCK_PRODUCTS // max(n_columns, self.space.n_coordinates))
        for start in range(0, len(self.Z), n_rows):
            block = slice(start, start + n_rows)
            spectra = self._spectra[block]
            squares = np.empty((len(spectra), len(self._variants), self.n_points), dtype=self.Z.real.dtype)
            for number, (dual, (is_reversed, _)) in enumerate(zip(duals, self._variants, strict=True)):
                terms = (dual[block] if len(dual) > 1 else dual) * spectra
                products = terms[:, 0] if self.start and terms.shape[1] == 1 else terms.sum(axis=1 if self.start else 2)
                if self.start:
                    products = fft.fft(products, norm="forward") if is_reversed else fft.ifft(products)
                squares[:, number] = products.real**2 + products.imag**2
            yield block, squares.reshape(len(spectra), n_columns)

    def _dual(self, targets: ComplexArray, is_reversed: bool, is_mirrored: bool) -> ComplexArray:
        """Return what multiplies the spectra of shapes: the conjugate spectrum of ``Phi m``."""
        changed = targets.conj() if is_mirrored else targets
        if is_reversed:
            changed = self.space.reverse(changed)
        dual = changed @ self.space.gram.T.astype(changed.dtype)
        if not self.start:
            return dual.conj()[:, None, :]
        spectra: ComplexArray = fft.fft(self._by_point(dual), axis=-1)
        return spectra.conj()

    def _by_point(self, Z: ComplexArray) -> ComplexArray:
        return Z.reshape(len(Z), -1, self.n_points)

    def changes(self, numbers: IntArray) -> Changes:
        """Return changes by their numbers: start points run fastest, mirror images slowest."""
        variants = np.array(self._variants)[numbers // self.n_points]
        return Changes(numbers % self.n_points, variants[:, 0], variants[:, 1])


def _check_changes(space: Space, *, start: bool, direction: bool, reflection: bool) -> None:
    if start and not space.closed:
        raise UnsupportedBySpaceError(
            f"{parameter('start', True)} looks for the start point of closed outlines, but {space} is open: if the "
            f"outlines are closed give a space with {parameter('closed', True)}, else {parameter('start', False)}."
        )
    if start and space.coordinates_per_point is None:
        raise UnsupportedBySpaceError(
            f"{parameter('start', True)} moves the start point by whole points, but {type(space).__name__} has none: "
            f"use Landmarks, BSpline or HermiteSpline with {parameter('closed', True)}, or {parameter('start', False)}."
        )
    if direction:
        try:
            space.reverse(space.shift.astype(np.complex128))
        except UnsupportedBySpaceError as error:
            raise UnsupportedBySpaceError(
                f"{parameter('direction', True)} needs a space that can reverse: {error}"
            ) from error
    if reflection and np.iscomplexobj(space.gram) and space.gram.imag.any():
        raise UnsupportedBySpaceError(
            f"{parameter('reflection', True)} takes complex conjugates, which are mirror images where the gram is "
            f"real; that of {type(space).__name__} is not."
        )
