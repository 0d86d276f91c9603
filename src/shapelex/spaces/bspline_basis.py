"""Uniform B-splines: their values, and the exact Gram matrix of the periodic ones.

In come curve parameters in [0, 1], a number of functions and a degree; out go matrices.
"""

from fractions import Fraction
from math import comb, factorial
from typing import Any

import numpy as np

from shapelex._typing import FloatArray


def periodic_basis(t: FloatArray, n_functions: int, degree: int) -> FloatArray:
    """Return ``phi_n(t) = Σ_k beta(M t − n − k M)``, the periodized centered B-splines."""
    # Functions one support beyond both ends reach into [0, M]; folding their numbers modulo M periodizes.
    margin = degree // 2 + 1
    n_unfolded = n_functions + 2 * margin + 1
    knots = np.arange(n_unfolded + degree + 1) - (margin + (degree + 1) / 2)
    unfolded = _design_matrix(t * n_functions, knots, degree)
    unfolded.indices = (unfolded.indices - margin) % n_functions
    unfolded.resize(len(t), n_functions)
    unfolded.has_sorted_indices = False
    unfolded.sum_duplicates()
    values: FloatArray = unfolded.toarray()
    return values


def clamped_basis(t: FloatArray, n_functions: int, degree: int) -> FloatArray:
    """Return the B-splines on equispaced knots whose end knots repeat, so curves start and end at control points."""
    inner = np.linspace(0.0, 1.0, n_functions - degree + 1)
    knots = np.concatenate([np.zeros(degree), inner, np.ones(degree)])
    values: FloatArray = _design_matrix(t, knots, degree).toarray()
    return values


def _design_matrix(t: FloatArray, knots: FloatArray, degree: int) -> Any:
    # scipy.interpolate takes longer to import than all the rest together, and landmarks never need it.
    from scipy.interpolate import BSpline
    from scipy.sparse import csr_array

    # SciPy asks for at least one parameter.
    return BSpline.design_matrix(t, knots, degree) if t.size else csr_array((0, len(knots) - degree - 1))


def periodic_gram(n_functions: int, degree: int) -> FloatArray:
    """Return the exact Gram matrix of :func:`periodic_basis`, a circulant.

    ``<phi_n, phi_m> = Σ_k beta_{2d+1}(n − m + k M) / M``, because two B-splines of degree d
    convolve to one of degree 2d + 1. Integers hold every term, so the entries are rounded once.
    """
    from scipy.linalg import circulant

    column = [Fraction(0)] * n_functions
    for lag in range(-degree, degree + 1):
        column[lag % n_functions] += _bspline_at_integer(2 * degree + 1, lag)
    gram: FloatArray = circulant([float(value / n_functions) for value in column])
    return gram


def _bspline_at_integer(degree: int, x: int) -> Fraction:
    """Return the centered B-spline of odd degree at an integer, exactly."""
    half = (degree + 1) // 2
    terms = ((-1) ** j * comb(degree + 1, j) * (x + half - j) ** degree for j in range(x + half + 1))
    return Fraction(sum(terms), factorial(degree))
