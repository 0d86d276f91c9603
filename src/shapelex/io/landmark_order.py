"""The order of the points of a long table, from its column of landmarks.

In come the names of landmarks and how often each is there; out goes the place of every name, the same for all shapes,
so that points correspond however the rows are sorted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shapelex._typing import IntArray

# LM1, LM 2 and 3.0 are numbers too; eighteen digits fit into 64 bits.
_NUMBERED = re.compile(r"(\D*)(\d{1,18})(?:\.0*)?")


@dataclass(frozen=True)
class LandmarkOrder:
    """Where the point of a landmark goes.

    Parameters
    ----------
    places : dict of str to int
        Place of each name, from 0.
    n_points : int or None
        Number of points of every shape; None where each has as many as its own highest place says.
    """

    places: dict[str, int]
    n_points: int | None

    def place(self, names: Sequence[str]) -> tuple[IntArray, int]:
        """Return where the points of one shape go.

        Parameters
        ----------
        names : sequence of str
            Landmarks of its points.

        Returns
        -------
        ndarray of int, shape (n_names,)
            Place of each point.
        int
            Number of places, of which some may stay empty.

        Raises
        ------
        ValueError
            If two points are one landmark, or far more places are empty than not.
        """
        places = np.array([self.places[name] for name in names])
        kept, first_rows = np.unique(places, return_index=True)
        if len(kept) < len(places):
            twice = names[min(set(range(len(places))) - set(first_rows.tolist()))]
            raise ValueError(f"it has landmark {twice[:40]} twice; give an id to every shape.")
        n_points = int(places.max()) + 1 if self.n_points is None else self.n_points
        if n_points > 2 * len(places) + 100:
            what = f"are {n_points} in the table"
            if self.n_points is None:
                what = f"run to {max(names, key=self.places.__getitem__)}"
            raise ValueError(f"its landmarks {what}, but only {len(places)} are there.")
        return places, n_points


def find_order(counts: Mapping[str, int]) -> LandmarkOrder | None:
    """Return the places of the landmarks of a table.

    Numbers are places, from 0 where there is a 0 and else from 1, also with one word before all of them. Other names
    come in the order in which the table has them first.

    Parameters
    ----------
    counts : mapping of str to int
        How often each name is there, in the order in which the table has them first, shape by shape.

    Returns
    -------
    LandmarkOrder or None
        The places; None where names say nothing, being blank or all different, so that the rows have to tell.

    Examples
    --------
    >>> find_order({"LM2": 2, "LM1": 2}).places
    {'LM2': 1, 'LM1': 0}
    >>> find_order({"nose": 2, "tail": 2})
    LandmarkOrder(places={'nose': 0, 'tail': 1}, n_points=2)
    """
    if not any(counts):
        return None
    matches = {name: match for name in counts if (match := _NUMBERED.fullmatch(name))}
    if len(matches) == len(counts) and len({match[1].strip().lower() for match in matches.values()}) == 1:
        numbers = {name: int(match[2]) for name, match in matches.items()}
        first = 0 if 0 in numbers.values() else 1
        return LandmarkOrder({name: number - first for name, number in numbers.items()}, None)
    if max(counts.values()) == 1:
        return None
    return LandmarkOrder({name: place for place, name in enumerate(counts)}, len(counts))
