"""Covariation of two sets of variables: two-block partial least squares.

Input: shapes or tables of the same specimens. Output: correlations of scores with P by permutation.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._messages import parameter
from shapelex._typing import ArrayLike, FloatArray, IntArray
from shapelex._validation import check_count, is_data_frame
from shapelex.exceptions import ShapeInputError
from shapelex.statistics.data import (
    Columns,
    ShapeInput,
    as_groups,
    between_units,
    check_magnitude,
    check_values,
    read_input,
    tell_choice,
    unit_means,
)
from shapelex.statistics.linear_model import reduce_columns
from shapelex.statistics.permutations import Exchange, as_seed, p_values
from shapelex.statistics.results import Result, Sample, plural

if TYPE_CHECKING:
    import pandas as pd

_MOST_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class TwoBlockPLS(Result):
    """Covariation of two blocks; the result of :func:`~shapelex.statistics.two_block_pls`.

    Parameters
    ----------
    r : float
        Correlation of the first pair of scores.
    p : float
        P value of `r`.
    singular_values : ndarray of float, shape (n_axes,)
        Covariances of the pairs of scores.
    first_scores, second_scores : ndarray of float, shape (n_used, n_axes)
        Scores of the shapes in both blocks.
    first_axes, second_axes : ndarray of float, shape (n_axes, n_columns)
        Axes of both blocks, in the columns of the tables or the real coordinates of aligned shapes.
    permutations : int
        Number of permutations.
    sample : Sample
        Rows that were used and left out.
    """

    r: float
    p: float
    singular_values: FloatArray
    first_scores: FloatArray
    second_scores: FloatArray
    first_axes: FloatArray
    second_axes: FloatArray
    permutations: int
    sample: Sample

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the pairs of axes.

        Returns
        -------
        pandas.DataFrame
            Columns ``axis``, ``covariance``, ``share`` of the squared covariance and ``r``.
        """
        import pandas as pd

        squares = self.singular_values**2
        correlations = [
            float(np.corrcoef(mine, theirs)[0, 1])
            for mine, theirs in zip(self.first_scores.T, self.second_scores.T, strict=True)
        ]
        return pd.DataFrame(
            {
                "axis": np.arange(1, len(squares) + 1),
                "covariance": self.singular_values,
                "share": squares / squares.sum(),
                "r": correlations,
            }
        )

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the first pair of scores against each other.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_scores

        first, second = self.first_scores[:, 0], self.second_scores[:, 0]
        title = f"r = {self.r:.3f}, P = {self.p:.3g}"
        return plot_scores(first, second, "first block, axis 1", "second block, axis 1", title, ax)

    def _headline(self) -> str:
        return (
            f"Two-block partial least squares of {plural(self.n_used, 'row')}: r = {self.r:.4g}, P = {self.p:.3g} "
            f"({plural(self.permutations, 'permutation')})."
        )


def two_block_pls(
    a: Any,
    b: Any,
    *,
    permutations: int = 999,
    random_state: Any = 0,
    strata: ArrayLike | None = None,
    aligned: bool = False,
    unit: Any = "auto",
) -> TwoBlockPLS:
    """Measure the covariation of two blocks of variables of the same specimens by partial least squares.

    The singular value decomposition of the cross-covariance matrix gives the pair of axes with the largest covariance
    of scores [1]_; `r` is the correlation of these scores [2]_. P is by permuting the rows of one block.

    Parameters
    ----------
    a, b : ShapeSet, array_like or DataFrame
        The blocks, one row per specimen in the same order: shapes, which are aligned each by itself, or real tables
        (n_rows, n_columns).
    permutations, random_state
        As in :func:`~shapelex.statistics.shape_lm`.
    strata : array_like of shape (n_rows,), optional
        Stratum of each row; rows are permuted within strata.
    aligned : bool, default False
        Take the coordinates of shapes as they are, for example two parts of configurations that were aligned as a
        whole.
    unit : str, array_like or None, default "auto"
        Which rows are not independent, as in :func:`~shapelex.statistics.shape_lm`; by default the units of `a`, or of
        `b`, where these are sets. Both blocks are averaged over units.

    Returns
    -------
    TwoBlockPLS
        The correlation with its P value, axes and scores.

    Raises
    ------
    ShapeInputError
        If the blocks differ in their number of rows, or one does not vary.

    References
    ----------
    .. [1] F. J. Rohlf and M. Corti, "Use of two-block partial least-squares to study covariation in shape", Systematic
       Biology 49 (2000), 740-753.
    .. [2] D. C. Adams and M. L. Collyer, "On the comparison of the strength of morphological integration across
       morphometric datasets", Evolution 70 (2016), 2623-2631.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> leaves = sx.datasets.make_leaves(10, random_state=0)
    >>> other = np.random.default_rng(0).normal(size=(40, 3))
    >>> found = sx.statistics.two_block_pls(leaves, other, permutations=99)
    >>> bool(found.p > 0.05)
    True
    """
    import pandas as pd

    check_count(permutations, 0, "permutations")
    (first, is_first, remarks), (second, is_second, more) = _block(a, "a"), _block(b, "b")
    if len(is_first) != len(is_second):
        raise ShapeInputError(
            f"{parameter('a')} and {parameter('b')} must have the same number of rows, got {len(is_first)} and "
            f"{len(is_second)}."
        )
    is_used = is_first & is_second
    rows = np.flatnonzero(is_used)
    if len(rows) < 3:
        raise ShapeInputError(f"at least three rows without missing entries are needed, got {len(rows)}.")
    dropped = {int(row): "missing entries" for row in np.flatnonzero(~is_used)}
    tables = [_centered(block, rows, aligned, name) for block, name in ((first, "a"), (second, "b"))]
    columns = Columns(pd.DataFrame(index=range(len(is_used))))
    sets: list[Columns] = [block for block in (first, second) if isinstance(block, ShapeInput)] or [columns]
    units = next((one for block in sets if (one := block.units(unit)) is not None), None)
    given = {} if strata is None else {"strata": columns.column(strata, "strata")}
    table = pd.DataFrame(given, index=range(len(is_used))).iloc[rows]
    if units is not None:
        table, numbers = between_units(table, units.take(rows))
        tables = [unit_means(one, numbers) for one in tables]
        tables = [one - one.mean(axis=0) for one in tables]
    exchange = Exchange(len(tables[0]), as_groups(table["strata"])[0] if given else None)
    mine, theirs = (reduce_columns(table) for table in tables)
    found = permuted_correlations(mine, theirs, exchange, permutations, as_seed(random_state))
    left, values, right = np.linalg.svd(tables[0].T @ tables[1] / (len(tables[0]) - 1), full_matrices=False)
    n_axes = int(np.count_nonzero(values > 1e-12 * max(values[0], 1e-300)))
    kept = [f"{len(dropped)} of {len(is_used)} rows left out: missing entries."] if dropped else []
    kept += [] if units is None else [tell_choice(units.take(rows))]
    return TwoBlockPLS(
        float(found[0]),
        float(p_values(found)),
        values[:n_axes],
        tables[0] @ left[:, :n_axes],
        tables[1] @ right[:n_axes].T,
        left[:, :n_axes].T,
        right[:n_axes],
        permutations,
        Sample(rows, dropped, (*dict.fromkeys([*remarks, *more, *kept]),)),
    )


def permuted_correlations(
    first: FloatArray, second: FloatArray, exchange: Exchange, permutations: int, seed: int
) -> FloatArray:
    """Return the correlation of the first pair of scores, for the data and for all permutations of the first block."""
    found = []
    # Correlations do not depend on the units; products of four entries would vanish or overflow in some of them.
    first, second = (np.ldexp(block, -np.frexp(np.abs(block).max(initial=0.0))[1]) for block in (first, second))
    step = max(1, _MOST_ENTRIES // (first.size + first.shape[1] * second.shape[1]))
    with single_blas_thread():
        for chunk in exchange.chunks(permutations, seed):
            for start in range(0, len(chunk), step):
                moved = first[chunk[start : start + step]]
                cross = moved.transpose(0, 2, 1) @ second
                left, right = _leading_axes(cross)
                mine, theirs = np.einsum("bnp,bp->bn", moved, left), right @ second.T
                sizes = np.linalg.norm(mine, axis=1) * np.linalg.norm(theirs, axis=1)
                found.append(np.einsum("bn,bn->b", mine, theirs) / sizes)
    return np.concatenate(found)


def _leading_axes(cross: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the leading left and right singular vectors of stacked matrices, by the smaller product with itself."""
    is_wide = cross.shape[1] <= cross.shape[2]
    matrices = cross if is_wide else cross.transpose(0, 2, 1)
    _, vectors = np.linalg.eigh(matrices @ matrices.transpose(0, 2, 1))
    short = vectors[..., -1]
    long = np.einsum("bpq,bp->bq", matrices, short)
    long /= np.linalg.norm(long, axis=1, keepdims=True)
    return (short, long) if is_wide else (long, short)


def _block(block: Any, name: str) -> tuple[Any, Any, tuple[str, ...]]:
    """Return a block as shapes or a table, which of its rows have no missing entries, and remarks."""
    is_table = is_data_frame(block) and not _has_points(block)
    if is_table or (not hasattr(block, "space") and np.ndim(block) <= 2 and not np.iscomplexobj(block)):
        table = check_values(block.to_numpy() if is_data_frame(block) else block, 0, name)
        return table, np.isfinite(table).all(axis=1), ()
    shapes = read_input(block, name=name)
    return shapes, ~np.isnan(shapes.configurations).any(axis=1), shapes.remarks


def _has_points(frame: "pd.DataFrame") -> bool:
    return {"x1", "y1"} <= set(map(str, frame.columns)) or {"x", "y", "landmark"} <= set(map(str, frame.columns))


def _centered(block: Any, rows: IntArray, aligned: bool, name: str) -> FloatArray:
    if isinstance(block, np.ndarray):
        table = block[rows]
        check_magnitude(table, parameter(name))
    else:
        kept = ShapeInput(block.columns.iloc[rows], block.configurations[rows], block.space)
        table = kept.use({}, aligned).coordinates
    centered: FloatArray = table - table.mean(axis=0)
    if np.abs(centered).max() <= 1e-12 * max(np.abs(table).max(), 1e-300):
        raise ShapeInputError(f"{parameter(name)} must vary, but all its rows are the same.")
    return centered
