"""Stability of the atoms of dictionaries of several sizes, as a table.

Input: what :mod:`shapelex.learning.stability` measured for each size. Output: a tidy table.
"""

from shapelex.selection.tidy_table import TidyTable, format_grid


class AtomStability(TidyTable):
    """Distances from atoms to their matches in dictionaries learned from halves of the shapes, one size per row.

    Parameters
    ----------
    rows : iterable of mapping
        The rows; each has a value for every column.

    Attributes
    ----------
    columns : tuple of str
        ``n_atoms``, ``n_nonzero``, ``distance`` (mean full distance from an atom to its match in a dictionary of the
        same size that was learned from half of the shapes), ``chance`` (the same where random shapes take the
        place of the atoms of the halves), ``n_named`` (number of atoms that can be named: their distance is at most
        half of that by chance) and
        ``stability``, ``1 − distance / chance``: 1 where the same atoms are found again, 0 where they match no better
        than random shapes.
    """

    columns = ("n_atoms", "n_nonzero", "distance", "chance", "n_named", "stability")

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
            f"{row['n_atoms']} atoms": [
                f"{row['distance']:.3f}",
                f"{row['chance']:.3f}",
                f"{row['n_named']} of {row['n_atoms']}",
                f"{row['stability']:.3f}",
            ]
            for row in self._rows
        }
        return format_grid("", ["distance", "by chance", "can be named", "stability"], cells) if cells else ""
