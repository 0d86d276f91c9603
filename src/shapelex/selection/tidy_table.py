"""Tidy tables: one measurement per row, columns by name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shapelex.shapes.thumbnails import html_text

if TYPE_CHECKING:
    import pandas as pd


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

    def rows(self) -> list[dict[str, Any]]:
        """Rows as dictionaries.

        Returns
        -------
        list of dict
            Each with a value for every column.
        """
        return [dict(row) for row in self._rows]

    def to_dataframe(self) -> "pd.DataFrame":
        """Table as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One measurement per row.
        """
        import pandas as pd

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


def format_grid(corner: str, heads: Sequence[str], named_cells: Mapping[str, Sequence[str]]) -> str:
    """Return lines of equal width: names on the left under `corner`, cells aligned to the right under `heads`."""
    first = max(len(corner), *(len(name) for name in named_cells))
    lines = [heads, *named_cells.values()]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(
        "  ".join([name.ljust(first), *(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))])
        for name, cells in [(corner, heads), *named_cells.items()]
    )
