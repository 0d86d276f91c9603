"""Which shapes a page holds, where they are too many for one file."""

from typing import Any

import numpy as np

from shapelex._typing import FloatArray, IntArray

N_WORST = 12  # always kept: the page shows the worst reconstructions of all shapes


def choose_shapes(
    n_kept: int, errors: FloatArray, labels: list[str] | None = None, sequence: IntArray | None = None
) -> tuple[IntArray, str]:
    """Choose shapes in proportion to labels, or series, or else errors, spread evenly over each; no chance involved.

    Parameters
    ----------
    n_kept : int
        How many.
    errors : ndarray of float, shape (n_shapes,)
        Error of each shape.
    labels : list of str, optional
        Label of each.
    sequence : ndarray of int, shape (n_shapes,), optional
        Series of each.

    Returns
    -------
    rows : ndarray of int, shape (min(n_kept, n_shapes),)
        Rows to keep, ascending.
    words : str
        How they were chosen; empty when all are kept.

    Examples
    --------
    >>> rows, words = choose_shapes(4, np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]), labels=list("aaaaaabb"))
    >>> rows
    array([1, 3, 5, 7])
    """
    n_shapes = len(errors)
    if n_kept >= n_shapes:
        return np.arange(n_shapes), ""
    strata: np.ndarray[Any, Any]
    if labels is not None:
        strata, how = np.unique(labels, return_inverse=True)[1], "stratified by label"
    elif sequence is not None and int(sequence.max()) > 0:
        strata, how = np.asarray(sequence), "stratified by series"
    elif sequence is not None:
        strata, how = np.zeros(n_shapes, dtype=np.int64), "spread evenly over time"
    else:
        # Deciles: shapes of every error are there.
        ranks = np.argsort(np.argsort(errors, kind="stable"), kind="stable")
        strata, how = ranks * 10 // n_shapes, "stratified by error"
    n_worst = min(N_WORST, n_kept // 4)
    worst = np.argsort(-errors, kind="stable")[:n_worst]
    is_kept = np.zeros(n_shapes, dtype=bool)
    is_kept[worst] = True
    order = np.argsort(strata, kind="stable")
    starts = np.flatnonzero(np.diff(strata[order], prepend=strata.min() - 1))
    middles = order[(starts + np.append(starts[1:], n_shapes)) // 2]
    if len(middles) <= n_kept - n_worst:
        is_kept[middles] = True
    rest = order[~is_kept[order]]
    n_more = n_kept - int(is_kept.sum())
    is_kept[rest[((np.arange(n_more) + 0.5) * len(rest) / max(n_more, 1)).astype(np.int64)]] = True
    return np.flatnonzero(is_kept), f"a sample {how}, with the {n_worst} worst reconstructions"
