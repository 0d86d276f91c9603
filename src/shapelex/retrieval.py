"""Search for the shapes of a set that are most similar to given ones."""

from typing import Any

import numpy as np
from scipy import fft, sparse

from shapelex._arrays import as_kind_of, is_foreign, to_numpy
from shapelex._blas import single_blas_thread
from shapelex._messages import parameter
from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_choice, check_count, check_flag
from shapelex.coding.cpu import count_threads, run_blocks
from shapelex.estimators import OutlineConvolutions
from shapelex.exceptions import ParameterError, UnsupportedBySpaceError
from shapelex.geometry.alignment import phases
from shapelex.geometry.cyclic_search import CyclicSearch
from shapelex.geometry.distances import pairwise_distances, row_distances
from shapelex.kernels.elastic import match_batch
from shapelex.shapes.opening import as_shapes
from shapelex.shapes.storage import Shapes, TensorShapes
from shapelex.shapes.summary import signed_areas
from shapelex.spaces import Landmarks, Space

__all__ = ["retrieve"]

# Shapes that are read together: their products with one query stay in the cache. Queries and products that a device
# holds at a time: 512 MB in double precision.
_BLOCK_ROWS = 512
_BLOCK_QUERIES = 64
_MOST_PRODUCTS = 1 << 25
_NS_PER_PRODUCT = 20.0

# The graph of a set is one matrix: 200 MB, and two minutes of computation.
_MOST_RERANKED = 5000
_N_NEIGHBORS = 12  # of a shape in the graph, besides the nearest one: within a set that is the shape itself
_N_STEPS = 12
_N_RECIPROCAL = 20
_N_AVERAGED = 6
_EXPANSION = 2 / 3
_N_SCALE = 20  # neighbors that give the scale of the dissimilarities of a shape
_WALK_WIDTH = 0.25  # widths of Gaussian functions, relative to these scales
_RECIPROCAL_WIDTH = 1.0
_SLACK = 1e-12  # the dissimilarity of two shapes may round differently in both directions

# Elastic matching of outlines.
_N_CANDIDATES = 150
_N_COMPONENTS = 100
_MATCH_SHARE = 1.5  # weight of the match, where the weight of the features is 1
_N_POINTS = 96
_N_VALUES = 19  # heights are averaged over stretches of equal length
_TANGENT_STEP = 2
_WIDTH = 10  # how far a path may leave the rigid match, in points
_N_STARTS = 4
_START_GAP = 5  # rigid matches that are tried are further apart than this
_NS_PER_MATCH = 20_000.0
_BLOCK_MATCHES = 4


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
        check_choice(rerank, _RERANKERS, "rerank")
    # Sets, in memory or stored, are never a single shape.
    is_single = not hasattr(query, "space") and np.ndim(query) == 1
    searched = as_shapes(shapes, space, name="shapes")
    queries = _read(as_shapes(query, searched.space, name="query"))
    if k > len(searched):
        raise ParameterError(f"{parameter('k')} must be at most the number of shapes, {len(searched)}, got {k}.")
    if mirror and np.iscomplexobj(searched.space.gram) and searched.space.gram.imag.any():
        raise UnsupportedBySpaceError(
            f"{parameter('mirror', True)} takes complex conjugates, which are mirror images where the gram is real; "
            f"that of {type(searched.space).__name__} is not: give {parameter('mirror', False)}."
        )
    search = _free_search(searched.space, mirror)
    if rerank is None:
        indices, distances = _nearest_shapes(searched.space.preshape(queries), searched, k, search)
    elif len(searched) > _MOST_RERANKED:
        raise ParameterError(
            f"{parameter('rerank', rerank)} compares all shapes of a set with each other, at most {_MOST_RERANKED}, "
            f"got {len(searched)}: find the nearest few thousand of a query without it, then re-rank these."
        )
    else:
        within, to_set = _dissimilarities(_read(searched), queries, search)
        new = _RERANKERS[rerank](within, to_set)
        indices = np.stack([_first_smallest(row, k, ties) for row, ties in zip(new, to_set, strict=True)])
        distances = np.take_along_axis(new, indices, axis=1)
    like = next((given for given in (query, shapes) if is_foreign(given)), None)
    found = (indices[0], distances[0]) if is_single else (indices, distances)
    return found if like is None else (as_kind_of(found[0], like), as_kind_of(found[1], like))


def _read(shapes: Shapes) -> ComplexArray:
    """Return all configurations of a collection, checked to be finite shapes."""
    configurations = shapes[:]
    shapes.space.whitened_preshapes(configurations, shapes.name)
    return configurations


def _free_search(space: Space, mirror: bool) -> CyclicSearch:
    """Return the search among the changes of a shape that do not count in a space.

    Closed curves have no first point, and no curve has a preferred direction. Open landmarks are numbered.
    """
    has_points = space.coordinates_per_point is not None
    is_curve = has_points and (space.closed or not isinstance(space, Landmarks))
    return CyclicSearch(space, start=has_points and space.closed, direction=is_curve, reflection=mirror)


def _nearest_shapes(queries: ComplexArray, shapes: Shapes, k: int, search: CyclicSearch) -> tuple[IntArray, FloatArray]:
    """Return numbers and full distances of the `k` nearest shapes of each query, the nearest first.

    Queries are pre-shapes. Of shapes at equal distances, up to rounding, the one of the smaller number comes first.
    """
    space = shapes.space
    if isinstance(shapes, TensorShapes):
        return _measure_exactly(queries, shapes, _nearest_on_device(queries, shapes, k, search), search)
    found, largest = np.zeros((len(queries), k), dtype=np.int64), np.full((len(queries), k), -np.inf)
    for block in shapes.blocks(_BLOCK_ROWS):
        preshapes = space.unwhiten(space.whitened_preshapes(block.configurations, block.name, block.first_row))
        spectra = search.spectra(preshapes)
        numbers_of_block = block.start + np.arange(len(block))

        def compare(start: int, stop: int, spectra: ComplexArray = spectra, own: IntArray = numbers_of_block) -> None:
            for number in range(start, stop):
                products = search.squared_products(spectra, queries[number, None])
                squares = np.concatenate([largest[number], products.max(axis=1)])
                numbers = np.concatenate([found[number], own])
                best = _first_smallest(-squares, k)
                found[number], largest[number] = numbers[best], squares[best]

        n_products = len(queries) * len(block) * search.n_changes
        run_blocks(compare, len(queries), 1, count_threads(None, n_products * _NS_PER_PRODUCT))
    return _measure_exactly(queries, shapes, found, search)


def _nearest_on_device(queries: ComplexArray, shapes: TensorShapes, k: int, search: CyclicSearch) -> IntArray:
    """Return the numbers of the nearest shapes in a tensor, which are compared on its device."""
    import torch

    from shapelex.coding.torch.device_coder import DeviceWhitening

    space, tensor = shapes.space, shapes.tensor

    def to_device(array: ComplexArray) -> torch.Tensor:
        return torch.from_numpy(np.array(array)).to(tensor)

    rows = DeviceWhitening(space, to_device, shapes.name).preshapes(tensor, shapes.dtype)
    spectra = rows @ to_device(space.unwhiten(np.eye(space.n_coordinates, dtype=np.complex128)))
    spectra = spectra.reshape(len(rows), -1, search.n_points)
    if search.start:
        spectra = torch.fft.fft(spectra)
    n_rows = max(1, _MOST_PRODUCTS // (len(search.variants) * space.n_coordinates * _BLOCK_QUERIES))
    found = []
    for start in range(0, len(queries), _BLOCK_QUERIES):
        duals = torch.stack([to_device(dual) for dual in search.duals(queries[start : start + _BLOCK_QUERIES])])
        largest = []
        for row in range(0, len(spectra), n_rows):
            products = torch.einsum("vqpn,rpn->vqrn", duals, spectra[row : row + n_rows])
            if search.start:
                # Where a variant is reversed, its shifts come in another order, which does not change the largest.
                products = torch.fft.ifft(products)
            largest.append((products.real.square() + products.imag.square()).amax(dim=(0, 3)))
        found += [_first_smallest(-row, k) for row in to_numpy(torch.cat(largest, dim=1))]
    return np.stack(found)


def _measure_exactly(
    queries: ComplexArray, shapes: Shapes, found: IntArray, search: CyclicSearch
) -> tuple[IntArray, FloatArray]:
    """Measure the distances of the shapes found by their residuals, which are exact for close shapes, too."""
    space = shapes.space
    used, places = np.unique(found, return_inverse=True)
    preshapes = space.preshape(shapes.take(used))
    numbers, distances = np.empty_like(found), np.empty(found.shape, dtype=queries.real.dtype)
    for number, (query, members) in enumerate(zip(queries, places.reshape(found.shape), strict=True)):
        closest = search.apply(preshapes[members], search.settle(preshapes[members], query[None]))
        measured = row_distances(space.whiten_rows(query[None]), space.whiten_rows(closest))
        order = np.lexsort((found[number], _rounded(measured)))
        numbers[number], distances[number] = found[number][order], measured[order]
    return numbers, distances


def _first_smallest(values: FloatArray, k: int, ties: FloatArray | None = None) -> IntArray:
    """Return the places of the `k` smallest values; of values equal up to rounding, small `ties` come first."""
    rounded, last = _rounded(values), min(k, len(values)) - 1
    # Only what is no larger than the k-th value is sorted.
    places = np.flatnonzero(rounded <= np.partition(rounded, last)[last])
    return places[np.lexsort((places if ties is None else ties[places], rounded[places]))][:k]


def _rounded(values: FloatArray) -> FloatArray:
    """Return values without the digits that rounding makes uncertain."""
    return np.round(values, 5 if values.dtype == np.float32 else 12)


def _dissimilarities(Z: ComplexArray, queries: ComplexArray, search: CyclicSearch) -> tuple[FloatArray, FloatArray]:
    """Return the dissimilarities within a set, and of queries (rows) to its shapes."""
    given = [Z] if np.array_equal(queries, Z) else [Z, queries]
    stacks: list[ComplexArray] = [stack.astype(np.complex128) for stack in given]
    if search.start:
        found = _match_outlines(stacks, search.space, search.reflection)
    else:
        found = [_least_distances(stack, stacks[0], search) for stack in stacks]
    return found[0], found[-1]


def _least_distances(queries: ComplexArray, configurations: ComplexArray, search: CyclicSearch) -> FloatArray:
    """Return the least full distances over all changes."""
    variants = [search.apply(queries, np.full(len(queries), number)) for number in range(search.n_changes)]
    return np.asarray(np.min([pairwise_distances(one, configurations, space=search.space) for one in variants], axis=0))


def _match_outlines(stacks: list[ComplexArray], space: Space, mirror: bool) -> list[FloatArray]:
    """Return the dissimilarities of closed outlines to those of the first stack, for each stack.

    They are in units in which shapes of the first stack have about 20 neighbors at a dissimilarity of 1. They join two
    parts: the cosine of features of :class:`OutlineConvolutions`, reduced to principal components, and the cost of
    matching the outlines point by point, along the cheapest path that stretches them only a little. Only the shapes
    with the most similar features are matched. Points are described by *height functions*: for each point, the heights
    of all other points over the tangent there, in the order of the outline.
    """
    # One seed: equal sets give equal results.
    convolutions = OutlineConvolutions(space=space, mirror=mirror, random_state=0).fit(stacks[0])
    raw = [convolutions.transform(stack).astype(np.float64) for stack in stacks]
    center = raw[0].mean(axis=0)
    _, sizes, axes = np.linalg.svd(raw[0] - center, full_matrices=False)
    n_kept = min(_N_COMPONENTS, int(np.count_nonzero(sizes > 1e-6 * max(sizes[0], 1e-300))))
    # Without the division, axes of large variance would outweigh all others.
    axes = axes[:n_kept].T / np.sqrt(sizes[:n_kept])
    features = [_unit_rows((rows - center) @ axes) for rows in raw]
    heights = [_height_functions(stack, space) for stack in stacks]
    angles = [1 - rows @ features[0].T for rows in features]
    matches = [_elastic_matches(own, heights[0], far, mirror) for own, far in zip(heights, angles, strict=True)]
    # Both parts count alike, whatever the set.
    units = _neighbor_distance(angles[0]), _neighbor_distance(matches[0])
    return [far / units[0] + _MATCH_SHARE * cost / units[1] for far, cost in zip(angles, matches, strict=True)]


def _unit_rows(rows: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))


def _elastic_matches(heights: FloatArray, of_set: FloatArray, angles: FloatArray, mirror: bool) -> FloatArray:
    """Return the costs of the best elastic matches of queries with all shapes of a set, from their height functions.

    Shapes that are no candidates are not matched, and get the largest cost of a candidate.
    """
    candidates = np.argsort(angles, axis=1, kind="stable")[:, :_N_CANDIDATES]
    # A mirrored outline that is run counter-clockwise again: points and heights in the opposite order.
    both = [heights, heights[:, ::-1, ::-1]] if mirror else [heights]
    described = np.ascontiguousarray(np.stack(both, axis=1))
    spectra = fft.rfft(of_set, axis=1)
    costs = np.empty(candidates.shape, dtype=np.float32)

    def match_rows(start: int, stop: int) -> None:
        rows = slice(start, stop)
        pairs = zip(described[rows], candidates[rows], strict=True)
        starts = np.stack([_rigid_matches(variants, spectra[numbers]) for variants, numbers in pairs])
        match_batch(described[rows], of_set, candidates[rows], starts, _WIDTH, costs[rows])

    work = _N_STARTS * candidates.size * _NS_PER_MATCH
    run_blocks(match_rows, len(heights), _BLOCK_MATCHES, count_threads(None, work))
    matches = np.repeat(costs.max(axis=1, keepdims=True), angles.shape[1], axis=1).astype(np.float64)
    np.put_along_axis(matches, candidates, costs, axis=1)
    return matches


def _height_functions(configurations: ComplexArray, space: Space) -> FloatArray:
    """Return the height functions of closed outlines, float32 ``(n_shapes, n_points, n_values)``.

    For each point, the heights of the other points over the tangent, in their order along the outline, which is run
    counter-clockwise, averaged over stretches of equal length. Every value is divided by its largest modulus along the
    outline: heights of near points are small, and as informative as those of far ones.
    """
    points = space.preshape(configurations) @ space.basis(space.parameters(_N_POINTS)).T
    points = np.where(signed_areas(points)[:, None] < 0, points[:, ::-1], points)
    tangents = phases(np.roll(points, -_TANGENT_STEP, axis=1) - np.roll(points, _TANGENT_STEP, axis=1))
    heights = np.empty((len(points), _N_POINTS, _N_VALUES), dtype=np.float32)
    stretch = (_N_POINTS - 1) // _N_VALUES
    for value in range(_N_VALUES):
        # The average of heights is the height of the average.
        steps = range(value * stretch + 1, (value + 1) * stretch + 1)
        ahead = sum(np.roll(points, -step, axis=1) for step in steps) / stretch
        heights[:, :, value] = (tangents.conj() * (ahead - points)).imag
    largest = np.abs(heights).max(axis=1, keepdims=True)
    return np.asarray(heights / (_N_VALUES * np.where(largest > 0, largest, 1)))


def _rigid_matches(variants: FloatArray, spectra: ComplexArray) -> IntArray:
    """Return the best shifts of the variants of an outline against others, ``(n_others, n_starts)``, for the kernel.

    `spectra` are those of the descriptors of the others. Shifts that are close to a better one are left out.
    """
    own = fft.rfft(variants, axis=1).conj()
    products = fft.irfft(np.einsum("vfc,mfc->mvf", own, spectra), n=_N_POINTS, axis=2)
    starts = np.empty((len(spectra), _N_STARTS), dtype=np.int64)
    others = np.arange(len(spectra))
    near = np.arange(-_START_GAP, _START_GAP + 1)
    for number in range(_N_STARTS):
        best = products.reshape(len(spectra), -1).argmax(axis=1)
        starts[:, number] = best
        variant, shift = best // _N_POINTS, best % _N_POINTS
        products[others[:, None], variant[:, None], (shift[:, None] + near) % _N_POINTS] = -np.inf
    return starts


def _neighbor_distance(dissimilarities: FloatArray) -> float:
    """Return the median dissimilarity of the shapes of a set to their 20th neighbor; 1 where all shapes are equal."""
    distance = float(np.median(_radii(dissimilarities, _N_SCALE)))
    return distance if distance > 0 else 1.0


def _by_diffusion(within: FloatArray, to_set: FloatArray) -> FloatArray:
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


def _by_reciprocal_neighbors(within: FloatArray, to_set: FloatArray) -> FloatArray:
    """Return Jaccard distances between sets of reciprocal neighbors, weighted by similarity.

    Two shapes are reciprocal neighbors if each is among the nearest of the other. The set of a shape is extended by
    the neighbors of its neighbors that are mostly in it already, and averaged over the shapes nearest to it.
    """
    is_near = within <= _radii(within, _N_RECIPROCAL)[:, None] + _SLACK
    is_very_near = within <= _radii(within, _N_RECIPROCAL // 2)[:, None] + _SLACK
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


_RERANKERS = {"diffusion": _by_diffusion, "reciprocal": _by_reciprocal_neighbors}


def _transitions(rows: FloatArray, within: FloatArray) -> FloatArray:
    """Return transition probabilities to shapes of the set that are near, or to which the row is near."""
    is_near = (rows <= _radii(rows, _N_NEIGHBORS)[:, None] + _SLACK) | (rows <= _radii(within, _N_NEIGHBORS) + _SLACK)
    affinities = np.where(is_near, _affinities(rows, within, _WALK_WIDTH), 0)
    return np.asarray(affinities / affinities.sum(axis=1, keepdims=True))


def _affinities(rows: FloatArray, within: FloatArray, width: float) -> FloatArray:
    """Return Gaussian functions of dissimilarities, whose widths depend on both shapes."""
    widths = width * (_scales(rows)[:, None] + _scales(within))
    # No underflow: every row keeps at least its nearest shape.
    return np.asarray(np.exp((rows.min(axis=1, keepdims=True) ** 2 - rows**2) / widths**2))


def _scales(rows: FloatArray) -> FloatArray:
    """Return the mean dissimilarity of each row to its neighbors, the nearest one left out."""
    near = np.sort(rows, axis=1)[:, min(1, rows.shape[1] - 1) : _N_SCALE + 1]
    means = near.mean(axis=1)
    return np.where(means > 0, means, 1)


def _radii(rows: FloatArray, n_neighbors: int) -> FloatArray:
    """Return the dissimilarity of each row to its neighbor of this number, not counting the nearest one."""
    place = min(n_neighbors, rows.shape[1] - 1)
    return np.asarray(np.partition(rows, place, axis=1)[:, place])


def _extended(members: BoolArray, close: BoolArray) -> BoolArray:
    """Add the close neighbors of members of a set to it where most of them are members."""
    neighbors = sparse.csr_array(close, dtype=float)
    shared = (sparse.csr_array(members, dtype=float) @ neighbors.T).toarray()
    is_added = members & (shared > _EXPANSION * close.sum(axis=1))
    return np.asarray(members | ((sparse.csr_array(is_added, dtype=float) @ neighbors).toarray() > 0))


def _average(weights: FloatArray, dissimilarities: FloatArray) -> FloatArray:
    """Return the mean weights of the shapes nearest to each row."""
    nearest = np.argsort(dissimilarities, axis=1, kind="stable")[:, :_N_AVERAGED]
    return np.stack([weights[numbers].mean(axis=0) for numbers in nearest])
