"""Coefficients of a chosen support, from its triangular factor.

In: the :class:`Chosen` atoms of a row. Out: coefficients and residuals. Real and imaginary parts alternate in rows and
atoms.

Rows are needed only where rounding matters: to compare a residual with a target to the last digits, and to refine the
weights of nearly dependent atoms. A caller without rows passes rows of length 0; ``needs_row`` is then set for a row
whose code must be computed again with its coordinates.

The pursuit kernels call these functions. The disk cache of numba does not see such a dependency, so a change here
requires an empty cache.
"""

from typing import Any, NamedTuple

import numpy as np

from shapelex.kernels.compilation import kernel

FAST = {"contract", "reassoc", "nsz", "arcp"}


class Limits(NamedTuple):
    """Tolerances that every coding kernel takes, floats in the precision of the rows, which have norm 1.

    An atom with no more than `independent` of its squared norm left is skipped. A pursuit stops at a gain below `gain`,
    and at a squared residual below `target`; a negative one is none. Coefficients are refined where a chosen atom had
    less than `refine` left. `eps` is the machine epsilon, and `unsure` the error of a squared residual.
    """

    independent: Any
    gain: Any
    target: Any
    refine: Any
    eps: Any
    unsure: Any


class Chosen(NamedTuple):
    """What is known of the atoms `d_l` that a row has chosen so far, in order of choice, and their coefficients.

    With `q_l` the orthonormal vectors that the atoms span: ``triangle[l, i] = q_i^H d_l`` for ``i < l``,
    ``inv_diag[l] = 1 / (q_l^H d_l)``, ``target[l] = q_l^H x``, and ``smallest_left[l]`` is the smallest squared norm
    that the first ``l + 1`` atoms had left when they were chosen. :func:`solve_row` writes the coefficients ``coef``.
    """

    support: Any
    triangle: Any
    inv_diag: Any
    smallest_left: Any
    target: Any
    coef: Any


@kernel()
def allocate_chosen(n_nonzero, rows, coefs):
    """Uninitialized arrays for up to `n_nonzero` atoms of one of the rows, in the precision of rows and codes."""
    return Chosen(
        np.empty(n_nonzero, dtype=np.int64),
        np.empty((n_nonzero, n_nonzero), dtype=coefs.dtype),
        np.empty(n_nonzero, dtype=rows.dtype),
        np.empty(n_nonzero, dtype=rows.dtype),
        np.empty(n_nonzero, dtype=coefs.dtype),
        np.empty(n_nonzero, dtype=coefs.dtype),
    )


@kernel(fastmath=FAST)
def solve_triangle(triangle, inv_diag, n_chosen, target, out_coef):
    """Coefficients of the chosen atoms, by back substitution."""
    for level in range(n_chosen):
        out_coef[level] = target[level]
    for level in range(n_chosen - 1, -1, -1):
        out_coef[level] *= inv_diag[level]
        for i in range(level):
            out_coef[i] -= triangle[level, i] * out_coef[level]


@kernel(fastmath=FAST)
def residual_of(row, atoms, support, n_chosen, coef):
    """Residual of a row, from the row itself, and its squared norm."""
    n_reals = row.shape[0]
    residual = row.copy()
    for i in range(n_chosen):
        a_re, a_im = coef[i].real, coef[i].imag
        atom = atoms[support[i]]
        for n in range(0, n_reals, 2):
            residual[n] -= a_re * atom[n] - a_im * atom[n + 1]
            residual[n + 1] -= a_re * atom[n + 1] + a_im * atom[n]
    norm2 = row.dtype.type(0)
    for n in range(n_reals):
        norm2 += residual[n] * residual[n]
    return residual, norm2


@kernel(fastmath=FAST, forceinline=True)
def meets_target(left_norm2, limits, row, atoms, chosen, n_chosen, needs_row):
    """Whether the squared residual, tracked as `left_norm2`, has reached the target, which must be given.

    Where that is unsure the true residual decides. ``coef`` stays as it is.
    """
    stop_norm2 = limits.target
    if left_norm2 > stop_norm2 + limits.unsure:
        return False
    if left_norm2 <= stop_norm2 - limits.unsure:
        return True
    if row.shape[0] == 0:
        needs_row[0] = True
        return True
    coef = np.empty_like(chosen.coef)
    solve_triangle(chosen.triangle, chosen.inv_diag, n_chosen, chosen.target, coef)
    _, norm2 = residual_of(row, atoms, chosen.support, n_chosen, coef)
    return norm2 <= stop_norm2


@kernel(fastmath=FAST)
def refine(row, atoms, chosen, n_chosen):
    """Correct the coefficients once, from the true residual.

    The Gram matrix squares the condition number; one step of refinement with the residual of the
    row (the corrected seminormal equations) recovers what that loses.
    """
    triangle, inv_diag, coef = chosen.triangle, chosen.inv_diag, chosen.coef
    residual, _ = residual_of(row, atoms, chosen.support, n_chosen, coef)
    step, update = np.empty_like(coef), np.empty_like(coef)
    for level in range(n_chosen):
        re = row.dtype.type(0)
        im = row.dtype.type(0)
        atom = atoms[chosen.support[level]]
        for n in range(0, row.shape[0], 2):
            re += atom[n] * residual[n] + atom[n + 1] * residual[n + 1]
            im += atom[n] * residual[n + 1] - atom[n + 1] * residual[n]
        step[level] = complex(re, im)
        for i in range(level):
            step[level] -= np.conj(triangle[level, i]) * step[i]
        step[level] *= inv_diag[level]
    solve_triangle(triangle, inv_diag, n_chosen, step, update)
    for level in range(n_chosen):
        coef[level] += update[level]


@kernel(forceinline=True)
def solve_row(row, atoms, limits, chosen, n_chosen, needs_row):
    """Coefficients of one row, refined where the chosen atoms are nearly dependent."""
    solve_triangle(chosen.triangle, chosen.inv_diag, n_chosen, chosen.target, chosen.coef)
    if n_chosen == 0 or chosen.smallest_left[n_chosen - 1] >= limits.refine:
        return
    if row.shape[0] == 0:
        needs_row[0] = True
    else:
        refine(row, atoms, chosen, n_chosen)


@kernel(forceinline=True)
def sum_of_squares(target, n_chosen):
    """Squared norm of the projection onto the chosen span."""
    total = target.real.dtype.type(0)
    for level in range(n_chosen):
        total += target[level].real ** 2 + target[level].imag ** 2
    return total


@kernel(forceinline=True)
def write_coefs(coef, n_chosen, out_coefs):
    """Copy the coefficients, and pad with zeros."""
    for level in range(out_coefs.shape[0]):
        out_coefs[level] = coef[level] if level < n_chosen else 0
