"""How outlines were prepared before they are compared, so that others can be prepared in the same way.

A set of shapes carries its preparation, a model that of the shapes that it was learned from.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.exceptions import PreparationError
from shapelex.spaces.base import read_only

RESAMPLINGS = {
    "as given": "the points of the file as they are",
    "arc length": "points at equal steps of arc length",
    "least squares": "curves fitted by least squares",
}
LEFT_OUT = {"border": "at the border of the image", "holes": "with holes"}
_SAME_MEAN = 1e-6
FLAGS = {
    "start": "start point",
    "direction": "direction",
    "reflection": "reflection",
    "subsample": "fractions of a point",
}


@dataclass(frozen=True, eq=False)
class Preparation:
    """How the outlines of a set were resampled and registered.

    Parameters
    ----------
    resampling : {"as given", "arc length", "least squares"}, optional
        Origin of the points: those of the file, points at equal steps of arc length, or coordinates of curves fitted
        by least squares; None where it is not known.
    mean : ndarray of complex, shape (n_coordinates,), optional
        Pre-shape that the outlines were registered to; None for outlines that were not registered.
    start, direction, reflection, subsample : bool
        What the registration could change, as in :func:`shapelex.register`.
    is_recorded : bool, default True
        False for files of versions that did not record the preparation.
    left_out : tuple of {"border", "holes"}
        Kinds of objects of masks that were left out: at the border of the image, with holes.

    Examples
    --------
    >>> import shapelex as sx
    >>> outline = [0, 2, 3 + 1j, 1 + 2j, 1j]
    >>> print(sx.register(outline, sx.Landmarks(5, closed=True), to=outline).preparation)
    registered to a mean (start point, direction)
    """

    resampling: str | None = None
    mean: ComplexArray | None = None
    start: bool = True
    direction: bool = True
    reflection: bool = False
    subsample: bool = False
    is_recorded: bool = True
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.mean is not None:
            # The same numbers as in a file, whatever the precision of the shapes.
            object.__setattr__(self, "mean", read_only(np.array(self.mean, dtype=np.complex128)))

    @property
    def is_registered(self) -> bool:
        """Whether the outlines were registered."""
        return self.mean is not None

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of :func:`shapelex.register` that register other outlines in the same way."""
        return {"to": self.mean, **{name: getattr(self, name) for name in FLAGS}}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Preparation):
            return NotImplemented
        return self.is_recorded == other.is_recorded and self.to_json() == other.to_json()

    def __str__(self) -> str:
        if not self.is_recorded:
            return "preparation not recorded"
        parts = [] if self.resampling is None else [RESAMPLINGS[self.resampling]]
        left_out = [f"without objects {LEFT_OUT[one]}" for one in self.left_out]
        return ", ".join([*parts, self._registration_words(), *left_out])

    def _registration_words(self) -> str:
        """Return whether the outlines were registered, and what that could change, in words."""
        if not self.is_recorded:
            return "prepared in a way that is not recorded"
        free = ", ".join(words for name, words in FLAGS.items() if getattr(self, name))
        return f"registered to a mean ({free})" if self.is_registered else "not registered"

    def difference(self, other: "Preparation", *, is_unknown_other: bool = False) -> str:
        """Return how another preparation differs, in words; nothing where both are the same or one is not known.

        Parameters
        ----------
        other : Preparation
            Preparation of other outlines of the same space.
        is_unknown_other : bool, default False
            Whether one that is not known counts as not registered.

        Returns
        -------
        str
            ``"expected …, got …"``, or the empty string.
        """
        if self.resampling is not None and other.resampling not in (None, self.resampling):
            return f"expected {RESAMPLINGS[self.resampling]}, got {RESAMPLINGS[other.resampling]}"
        is_known = self.is_recorded and other.is_recorded
        if self.is_registered != other.is_registered and (is_known or is_unknown_other):
            return (
                f"expected outlines that are {self._registration_words()}, got outlines that are "
                f"{other._registration_words()}"
            )
        if self.mean is None or other.mean is None:
            return ""
        changed = [name for name in FLAGS if getattr(self, name) != getattr(other, name)]
        if changed:
            return "expected a registration with " + ", ".join(
                f"{name}={getattr(self, name)}, got {name}={getattr(other, name)}" for name in changed
            )
        # Means are pre-shapes, of size 1; a mean that was scaled again differs by rounding.
        is_same = np.allclose(self.mean, other.mean, rtol=0, atol=_SAME_MEAN)
        return "" if is_same else "they were registered to another mean"

    def to_json(self) -> dict[str, Any]:
        """Return the preparation as JSON values.

        Returns
        -------
        dict
            Values that :func:`preparation_from_json` reads.
        """
        registration = None
        if self.mean is not None:
            points = np.stack([self.mean.real, self.mean.imag], axis=1).tolist()
            registration = {"mean": points, **{name: getattr(self, name) for name in FLAGS}}
        left_out = {"left_out": list(self.left_out)} if self.left_out else {}
        return {"resampling": self.resampling, "registration": registration, **left_out}


# Preparation of sets and models in files of versions that did not record it.
UNRECORDED = Preparation(is_recorded=False)


def join_preparations(preparations: Iterable[Preparation | None]) -> Preparation | None:
    """Return the preparation of sets that become one; refuse sets that were prepared differently.

    None stands for plain arrays, which count as prepared like the others.
    """
    known = [one for one in preparations if one is not None]
    if not known:
        return None
    first = known[0]
    for other in known[1:]:
        if difference := first.difference(other, is_unknown_other=True):
            raise PreparationError(
                f"Sets that become one must be prepared in the same way: {difference}. Read the outlines again without "
                "registering them, join them, and register the whole."
            )
    if not all(one.is_recorded for one in known):
        return UNRECORDED
    left_out = tuple(one for one in first.left_out if all(one in other.left_out for other in known))
    is_same = all(one.resampling == first.resampling for one in known)
    return replace(first, resampling=first.resampling if is_same else None, left_out=left_out)
