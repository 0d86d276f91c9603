"""What all results of this folder have: a table, the rows that were used and left out, and remarks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import IntArray
from shapelex.shapes.summary import html_text
from shapelex.statistics.data import AlignedShapes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Sample:
    """Which shapes an analysis used.

    Parameters
    ----------
    rows : ndarray of int, shape (n_used,)
        Numbers of the shapes that were used, in the set that was given.
    dropped : mapping of int to str
        Numbers of the shapes that were left out, with the reason for each.
    remarks : tuple of str
        What a reader of the results should know.

    Examples
    --------
    >>> import numpy as np
    >>> Sample(np.array([0, 2]), {1: "no species"}).n_used
    2
    """

    rows: IntArray
    dropped: Mapping[int, str]
    remarks: tuple[str, ...] = ()

    @property
    def n_used(self) -> int:
        """Number of shapes that were used."""
        return len(self.rows)


def sample_of(shapes: AlignedShapes, *remarks: str) -> Sample:
    """Return which shapes were used, with further remarks."""
    return Sample(shapes.rows, shapes.dropped, (*shapes.remarks, *remarks))


class Result:
    """Base of all results: they print as text, show as HTML in notebooks and convert to a data frame.

    Subclasses have an attribute `sample`, a :class:`Sample`, and define :meth:`to_dataframe` and :meth:`_headline`.
    """

    sample: Sample

    @property
    def n_used(self) -> int:
        """Number of shapes that were used."""
        return self.sample.n_used

    @property
    def dropped(self) -> dict[int, str]:
        """Numbers of the shapes that were left out, with the reason for each."""
        return dict(self.sample.dropped)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the results should know."""
        return self.sample.remarks

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the results as a tidy table.

        Returns
        -------
        pandas.DataFrame
            One result per row.
        """
        raise NotImplementedError

    def _headline(self) -> str:
        """Return one sentence that says what was computed."""
        raise NotImplementedError

    def _body(self) -> str:
        """Return the tables as text."""
        return format_table(self.to_dataframe())

    def __str__(self) -> str:
        return "\n".join([self._headline(), "", self._body(), *([""] if self.remarks else []), *self.remarks])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return what notebooks show: the result as it is printed."""
        return html_text(str(self))


def format_table(table: "pd.DataFrame", *, index: bool | None = None) -> str:
    """Return a table as text: six significant digits, empty cells where there is no value, P to three digits.

    The index is printed unless it counts rows.
    """
    import pandas as pd

    shown = not isinstance(table.index, pd.RangeIndex) if index is None else index
    cells = pd.DataFrame(
        {name: [format_value(value, str(name)) for value in table[name].tolist()] for name in table.columns},
        index=table.index,
    )
    return str(cells.to_string(index=shown))


def format_value(value: Any, name: str = "") -> str:
    """Return a cell as text."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, float):
        if name == "P" or name.startswith(("P_", "P(")):
            return f"{value:.3f}" if value >= 0.001 else f"{value:.2g}"
        return f"{value:.6g}"
    return str(value)


def plural(count: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> plural(1, "shape"), plural(2, "shape")
    ('1 shape', '2 shapes')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
