"""Gauss-Legendre quadrature on the pieces of [0, 1].

In come breakpoints and a number of nodes a piece; out go nodes and weights.
"""

import numpy as np

from shapelex._typing import FloatArray


def piecewise_gauss_legendre(breakpoints: FloatArray, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights that integrate piecewise polynomials of degree below ``2 n_nodes`` exactly."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    starts, lengths = breakpoints[:-1, None], np.diff(breakpoints)[:, None]
    points: FloatArray = (starts + lengths * (nodes + 1) / 2).ravel()
    return points, (lengths * weights / 2).ravel()
