"""Allometry: how shape changes with size.

Input: shapes, and groups if there are any. Output: a model of shape on log size, scores of each shape along the
allometric direction, and predicted shapes.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_flag, removed_arguments
from shapelex.exceptions import ParameterError
from shapelex.statistics.data import SIZE, as_columns, as_groups, is_missing, read_input
from shapelex.statistics.linear_model import orthonormal_basis
from shapelex.statistics.models import TOTAL, ShapeLinearModel, shape_lm
from shapelex.statistics.permutations import BLOCKS
from shapelex.statistics.results import Result, Sample, format_table, plural

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Allometry(Result):
    """Dependence of shape on size; the result of :func:`~shapelex.statistics.allometry`.

    Parameters
    ----------
    fit : ShapeLinearModel
        The model of shape on log size, and groups.
    sizes : ndarray of float, shape (n_used,)
        Logarithm of the size of each shape.
    scores : ndarray of float, shape (n_used,)
        Regression score: projection of each shape onto the direction in which the fitted shapes change with size.
    common_component : ndarray of float, shape (n_used,)
        Common allometric component: projection onto the direction of the pooled regression within groups.
    predicted : ndarray of float, shape (n_used,)
        First principal component of the fitted shapes.
    groups : Series or None
        Group of each shape.
    sample : Sample
        Shapes that were used and left out.
    """

    fit: ShapeLinearModel
    sizes: FloatArray
    scores: FloatArray
    common_component: FloatArray
    predicted: FloatArray
    groups: "pd.Series | None"
    sample: Sample

    @property
    def table(self) -> "pd.DataFrame":
        """Analysis of variance of the model."""
        return self.fit.table

    @property
    def share(self) -> float:
        """Share of the sum of squares of shape that size explains."""
        return float(self.fit.table["SS"].iloc[0] / self.fit.table.loc[TOTAL, "SS"])

    def shapes_at(self, sizes: Any, group: str | None = None) -> ComplexArray:
        """Return predicted shapes along size.

        Parameters
        ----------
        sizes : array_like of float
            Sizes, not their logarithms.
        group : str, optional
            Group to predict; needed where the model has groups.

        Returns
        -------
        ndarray of complex, shape (n_sizes, n_coordinates)
            Predicted configurations of unit size.

        Raises
        ------
        ParameterError
            If the group is missing or not needed, or a size is not positive.
        """
        values = np.atleast_1d(np.asarray(sizes, dtype=np.float64))
        if (values <= 0).any():
            raise ParameterError(f"{parameter('sizes')} must be positive, got {values.min():g}.")
        data: dict[str, Any] = {str(self.fit.shapes.table.columns[0]): values}
        if self.groups is not None:
            if group is None:
                raise ParameterError(
                    f"{parameter('group')} must name one of {', '.join(sorted(set(map(str, self.groups))))}."
                )
            data[_GROUP] = str(group)
        elif group is not None:
            raise ParameterError(f"{parameter('group')} is not needed: the model has no groups.")
        return self.fit.predict(data, n_bootstrap=0).shapes

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the scores of each shape, or of each unit by its first shape.

        Returns
        -------
        pandas.DataFrame
            Columns ``row``, ``log_size``, ``score``, ``common_component``, ``predicted`` and, with groups, ``group``.
        """
        import pandas as pd

        columns: dict[str, Any] = {
            "row": self.fit.shapes.table.index,
            "log_size": self.sizes,
            "score": self.scores,
            "common_component": self.common_component,
            "predicted": self.predicted,
        }
        if self.groups is not None:
            columns["group"] = self.groups.to_numpy()
        return pd.DataFrame(columns)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the regression scores against log size, with the predicted shapes of small and large size.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_allometry

        return plot_allometry(self, ax)

    def _headline(self) -> str:
        first = self.fit.table.iloc[0]
        return (
            f"Size explains {100 * self.share:.1f} % of the variation of {plural(self.n_used, 'shape')} (F = "
            f"{first['F']:.4g}, P = {first['P']:.3g})."
        )

    def _body(self) -> str:
        return format_table(self.fit.table)


_SIZE, _GROUP = "given_size", "group"


@removed_arguments(blocks=BLOCKS)
def allometry(
    shapes: Any,
    groups: Any = None,
    *,
    size: Any = "size",
    data: Any = None,
    common: bool = False,
    permutations: int = 999,
    random_state: Any = 0,
    strata: Any = None,
    unit: Any = "auto",
    aligned: bool = False,
) -> Allometry:
    r"""Describe and test how shape changes with size.

    The model is ``shape ~ log(size)``, and with groups ``shape ~ log(size) * group``, or ``log(size) + group`` where
    all groups share one direction of change. With :math:`b` the slope of the fitted shapes along log size, the
    regression score of a shape is :math:`y \cdot b / |b|` [1]_. The common allometric component is the same for the
    slope pooled within groups [2]_.

    Parameters
    ----------
    shapes : ShapeSet or array_like
        The shapes, as in :func:`~shapelex.statistics.shape_lm`.
    groups : str, list of str or array_like, optional
        Column, columns or values that define groups.
    size : str or array_like, default "size"
        Column or values of the size, not its logarithm; by default the centroid size of the shapes as given.
    data : DataFrame or dict, optional
        As in :func:`~shapelex.statistics.shape_lm`.
    common : bool, default False
        Whether all groups share one slope.
    permutations, random_state, strata, unit, aligned
        As in :func:`~shapelex.statistics.shape_lm`.

    Returns
    -------
    Allometry
        The model, the scores, and predicted shapes along size.

    Raises
    ------
    ParameterError
        If a size is not positive.
    ShapeInputError
        If all shapes were scaled to one size before.

    References
    ----------
    .. [1] A. G. Drake and C. P. Klingenberg, "The pace of morphological change: historical transformation of skull
       shape in St Bernard dogs", Proceedings of the Royal Society B 275 (2008), 71-76.
    .. [2] P. Mitteroecker, P. Gunz, M. Bernhard, K. Schaefer and F. L. Bookstein, "Comparison of cranial ontogenetic
       trajectories among great apes and humans", Journal of Human Evolution 46 (2004), 679-698.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> sizes = np.linspace(1, 3, 30)
    >>> wings = np.array([0, 1, 1 + 1j, 1j]) + 0.2 * np.log(sizes)[:, None] * np.array([0, 1, 0, 0])
    >>> wings = sizes[:, None] * (wings + 0.01 * rng.normal(size=(30, 4, 2)) @ [1, 1j])
    >>> found = sx.statistics.allometry(wings, permutations=99)
    >>> bool(found.share > 0.5)
    True
    """
    check_flag(common, "common")
    given = read_input(shapes, data)
    sizes = given.column(size, "size")
    numbers = sizes.to_numpy()
    # Numbers below have lost digits.
    least = np.finfo(np.float64).tiny
    if numbers.dtype.kind not in "iuf" or (numbers[~np.isnan(numbers.astype(np.float64))] < least).any():
        raise ParameterError(f"{parameter('size')} must be positive numbers, in the unit of length; not logarithms.")
    name = size if isinstance(size, str) and size.isidentifier() else _SIZE
    # The centroid size is known by its name.
    is_own = name == SIZE and not given.has_given_sizes
    columns = {**as_columns(data, len(given)), **({} if is_own else {name: numbers})}
    formula = f"shape ~ log({name})"
    if groups is not None:
        labels = given.combined(groups, "groups")
        columns[_GROUP] = labels.astype(str).mask(is_missing(labels))
        formula += f" {'+' if common else '*'} {_GROUP}"
    fit = shape_lm(
        formula,
        shapes,
        columns,
        permutations=permutations,
        random_state=random_state,
        aligned=aligned,
        strata=None if strata is None else given.column(strata, "strata"),
        unit=unit,
    )
    logs = np.log(fit.shapes.table[name].to_numpy(dtype=np.float64))
    rows = fit.shapes.coordinates - fit.shapes.coordinates.mean(axis=0)
    fitted = fit.fitted_rows - fit.shapes.coordinates.mean(axis=0)
    own = None if groups is None else fit.shapes.table[_GROUP]
    centered = logs - logs.mean()
    within = centered
    if own is not None:
        codes = as_groups(own)[0]
        basis = orthonormal_basis(np.eye(int(codes.max()) + 1)[codes])
        within = logs - basis @ (basis.T @ logs)
    left, values, _ = np.linalg.svd(fitted, full_matrices=False)
    predicted = left[:, 0] * values[0]
    return Allometry(
        fit,
        logs,
        _along(rows, centered @ fitted),
        _along(rows, within @ rows),
        predicted if predicted @ centered >= 0 else -predicted,
        own,
        fit.sample,
    )


def _along(rows: FloatArray, direction: FloatArray) -> FloatArray:
    length = float(np.linalg.norm(direction))
    scores: FloatArray = rows @ direction / length if length > 0 else np.zeros(len(rows))
    return scores
