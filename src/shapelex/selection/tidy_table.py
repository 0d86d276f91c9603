"""Tidy tables: one measurement per row, columns by name."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from shapelex.shapes.thumbnails import html_text

logger = logging.getLogger("shapelex")

Row = dict[str, Any]
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
    >>> from shapelex.selection.tidy_table import TidyTable
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

    def __getitem__(self, column: str) -> np.ndarray[Any, Any]:
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


def print_percent(table: pd.DataFrame, corner: str) -> str:
    """Return a table of errors in percent, with `corner` above the names of its rows; empty where nothing is known."""
    # Columns of numbers would stand one place to the left of their cells.
    named = (100 * table).rename(columns=str).rename_axis(index=None, columns=corner)
    return str(named.to_string(float_format="{:.2f}".format, na_rep="", col_space=6))


def collect(measurements: Iterator[Row], n_at_most: int, callback: Progress | None, task: str) -> list[Row]:
    """Return the rows that are measured one after the other, until the callback, which is told of each, says stop."""
    rows: list[Row] = []
    for row in measurements:
        rows.append(row)
        n_at_most = max(n_at_most, len(rows))
        logger.info("%s: %d of at most %d, %s", task, len(rows), n_at_most, row)
        if callback is not None and callback(len(rows), n_at_most, dict(row)):
            break
    return rows
