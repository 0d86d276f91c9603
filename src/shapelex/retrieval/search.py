"""The shapes of a set that are most similar to given ones."""

from typing import Any

import numpy as np

from shapelex._arrays import as_kind_of, is_foreign
from shapelex._blas import single_blas_thread
from shapelex._messages import parameter
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import as_configurations, check_choice, check_count, check_flag
from shapelex.exceptions import ParameterError, UnsupportedBySpaceError
from shapelex.geometry.preshapes import is_one_shape
from shapelex.retrieval.nearest import first_smallest, full_distances, nearest_shapes
from shapelex.retrieval.outline_matching import OutlineMatching
from shapelex.retrieval.reranking import RERANKERS
from shapelex.shapes.collection import Shapes
from shapelex.shapes.opening import as_shapes
from shapelex.spaces import Space

# The graph of the set is one matrix: 200 MB, and two minutes of computation.
_MOST_RERANKED = 5000


@single_blas_thread()
def retrieve(
    query: Any, shapes: Any, k: int, space: Space | None = None, mirror: bool = True, rerank: str | None = None
) -> tuple[IntArray, FloatArray]:
    """Find the `k` shapes of a set that are most similar to each query.

    Shapes are compared by the full Procrustes distance ``sqrt(1 − |z* Phi w|²)`` of their pre-shapes. Its minimum is
    taken over everything that does not belong to the shape: the start point and the direction of closed curves, the
    direction of open curves other than landmarks, and the mirror image. All start points are tried at once by FFT.

    With `rerank`, the order is found from the whole set: shapes are alike if they are similar to the same shapes.
    For closed curves, similarity is then measured by the features of :class:`~shapelex.OutlineConvolutions` and by
    elastic matching of the outlines, which is more tolerant of bent and stretched parts than a distance point by point.

    Parameters
    ----------
    query : array_like, complex (n_queries, n_coordinates) or (n_coordinates,), or a set of shapes
        Shapes to look for. They may be shapes of the set: these find themselves first.
    shapes : array_like, complex (n_shapes, n_coordinates), or a set of shapes, in memory or stored
        Shapes to search, read in blocks.
    k : int
        Number of shapes to find for each query, at most ``n_shapes``.
    space : Space, optional
        Space of all configurations; when not given, that of `shapes`, otherwise landmarks, whose order is kept.
        Give ``Landmarks(n_points, closed=True)`` for an array of closed outlines.
    mirror : bool, default True
        Whether a shape and its mirror image are the same. Landmarks keep their numbers when they are mirrored.
    rerank : {"diffusion", "reciprocal"}, optional
        How to re-rank, for sets of at most 5000 shapes. ``"diffusion"`` lets random walks on the graph of nearest
        neighbors meet [1]_, ``"reciprocal"`` compares sets of reciprocal neighbors [2]_. The elastic matching uses
        height functions [3]_.

    Returns
    -------
    indices : ndarray of int, shape (n_queries, k) or (k,)
        Numbers of the shapes found, the most similar first.
    distances : ndarray of float, same shape
        Their full distances; with `rerank`, the new dissimilarities between 0 and 1, by which they are sorted.

    Raises
    ------
    ParameterError
        If `k` is larger than the set, or the set too large for re-ranking.

    Notes
    -----
    Of shapes that are equally far away, up to rounding, the one with the smaller number comes first. The result of a
    query does not depend on the other queries.

    References
    ----------
    .. [1] X. Yang, L. Prasad and L. J. Latecki, "Affinity learning with diffusion on tensor product graph", IEEE
       Transactions on Pattern Analysis and Machine Intelligence 35 (2013), 28-38, doi:10.1109/TPAMI.2012.60.
    .. [2] Z. Zhong, L. Zheng, D. Cao and S. Li, "Re-ranking person re-identification with k-reciprocal encoding", CVPR
       (2017), arXiv:1701.08398.
    .. [3] J. Wang, X. Bai, X. You, W. Liu and L. J. Latecki, "Shape matching and classification using height
       functions", Pattern Recognition Letters 33 (2012), 134-143, doi:10.1016/j.patrec.2011.09.042.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> t = 2j * np.pi * np.arange(60) / 60
    >>> outlines = np.exp(t) + np.array([[0.1], [0.2], [0.3], [0.4]]) * np.exp(-2 * t)
    >>> turned = 2j * np.roll(outlines[2], 11)
    >>> indices, distances = sx.retrieve(turned, outlines, k=3, space=sx.Landmarks(60, closed=True))
    >>> indices, distances.round(3)
    (array([2, 3, 1]), array([0.   , 0.089, 0.094]))
    """
    k = check_count(k, 1, "k")
    mirror = check_flag(mirror, "mirror")
    if rerank is not None:
        check_choice(rerank, RERANKERS, "rerank")
    # Sets, in memory or stored, are never a single shape.
    is_single = not hasattr(query, "space") and is_one_shape(query)
    searched = as_shapes(shapes, space, name="shapes")
    queries = _read(as_shapes(query, searched.space, name="query"))
    if k > len(searched):
        raise ParameterError(f"{parameter('k')} must be at most the number of shapes, {len(searched)}, got {k}.")
    _check_mirror(mirror, searched.space)
    if rerank is None:
        indices, distances = nearest_shapes(searched.space.preshape(queries), searched, k, mirror)
    else:
        indices, distances = _rerank(queries, searched, k, mirror, rerank)
    like = next((given for given in (query, shapes) if is_foreign(given)), None)
    found = (indices[0], distances[0]) if is_single else (indices, distances)
    return found if like is None else (as_kind_of(found[0], like), as_kind_of(found[1], like))


def _rerank(queries: ComplexArray, shapes: Shapes, k: int, mirror: bool, rerank: str) -> tuple[IntArray, FloatArray]:
    """Return numbers and new dissimilarities of the shapes that are first after re-ranking."""
    if len(shapes) > _MOST_RERANKED:
        raise ParameterError(
            f"{parameter('rerank', rerank)} compares all shapes of a set with each other, at most {_MOST_RERANKED}, "
            f"got {len(shapes)}: find the nearest few thousand of a query without it, then re-rank these."
        )
    configurations, space = _read(shapes), shapes.space
    is_same = queries.shape == configurations.shape and bool(np.array_equal(queries, configurations))
    if space.closed and space.coordinates_per_point is not None:
        matching = OutlineMatching(configurations, space, mirror)
        within, to_set = matching.within, matching.within if is_same else matching.to(queries)
    else:
        preshapes = space.preshape(configurations)
        within = full_distances(preshapes, preshapes, space, mirror)
        to_set = within if is_same else full_distances(space.preshape(queries), preshapes, space, mirror)
    dissimilarities = RERANKERS[rerank](within, to_set)
    indices = np.stack([first_smallest(row, k, ties) for row, ties in zip(dissimilarities, to_set, strict=True)])
    return indices, np.take_along_axis(dissimilarities, indices, axis=1)


def _read(shapes: Shapes) -> ComplexArray:
    """Return all configurations of a collection, checked to be finite shapes."""
    configurations = as_configurations(shapes[:], name=shapes.name)[0]
    shapes.space.whitened_preshapes(configurations, shapes.name)
    return configurations


def _check_mirror(mirror: bool, space: Space) -> None:
    if mirror and np.iscomplexobj(space.gram) and space.gram.imag.any():
        raise UnsupportedBySpaceError(
            f"{parameter('mirror', True)} takes complex conjugates, which are mirror images where the gram is real; "
            f"that of {type(space).__name__} is not: give {parameter('mirror', False)}."
        )
