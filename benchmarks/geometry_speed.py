"""What geometry costs, beside the linear algebra it rests on and beside geomstats."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh

import shapelex as sx
from measure import find_peer, median_times, print_table
from shapelex._blas import single_blas_thread

N_SHAPES, N_POINTS = 5000, 20


def main() -> None:
    rng = np.random.default_rng(0)
    shape = (N_SHAPES, N_POINTS)
    Z = np.exp(2j * np.pi * np.arange(N_POINTS) / N_POINTS) + 0.2 * (
        rng.normal(size=shape) + 1j * rng.normal(size=shape)
    )
    rows = sx.Landmarks(N_POINTS).whitened_preshapes(Z)

    def floor() -> Any:
        return eigh(rows.T @ rows.conj())

    calls: dict[str, Callable[[], Any]] = {
        "matrix product and eigh": floor,
        'mean_shape(kind="full")': lambda: sx.mean_shape(Z),
        'mean_shape(kind="partial")': lambda: sx.mean_shape(Z, "partial"),
        'mean_shape(kind="geodesic")': lambda: sx.mean_shape(Z, "geodesic"),
        "distance to the mean": lambda: sx.distance(Z, Z[0]),
        "pairwise_distances, 2000 × 2000": lambda: sx.pairwise_distances(Z[:2000]),
    }
    geomstats_mean = _geomstats_mean(Z)
    if geomstats_mean is not None:
        calls["geomstats FrechetMean (geodesic, to 1e-4 only)"] = geomstats_mean
    # On few cores, BLAS threads that spin after each small product would be most of what is measured.
    with single_blas_thread():
        seconds = median_times(calls)
    reference = seconds["matrix product and eigh"]
    print_table(
        f"Geometry of {N_SHAPES} × {N_POINTS} landmarks (not published)",
        ["call", "median ms", "× matrix product and eigh"],
        [[name, f"{1000 * value:.2f}", f"{value / reference:.1f}"] for name, value in seconds.items()],
    )


def _geomstats_mean(Z: np.ndarray[Any, Any]) -> Callable[[], Any] | None:
    pre_shape = find_peer("geomstats.geometry.pre_shape", "the mean of geomstats")
    if pre_shape is None:
        return None
    from geomstats.learning.frechet_mean import FrechetMean

    space = pre_shape.PreShapeSpace(k_landmarks=N_POINTS, ambient_dim=2)
    space.equip_with_group_action("rotations")
    space.equip_with_quotient()
    points = space.projection(sx.to_points(Z))
    return lambda: FrechetMean(space.quotient).fit(points)
