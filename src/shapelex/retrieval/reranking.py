"""Re-ranking: shapes are alike where they are similar to the same shapes of the set.

Input: dissimilarities within a set, and of queries to the set. Output: new dissimilarities of the queries to the set,
between 0 and 1. The result of a query does not depend on the other queries,
and a shape of the set gets the same result whether it is part of all queries or the only one.
"""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from shapelex._typing import BoolArray, FloatArray

_N_NEIGHBORS = 12  # of a shape in the graph, besides the nearest one: within a set that is the shape itself
_N_STEPS = 12
_N_RECIPROCAL = 20
_N_AVERAGED = 6
_EXPANSION = 2 / 3
_N_SCALE = 20  # neighbors that give the scale of the dissimilarities of a shape
_WALK_WIDTH = 0.25  # widths of Gaussian functions, relative to these scales
_RECIPROCAL_WIDTH = 1.0


def by_diffusion(within: FloatArray, to_set: FloatArray) -> FloatArray:
    """Return dissimilarities by random walks on the graph of nearest neighbors.

    With the transition probabilities ``P`` of the graph and those ``p`` of a query, the similarity of the query and
    shape ``j`` is ``Σ_t (p P^t) · (P^(t+1))_j`` for ``t = 0 .. 11``: walks of the same length that start at both end at
    the same shape. It is divided by the similarities of both to themselves, like a cosine.
    """
    steps = sparse.csr_array(_transitions(within, within))
    first = sparse.csr_array(_transitions(to_set, within))
    meeting = np.eye(len(within))
    for _ in range(_N_STEPS - 1):
        meeting = steps @ (steps @ meeting).T
        meeting[np.diag_indices(len(meeting))] += 1
    of_queries = first @ meeting
    squares = first.multiply(of_queries).sum(axis=1), steps.multiply(steps @ meeting).sum(axis=1)
    cosines = (steps @ of_queries.T).T / np.sqrt(np.outer(*squares))
    return np.asarray(np.clip(1 - cosines, 0, 1))


def by_reciprocal_neighbors(within: FloatArray, to_set: FloatArray) -> FloatArray:
    """Return Jaccard distances between sets of reciprocal neighbors, weighted by similarity.

    Two shapes are reciprocal neighbors if each is among the nearest of the other. The set of a shape is extended by
    the neighbors of its neighbors that are mostly in it already, and averaged over the shapes nearest to it.
    """
    is_near = within <= _radii(within, _N_RECIPROCAL)[:, None]
    is_very_near = within <= _radii(within, _N_RECIPROCAL // 2)[:, None]
    members = _extended(is_near & is_near.T, is_very_near & is_very_near.T)
    weights = np.where(members, _affinities(within, within, _RECIPROCAL_WIDTH), 0)
    weights /= weights.sum(axis=1, keepdims=True)
    of_set, of_queries = (_average(weights, dissimilarities) for dissimilarities in (within, to_set))
    jaccard = np.empty_like(to_set)
    for number, row in enumerate(of_queries):
        used = np.flatnonzero(row)
        shared = np.minimum(of_set[:, used], row[used]).sum(axis=1)
        jaccard[number] = 1 - shared / (2 - shared)
    return np.clip(jaccard, 0, 1)


RERANKERS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "diffusion": by_diffusion,
    "reciprocal": by_reciprocal_neighbors,
}


def _transitions(rows: FloatArray, within: FloatArray) -> FloatArray:
    """Return transition probabilities to shapes of the set that are near, or to which the row is near."""
    is_near = rows <= _radii(rows, _N_NEIGHBORS)[:, None]
    is_near |= rows <= _radii(within, _N_NEIGHBORS)
    affinities = np.where(is_near, _affinities(rows, within, _WALK_WIDTH), 0)
    return np.asarray(affinities / affinities.sum(axis=1, keepdims=True))


def _affinities(rows: FloatArray, within: FloatArray, width: float) -> FloatArray:
    """Return Gaussian functions of dissimilarities, whose widths depend on both shapes."""
    widths = width * (_scales(rows)[:, None] + _scales(within))
    # No underflow: every row keeps at least its nearest shape.
    nearest = rows.min(axis=1, keepdims=True)
    return np.asarray(np.exp((nearest**2 - rows**2) / widths**2))


def _scales(rows: FloatArray) -> FloatArray:
    """Return the mean dissimilarity of each row to its neighbors, the nearest one left out."""
    near = np.sort(rows, axis=1)[:, min(1, rows.shape[1] - 1) : _N_SCALE + 1]
    means = near.mean(axis=1)
    return np.where(means > 0, means, 1)


def _radii(rows: FloatArray, n_neighbors: int) -> FloatArray:
    """Return the dissimilarity of each row to its neighbor of this number, not counting the nearest one."""
    place = min(n_neighbors, rows.shape[1] - 1)
    return np.partition(rows, place, axis=1)[:, place]


def _extended(members: BoolArray, close: BoolArray) -> BoolArray:
    """Add the close neighbors of members of a set to it where most of them are members."""
    counts = close.sum(axis=1)
    extended = members.copy()
    for number, row in enumerate(members):
        candidates = np.flatnonzero(row)
        shared = close[candidates][:, row].sum(axis=1)
        added = candidates[shared > _EXPANSION * counts[candidates]]
        extended[number] |= close[added].any(axis=0)
    return extended


def _average(weights: FloatArray, dissimilarities: FloatArray) -> FloatArray:
    """Return the mean weights of the shapes nearest to each row."""
    nearest = np.argsort(dissimilarities, axis=1, kind="stable")[:, :_N_AVERAGED]
    return np.stack([weights[numbers].mean(axis=0) for numbers in nearest])
