"""The order of the points of a long table, from its column of landmarks.

In come the landmarks that each shape names; out goes the place of every name, the same for all shapes, so that points
correspond however the rows are sorted.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

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


def find_order(named: Sequence[Sequence[str]]) -> LandmarkOrder | None:
    """Return the places of the landmarks of a table.

    Numbers are places, from 0 where there is a 0 and else from 1, also with one word before all of them. Other names
    come in the order in which the table has them first.

    Parameters
    ----------
    named : sequence of sequence of str
        The landmarks of each shape, in the order of its rows.

    Returns
    -------
    LandmarkOrder or None
        The places; None where names say nothing, being blank or all different, so that the rows have to tell.

    Examples
    --------
    >>> find_order([["LM1", "LM2"], ["LM2", "LM1"]]).places
    {'LM1': 0, 'LM2': 1}
    >>> find_order([["nose", "tail"], ["tail", "nose"]])
    LandmarkOrder(places={'nose': 0, 'tail': 1}, n_points=2)
    """
    counts = Counter(name for names in named for name in names)
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
