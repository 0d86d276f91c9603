"""Dissimilarity of closed outlines, for re-ranking: features of convolutions, and elastic matching of candidates.

Input: configurations of a set and of queries. Output: dissimilarities of queries (rows) to the shapes of the set, in
units in which shapes have about 20 neighbors at a dissimilarity of 1.

Features are those of :class:`OutlineConvolutions`, reduced to principal components, and compared by their cosine. The
shapes with the most similar features are the candidates of a query. Their points are described by *height functions*:
for each point, the heights of all other points over the tangent there, in the order of the outline. Candidates are
matched point by point, along the cheapest path that stretches the outlines only a little.
"""

import numpy as np
from scipy import fft

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.coding.threads import count_threads, run_blocks
from shapelex.estimators import OutlineConvolutions
from shapelex.kernels.elastic import match_batch
from shapelex.spaces import Space

N_CANDIDATES = 150
_N_COMPONENTS = 100
_N_NEIGHBORS = 20
_MATCH_SHARE = 1.5  # weight of the match, where the weight of the features is 1

_N_POINTS = 96
_N_VALUES = 19  # heights are averaged over stretches of equal length
_TANGENT_STEP = 2
_WIDTH = 10  # how far a path may leave the rigid match, in points
_N_STARTS = 4
_START_GAP = 5  # rigid matches that are tried are further apart than this
_NS_PER_MATCH = 20_000.0
_BLOCK_ROWS = 4


class OutlineMatching:
    """A set of closed outlines, prepared for the comparison with queries."""

    def __init__(self, configurations: ComplexArray, space: Space, mirror: bool) -> None:
        self._space, self._mirror = space, mirror
        # One seed: equal sets give equal results.
        self._convolutions = OutlineConvolutions(space=space, mirror=mirror, random_state=0).fit(configurations)
        features = self._convolutions.transform(configurations).astype(np.float64)
        self._center = features.mean(axis=0)
        self._axes = _scaled_axes(features - self._center)
        self._features = self._reduced(features)
        self._heights = height_functions(configurations, space)
        # Both parts count alike, whatever the set.
        angles = 1 - self._features @ self._features.T
        matches = self._matches(self._heights, angles)
        self._units = _neighbor_distance(angles), _neighbor_distance(matches)
        self.within = self._joined(angles, matches)
        """Dissimilarities within the set."""

    def to(self, queries: ComplexArray) -> FloatArray:
        """Return the dissimilarities of queries to the shapes of the set."""
        features = self._reduced(self._convolutions.transform(queries).astype(np.float64))
        angles = 1 - features @ self._features.T
        return self._joined(angles, self._matches(height_functions(queries, self._space), angles))

    def _reduced(self, features: FloatArray) -> FloatArray:
        components = (features - self._center) @ self._axes
        lengths = np.linalg.norm(components, axis=1, keepdims=True)
        return np.asarray(components / np.where(lengths > 0, lengths, 1))

    def _matches(self, heights: FloatArray, angles: FloatArray) -> FloatArray:
        """Return the costs of the best elastic matches of queries with all shapes of the set.

        Shapes that are no candidates are not matched, and get the largest cost of a candidate.
        """
        candidates = np.argsort(angles, axis=1, kind="stable")[:, :N_CANDIDATES]
        # A mirrored outline that is run counter-clockwise again: points and heights in the opposite order.
        both = [heights, heights[:, ::-1, ::-1]] if self._mirror else [heights]
        described = np.ascontiguousarray(np.stack(both, axis=1))
        spectra = fft.rfft(self._heights, axis=1)
        costs = np.empty(candidates.shape, dtype=np.float32)

        def match_rows(start: int, stop: int) -> None:
            rows = slice(start, stop)
            pairs = zip(described[rows], candidates[rows], strict=True)
            starts = np.stack([_rigid_matches(variants, spectra[numbers]) for variants, numbers in pairs])
            match_batch(described[rows], self._heights, candidates[rows], starts, _WIDTH, costs[rows])

        work = _N_STARTS * candidates.size * _NS_PER_MATCH
        run_blocks(match_rows, len(heights), _BLOCK_ROWS, count_threads(None, work))
        matches = np.repeat(costs.max(axis=1, keepdims=True), angles.shape[1], axis=1).astype(np.float64)
        np.put_along_axis(matches, candidates, costs, axis=1)
        return matches

    def _joined(self, angles: FloatArray, matches: FloatArray) -> FloatArray:
        return angles / self._units[0] + _MATCH_SHARE * matches / self._units[1]


def height_functions(configurations: ComplexArray, space: Space) -> FloatArray:
    """Return the height functions of closed outlines, float32 ``(n_shapes, n_points, n_values)``.

    For each point, the heights of the other points over the tangent, in their order along the outline, which is run
    counter-clockwise, averaged over stretches of equal length. Every value is divided by its largest modulus along the
    outline: heights of near points are small, and as informative as those of far ones.
    """
    preshapes = space.preshape(configurations)
    points = preshapes @ space.basis(space.parameters(_N_POINTS)).T
    areas = np.sum((points.conj() * np.roll(points, -1, axis=1)).imag, axis=1)
    points = np.where(areas[:, None] < 0, points[:, ::-1], points)
    tangents = np.roll(points, -_TANGENT_STEP, axis=1) - np.roll(points, _TANGENT_STEP, axis=1)
    lengths = np.abs(tangents)
    tangents = np.where(lengths > 0, tangents / np.where(lengths > 0, lengths, 1), 1)
    heights = np.empty((len(points), _N_POINTS, _N_VALUES), dtype=np.float32)
    stretch = (_N_POINTS - 1) // _N_VALUES
    for value in range(_N_VALUES):
        # The average of heights is the height of the average.
        ahead = (
            sum(np.roll(points, -step, axis=1) for step in range(value * stretch + 1, (value + 1) * stretch + 1))
            / stretch
        )
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


def _scaled_axes(features: FloatArray) -> FloatArray:
    """Return the first principal axes of centered features, divided by the square roots of their singular values."""
    _, sizes, axes = np.linalg.svd(features, full_matrices=False)
    n_kept = min(_N_COMPONENTS, int(np.count_nonzero(sizes > 1e-6 * max(sizes[0], 1e-300))))
    return np.asarray(axes[:n_kept].T / np.sqrt(sizes[:n_kept]))


def _neighbor_distance(dissimilarities: FloatArray) -> float:
    """Return the median dissimilarity of the shapes of a set to their 20th neighbor; 1 where all shapes are equal."""
    place = min(_N_NEIGHBORS, len(dissimilarities) - 1)
    distance = float(np.median(np.partition(dissimilarities, place, axis=1)[:, place]))
    return distance if distance > 0 else 1.0
