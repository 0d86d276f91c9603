"""Measures whether the same atoms are found when a dictionary is learned again.

Input: whitened atoms of several dictionaries. Output: distances from atoms to their partners in the best matching.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from shapelex._typing import ComplexArray, FloatArray
from shapelex.geometry.distances import pairwise_row_distances
from shapelex.selection.tidy_table import TidyTable, format_grid

_N_CHANCE_PAIRS = 10


class AtomStability(TidyTable):
    """Distances from atoms to their partners in other dictionaries of the same size, one size per row.

    Parameters
    ----------
    rows : iterable of mapping
        The rows; each has a value for every column.

    Attributes
    ----------
    columns : tuple of str
        ``n_atoms``, ``n_nonzero``, ``distance`` (mean full distance from an atom to its partner in the dictionary of
        another seed), ``chance`` (the same for two random draws of as many shapes) and ``stability``,
        ``1 − distance / chance``: 1 where the same atoms are found again, 0 where they match no better than random
        shapes.
    """

    columns = ("n_atoms", "n_nonzero", "distance", "chance", "stability")

    def of(self, n_atoms: int) -> float:
        """Stability of one size.

        Parameters
        ----------
        n_atoms : int
            Number of atoms.

        Returns
        -------
        float
            Stability; NaN where it was not measured.
        """
        return next((row["stability"] for row in self._rows if row["n_atoms"] == n_atoms), float("nan"))

    def __str__(self) -> str:
        cells = {
            f"{row['n_atoms']} atoms": [f"{row[name]:.3f}" for name in ("distance", "chance", "stability")]
            for row in self._rows
        }
        return format_grid("", ["distance", "by chance", "stability"], cells) if cells else ""


def matched_distances(first: ComplexArray, second: ComplexArray) -> FloatArray:
    """Return the full distances from whitened atoms to their partners, in the matching of least squared distances.

    Examples
    --------
    >>> import numpy as np
    >>> atoms = np.eye(3, dtype=complex)
    >>> matched_distances(atoms, 1j * atoms[[2, 0, 1]])
    array([0., 0., 0.])
    """
    distances = pairwise_row_distances(first, second)
    return np.asarray(distances[linear_sum_assignment(distances**2)])


def measure_stability(
    dictionaries: Sequence[ComplexArray], shapes: ComplexArray, generator: np.random.Generator
) -> dict[str, Any]:
    """Compare whitened dictionaries of the same size with each other, and with random shapes."""
    n_atoms = len(dictionaries[0])
    distance = float(np.mean([matched_distances(*pair).mean() for pair in combinations(dictionaries, 2)]))
    draws = [
        [shapes[generator.choice(len(shapes), n_atoms, replace=False)] for _ in range(2)]
        for _ in range(_N_CHANCE_PAIRS)
    ]
    chance = float(np.mean([matched_distances(*pair).mean() for pair in draws]))
    stability = float(np.clip(1 - distance / chance, 0, 1)) if chance > 0 else 1.0
    return {"distance": distance, "chance": chance, "stability": stability}
