"""Multivariate statistics of the terms of a model: Pillai, Wilks, Hotelling–Lawley and Roy.

Input: a fitted model. Output: the statistics, with P values by the same permutations.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from shapelex._messages import parameter
from shapelex._typing import FloatArray
from shapelex._validation import check_count, check_positive
from shapelex.exceptions import ParameterError
from shapelex.statistics.linear_model import TermModel, moved_products
from shapelex.statistics.model_checks import RESIDUALS
from shapelex.statistics.permutations import p_values
from shapelex.statistics.results import Result, Sample, format_table, plural

if TYPE_CHECKING:
    import pandas as pd

    from shapelex.statistics.models import ShapeLinearModel

STATISTICS = ("Pillai", "Wilks", "Hotelling", "Roy")
# Share of the largest eigenvalue of a residual matrix below which another one is rounding.
_RANK_TOL = 1e-10
_MOST_ENTRIES = 1 << 22
_MOST_OF_VARIANCE = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Manova(Result):
    """Multivariate statistics of the terms of a model.

    Parameters
    ----------
    table : DataFrame
        Indexed by term: ``Df``, then ``Pillai``, ``Wilks``, ``Hotelling`` (Hotelling–Lawley) and ``Roy`` (largest
        root), each with its P value, such as ``P(Pillai)``.
    n_components : int
        Number of principal components of shape.
    share : float
        Share of the variance of shape that they hold.
    permutations : int
        Number of permutations.
    sample : Sample
        Shapes that were used and left out.
    """

    table: "pd.DataFrame"
    n_components: int
    share: float
    permutations: int
    sample: Sample

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the statistics with the terms as a column.

        Returns
        -------
        pandas.DataFrame
            One term per row.
        """
        return self.table.rename_axis("term").reset_index()

    def _headline(self) -> str:
        return (
            f"Multivariate analysis of variance of {plural(self.n_components, 'principal component')} "
            f"({100 * self.share:.1f} % of the variance) of {plural(self.n_used, 'shape')}, "
            f"{plural(self.permutations, 'permutation')}."
        )

    def _body(self) -> str:
        return format_table(self.table)


def manova_of(fit: "ShapeLinearModel", n_components: int | None, tol: float) -> Manova:
    """Return the multivariate statistics of a model."""
    import pandas as pd

    rows = fit.shapes.coordinates - fit.shapes.coordinates.mean(axis=0)
    scores, variances = principal_scores(rows)
    spreads = np.sqrt(variances)
    usable = int(np.count_nonzero(spreads > check_positive(tol, "tol") * spreads[0]))
    n_used = usable if n_components is None else check_count(n_components, 1, "n_components")
    if n_used > len(variances):
        raise ParameterError(
            f"{parameter('n_components')} must be at most {len(variances)}, the dimensions of the shapes, got {n_used}."
        )
    permutations, seed = fit.settings["permutations"], fit.settings["seed"]
    found = [
        term_statistics(scores[:, :n_used], term, permutations, seed, full=fit.settings["method"] == "full")
        for term in fit.terms
    ]
    columns: dict[str, list[float]] = {"Df": [term.df for term in fit.terms]}
    for place, name in enumerate(STATISTICS):
        values = np.array([one[place] for one in found]).reshape(len(found), -1)
        # A small Wilks ratio is an effect, for the others a large one is.
        columns[name] = values[:, 0].tolist()
        columns[f"P({name})"] = p_values(-values if name == "Wilks" else values).tolist()
    table = pd.DataFrame(columns, index=pd.Index([term.name for term in fit.terms]))
    share = float(variances[:n_used].sum() / variances.sum())
    df_residual = int(fit.table.loc[RESIDUALS, "Df"])
    sample = fit.sample
    if n_used > df_residual:
        shares = np.cumsum(variances) / variances.sum()
        enough = min(int(np.searchsorted(shares, _MOST_OF_VARIANCE)) + 1, df_residual)
        remark = (
            f"{n_used} principal components are more than the {df_residual} residual degrees of freedom: the residual "
            "matrix has no inverse, its pseudo-inverse is used, as in RRPP, and the statistics may fall as components "
            f"are added. manova(n_components={enough}) uses those that hold {100 * shares[enough - 1]:.0f} % of the "
            "variance."
        )
        sample = replace(sample, remarks=(*sample.remarks, remark))
    return Manova(table, n_used, share, permutations, sample)


def principal_scores(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return principal component scores of centered rows, and their variances; components of rounding are left out."""
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    n_kept = int(np.count_nonzero(values > 1e-9 * values[0])) if len(values) else 0
    return left[:, :n_kept] * values[:n_kept], values[:n_kept] ** 2 / max(len(rows) - 1, 1)


def term_statistics(
    scores: FloatArray, term: TermModel, permutations: int, seed: int, *, full: bool = False
) -> FloatArray:
    """Return Pillai, Wilks, Hotelling–Lawley and Roy of a term, for the data and for all permutations."""
    # The rank of the residuals of the full model, whose basis lacks the intercept.
    rank = len(scores) - 1 - term.basis.shape[1]
    is_regular = scores.shape[1] <= rank
    if is_regular:
        # The statistics do not depend on the scales of the components, but rounding does.
        scores = scores / np.linalg.norm(scores, axis=0)
    residuals = scores if full else scores - term.reduced @ (term.reduced.T @ scores)
    roots = (_regular_roots if is_regular else _irregular_roots)(residuals, term, permutations, seed)
    values = np.maximum(np.concatenate(list(roots)), 0.0)
    shares = values / (1 + values)
    return np.stack(
        [shares.sum(axis=1), np.prod(1 - shares, axis=1), values.sum(axis=1), values.max(axis=1, initial=0.0)]
    )


def _regular_roots(residuals: FloatArray, term: TermModel, permutations: int, seed: int) -> Iterator[FloatArray]:
    """Yield the eigenvalues where the residual matrix has full rank.

    In rows whose cross-products are the identity, the products ``T`` with the basis have residuals ``I − T* T``, and
    ``T (I − T* T)⁻¹ T*`` is ``M (I − M)⁻¹`` with ``M = T T*``, a matrix of the size of the basis.
    """
    factor = cholesky(residuals.T @ residuals, lower=True)
    whitened = solve_triangular(factor, residuals.T, lower=True).T
    for products in moved_products(term.basis, whitened, term.exchange, permutations, seed):
        rows = products.transpose(1, 0, 2)
        inner = rows @ rows.transpose(0, 2, 1)
        between = np.linalg.solve(np.eye(inner.shape[1]) - inner, inner)
        own = between[:, : term.df, : term.df]
        yield np.linalg.eigvalsh((own + own.transpose(0, 2, 1)) / 2)


def _irregular_roots(residuals: FloatArray, term: TermModel, permutations: int, seed: int) -> Iterator[FloatArray]:
    """Yield the eigenvalues where the residual matrix has no inverse."""
    total = residuals.T @ residuals
    step = max(1, _MOST_ENTRIES // total.size)
    for products in moved_products(term.basis, residuals, term.exchange, permutations, seed):
        for start in range(0, products.shape[1], step):
            yield _roots(products[:, start : start + step].transpose(1, 0, 2), total, term.df)


def _roots(products: FloatArray, total: FloatArray, df: int) -> FloatArray:
    """Return the eigenvalues of the inverse of the residual matrix times the matrix of the term, ``(n_part, df)``."""
    rest = total - products.transpose(0, 2, 1) @ products
    own = products[:, :df]
    values, vectors = np.linalg.eigh(rest)
    # The pseudo-inverse: directions without residual variation are left out.
    is_kept = values > _RANK_TOL * values[:, -1:]
    weights = np.where(is_kept, 1 / np.where(is_kept, values, 1.0), 0.0)
    turned = own @ vectors
    between = (turned * weights[:, None, :]) @ turned.transpose(0, 2, 1)
    roots: FloatArray = np.linalg.eigvalsh(between)
    return roots
