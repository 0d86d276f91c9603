"""Norms and Hermitian products of stacked rows.

In come complex rows ``(K, N)``; out goes one number per row.
"""

import numpy as np

from shapelex._typing import ComplexArray, FloatArray


def row_inner(first: ComplexArray, second: ComplexArray) -> ComplexArray:
    """Return the plain Hermitian product ``first_k* second_k`` of each pair of rows."""
    product: ComplexArray = np.vecdot(first, second)
    return product


def row_norms(rows: ComplexArray) -> FloatArray:
    """Return the plain norm of each row, safe from overflow and underflow of the squares."""
    parts = _parts(rows)
    with np.errstate(over="ignore", under="ignore"):
        squares: FloatArray = np.einsum("kn,kn->k", parts, parts)
    limits = np.finfo(squares.dtype)
    unsafe = ~((squares > limits.tiny / limits.eps) & (squares < limits.max))
    norms: FloatArray = np.sqrt(squares)
    if unsafe.any():
        extremes = _parts(rows[unsafe])
        # A power of two scales without rounding.
        exponents = np.frexp(np.abs(extremes).max(axis=1))[1]
        scaled = np.ldexp(extremes, -exponents[:, None])
        norms[unsafe] = np.ldexp(np.sqrt(np.einsum("kn,kn->k", scaled, scaled)), exponents)
    return norms


def _parts(rows: ComplexArray) -> FloatArray:
    """Return real and imaginary parts side by side, without a copy."""
    parts: FloatArray = np.ascontiguousarray(rows).view(rows.real.dtype)
    return parts
