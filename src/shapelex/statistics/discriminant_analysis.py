"""Linear discriminants of groups, with leave-one-out classification.

Input: shapes and groups. Output: discriminant scores, predicted groups of shapes that were left out, and how often
they are right. The analysis itself is that of scikit-learn.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from shapelex._messages import parameter
from shapelex._typing import FloatArray
from shapelex._validation import check_count
from shapelex.estimators.folds import make_folds
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.statistics.data import UNIT, as_groups, read_input, tell_choice
from shapelex.statistics.manova import principal_scores
from shapelex.statistics.results import Result, Sample, format_table, plural, sample_of

if TYPE_CHECKING:
    import pandas as pd

# Beyond, leaving out one shape at a time takes too long.
_MOST_LEFT_OUT = 1000
# Differences of this share of the coordinates are rounding errors of the alignment.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Discriminants(Result):
    """Linear discriminants; the result of :func:`~shapelex.statistics.discriminants`.

    Parameters
    ----------
    confusion : DataFrame
        Number of shapes of each group (rows) that were assigned to each group (columns) when they were left out.
    accuracy : float
        Share of shapes that were assigned to their own group when left out.
    posterior : DataFrame
        Posterior probability of each group for each shape, when it was left out; indexed by row.
    scores : ndarray of float, shape (n_used, n_axes)
        Scores on the discriminant axes of all shapes.
    groups : Series
        Group of each shape.
    n_components : int
        Number of principal components of shape that were used.
    sample : Sample
        Shapes that were used and left out.
    """

    confusion: "pd.DataFrame"
    accuracy: float
    posterior: "pd.DataFrame"
    scores: FloatArray
    groups: "pd.Series"
    n_components: int
    sample: Sample

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the group and the predicted group of each shape.

        Returns
        -------
        pandas.DataFrame
            Columns ``row``, ``group``, ``predicted`` and ``posterior``, the probability of the predicted group.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "row": self.sample.rows,
                "group": self.groups.to_numpy(),
                "predicted": self.posterior.idxmax(axis=1).to_numpy(),
                "posterior": self.posterior.max(axis=1).to_numpy(),
            }
        )

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the shapes on the first two discriminant axes, or on the only one.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_discriminants

        return plot_discriminants(self, ax)

    def _headline(self) -> str:
        return (
            f"Linear discriminants of {plural(self.confusion.shape[0], 'group')} on "
            f"{plural(self.n_components, 'principal component')}: {100 * self.accuracy:.1f} % of "
            f"{plural(self.n_used, 'shape')} assigned to their own group when left out."
        )

    def _body(self) -> str:
        return format_table(self.confusion)


def discriminants(
    shapes: Any,
    groups: Any,
    *,
    data: Any = None,
    n_components: int | None = None,
    priors: str = "equal",
    random_state: int = 0,
    aligned: bool = False,
    unit: Any = "auto",
) -> Discriminants:
    """Find the linear discriminants of groups, and classify each shape by the others.

    Shapes are reduced to principal components, on which a linear discriminant analysis with pooled covariance is fitted
    [1]_. For the confusion table, each shape is left out in turn, the components and discriminants of the others are
    found, and the shape is assigned to the group with the highest posterior probability. The alignment is that of all
    shapes.

    Parameters
    ----------
    shapes : ShapeSet or array_like
        The shapes, as in :func:`~shapelex.statistics.shape_lm`.
    groups : str, list of str or array_like
        Column, columns or values that define at least two groups of at least two shapes.
    data : DataFrame or dict, optional
        As in :func:`~shapelex.statistics.shape_lm`.
    n_components : int, optional
        Number of principal components; by default as many as hold 95 % of the variance, and at most a quarter of the
        number of shapes.
    priors : {"equal", "proportional"}, default "equal"
        Prior probabilities of the groups: all equal, or in proportion to their numbers of shapes.
    random_state : int, default 0
        Seed of the folds, where there are more than 1,000 shapes: these are left out in 10 folds.
    aligned : bool, default False
        As in :func:`~shapelex.statistics.shape_lm`.
    unit : str, array_like or None, default "auto"
        Which shapes are not independent, as in :func:`~shapelex.statistics.shape_lm`: they are left out together.

    Returns
    -------
    Discriminants
        Confusion table, posterior probabilities and scores.

    Raises
    ------
    ShapeInputError
        If there are fewer than two groups, a group has one shape, or all shapes are the same.

    References
    ----------
    .. [1] I. L. Dryden and K. V. Mardia, Statistical Shape Analysis, 2nd ed., Wiley, 2016.

    Examples
    --------
    >>> import shapelex as sx
    >>> leaves = sx.datasets.make_leaves(15, random_state=0)
    >>> found = sx.statistics.discriminants(leaves, "label")
    >>> int(found.confusion.to_numpy().sum())
    60
    """
    import pandas as pd

    if priors not in ("equal", "proportional"):
        raise ParameterError(f"{parameter('priors')} must be 'equal' or 'proportional', got {priors!r}.")
    given = read_input(shapes, data)
    units, needed = given.units(unit), {"group": given.combined(groups, "groups")}
    used = given.use(needed if units is None else {**needed, UNIT: given.column(units.values, UNIT)}, aligned)
    codes, names = as_groups(used.table["group"])
    counts, kept_together = np.bincount(codes), None if units is None else units.take(used.rows).numbers
    own = np.arange(len(codes)) if kept_together is None else kept_together
    n_units = np.bincount(np.unique(np.stack([codes, own]), axis=1)[0])
    if len(names) < 2 or n_units.min() < 2:
        few = ", ".join(name for name, count in zip(names, n_units, strict=True) if count < 2)
        noun, one = ("shapes", "shape") if units is None else (units.noun, f"of the {units.noun}")
        raise ShapeInputError(
            f"{parameter('groups')} must be at least two groups of at least two {noun} each"
            f"{f', but there is one {one} only in {few}' if few else ', got one group'}: leave such groups out."
        )
    rows = used.coordinates - used.coordinates.mean(axis=0)
    if np.abs(rows).max() <= _ROUNDING * np.abs(used.coordinates).max():
        raise ShapeInputError("all shapes are the same, so that nothing distinguishes the groups: use other shapes.")
    variances = principal_scores(rows)[1]
    most = min(len(variances), len(rows) - len(names) - 1)
    if n_components is None:
        shares = np.cumsum(variances) / variances.sum()
        n_used = min(int(np.searchsorted(shares, 0.95)) + 1, max(1, len(rows) // 4), most)
    else:
        n_used = check_count(n_components, 1, "n_components")
        if n_used > most:
            raise ParameterError(f"{parameter('n_components')} must be at most {most}, got {n_used}.")
    chances = np.full(len(names), 1 / len(names)) if priors == "equal" else counts / counts.sum()
    model = make_pipeline(PCA(n_used, svd_solver="full"), LinearDiscriminantAnalysis(priors=chances, solver="svd"))
    n_left_out = int(own.max()) + 1
    is_large = n_left_out > _MOST_LEFT_OUT
    options: dict[str, Any] = {"classes": codes, "seed": random_state} if is_large else {}
    folds = make_folds(10 if is_large else n_left_out, len(rows), kept_together, **options)
    posterior = cross_val_predict(model, rows, codes, cv=folds, method="predict_proba")
    predicted = posterior.argmax(axis=1)
    scores = model.fit(rows, codes).transform(rows)
    remarks = [f"More than {_MOST_LEFT_OUT} shapes were left out in 10 folds, not one by one."] if is_large else []
    remarks += [] if units is None else [tell_choice(units.take(used.rows))]
    return Discriminants(
        pd.DataFrame(confusion_matrix(codes, predicted, labels=range(len(names))), index=names, columns=names),
        float(np.mean(predicted == codes)),
        pd.DataFrame(posterior, index=used.rows, columns=names),
        np.asarray(scores),
        pd.Series([names[code] for code in codes], index=used.rows, name="group"),
        n_used,
        sample_of(used, *remarks),
    )
