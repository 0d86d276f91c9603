"""The elbow of a surface of held-out errors, beyond which more atoms lower the error little.

Input: the surface. Output: a size and a sparsity.
"""

from itertools import pairwise

import numpy as np

from shapelex._typing import FloatArray
from shapelex.selection.atom_stability import AtomStability
from shapelex.selection.error_surface import LEAST_STEP, PRECISION, ErrorSurface

# A smaller size of similar error is preferred only where the stability of its atoms is higher by this much.
_WORTHWHILE_STABILITY = 0.15
_CLOSE_ERROR = 1.03


def choose(surface: ErrorSurface, min_gain: float) -> tuple[int, int]:
    """Return size and sparsity at the elbow of a surface."""
    cells = sorted({(int(row["n_atoms"]), int(row["n_nonzero"])) for row in surface.rows()})
    _, n_nonzero = min(cells, key=lambda cell: (surface.description_length(*cell), cell))
    n_atoms = choose_size(surface, n_nonzero, min_gain)
    # With many coordinates the weights add little to the description, so the error must fall by LEAST_STEP as well.
    while n_nonzero > 1 and (n_atoms, n_nonzero - 1) in cells:
        step = surface.rmse(n_atoms, n_nonzero) / surface.rmse(n_atoms, n_nonzero - 1)
        if step <= 1 - LEAST_STEP:
            break
        n_nonzero -= 1
        n_atoms = choose_size(surface, n_nonzero, min_gain)
    return n_atoms, n_nonzero


def choose_size(surface: ErrorSurface, n_nonzero: int, min_gain: float) -> int:
    """Return the size beyond which each further atom lowers the error by less than `min_gain`, at one sparsity.

    The decrease is measured along the lower convex hull of the logarithm of the error, so that a size whose dictionary
    was learned badly does not hide the decrease at larger sizes.
    """
    sizes = [size for size in surface.sizes() if n_nonzero in surface.sparsities(size)]
    errors = np.log([max(surface.rmse(size, n_nonzero), PRECISION) for size in sizes])
    hull = _lower_hull(np.array(sizes, dtype=float), errors)
    for here, beyond in pairwise(hull):
        slope = (errors[beyond] - errors[here]) / (sizes[beyond] - sizes[here])
        if slope > np.log1p(-min_gain):
            return sizes[here]
    return sizes[hull[-1]]


def _lower_hull(x: FloatArray, y: FloatArray) -> list[int]:
    hull: list[int] = []
    for k in range(len(x)):
        while len(hull) > 1:
            i, j = hull[-2], hull[-1]
            if (y[j] - y[i]) * (x[k] - x[i]) < (y[k] - y[i]) * (x[j] - x[i]):
                break
            hull.pop()
        hull.append(k)
    return hull


def close_sizes(surface: ErrorSurface, n_atoms: int, n_nonzero: int) -> list[int]:
    """Return a size and the smaller ones of nearly the same error, in ascending order."""
    limit = _CLOSE_ERROR * surface.rmse(n_atoms, n_nonzero)
    return [size for size in surface.sizes() if size <= n_atoms and surface.rmse(size, n_nonzero) <= limit]


def most_stable(surface: ErrorSurface, stability: AtomStability, n_atoms: int, n_nonzero: int) -> int:
    """Return a smaller size of nearly the same error and clearly higher stability, if there is one."""
    best = n_atoms
    for size in close_sizes(surface, n_atoms, n_nonzero):
        if stability.of(size) > stability.of(best) + _WORTHWHILE_STABILITY:
            best = size
    return best
