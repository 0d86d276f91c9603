"""Two-sample statistics of mean shape, for many divisions of the same shapes at once.

Input: pre-shapes as complex rows in which the product is the plain one, and *weights*: how often each shape counts in
the first and in the second sample. A permutation has weights 0 and 1, a bootstrap sample whole numbers; each row of
weights is one *replicate*. Output: one number per replicate.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from shapelex._typing import ComplexArray, FloatArray
from shapelex.spaces import Space

_BLOCK_NUMBERS = 1 << 22


def spanned_rows(rows: ComplexArray, space: Space) -> ComplexArray:
    """Return coordinates of whitened pre-shapes in an orthonormal basis of what they span.

    There are at most ``N − 1`` coordinates, as translations are removed, and at most as many as shapes. All products
    between shapes stay the same.
    """
    left, singular, _ = np.linalg.svd(rows, full_matrices=False)
    n_kept = min(len(rows), space.n_coordinates - 1)
    coordinates: ComplexArray = left[:, :n_kept] * singular[:n_kept]
    return coordinates


def tangent_coordinates(rows: ComplexArray, weights: FloatArray) -> FloatArray:
    """Return real coordinates of shapes in the tangent space at their weighted full mean.

    Rows are rotated onto the mean, as in R's package shapes, and projected onto its orthogonal complement. With
    `weights` of shape (n_replicates, n_shapes) each replicate has its own mean, and the result is of shape
    (n_replicates, n_shapes, 2 (n_coordinates − 1)).
    """
    _, vectors = np.linalg.eigh(moments(rows, weights))
    mean, others = vectors[..., :, -1], vectors[..., :, :-1]
    along = np.conj(mean[..., None, :] @ rows.conj().T)[..., 0, :]
    moduli = np.abs(along)
    rotations = np.where(moduli > 0, along.conj() / np.where(moduli > 0, moduli, 1), 1)
    tangent = rotations[..., None] * (rows @ others.conj())
    return np.concatenate([tangent.real, tangent.imag], axis=-1)


def moments(rows: ComplexArray, weights: FloatArray) -> ComplexArray:
    """Return ``Σ_k weight_k z_k z_k*`` of each replicate."""
    scaled = rows.T * weights[..., None, :]
    products: ComplexArray = scaled @ rows.conj()
    return products


@dataclass(frozen=True)
class TwoSamples:
    """Sums over two samples in the pooled tangent space, for each replicate.

    Attributes
    ----------
    difference : ndarray of float, shape (n_replicates, n_dimensions)
        First mean minus second mean.
    within : ndarray of float, shape (n_replicates,)
        Sum of squared distances of shapes from the mean of their sample.
    scatters : tuple of ndarray of float, shape (n_replicates, n_dimensions, n_dimensions), or None
        Matrices of squares and products about the mean, of each sample.
    sizes : tuple of float
        Number of shapes in each sample.
    """

    difference: FloatArray
    within: FloatArray
    scatters: tuple[FloatArray, FloatArray] | None
    sizes: tuple[float, float]


def two_samples(coordinates: FloatArray, first: FloatArray, second: FloatArray, *, scatters: bool) -> TwoSamples:
    """Sum tangent coordinates over both samples; `coordinates` are shared by all replicates, or one array for each."""
    sizes = float(first[0].sum()), float(second[0].sum())
    means = [
        np.matmul(weights[:, None, :], coordinates)[:, 0] / n for weights, n in zip((first, second), sizes, strict=True)
    ]
    squares = np.einsum("...kp,...kp->...k", coordinates, coordinates)
    total = np.einsum("...k,...k->...", first + second, squares)
    within = total - sum(n * np.einsum("rp,rp->r", mean, mean) for mean, n in zip(means, sizes, strict=True))
    matrices = None
    if scatters:
        both = [
            _scatter(coordinates, weights) - n * mean[:, :, None] * mean[:, None, :]
            for weights, mean, n in zip((first, second), means, sizes, strict=True)
        ]
        matrices = both[0], both[1]
    return TwoSamples(means[0] - means[1], within, matrices, sizes)


def _scatter(coordinates: FloatArray, weights: FloatArray) -> FloatArray:
    transposed = np.swapaxes(coordinates, -1, -2)
    products: FloatArray = (transposed * weights[:, None, :]) @ coordinates
    return products


def goodall_f(samples: TwoSamples) -> FloatArray:
    """Return Goodall's F: squares between the means, over squares within samples, each per degree of freedom."""
    n_first, n_second = samples.sizes
    between = n_first * n_second / (n_first + n_second) * np.einsum("rp,rp->r", samples.difference, samples.difference)
    return _ratio(between, samples.within / (n_first + n_second - 2))


def hotelling_t2(samples: TwoSamples) -> FloatArray:
    """Return Hotelling's T² with the pooled covariance."""
    assert samples.scatters is not None
    n_first, n_second = samples.sizes
    pooled = (samples.scatters[0] + samples.scatters[1]) / (n_first + n_second - 2)
    return n_first * n_second / (n_first + n_second) * _mahalanobis(pooled, samples.difference)


def hotelling_f(t2: float, n_shapes: int, n_dimensions: int) -> tuple[float, tuple[int, int]]:
    """Return the F statistic of T², and its degrees of freedom."""
    n_denominator = n_shapes - n_dimensions - 1
    return t2 * n_denominator / ((n_shapes - 2) * n_dimensions), (n_dimensions, n_denominator)


def james_t2(samples: TwoSamples) -> FloatArray:
    """Return James's T²: that of Hotelling, with the covariance of each sample on its own."""
    first, second = _mean_covariances(samples)
    return _mahalanobis(first + second, samples.difference)


def james_p(samples: TwoSamples, t2: float) -> float:
    """Return the P of James's T² in the first replicate, by his approximation to first order in ``1 / n``.

    The critical value at a level is ``χ² (A + B χ²)`` with the quantile χ² of ``n_dimensions`` degrees of freedom.
    """
    covariances = [one[0] for one in _mean_covariances(samples)]
    n_dimensions = len(covariances[0])
    a, b = 1.0, 0.0
    for covariance, n in zip(covariances, samples.sizes, strict=True):
        share = np.linalg.solve(covariances[0] + covariances[1], covariance)
        trace, trace_of_square = float(np.trace(share)), float(np.sum(share * share.T))
        a += trace**2 / (2 * n_dimensions * (n - 1))
        b += (trace_of_square + trace**2 / 2) / (n_dimensions * (n_dimensions + 2) * (n - 1))
    chi2 = 2 * t2 / (a + np.sqrt(a**2 + 4 * b * t2))
    return float(stats.chi2.sf(chi2, n_dimensions))


def _mean_covariances(samples: TwoSamples) -> list[FloatArray]:
    assert samples.scatters is not None
    return [scatter / (n * (n - 1)) for scatter, n in zip(samples.scatters, samples.sizes, strict=True)]


def lambda_min(rows: ComplexArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the smallest eigenvalue of ``Σ_i 2 n_i M_i* G_i⁻¹ M_i`` over both samples.

    The rows of ``M_i`` are the eigenvectors of the moments of sample i other than its mean shape, and ``G_i`` estimates
    the covariance of the mean shape along them (Amaral, Dryden and Wood, 2007).
    """
    precision = sum(_mean_precision(rows, weights) for weights in (first, second))
    return np.asarray(np.linalg.eigvalsh(precision)[:, 0])


def _mean_precision(rows: ComplexArray, weights: FloatArray) -> ComplexArray:
    n = weights.sum(axis=1)[:, None, None]
    values, vectors = np.linalg.eigh(moments(rows, weights) / n)
    others = vectors[:, :, :-1]
    along_mean = np.abs(rows @ vectors[:, :, -1:].conj())[:, :, 0]
    # Moments along the other eigenvectors, weighted by the squared products with the mean.
    along = (rows @ others.conj()) / (values[:, None, -1:] - values[:, None, :-1])
    scaled = along * (weights * along_mean**2)[:, :, None]
    covariance = np.swapaxes(scaled, 1, 2) @ along.conj() / n
    precision: ComplexArray = 2 * n * others @ np.linalg.solve(covariance, np.conj(np.swapaxes(others, 1, 2)))
    return precision


def moved_to_common_mean(rows: ComplexArray, is_first: FloatArray) -> ComplexArray:
    """Return shapes of which both samples have the same mean: each is moved along the geodesic to the pooled mean.

    The smallest unitary map that takes the mean of a sample to the pooled mean is applied to all its shapes.
    """
    target = _mean_row(rows)
    moved = rows.copy()
    for is_in in (is_first > 0, is_first == 0):
        mean = _mean_row(rows[is_in])
        product = np.vdot(mean, target)
        turned = mean * (product / abs(product) if abs(product) > 0 else 1)
        # U x = x − (m + t) (m + t)* x / (1 + m* t) + 2 t m* x takes m to t, and leaves all that is orthogonal to both.
        along_sum = rows[is_in] @ (turned + target).conj() / (1 + abs(product))
        along_mean = rows[is_in] @ turned.conj()
        moved[is_in] += 2 * along_mean[:, None] * target - along_sum[:, None] * (turned + target)
    return moved


def _mean_row(rows: ComplexArray) -> ComplexArray:
    mean: ComplexArray = np.linalg.eigh(rows.T @ rows.conj())[1][:, -1]
    return mean


def replicate_blocks(n_replicates: int, n_numbers: int) -> Iterator[slice]:
    """Yield slices of replicates such that arrays of `n_numbers` per replicate stay small."""
    step = max(1, _BLOCK_NUMBERS // max(n_numbers, 1))
    for start in range(0, n_replicates, step):
        yield slice(start, min(start + step, n_replicates))


def _mahalanobis(covariances: FloatArray, differences: FloatArray) -> FloatArray:
    solved = np.linalg.solve(covariances, differences[:, :, None])[:, :, 0]
    return np.asarray(np.einsum("rp,rp->r", differences, solved))


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return quotients, infinite where all shapes of both samples are equal to their means but the means differ."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.where(numerator > 0, np.inf, 0.0))
