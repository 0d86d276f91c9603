"""Linear models of shape: Procrustes analysis of variance with residual permutation.

Input: a formula, shapes, and covariates. Output: a fitted model with its table, coefficients and predictions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_choice, check_count, removed_arguments
from shapelex.exceptions import ShapeInputError
from shapelex.statistics.data import SIZE, AlignedShapes, join_columns, read_input
from shapelex.statistics.formulas import INTERCEPT, Design, make_design, parse_formula
from shapelex.statistics.grouping import Grouping, group_units
from shapelex.statistics.linear_model import SumsOfSquares, TermModel, least_squares, orthonormal_basis, permuted_sums
from shapelex.statistics.model_checks import RESIDUALS, check_df, check_error, check_sizes, remarks_on
from shapelex.statistics.permutations import BLOCKS, Exchange, as_seed, effect_sizes, p_values
from shapelex.statistics.results import Result, Sample, format_table, plural, sample_of
from shapelex.statistics.terms import check_type, term_models

if TYPE_CHECKING:
    import pandas as pd

    from shapelex.statistics.manova import Manova
    from shapelex.statistics.predictions import Prediction

TOTAL = "total"


@dataclass(frozen=True, eq=False, repr=False)
class ShapeLinearModel(Result):
    """A linear model of shape; the result of :func:`~shapelex.statistics.shape_lm`.

    Printed, it gives the analysis of variance.

    Parameters
    ----------
    formula : str
        The formula.
    shapes : AlignedShapes
        The shapes that were used, aligned, with their covariates; where there are units, their means.
    design : Design
        The design matrix.
    terms : list of TermModel
        The terms as pairs of nested models.
    table : DataFrame
        Analysis of variance, indexed by term: ``Df``, ``SS``, ``MS``, ``Rsq``, ``F`` and ``P``. The last two rows are
        ``residuals`` and ``total``.
    sums : SumsOfSquares
        Sums of squares of all permutations.
    exchange : Exchange
        What is exchanged.
    settings : mapping
        Arguments of the call: type of sums of squares, permutations, seed, method, error terms.
    sample : Sample
        Shapes that were used and left out.
    """

    formula: str
    shapes: AlignedShapes
    design: Design
    terms: list[TermModel]
    table: "pd.DataFrame"
    sums: SumsOfSquares
    exchange: Exchange
    settings: Mapping[str, Any]
    sample: Sample

    @cached_property
    def solver(self) -> FloatArray:
        """Matrix that gives the coefficients of rows, shape (n_columns, n_used)."""
        return least_squares(self.design.matrix)

    @cached_property
    def _solution(self) -> FloatArray:
        """Coefficients in the real coordinates of the aligned shapes; 0 for columns that depend on earlier ones."""
        return self.solver @ self.shapes.coordinates

    @property
    def coefficients(self) -> ComplexArray:
        """Coefficients as configurations, one row per column of the design matrix."""
        return self.shapes.to_configurations(self._solution)

    def coefficient_tests(self) -> "pd.DataFrame":
        """Lengths of the coefficients, each in the model in which its term is tested, with P by the permutations.

        The length says how far shape changes per unit of a column of the design matrix, as a Procrustes distance. With
        sums of squares of type I, the coefficient of a term is that in the model of this term and the terms before it.

        Returns
        -------
        pandas.DataFrame
            Indexed by column of the design matrix: ``length`` and ``P``. The intercept has the length in the model of
            the first term, and no P.
        """
        from shapelex.statistics.coefficients import coefficient_table

        return coefficient_table(self)

    @property
    def fitted(self) -> ComplexArray:
        """Fitted shapes as configurations, one row per shape that was used."""
        return self.shapes.to_configurations(self.fitted_rows)

    @property
    def residuals(self) -> FloatArray:
        """Residuals in the real coordinates of the aligned shapes, shape (n_used, 2 n_coordinates)."""
        return self.shapes.coordinates - self.fitted_rows

    @cached_property
    def fitted_rows(self) -> FloatArray:
        """Fitted shapes in the real coordinates of the aligned shapes, shape (n_used, 2 n_coordinates)."""
        basis = orthonormal_basis(self.design.matrix)
        return basis @ (basis.T @ self.shapes.coordinates)

    @property
    def effect_sizes(self) -> "pd.Series":
        """Effect size Z of each term: log F in standard deviations from its mean over the permutations."""
        import pandas as pd

        return pd.Series(effect_sizes(self._statistics()), index=list(self.design.terms), name="Z")

    @property
    def groups(self) -> "pd.Series":
        """Combination of categories of each shape that was used, such as ``Jord.Allo``."""
        names = [name for name in self.shapes.table.columns if name in self.design.categorical]
        if not names:
            raise ShapeInputError(
                f"the model has no categorical covariate: give {parameter('groups=')}, a column or one value per shape."
            )
        return join_columns([self.shapes.table[name] for name in names])

    def manova(self, n_components: int | None = None, *, tol: float = 1e-3) -> "Manova":
        """Test all terms by multivariate statistics: Pillai, Wilks, Hotelling–Lawley and Roy.

        They weigh directions of shape by the inverse of the residual covariance, which exists if there are no more
        dimensions than residual degrees of freedom: the shapes are reduced to principal components first. With more
        components than that, the pseudo-inverse is used, as in RRPP, and a remark says so: directions without residual
        variation do not count, and the statistics may fall as components are added.

        Parameters
        ----------
        n_components : int, optional
            Number of principal components; by default all whose standard deviation exceeds `tol` times the first, as
            in RRPP, which may be more than the residual degrees of freedom. Fewer are more reliable.
        tol : float, default 1e-3
            See `n_components`.

        Returns
        -------
        Manova
            The statistics with their P values by the permutations of the model.

        Examples
        --------
        >>> import shapelex as sx
        >>> leaves = sx.datasets.make_leaves(15, random_state=0)
        >>> fit = sx.statistics.shape_lm("shape ~ label", leaves, permutations=99)
        >>> sorted(fit.manova(5).table.columns)  # doctest: +ELLIPSIS
        ['Df', 'Hotelling', 'P(...
        """
        from shapelex.statistics.manova import manova_of

        return manova_of(self, n_components, tol)

    def predict(
        self, data: Any, *, confidence: float = 0.95, n_bootstrap: int = 499, random_state: Any = 0
    ) -> "Prediction":
        """Predict shapes for new values of the covariates, with confidence regions by the bootstrap of residuals.

        Parameters
        ----------
        data : DataFrame or dict
            A value of every covariate of the formula for each shape to predict.
        confidence : float, default 0.95
            Level of the regions.
        n_bootstrap : int, default 499
            Number of bootstrap samples; 0 for predictions without regions.
        random_state : int, Generator or RandomState, default 0
            Seed of the samples.

        Returns
        -------
        Prediction
            Predicted shapes, and their regions.
        """
        from shapelex.statistics.predictions import predict_shapes

        return predict_shapes(self, data, confidence, n_bootstrap, random_state)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the shapes in the plane of the first two principal components of the fitted shapes, by group.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_fitted_plane

        return plot_fitted_plane(self, ax)

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the analysis of variance with the terms as a column.

        Returns
        -------
        pandas.DataFrame
            Columns ``term``, ``Df``, ``SS``, ``MS``, ``Rsq``, ``F``, ``P`` and ``Z``.
        """
        return self.table.assign(Z=self.effect_sizes).rename_axis("term").reset_index()

    def _statistics(self) -> FloatArray:
        return f_statistics(self.sums, self.terms, self._df_residual, self.settings["error"])

    @property
    def _df_residual(self) -> int:
        return int(self.table.loc[RESIDUALS, "Df"])

    def _headline(self) -> str:
        numerals = {1: "I", 2: "II", 3: "III"}
        permutations = self.settings["permutations"]
        how = "residual permutation" if self.settings["method"] == "residuals" else "permutation of shapes"
        tests = f"P by {how}, {plural(permutations, 'permutation')}" if permutations else "no permutations"
        return (
            f"{self.formula}: {plural(self.n_used, 'shape')}, sums of squares of type {numerals[self.settings['type']]}"
            f", {tests}."
        )

    def _body(self) -> str:
        return format_table(self.table)


@removed_arguments(blocks=BLOCKS)
def shape_lm(
    formula: str,
    shapes: Any,
    data: Any = None,
    *,
    permutations: int = 999,
    random_state: Any = 0,
    error: Mapping[str, str] | Sequence[str] | None = None,
    type: Literal[1, 2, 3] = 1,  # noqa: A002
    strata: Any = None,
    aligned: bool = False,
    unit: Any = "auto",
    method: Literal["residuals", "full"] = "residuals",
) -> ShapeLinearModel:
    r"""Fit a linear model of shape on covariates, and test its terms by permutation (Procrustes ANOVA).

    The shapes are aligned to their partial Procrustes mean, scaled to unit centroid size and projected orthogonally
    into the tangent space at the mean. The sum of squares of a term is the squared length of what it adds to its
    reduced model, summed over all shapes and coordinates [1]_, [2]_:

    .. math:: SS = \lVert (H_\text{full} - H_\text{reduced}) Y \rVert^2, \quad
              F = \frac{SS / df}{SS_\text{residual} / df_\text{residual}}.

    P is the share of permutations whose F is at least the observed one, :math:`(1 + b) / (1 + permutations)`. The
    residuals of the reduced model of each term are permuted (RRPP [3]_).

    Parameters
    ----------
    formula : str
        Such as ``"shape ~ log(size) + species * site"``. Variables are columns of `data` or of the set (its metadata,
        and ``label``); ``size`` is the centroid size of the shapes as given. Text is categorical, ``C(x)`` makes
        numbers categorical. The guide "Do the groups differ?" lists all functions that a formula may contain.
    shapes : ShapeSet or array_like
        The shapes: a set in any space; complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2) landmarks.
    data : DataFrame or dict, optional
        Covariates, one row per shape in the order of the shapes.
    permutations : int, default 999
        Number of random permutations; 0 for no P.
    random_state : int, Generator or RandomState, default 0
        Seed of the permutations.
    error : dict or list of str, optional
        Name of the term by whose mean square that of a term is divided, instead of the residual one: a dict by terms,
        or a list with one entry per term, ``"residuals"`` for the residual mean square.
    type : {1, 2, 3}, default 1
        Type of the sums of squares: terms in their order (I), each term after all that do not contain it (II), each
        after all others (III; categories are coded to sum to zero).
    strata : str or array_like, optional
        Column or values; shapes are permuted within strata only.
    aligned : bool, default False
        Take the coordinates as they are, because they are aligned already.
    unit : str, array_like or None, default "auto"
        Column or values that say which shapes belong together and are not independent, such as all images of an animal:
        the model is one of the mean shapes of these units, within which no column may vary. By default the units of a
        set, see ``ShapeSet.study``, and single shapes for arrays; None takes shapes as independent.
    method : {"residuals", "full"}, default "residuals"
        Permute the residuals of the reduced models, or the shapes themselves.

    Returns
    -------
    ShapeLinearModel
        The fitted model. ``print`` gives its table, ``.table`` is that table.

    Raises
    ------
    ParameterError
        If the formula cannot be read, does not begin with ``shape ~``, contains other functions than those of the
        guide or has too many terms, or the model has more coefficients than there are shapes.
    ShapeInputError
        If a column does not exist, varies within units, is constant or has numbers whose squares overflow, or ``size``
        is used for shapes that were all scaled to one size.

    Notes
    -----
    Shapes with missing landmarks, or missing entries in a column of the formula, are left out; ``.dropped`` names them.
    A term that depends linearly on earlier ones has fewer degrees of freedom, possibly 0, and a remark says so.

    References
    ----------
    .. [1] C. Goodall, "Procrustes methods in the statistical analysis of shape", Journal of the Royal Statistical
       Society B 53 (1991), 285-339.
    .. [2] M. J. Anderson, "A new method for non-parametric multivariate analysis of variance", Austral Ecology 26
       (2001), 32-46.
    .. [3] M. L. Collyer, D. J. Sekora and D. C. Adams, "A method for analysis of phenotypic change for phenotypes
       described by high-dimensional data", Heredity 115 (2015), 357-365.

    Examples
    --------
    >>> import shapelex as sx
    >>> leaves = sx.datasets.make_leaves(15, random_state=0)
    >>> fit = sx.statistics.shape_lm("shape ~ label", leaves, permutations=99)
    >>> fit.table.index.tolist()
    ['label', 'residuals', 'total']
    >>> float(fit.table.loc["label", "P"])
    0.01
    """
    check_count(permutations, 0, "permutations")
    check_choice(method, ("residuals", "full"), "method")
    sum_type = check_type(type)
    given = read_input(shapes, data)
    parsed, names = parse_formula(formula, given)
    used = given.use({name: given.columns[name] for name in names}, aligned, unit, strata)
    if SIZE in names and not given.has_given_sizes:
        used = replace(used, remarks=(*used.remarks, *check_sizes(given, used.table[SIZE].to_numpy())))
    exchange = Exchange(len(used.table), used.split_strata())
    design = make_design(parsed, used.table, centered_contrasts=sum_type == 3)
    return fit_model(
        formula,
        used,
        design,
        exchange,
        permutations=permutations,
        seed=as_seed(random_state),
        error=check_error(error, design.terms),
        sum_type=sum_type,
        method=method,
    )


def fit_groups(shapes: AlignedShapes, column: str, *, permutations: int, seed: int) -> ShapeLinearModel:
    """Return the model whose only term are the groups of a column of the table; no formula has to be read for it."""
    grouping = group_units(shapes.table[column], unit=shapes.noun)
    members = (grouping.groups[:, None] == np.arange(len(grouping.names))).astype(np.float64)
    # Relative to the first group.
    matrix = np.hstack([np.ones((len(members), 1)), members[:, 1:]])
    places = {INTERCEPT: np.array([0]), column: np.arange(1, matrix.shape[1])}
    own = frozenset({column})
    design = Design((column,), matrix, (INTERCEPT, *grouping.names[1:]), places, {column: own}, own, None)
    formula = f"shape ~ {column if column.isidentifier() else f'`{column}`'}"
    exchange = Exchange(len(matrix))
    return fit_model(formula, shapes, design, exchange, permutations=permutations, seed=seed, grouping=grouping)


def fit_model(
    formula: str,
    shapes: AlignedShapes,
    design: Design,
    exchange: Exchange,
    *,
    permutations: int = 999,
    seed: int = 0,
    error: Mapping[str, str] | None = None,
    sum_type: int = 1,
    method: str = "residuals",
    grouping: Grouping | None = None,
) -> ShapeLinearModel:
    """Return the model of a design that has been made: all of :func:`shape_lm` but the parsing and the alignment."""
    terms = term_models(design, sum_type, exchange)
    errors = dict(error or {})
    df_residual = check_df(design, errors)
    sums = permuted_sums(shapes.coordinates, terms, permutations, seed, full=method == "full")
    table = variance_table(shapes.coordinates, design, terms, sums, df_residual, errors)
    settings = {"type": sum_type, "permutations": permutations, "seed": seed, "method": method, "error": errors}
    remarks = remarks_on(design, terms, sums, shapes, permutations, grouping)
    return ShapeLinearModel(
        formula, shapes, design, terms, table, sums, exchange, settings, sample_of(shapes, *remarks)
    )


def f_statistics(
    sums: SumsOfSquares, terms: Sequence[TermModel], df_residual: int, error: Mapping[str, str]
) -> FloatArray:
    """Return F of each term for the data and for all permutations; NaN where a term has no degrees of freedom."""
    names = [term.name for term in terms]
    df = np.array([term.df for term in terms], dtype=np.float64)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = sums.terms / df
        below = sums.residuals / df_residual
        for number, name in enumerate(names):
            if name in error:
                below[number] = squares[names.index(error[name])]
        found: FloatArray = np.where(df > 0, squares / below, np.nan)
    return found


def variance_table(
    rows: FloatArray,
    design: Design,
    terms: Sequence[TermModel],
    sums: SumsOfSquares,
    df_residual: int,
    error: Mapping[str, str],
) -> "pd.DataFrame":
    """Return the table of an analysis of variance."""
    import pandas as pd

    total = float(((rows - rows.mean(axis=0)) ** 2).sum())
    basis = orthonormal_basis(design.matrix)
    rest = float(((rows - basis @ (basis.T @ rows)) ** 2).sum())
    statistics = f_statistics(sums, terms, df_residual, error)
    df = [term.df for term in terms]
    squares = sums.terms[:, 0].tolist() if terms else []
    return pd.DataFrame(
        {
            "Df": [*df, df_residual, len(rows) - 1],
            "SS": [*squares, rest, total],
            "MS": [
                *(s / d if d else np.nan for s, d in zip(squares, df, strict=True)),
                rest / df_residual if df_residual else np.nan,
                np.nan,
            ],
            "Rsq": [*(one / total if total else np.nan for one in (*squares, rest)), np.nan],
            "F": [*statistics[:, 0], np.nan, np.nan],
            "P": [*p_values(statistics), np.nan, np.nan],
        },
        index=pd.Index([*(term.name for term in terms), RESIDUALS, TOTAL], name=None),
    )
