"""Analysis of variance from distances alone (PERMANOVA)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import FloatArray, IntArray
from shapelex._validation import check_choice, check_count, is_data_frame
from shapelex.coding import SparseCodes
from shapelex.estimators.base import as_generator
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.files.code_files import StoredCodes
from shapelex.geometry import pairwise_distances
from shapelex.geometry.distances import DISTANCE_KINDS
from shapelex.statistics.code_input import read_code_input
from shapelex.statistics.data import Columns, as_columns, check_magnitude, read_input
from shapelex.statistics.grouping import Grouping, read_groups
from shapelex.statistics.permutations import p_values
from shapelex.statistics.results import Result, Sample, format_table, plural

if TYPE_CHECKING:
    import pandas as pd

RESIDUALS, TOTAL = "residuals", "total"


@dataclass(frozen=True, eq=False, repr=False)
class Permanova(Result):
    """Result of :func:`~shapelex.statistics.permanova`.

    Parameters
    ----------
    table : DataFrame
        Indexed by the name of the groups, ``residuals`` and ``total``, with columns ``Df``, ``SS``, ``MS``, ``Rsq``,
        ``F`` and ``P``.
    groups : tuple of str
        Names of the groups.
    counts : tuple of int
        Number of shapes, or of units, in each group.
    permutations : int
        Number of permutations.
    sample : Sample
        Shapes that were used.
    """

    table: "pd.DataFrame"
    groups: tuple[str, ...]
    counts: tuple[int, ...]
    permutations: int
    sample: Sample

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the analysis of variance with the terms as a column.

        Returns
        -------
        pandas.DataFrame
            Columns ``term``, ``Df``, ``SS``, ``MS``, ``Rsq``, ``F`` and ``P``.
        """
        return self.table.rename_axis("term").reset_index()

    def _headline(self) -> str:
        sizes = ", ".join(f"{name} ({count})" for name, count in zip(self.groups, self.counts, strict=True))
        return f"PERMANOVA of {sizes}, {plural(self.permutations, 'permutation')}."

    def _body(self) -> str:
        return format_table(self.table)


def permanova(
    distances: Any,
    groups: Any,
    strata: Any = None,
    *,
    unit: Any = "auto",
    model: Any = None,
    kind: str = "full",
    data: Any = None,
    permutations: int = 999,
    random_state: int | np.random.Generator | None = 0,
) -> Permanova:
    r"""Test whether groups differ, from distances between shapes alone (PERMANOVA).

    Squared distances are divided into those between and within groups, as if they were Euclidean [1]_:
    with the matrix :math:`A = -\tfrac{1}{2} D^2`, centered by rows and columns to G, and an orthonormal basis Q of the
    differences between groups,

    .. math::

        SS = \operatorname{tr}(Q^T G Q), \qquad F = \frac{SS / df}{(\operatorname{tr} G - SS) / df_\text{residual}}.

    Parameters
    ----------
    distances : array_like of float, shape (n_shapes, n_shapes), or shapes, or codes
        Any matrix of distances; shapes, between which Procrustes distances are computed; or codes with `model`, for
        distances between their reconstructions.
    groups : str or array_like of shape (n_shapes,)
        Group of each shape: values, or the name of a column.
    strata : str or array_like of shape (n_shapes,), optional
        Shapes are exchanged within the same value of this column only, and compared within it.
    unit : str, array_like or None, default "auto"
        Which shapes are not independent, as in :func:`~shapelex.statistics.shape_lm`: means of units are compared.
    model : fitted dictionary, optional
        Dictionary of the codes.
    kind : {"full", "partial", "geodesic"}, default "full"
        Distance between shapes.
    data : DataFrame or mapping, optional
        Further columns, one row per shape.
    permutations : int, default 999
        Number of random permutations.
    random_state : int, Generator or None, default 0
        Seed of the permutations.

    Returns
    -------
    Permanova
        ``.table``, with the rows of the groups, ``residuals`` and ``total``.

    Raises
    ------
    ShapeInputError
        If the matrix is not one of distances, there are fewer than two groups, or a group has fewer than two shapes.

    References
    ----------
    .. [1] M. J. Anderson, "A new method for non-parametric multivariate analysis of variance", Austral Ecology 26
       (2001), 32–46.

    Examples
    --------
    >>> import shapelex as sx
    >>> leaves = sx.datasets.make_leaves(60, random_state=0)
    >>> test = sx.statistics.permanova(leaves, "label", permutations=99)
    >>> test.table.index.tolist(), float(test.table.loc["label", "P"])
    (['label', 'residuals', 'total'], 0.01)
    """
    check_count(permutations, 0, "permutations")
    check_choice(kind, DISTANCE_KINDS, "kind")
    given, matrix_of = _read(distances, model, kind, data)
    grouping, sample = read_groups(given, groups, strata, unit)
    matrix = matrix_of(sample.rows)
    gram = _within_strata(grouping, _unit_gram(grouping, matrix))
    statistics = _between(grouping, gram, permutations, as_generator(random_state))
    remarks = (*sample.remarks, *grouping.remarks(permutations))
    return Permanova(
        table=_make_table(grouping, statistics, float(np.trace(gram)), permutations),
        groups=grouping.names,
        counts=tuple(grouping.counts.tolist()),
        permutations=permutations,
        sample=Sample(sample.rows, sample.dropped, remarks),
    )


def _read(distances: Any, model: Any, kind: Any, data: Any) -> tuple[Columns, Callable[[IntArray], FloatArray]]:
    """Return the columns, and a function of rows that gives the distances between them."""
    if isinstance(distances, SparseCodes | StoredCodes):
        codes = read_code_input(distances, model, data)
        if codes.atoms is None:
            raise ParameterError(
                f"{parameter('model')} must be given with codes: distances are those between reconstructions."
            )
        made = codes.weights @ codes.atoms
        return codes, lambda rows: pairwise_distances(made[rows], kind=kind, space=codes.space)
    if not hasattr(distances, "space") and not is_data_frame(distances):
        table = np.asarray(distances)
        if table.ndim == 2 and table.dtype.kind in "fiu" and table.shape[0] == table.shape[1]:
            import pandas as pd

            matrix = _check_distances(table.astype(np.float64))
            columns = pd.DataFrame(as_columns(data, len(matrix)), index=range(len(matrix)))
            return Columns(columns), lambda rows: matrix[np.ix_(rows, rows)]
    shapes = read_input(distances, data, "distances")
    return shapes, lambda rows: pairwise_distances(shapes.configurations[rows], kind=kind, space=shapes.space)


def _check_distances(matrix: FloatArray) -> FloatArray:
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise ShapeInputError("distances must be finite and not negative.")
    check_magnitude(matrix, "distances")
    if not np.allclose(matrix, matrix.T) or np.abs(np.diag(matrix)).max() > 1e-8 * max(float(matrix.max()), 1e-300):
        raise ShapeInputError("distances must be a symmetric matrix with 0 on the diagonal.")
    return matrix


def _unit_gram(grouping: Grouping, distances: FloatArray) -> FloatArray:
    """Return products between units of which the squared differences are the squared distances, centered."""
    squares = -0.5 * distances**2
    gram = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    # Averages over the shapes of a unit, of rows and then of columns.
    return np.asarray(grouping.averaged(np.ascontiguousarray(grouping.averaged(gram).T)).T)


def _within_strata(grouping: Grouping, gram: FloatArray) -> FloatArray:
    return grouping.within_strata(np.ascontiguousarray(grouping.within_strata(gram).T)).T


def _between(grouping: Grouping, gram: FloatArray, permutations: int, rng: np.random.Generator) -> FloatArray:
    """Return the squares between groups, as they are and of all permutations."""
    basis, found = grouping.contrasts(), []
    for indices in grouping.exchange.chunks(permutations, rng):
        moved = basis[indices]
        found.append(np.einsum("pkc,pkc->p", moved, gram @ moved))
    return np.concatenate(found)


def _make_table(grouping: Grouping, between: FloatArray, total: float, permutations: int) -> "pd.DataFrame":
    import pandas as pd

    n_strata = 1 if grouping.strata is None else len(np.unique(grouping.strata))
    df = int(grouping.contrasts().shape[1])
    df_residual, df_total = grouping.n_units - n_strata - df, grouping.n_units - n_strata
    if df < 1 or df_residual < 1:
        raise ShapeInputError(
            f"{parameter('groups')} and {parameter('strata')} leave {df} degrees of freedom between groups and "
            f"{df_residual} within: there is nothing to compare."
        )
    ratios = between / np.maximum(total - between, np.finfo(np.float64).tiny)
    squares, rest = float(between[0]), total - float(between[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        f = float(np.divide(squares / df, rest / df_residual))
    p = float(p_values(ratios)) if permutations else np.nan
    return pd.DataFrame(
        {
            "Df": [df, df_residual, df_total],
            "SS": [squares, rest, total],
            "MS": [squares / df, rest / df_residual, np.nan],
            "Rsq": [squares / total, rest / total, np.nan] if total > 0 else [np.nan] * 3,
            "F": [f, np.nan, np.nan],
            "P": [p, np.nan, np.nan],
        },
        index=pd.Index([grouping.column, RESIDUALS, TOTAL], name="term"),
    )
