"""Tidy tables of measurements, which callers watch as they grow."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import lgamma, log
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from shapelex.shapes.summary import html_text

logger = logging.getLogger("shapelex")

# Errors below this count as zero: shapes are not measured to a thousandth of their size.
PRECISION = 1e-3

Row = dict[str, Any]
Column = np.ndarray[Any, Any]
Progress = Callable[[int, int, Row], bool | None]


class TidyTable:
    """Measurements, one per row.

    Columns are taken by name, as from a data frame: ``table["rmse"]``; ``len(table)`` counts rows.

    Parameters
    ----------
    rows : iterable of mapping
        The rows; each has a value for every column.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns.

    Examples
    --------
    >>> from shapelex.selection.tables import TidyTable
    >>> class Sizes(TidyTable):
    ...     columns = ("name", "size")
    >>> table = Sizes([{"name": "small", "size": 1}, {"name": "large", "size": 5}])
    >>> table["size"]
    array([1, 5])
    >>> print(table.to_csv(), end="")
    name,size
    small,1
    large,5
    """

    columns: ClassVar[tuple[str, ...]] = ()

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows = [{name: row[name] for name in self.columns} for row in rows]

    def keys(self) -> tuple[str, ...]:
        """Names of the columns.

        Returns
        -------
        tuple of str
            As in ``columns``.
        """
        return self.columns

    def rows(self) -> list[Row]:
        """Rows as dictionaries.

        Returns
        -------
        list of dict
            Each with a value for every column.
        """
        return [dict(row) for row in self._rows]

    def add(self, *values: Any) -> Row:
        """Append a row.

        Parameters
        ----------
        *values
            A value for every column, in their order.

        Returns
        -------
        dict
            The row.
        """
        self._rows.append(dict(zip(self.columns, values, strict=True)))
        return self._rows[-1]

    def to_dataframe(self) -> pd.DataFrame:
        """Table as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One measurement per row.
        """
        return pd.DataFrame(self._rows, columns=list(self.columns))

    def to_csv(self, path: str | Path | None = None) -> str:
        """Table as comma-separated text, with the names of the columns in the first line.

        Parameters
        ----------
        path : str or Path, optional
            File to write; none when not given.

        Returns
        -------
        str
            The text.
        """
        text: str = self.to_dataframe().to_csv(index=False, lineterminator="\n")
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def __getitem__(self, column: str) -> Column:
        if column not in self.columns:
            raise KeyError(f"the table has the columns {', '.join(self.columns)}, not {column!r}.")
        return np.array([row[column] for row in self._rows])

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """Return what notebooks show: the table as it is printed."""
        return html_text(str(self))


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
        return float(np.sqrt((self._of_cell("rmse", n_atoms, n_nonzero) ** 2).mean()))

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
        return float(self._of_cell("rmse", n_atoms, n_nonzero).sem())

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
        mse = max(self.rmse(n_atoms, n_nonzero), PRECISION) ** 2
        energy = max(float(self._of_cell("energy", n_atoms, n_nonzero).mean()), mse / self.n_dimensions)
        choices = lgamma(n_atoms + 1) - lgamma(n_nonzero + 1) - lgamma(n_atoms - n_nonzero + 1)
        return self.n_dimensions * log(mse) + n_nonzero * log(self.n_dimensions * energy / mse) + choices

    def _of_cell(self, column: str, n_atoms: int, n_nonzero: int) -> "pd.Series[float]":
        """Return the entries of all folds at one size and sparsity; their mean is NaN where there are none."""
        cell = n_atoms, n_nonzero
        return pd.Series([row[column] for row in self._rows if (row["n_atoms"], row["n_nonzero"]) == cell], dtype=float)

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


def print_percent(table: pd.DataFrame, corner: str) -> str:
    """Return a table of errors in percent, with `corner` above the names of its rows; empty where nothing is known."""
    # Columns of numbers would stand one place to the left of their cells.
    named = (100 * table).rename(columns=str).rename_axis(index=None, columns=corner)
    return str(named.to_string(float_format="{:.2f}".format, na_rep="", col_space=6))


def collect(measurements: Iterator[Row], n_at_most: int, callback: Progress | None, task: str) -> None:
    """Make measurements one by one, log them, and tell the callback, which may stop them by returning True."""
    for n_done, row in enumerate(measurements, 1):
        n_at_most = max(n_at_most, n_done)
        logger.info("%s: %d of at most %d, %s", task, n_done, n_at_most, row)
        if callback is not None and callback(n_done, n_at_most, dict(row)):
            break
