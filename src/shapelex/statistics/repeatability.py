"""Measurement error: how well repeated measurements of the same specimens agree.

Input: shapes with their specimens. Output: an analysis of variance, and the intraclass correlation.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex.exceptions import ShapeInputError
from shapelex.statistics.data import as_groups, read_input
from shapelex.statistics.model_checks import RESIDUALS
from shapelex.statistics.models import ShapeLinearModel, shape_lm
from shapelex.statistics.results import Result, Sample, format_table, plural

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class MeasurementError(Result):
    """Agreement of repeated measurements; the result of :func:`~shapelex.statistics.measurement_error`.

    Parameters
    ----------
    icc : float
        Intraclass correlation (repeatability): share of the variance of a single measurement that is between specimens.
    error_share : float
        Share of the total sum of squares that is measurement error.
    n_replicates : float
        Average number of measurements per specimen that enters the intraclass correlation.
    by_specimen : Series
        Mean squared distance of the measurements of each specimen from their mean.
    fit : ShapeLinearModel
        The underlying model.
    sample : Sample
        Shapes that were used and left out.
    """

    icc: float
    error_share: float
    n_replicates: float
    by_specimen: "pd.Series"
    fit: ShapeLinearModel
    sample: Sample

    @property
    def table(self) -> "pd.DataFrame":
        """Analysis of variance; the residuals are the measurement error."""
        return self.fit.table

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the error of each specimen.

        Returns
        -------
        pandas.DataFrame
            Columns ``specimen`` and ``error``, the largest first.
        """
        return self.by_specimen.sort_values(ascending=False).rename("error").rename_axis("specimen").reset_index()

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the error of each specimen in order, and name the largest.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_errors

        return plot_errors(self.by_specimen, ax)

    def _headline(self) -> str:
        return (
            f"Intraclass correlation {self.icc:.4g}: {100 * self.error_share:.3g} % of the sum of squares of "
            f"{plural(self.n_used, 'shape')} is measurement error."
        )

    def _body(self) -> str:
        return format_table(self.fit.table)


def measurement_error(
    shapes: Any,
    specimen: Any,
    replicate: Any = None,
    *,
    data: Any = None,
    permutations: int = 999,
    random_state: Any = 0,
    aligned: bool = False,
) -> MeasurementError:
    r"""Measure how well repeated measurements of the same specimens agree.

    With mean squares :math:`MS_b` between specimens and :math:`MS_e` within them, and :math:`r` measurements per
    specimen, the intraclass correlation is [1]_

    .. math:: ICC = \frac{MS_b - MS_e}{MS_b + (r - 1) MS_e}.

    Parameters
    ----------
    shapes : ShapeSet or array_like
        The shapes, as in :func:`~shapelex.statistics.shape_lm`.
    specimen : str or array_like of shape (n_shapes,)
        Column or values: specimen of each shape.
    replicate : str or array_like of shape (n_shapes,), optional
        Session, device or person of each measurement: systematic differences between them are then a term of their
        own, tested by permutation within specimens.
    data, permutations, random_state, aligned
        As in :func:`~shapelex.statistics.shape_lm`.

    Returns
    -------
    MeasurementError
        The intraclass correlation, and the analysis of variance.

    Raises
    ------
    ShapeInputError
        If no specimen was measured more than once.

    References
    ----------
    .. [1] J. Fruciano, "Measurement error in geometric morphometrics", Development Genes and Evolution 226 (2016),
       139-158.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.normal(size=(10, 6, 2)), 2, axis=0) + 0.01 * rng.normal(size=(20, 6, 2))
    >>> bool(sx.statistics.measurement_error(X, np.repeat(np.arange(10), 2), permutations=99).icc > 0.99)
    True
    """
    import pandas as pd

    given = read_input(shapes, data)
    columns = {"specimen": given.column(specimen, "specimen")}
    formula = "shape ~ specimen"
    if replicate is not None:
        columns["replicate"] = given.column(replicate, "replicate")
        formula += " + replicate"
    missing = {name: column.isna() | (column.astype(str) == "") for name, column in columns.items()}
    table = {name: column.astype(str).mask(missing[name]).to_numpy() for name, column in columns.items()}
    counts = pd.Series(table["specimen"]).value_counts()
    if not len(counts) or counts.max() < 2:
        raise ShapeInputError(f"{parameter('specimen')} must repeat: every specimen was measured once.")
    if len(counts) < 2:
        raise ShapeInputError(f"{parameter('specimen')} must name at least two specimens, got {counts.index[0]}.")
    fit = shape_lm(
        formula,
        shapes,
        table,
        permutations=permutations,
        random_state=random_state,
        aligned=aligned,
        unit=None,
    )
    if replicate is not None:
        # Sessions differ within specimens: these are exchanged within a specimen only.
        within = shape_lm(
            formula,
            shapes,
            table,
            permutations=permutations,
            random_state=random_state,
            aligned=aligned,
            unit=None,
            strata=table["specimen"],
        )
        fit.table.loc["replicate", "P"] = within.table.loc["replicate", "P"]
    codes, names = as_groups(fit.shapes.table["specimen"])
    sizes = np.bincount(codes).astype(np.float64)
    # With unequal numbers, the average that makes the mean square between specimens unbiased.
    n_replicates = float((sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(sizes) - 1))
    between, within = fit.table.loc["specimen", "MS"], fit.table.loc[RESIDUALS, "MS"]
    squares = (fit.residuals**2).sum(axis=1)
    errors = np.bincount(codes, weights=squares) / sizes
    return MeasurementError(
        float((between - within) / (between + (n_replicates - 1) * within)),
        float(fit.table.loc[RESIDUALS, "Rsq"]),
        n_replicates,
        pd.Series(errors, index=names, name="error"),
        fit,
        fit.sample,
    )
