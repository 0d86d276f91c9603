"""Outliers: shapes that lie unusually far from the mean of their group.

Input: shapes, and groups if there are any. Output: distances from the mean, and which of them are unusual.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._validation import check_positive
from shapelex.statistics.data import as_groups, read_input
from shapelex.statistics.results import Result, Sample, format_table, plural, sample_of

if TYPE_CHECKING:
    import pandas as pd

_MOST_PRINTED = 10


@dataclass(frozen=True, eq=False, repr=False)
class Outliers(Result):
    """Distances of shapes from the mean; the result of :func:`~shapelex.statistics.outliers`.

    Parameters
    ----------
    table : DataFrame
        One row per shape, the most distant first: ``row``, ``id``, ``group``, ``distance`` from the mean, the ``limit``
        of its group and ``is_outlier``.
    factor : float
        Number of interquartile ranges above the upper quartile at which the limit lies.
    sample : Sample
        Shapes that were used and left out.
    """

    table: "pd.DataFrame"
    factor: float
    sample: Sample

    @property
    def rows(self) -> list[int]:
        """Numbers of the outliers, the most distant first."""
        return [int(row) for row in self.table.loc[self.table["is_outlier"], "row"]]

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the distances of all shapes.

        Returns
        -------
        pandas.DataFrame
            One shape per row, the most distant first.
        """
        return self.table.copy()

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the distances of all shapes in order, with the limits and the names of the outliers.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_outliers

        return plot_outliers(self, ax)

    def _headline(self) -> str:
        return (
            f"{plural(len(self.rows), 'outlier')} among {plural(self.n_used, 'shape')}: more than {self.factor:g} "
            "interquartile ranges above the upper quartile of the distances from the mean."
        )

    def _body(self) -> str:
        return format_table(self.table.head(max(_MOST_PRINTED, len(self.rows))), index=False)


def outliers(
    shapes: Any, groups: Any = None, *, data: Any = None, factor: float = 1.5, aligned: bool = False
) -> Outliers:
    """Find shapes that lie unusually far from the mean shape, for example because landmarks were exchanged.

    A shape is an outlier if its distance from the mean of its group exceeds the upper quartile of these distances by
    more than `factor` interquartile ranges. Nothing is removed.

    Parameters
    ----------
    shapes : ShapeSet or array_like
        The shapes, as in :func:`~shapelex.statistics.shape_lm`.
    groups : str, list of str or array_like, optional
        Column, columns or values that define groups, each with its own mean and quartiles.
    data : DataFrame or dict, optional
        As in :func:`~shapelex.statistics.shape_lm`.
    factor : float, default 1.5
        See above.
    aligned : bool, default False
        As in :func:`~shapelex.statistics.shape_lm`.

    Returns
    -------
    Outliers
        Distances of all shapes, the most distant first.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> X = np.array([0, 1, 1 + 1j, 1j]) + 0.01 * np.random.default_rng(0).normal(size=(20, 4, 2)) @ [1, 1j]
    >>> X[7] = X[7, [1, 0, 2, 3]]
    >>> sx.statistics.outliers(X).rows
    [7]
    """
    import pandas as pd

    check_positive(factor, "factor")
    given = read_input(shapes, data)
    needed = {} if groups is None else {"group": given.combined(groups, "groups")}
    used = given.use(needed, aligned)
    codes, names = (
        (np.zeros(len(used.rows), dtype=np.int64), [""]) if groups is None else as_groups(used.table["group"])
    )
    distances, limits = np.empty(len(codes)), np.empty(len(codes))
    for group in range(len(names)):
        is_own = codes == group
        rows = used.coordinates[is_own]
        distances[is_own] = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
        lower, upper = np.quantile(distances[is_own], [0.25, 0.75])
        limits[is_own] = upper + factor * (upper - lower)
    ids = given.columns["id"].to_numpy()[used.rows] if "id" in given.columns else used.rows.astype(str)
    columns: dict[str, Any] = {"row": used.rows, "id": ids}
    if groups is not None:
        columns["group"] = [names[code] for code in codes]
    columns |= {"distance": distances, "limit": limits, "is_outlier": distances > limits * (1 + 1e-9)}
    table = pd.DataFrame(columns).sort_values("distance", ascending=False, kind="stable", ignore_index=True)
    small = [name for name, count in zip(names, np.bincount(codes), strict=True) if count < 4 and name]
    remarks = [f"Fewer than four shapes, whose quartiles say little: {', '.join(small)}."] if small else []
    return Outliers(table, float(factor), sample_of(used, *remarks))
