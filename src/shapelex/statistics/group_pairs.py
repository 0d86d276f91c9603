"""Groups compared pair by pair: least-squares means, slopes along a covariate, and variances.

Input: a fitted model and groups. Output: distances, angles and differences with P values under a null model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import check_choice
from shapelex.exceptions import ParameterError, ParameterTypeError, ShapeInputError
from shapelex.spaces import Space
from shapelex.statistics.data import Columns, as_groups, check_magnitude
from shapelex.statistics.formulas import make_design, parse_formula
from shapelex.statistics.linear_model import moved_products, orthonormal_basis, reduce_columns
from shapelex.statistics.models import ShapeLinearModel
from shapelex.statistics.permutations import p_values
from shapelex.statistics.predictions import design_rows
from shapelex.statistics.results import Result, Sample, plural
from shapelex.statistics.terms import reduced_terms

if TYPE_CHECKING:
    import pandas as pd

Correction = Literal["holm", "fdr", "none"]
CORRECTIONS = ("holm", "fdr", "none")


@dataclass(frozen=True, eq=False, repr=False)
class Pairwise(Result):
    """Pairs of groups; the result of :func:`~shapelex.statistics.pairwise`.

    Parameters
    ----------
    table : DataFrame
        One row per pair: ``first`` and ``second``; for means ``d``, the distance between them; for slopes ``d``,
        ``angle`` in degrees and ``length``, the difference of their lengths; and ``variance_difference``, the
        difference of the variances, NaN where a group has one shape; each with its P value (``P``, ``P_angle``,
        ``P_length``, ``P_variance``), and ``P_corrected``.
    groups : list of str
        Names of the groups.
    vectors : ndarray of complex, shape (n_groups, n_coordinates)
        Least-squares means of the groups as configurations, or slopes.
    lengths : Series or None
        Lengths of the slopes, as Procrustes distance per unit of the covariate.
    variances : Series
        Mean squared distance of the shapes of each group from their fitted shapes.
    null : str
        Null model whose residuals were permuted.
    permutations : int
        Number of permutations.
    correction : str
        Correction for several pairs.
    space : Space
        Space of the configurations.
    sample : Sample
        Shapes that were used and left out.
    """

    table: "pd.DataFrame"
    groups: list[str]
    vectors: ComplexArray
    lengths: "pd.Series | None"
    variances: "pd.Series"
    null: str
    permutations: int
    correction: str
    space: Space
    sample: Sample

    @property
    def distances(self) -> "pd.DataFrame":
        """Distances between the means, or the slopes, as a square table."""
        return square(self.table, "d", self.groups)

    @property
    def angles(self) -> "pd.DataFrame":
        """Angles between the slopes in degrees, as a square table."""
        if self.lengths is None:
            raise ParameterError(f"means have no angles: give {parameter('covariate=')} to compare slopes.")
        return square(self.table, "angle", self.groups)

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of all pairs.

        Returns
        -------
        pandas.DataFrame
            One pair per row.
        """
        return self.table.copy()

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the mean shapes of the groups over each other.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_group_means

        if self.lengths is not None:
            raise ParameterError("slopes are directions of change, not shapes: draw predictions of the model instead.")
        return plot_group_means(self.vectors, self.groups, self.space, ax)

    def _headline(self) -> str:
        what = "least-squares means" if self.lengths is None else "slopes"
        return (
            f"Pairs of {plural(len(self.groups), 'group')}: {what} of {plural(self.n_used, 'shape')}, null model "
            f"{self.null}, {plural(self.permutations, 'permutation')}, correction {self.correction}."
        )


def pairwise(
    fit: ShapeLinearModel,
    groups: Any = None,
    *,
    covariate: Any = None,
    null: ShapeLinearModel | str | None = None,
    correction: Correction = "holm",
) -> Pairwise:
    """Compare groups pair by pair: least-squares means, or slopes along a covariate, and variances.

    A least-squares mean is the average prediction for the shapes of a group, with all numeric covariates at their
    averages. P values are by permutation of the residuals of a null model, which describes the shapes without the
    differences in question.

    Parameters
    ----------
    fit : ShapeLinearModel
        A model fitted by :func:`~shapelex.statistics.shape_lm`.
    groups : str, list of str or array_like of shape (n_used,), optional
        Column or columns of the model whose combinations are the groups, or a value for each shape that was used; by
        default all categorical columns.
    covariate : str or array_like of shape (n_used,), optional
        Numeric column of the model: compare slopes along it instead of means. Terms such as ``log(size)`` can be named.
    null : ShapeLinearModel or str, optional
        Null model, or its formula; by default the reduced model of the last term. After ``shape ~ species * site``
        that is ``shape ~ species + site``: only what the interaction adds to the differences between species is
        tested, and a remark says so. To test all differences between species, give ``null="shape ~ site"``.
    correction : {"holm", "fdr", "none"}, default "holm"
        Correction of P for the number of pairs: Holm's for the family-wise error, or Benjamini and Hochberg's for the
        false discovery rate.

    Returns
    -------
    Pairwise
        Table of all pairs.

    Raises
    ------
    ShapeInputError
        If there are fewer than two groups, or a column does not exist.
    ParameterError
        If the null model contains as much as the model.

    Examples
    --------
    >>> import shapelex as sx
    >>> leaves = sx.datasets.make_leaves(15, random_state=0)
    >>> fit = sx.statistics.shape_lm("shape ~ label", leaves, permutations=99)
    >>> pairs = sx.statistics.pairwise(fit)
    >>> pairs.table.columns.tolist()
    ['first', 'second', 'd', 'P', 'P_corrected', 'variance_difference', 'P_variance']
    """
    import pandas as pd

    check_choice(correction, CORRECTIONS, "correction")
    column = groups_of(fit, groups)
    codes, names = as_groups(column)
    if len(names) < 2:
        raise ShapeInputError(f"{parameter('groups')} must name at least two groups, got {', '.join(names)}.")
    values = None if covariate is None else covariate_of(fit, covariate)
    operator = mean_operator(fit, codes) if values is None else slope_operator(fit, codes, values)
    basis, null_name = null_basis(fit, null)
    pairs = np.array(list(combinations(range(len(names)), 2))).T
    columns: dict[str, Any] = {"first": [names[i] for i in pairs[0]], "second": [names[i] for i in pairs[1]]}
    found = pair_statistics(fit, operator, basis, pairs)
    wanted = {"d": "P"} if values is None else {"d": "P", "angle": "P_angle", "length": "P_length"}
    for name, p_name in wanted.items():
        columns[name], columns[p_name] = found[name][:, 0], p_values(found[name])
        if name == "d":
            columns["P_corrected"] = corrected(columns["P"], correction)
    variances = permuted_variances(fit.residuals, codes, fit.exchange, fit.settings)
    differences = np.abs(variances[pairs[0]] - variances[pairs[1]])
    is_single = (np.bincount(codes) < 2)[pairs].any(axis=0)
    columns["variance_difference"] = np.where(is_single, np.nan, differences[:, 0])
    columns["P_variance"] = np.where(is_single, np.nan, p_values(differences))
    rows = operator @ fit.shapes.coordinates
    remarks = _remarks_on_null(fit, groups, null_name) if null is None and values is None else []
    lengths = None if values is None else pd.Series(np.linalg.norm(rows, axis=1), index=names, name="length")
    return Pairwise(
        pd.DataFrame(columns),
        names,
        fit.shapes.to_configurations(rows),
        lengths,
        pd.Series(variances[:, 0], index=names, name="variance"),
        null_name,
        fit.settings["permutations"],
        correction,
        fit.shapes.space,
        replace(fit.sample, remarks=(*fit.sample.remarks, *remarks)),
    )


def _remarks_on_null(fit: ShapeLinearModel, groups: Any, null_name: str) -> list[str]:
    """Return a remark where the default null model contains the groups, so that not all of their differences count."""
    given = sorted(fit.design.categorical) if groups is None else groups
    named = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(one, str) and one in fit.shapes.table for one in named):
        return []
    own = {form for one in named for form in (one, f"`{one}`", f"C({one})")}
    below = reduced_terms(fit.design, fit.terms[-1].name, fit.settings["type"])
    contained = [one for one in named if any({one, f"`{one}`", f"C({one})"} & fit.design.factors_of[t] for t in below)]
    if not contained:
        return []
    others = [term for term in fit.design.terms if not fit.design.factors_of[term] & own]
    return [
        f"The null model {null_name} contains {' and '.join(contained)}: P is of what {fit.terms[-1].name} adds to the "
        f'differences. To test all differences between these groups, give null="shape ~ {" + ".join(others) or "1"}".'
    ]


def groups_of(fit: ShapeLinearModel, groups: Any) -> "pd.Series":
    """Return the group of each shape of a model, by columns of the model or by values."""
    if groups is None:
        return fit.groups
    return Columns(fit.shapes.table).combined(groups, "groups")


def covariate_of(fit: ShapeLinearModel, covariate: Any) -> FloatArray:
    """Return a numeric covariate: a column of the model, one of its terms, or values."""
    if isinstance(covariate, str) and covariate not in fit.shapes.table and covariate in fit.design.names:
        return fit.design.matrix[:, fit.design.names.index(covariate)]
    column = Columns(fit.shapes.table).column(covariate, "covariate")
    if column.dtype.kind not in "iuf":
        raise ParameterTypeError(f"{parameter('covariate')} must be numbers, got a column of dtype {column.dtype}.")
    values: FloatArray = column.to_numpy().astype(np.float64)
    check_magnitude(values, parameter("covariate"))
    if np.ptp(values) == 0:
        raise ParameterError(f"{parameter('covariate')} must vary, but is {values[0]:g} for all shapes.")
    return values


def mean_operator(fit: ShapeLinearModel, codes: IntArray) -> FloatArray:
    """Return the matrix that gives least-squares means of groups from rows, shape (n_groups, n_rows)."""
    frame = fit.shapes.table.reset_index(drop=True).copy()
    numeric = [name for name in frame.columns if name not in fit.design.categorical]
    for name in numeric:
        frame[name] = float(frame[name].mean())
    rows = design_rows(fit, frame) if numeric else fit.design.matrix
    indicator = np.eye(int(codes.max()) + 1)[codes]
    averages = (indicator / indicator.sum(axis=0)).T @ rows
    operator: FloatArray = averages @ fit.solver
    return operator


def slope_operator(fit: ShapeLinearModel, codes: IntArray, values: FloatArray) -> FloatArray:
    """Return the matrix that gives the slopes of fitted shapes along a covariate in each group."""
    basis = orthonormal_basis(fit.design.matrix)
    slopes = np.zeros((int(codes.max()) + 1, len(values)))
    for group in range(len(slopes)):
        is_own = codes == group
        centered = np.where(is_own, values - values[is_own].mean(), 0.0)
        square_sum = float(centered @ centered)
        if square_sum <= 1e-20 * float(values @ values):
            raise ShapeInputError(
                f"{parameter('covariate')} must vary in every group, but does not in group number {group}: "
                "it has no slope."
            )
        slopes[group] = centered / square_sum
    operator: FloatArray = (slopes @ basis) @ basis.T
    return operator


def null_basis(fit: ShapeLinearModel, null: ShapeLinearModel | str | None) -> tuple[FloatArray, str]:
    """Return an orthonormal basis of the null model, and its formula."""
    if null is None:
        if not fit.terms:
            raise ParameterError(f"{parameter('fit')} has no term: its groups cannot differ.")
        last = fit.terms[-1].name
        below = reduced_terms(fit.design, last, fit.settings["type"])
        return orthonormal_basis(fit.design.of(below)), f"shape ~ {' + '.join(below) or '1'}"
    if isinstance(null, ShapeLinearModel):
        if not np.array_equal(null.shapes.rows, fit.shapes.rows):
            raise ParameterError(f"{parameter('null')} must be a model of the same shapes as {parameter('fit')}.")
        matrix, name = null.design.matrix, null.formula
    elif isinstance(null, str):
        table = fit.shapes.table
        parsed, names = parse_formula(null, Columns(table))
        matrix, name = make_design(parsed, table[names]).matrix, null
    else:
        raise ParameterTypeError(f"{parameter('null')} must be a model or a formula, got {type(null).__name__}.")
    basis = orthonormal_basis(matrix)
    if basis.shape[1] >= orthonormal_basis(fit.design.matrix).shape[1]:
        raise ParameterError(f"{parameter('null')} must be smaller than the model {fit.formula!r}, got {name!r}.")
    return basis, name


def permuted_vectors(fit: ShapeLinearModel, operator: FloatArray, basis: FloatArray) -> Iterator[FloatArray]:
    """Yield what a matrix gives for permuted rows, ``(n_part, n_vectors, n_columns)``, the observed one first."""
    coordinates = fit.shapes.coordinates
    average = coordinates.mean(axis=0)
    # Vectors are about the average of all shapes; what the matrix gives for constant rows is added by the caller.
    rows = reduce_columns(coordinates - average)
    fitted = basis @ (basis.T @ rows)
    fixed = operator @ fitted
    permutations, seed = fit.settings["permutations"], fit.settings["seed"]
    for products in moved_products(operator.T, rows - fitted, fit.exchange, permutations, seed):
        yield products.transpose(1, 0, 2) + fixed


def pair_statistics(
    fit: ShapeLinearModel, operator: FloatArray, basis: FloatArray, pairs: IntArray
) -> dict[str, FloatArray]:
    """Return distances, angles and differences of lengths of all pairs of vectors, ``(n_pairs, 1 + permutations)``."""
    parts: dict[str, list[FloatArray]] = {"d": [], "angle": [], "length": []}
    for vectors in permuted_vectors(fit, operator, basis):
        first, second = vectors[:, pairs[0]], vectors[:, pairs[1]]
        lengths = np.linalg.norm(vectors, axis=2)
        parts["d"].append(np.linalg.norm(first - second, axis=2))
        parts["length"].append(np.abs(lengths[:, pairs[0]] - lengths[:, pairs[1]]))
        parts["angle"].append(angles_between(first, second))
    return {name: np.concatenate(found).T for name, found in parts.items()}


def angles_between(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the angles between vectors along the last axis, in degrees; NaN where one has no length."""
    sizes = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = np.einsum("...p,...p->...", first, second) / sizes
    angles: FloatArray = np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
    return angles


def permuted_variances(residuals: FloatArray, codes: IntArray, exchange: Any, settings: Any) -> FloatArray:
    """Return the mean squared length of the residuals of each group, for the data and for all permutations."""
    squares = np.einsum("ij,ij->i", residuals, residuals)
    counts = np.bincount(codes)
    average = (np.eye(len(counts))[codes] / counts).T
    moved = moved_products(average.T, squares[:, None], exchange, settings["permutations"], settings["seed"])
    return np.concatenate([products[:, :, 0] for products in moved], axis=1)


def corrected(shares: FloatArray, correction: str) -> FloatArray:
    """Return P values corrected for their number."""
    if correction == "none" or np.isnan(shares).any():
        return np.array(shares)
    if correction == "fdr":
        from scipy.stats import false_discovery_control

        return np.asarray(false_discovery_control(shares))
    order = np.argsort(shares)
    stepped = np.maximum.accumulate(np.arange(len(shares), 0, -1) * shares[order])
    result = np.empty_like(stepped)
    result[order] = np.minimum(stepped, 1.0)
    return result


def square(table: "pd.DataFrame", name: str, groups: Sequence[str]) -> "pd.DataFrame":
    """Return a column of a table of pairs as a symmetric table."""
    import pandas as pd

    result = pd.DataFrame(0.0, index=list(groups), columns=list(groups))
    for first, second, value in zip(table["first"], table["second"], table[name], strict=True):
        result.loc[first, second] = result.loc[second, first] = value
    return result
