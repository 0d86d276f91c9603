"""Held-out errors of dictionaries of many sizes and sparsities, and the elbow beyond which they improve little."""

from collections.abc import Iterable, Mapping
from math import lgamma, log
from typing import Any

import numpy as np
import pandas as pd

from shapelex.selection.tidy_table import Row, TidyTable, print_percent

PRECISION = 1e-3
"""Errors below this count as zero: shapes are not measured to a thousandth of their size."""

LEAST_STEP = 0.1
"""Smallest fraction by which one more atom per shape must lower the held-out error."""

# A smaller size of similar error is preferred only where the stability of its atoms is higher by this much.
_WORTHWHILE_STABILITY = 0.15
_CLOSE_ERROR = 1.03


class ErrorSurface(TidyTable):
    """Held-out errors by size and sparsity, one fold per row.

    Parameters
    ----------
    rows : iterable of mapping
        The rows; each has a value for every column.
    n_dimensions : int
        Number of complex dimensions of centered shapes.

    Attributes
    ----------
    columns : tuple of str
        ``n_atoms``, ``n_nonzero``, ``fold``, ``rmse`` of the held-out shapes, ``train_rmse``, ``energy`` (mean squared
        modulus of their weights) and ``seconds``.
    """

    columns = ("n_atoms", "n_nonzero", "fold", "rmse", "train_rmse", "energy", "seconds")

    def __init__(self, rows: Iterable[Mapping[str, Any]], n_dimensions: int) -> None:
        super().__init__(rows)
        self.n_dimensions = n_dimensions

    def sizes(self, n_nonzero: int | None = None) -> list[int]:
        """Numbers of atoms that were tried, in ascending order.

        Parameters
        ----------
        n_nonzero : int, optional
            Number of atoms per shape to list the sizes of; all sizes by default.

        Returns
        -------
        list of int
            Numbers of atoms.
        """
        return sorted({row["n_atoms"] for row in self._rows if n_nonzero in (None, row["n_nonzero"])})

    def sparsities(self, n_atoms: int | None = None) -> list[int]:
        """Numbers of atoms per shape that were tried, in ascending order.

        Parameters
        ----------
        n_atoms : int, optional
            Size to list; all sizes by default.

        Returns
        -------
        list of int
            Numbers of atoms per shape.
        """
        return sorted({row["n_nonzero"] for row in self._rows if n_atoms in (None, row["n_atoms"])})

    def rmse(self, n_atoms: int, n_nonzero: int) -> float:
        """Held-out error of one size and sparsity, over all folds.

        Parameters
        ----------
        n_atoms, n_nonzero : int
            Size and sparsity.

        Returns
        -------
        float
            Root of the mean over folds of the mean squared full distance; NaN where it was not measured.
        """
        squares = [row["rmse"] ** 2 for row in self._cell(n_atoms, n_nonzero)]
        return float(np.sqrt(np.mean(squares))) if squares else float("nan")

    def spread(self, n_atoms: int, n_nonzero: int) -> float:
        """Standard error of the held-out error, from its differences between folds.

        Parameters
        ----------
        n_atoms, n_nonzero : int
            Size and sparsity.

        Returns
        -------
        float
            Standard error; NaN where there are fewer than two folds.
        """
        rmses = [row["rmse"] for row in self._cell(n_atoms, n_nonzero)]
        return float(np.std(rmses, ddof=1) / np.sqrt(len(rmses))) if len(rmses) > 1 else float("nan")

    def description_length(self, n_atoms: int, n_nonzero: int) -> float:
        """Description length of a held-out shape in nats: of its code and of the residual.

        ``n log(mse)`` for the residual, a Gaussian of ``n`` complex dimensions, ``s log(n |a|² / mse)`` for ``s``
        weights of mean squared modulus ``|a|²`` at the precision of the residual, and ``log C(J, s)`` for the choice of
        ``s`` of ``J`` atoms.

        Parameters
        ----------
        n_atoms, n_nonzero : int
            Size and sparsity.

        Returns
        -------
        float
            Description length up to a constant; smaller is better.
        """
        cell = self._cell(n_atoms, n_nonzero)
        mse = max(self.rmse(n_atoms, n_nonzero), PRECISION) ** 2
        energy = max(float(np.mean([row["energy"] for row in cell])), mse / self.n_dimensions) if cell else float("nan")
        choices = lgamma(n_atoms + 1) - lgamma(n_nonzero + 1) - lgamma(n_atoms - n_nonzero + 1)
        return self.n_dimensions * log(mse) + n_nonzero * log(self.n_dimensions * energy / mse) + choices

    def _cell(self, n_atoms: int, n_nonzero: int) -> list[Row]:
        return [row for row in self._rows if row["n_atoms"] == n_atoms and row["n_nonzero"] == n_nonzero]

    def __str__(self) -> str:
        errors = {n: {size: self.rmse(size, n) for size in self.sizes(n)} for n in self.sparsities()}
        table = pd.DataFrame(errors).sort_index()
        return print_percent(table.set_axis([f"{size} atoms" for size in table.index]), "atoms per shape")


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
        place of the atoms of the halves), ``n_named`` (number of reproducible atoms: their distance is at most
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
        table = self.to_dataframe()
        table["reproducible"] = [f"{row['n_named']} of {row['n_atoms']}" for row in self._rows]
        table.index = [f"{size} atoms" for size in table["n_atoms"]]
        shown = table[["distance", "chance", "reproducible", "stability"]].rename(columns={"chance": "by chance"})
        return "" if table.empty else shown.to_string(float_format="{:.3f}".format, col_space=13)


def choose(surface: ErrorSurface, min_gain: float) -> tuple[int, int]:
    """Return size and sparsity at the elbow of a surface."""
    cells = sorted({(int(row["n_atoms"]), int(row["n_nonzero"])) for row in surface.rows()})
    _, n_nonzero = min(cells, key=lambda cell: (surface.description_length(*cell), cell))
    n_atoms = choose_size(surface, n_nonzero, min_gain)
    # With many coordinates the weights add little to the description, so the error must fall by LEAST_STEP as well.
    while n_nonzero > 1 and (n_atoms, n_nonzero - 1) in cells:
        step = surface.rmse(n_atoms, n_nonzero) / surface.rmse(n_atoms, n_nonzero - 1)
        if step <= 1 - LEAST_STEP:
            break
        n_nonzero -= 1
        n_atoms = choose_size(surface, n_nonzero, min_gain)
    return n_atoms, n_nonzero


def choose_size(surface: ErrorSurface, n_nonzero: int, min_gain: float) -> int:
    """Return the size beyond which each further atom lowers the error by less than `min_gain`, at one sparsity.

    The decrease is measured along the lower convex hull of the logarithm of the error, so that a size whose dictionary
    was learned badly does not hide the decrease at larger sizes.
    """
    sizes = np.array(surface.sizes(n_nonzero))
    errors = np.log([max(surface.rmse(size, n_nonzero), PRECISION) for size in sizes])
    here = 0
    while here < len(sizes) - 1:
        slopes = (errors[here + 1 :] - errors[here]) / (sizes[here + 1 :] - sizes[here])
        if slopes.min() > np.log1p(-min_gain):
            break
        # The next point of the hull is that of the steepest descent.
        here += 1 + int(slopes.argmin())
    return int(sizes[here])


def close_sizes(surface: ErrorSurface, n_atoms: int, n_nonzero: int) -> list[int]:
    """Return a size and the smaller ones of nearly the same error, in ascending order."""
    limit = _CLOSE_ERROR * surface.rmse(n_atoms, n_nonzero)
    return [size for size in surface.sizes() if size <= n_atoms and surface.rmse(size, n_nonzero) <= limit]


def most_stable(surface: ErrorSurface, stability: AtomStability, n_atoms: int, n_nonzero: int) -> int:
    """Return a smaller size of nearly the same error and clearly higher stability, if there is one."""
    best = n_atoms
    for size in close_sizes(surface, n_atoms, n_nonzero):
        if stability.of(size) > stability.of(best) + _WORTHWHILE_STABILITY:
            best = size
    return best
