"""Conversion of arguments to whitened pre-shapes, and back.

In come configurations and a space (or ``None`` for landmarks); out go stacked whitened rows of norm 1, on which all
of geometry is plain Hermitian algebra. So every result is the same for all configurations of a shape.
"""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import as_configurations, check_same_count, name_rows
from shapelex.exceptions import NotHorizontalError
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.base import choose_space
from shapelex.spaces.rows import row_inner, row_norms


@dataclass(frozen=True)
class PreshapePair:
    """Two stacks of whitened pre-shapes that go together row by row."""

    first: ComplexArray
    second: ComplexArray
    space: Space
    is_single: bool

    @property
    def products(self) -> ComplexArray:
        """Hermitian products ``first_k* second_k``."""
        return row_inner(self.first, self.second)


def resolve_space(space: Space | None, Z: ArrayLike, name: str) -> Space:
    """Return `space`, or that of the set `Z`, or the landmarks that the last axis of `Z` counts."""
    chosen = choose_space(space, Z)
    if chosen is not None:
        chosen.check_space_of(Z, name)
        return chosen
    if isinstance(Z, np.ndarray) and np.iscomplexobj(Z) and Z.ndim == 2 and Z.shape[1] > 1:
        return Landmarks(Z.shape[1])
    configurations, _ = as_configurations(Z, name=name)
    return Landmarks(configurations.shape[1])


def preshape_pair(z: ArrayLike, w: ArrayLike, space: Space | None) -> PreshapePair:
    """Return the whitened pre-shapes of two arguments, broadcast against each other."""
    space = resolve_space(space, z, "z")
    first = space.whitened_preshapes(z, "z")
    second = space.whitened_preshapes(w, "w")
    check_same_count(len(first), len(second), "z", "w")
    first, second = np.broadcast_arrays(first, second)
    return PreshapePair(first, second, space, is_one_shape(z) and is_one_shape(w))


def is_one_shape(Z: ArrayLike) -> bool:
    """Tell a single configuration from a stack."""
    return np.ndim(Z) == 1


def phases(products: ComplexArray) -> ComplexArray:
    """Return ``p / |p|``; 1 where the product is zero to rounding, so no rotation is better than another."""
    moduli = np.abs(products)
    negligible = moduli <= 4 * np.finfo(moduli.dtype).eps
    return np.where(negligible, 1, products / np.where(negligible, 1, moduli)).astype(products.dtype)


def rotations_onto(rows: ComplexArray, base: ComplexArray) -> ComplexArray:
    """Return, as a column, the phases that rotate whitened pre-shapes as close as possible to `base`."""
    rotations: ComplexArray = phases(row_inner(rows, base))[:, None].astype(rows.dtype, copy=False)
    return rotations


def whiten_horizontal(v: ArrayLike, base: ComplexArray, space: Space) -> ComplexArray:
    """Return whitened tangent vectors; refuse those with a part along the shift or along ``base``.

    The part tangent to the orbit of rotations counts as vertical too.
    """
    vectors, _ = as_configurations(v, name="v", n_coordinates=space.n_coordinates)
    check_same_count(len(base), len(vectors), "z", "v")
    rows = np.atleast_2d(space.whiten(vectors))
    lengths = row_norms(rows)
    along_base = np.abs(row_inner(base, rows))
    along_shift = np.abs(space.center(vectors)) * space.norm(space.shift.astype(vectors.dtype))
    precision = np.finfo(lengths.dtype).eps
    allowed = 4 * np.sqrt(precision) * np.maximum(lengths, along_shift) + 16 * precision
    not_horizontal = np.hypot(along_base, along_shift) > allowed
    if not_horizontal.any():
        first = int(np.argmax(not_horizontal))
        along_base, along_shift = (np.broadcast_to(part, not_horizontal.shape) for part in (along_base, along_shift))
        raise NotHorizontalError(
            f"v must be horizontal at z, but is not in {name_rows(not_horizontal)}: there, first, |z* Phi v| = "
            f"{along_base[first]:.3g} and |u* Phi v| / |u| = {along_shift[first]:.3g} should be 0; use "
            "horizontal_projection(z, v)."
        )
    return remove_along(base, rows)


def remove_along(base: ComplexArray, rows: ComplexArray) -> ComplexArray:
    """Return what of `rows` is orthogonal to the unit rows of `base`."""
    remaining = rows - row_inner(base, rows)[:, None] * base
    # Once more, for what rounding left where most of a row was taken away.
    remaining -= row_inner(base, remaining)[:, None] * base
    return remaining
