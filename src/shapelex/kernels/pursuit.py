"""Greedy pursuits of one row after another: ORMP and OMP in Cholesky form.

In: correlations ``d_j^H x`` of a block of rows with the atoms, the Gram matrix of the atoms (unit norm, or zero) and,
where they are at hand, the rows themselves. Out: supports in the order of choice, and coefficients.

With `e_l` the part of the `l`-th chosen atom outside the span of those before it, the kernels keep for all atoms
`d_j` at once ``basis[l, j] = e_l^H d_j``, the correlations ``corr[j] = d_j^H r`` with the residual `r`, and the squared
norm ``left[j]`` of the part of `d_j` outside the chosen span. Choosing atom `p` costs one new row of ``basis``,

    basis[l] = gram[p] - sum_{i<l} conj(basis[i, p]) basis[i] / |e_i|^2,

and one pass over the atoms. The coefficients come from the triangular factor ``basis[i, p_l] / |e_i|``
(see :mod:`shapelex.kernels.triangle`).

Complex numbers are pairs of real arrays and atoms are the contiguous axis: the loops vectorize, and
there are only two specializations, float32 and float64. A loop stays under LLVM's limit on run-time
alias checks only while it touches few arrays at a time; this is why the updates come in short passes.
"""

import numpy as np

from shapelex.kernels.alignment import aligned_like
from shapelex.kernels.compilation import kernel
from shapelex.kernels.triangle import (
    FAST,
    GAIN,
    INDEPENDENT,
    TARGET,
    allocate_chosen,
    meets_target,
    solve_levels,
    sum_of_squares,
    write_support,
)


@kernel(fastmath=FAST)
def read_column(basis, places, level, atom, inv_diag, out_weights):
    """Entries of one atom in the triangular factor."""
    for i in range(level):
        out_weights[0, i] = basis[places[i], 0, atom] * inv_diag[i]
        out_weights[1, i] = basis[places[i], 1, atom] * inv_diag[i]


@kernel(fastmath=FAST)
def append_basis_row(gram, basis, places, level, atom, weights, inv_diag):
    """Write row `level` of the basis: what the earlier levels leave of a row of the Gram matrix.

    ``places[i]`` is the row of ``basis`` that holds level `i`: a pursuit stores level `i` in row `i`, a beam
    shares rows between its members. ``weights[:, i]`` is the entry of the triangular factor for level `i` and `atom`.

    Four levels go in one pass: one load and store of the new row for sixteen multiply-adds. The first pass starts
    from the Gram row and takes the odd ones; a first pass of two levels is one that LLVM does not vectorize. All
    entries are read before the first is written, or LLVM would read them again.
    """
    width = gram.shape[2]
    new_re, new_im = basis[places[level], 0], basis[places[level], 1]
    gram_re, gram_im = gram[atom, 0], gram[atom, 1]
    i = level % 4
    if i == 0:
        for j in range(width):
            new_re[j] = gram_re[j]
            new_im[j] = gram_im[j]
    elif i == 3:
        re0, im0 = basis[places[0], 0], basis[places[0], 1]
        re1, im1 = basis[places[1], 0], basis[places[1], 1]
        re2, im2 = basis[places[2], 0], basis[places[2], 1]
        a0, b0 = weights[0, 0] * inv_diag[0], weights[1, 0] * inv_diag[0]
        a1, b1 = weights[0, 1] * inv_diag[1], weights[1, 1] * inv_diag[1]
        a2, b2 = weights[0, 2] * inv_diag[2], weights[1, 2] * inv_diag[2]
        for j in range(width):
            r0, s0 = re0[j], im0[j]
            r1, s1 = re1[j], im1[j]
            r2, s2 = re2[j], im2[j]
            re = gram_re[j] - (a0 * r0 + b0 * s0 + a1 * r1 + b1 * s1 + a2 * r2 + b2 * s2)
            im = gram_im[j] - (a0 * s0 - b0 * r0 + a1 * s1 - b1 * r1 + a2 * s2 - b2 * r2)
            new_re[j] = re
            new_im[j] = im
    else:
        re0, im0 = basis[places[0], 0], basis[places[0], 1]
        a0, b0 = weights[0, 0] * inv_diag[0], weights[1, 0] * inv_diag[0]
        for j in range(width):
            r0, s0 = re0[j], im0[j]
            re = gram_re[j] - (a0 * r0 + b0 * s0)
            im = gram_im[j] - (a0 * s0 - b0 * r0)
            new_re[j] = re
            new_im[j] = im
    if i == 2:
        re0, im0 = basis[places[1], 0], basis[places[1], 1]
        a0, b0 = weights[0, 1] * inv_diag[1], weights[1, 1] * inv_diag[1]
        for j in range(width):
            r0, s0 = re0[j], im0[j]
            re = new_re[j] - (a0 * r0 + b0 * s0)
            im = new_im[j] - (a0 * s0 - b0 * r0)
            new_re[j] = re
            new_im[j] = im
    while i < level:
        re0, im0 = basis[places[i], 0], basis[places[i], 1]
        re1, im1 = basis[places[i + 1], 0], basis[places[i + 1], 1]
        re2, im2 = basis[places[i + 2], 0], basis[places[i + 2], 1]
        re3, im3 = basis[places[i + 3], 0], basis[places[i + 3], 1]
        a0, b0 = weights[0, i] * inv_diag[i], weights[1, i] * inv_diag[i]
        a1, b1 = weights[0, i + 1] * inv_diag[i + 1], weights[1, i + 1] * inv_diag[i + 1]
        a2, b2 = weights[0, i + 2] * inv_diag[i + 2], weights[1, i + 2] * inv_diag[i + 2]
        a3, b3 = weights[0, i + 3] * inv_diag[i + 3], weights[1, i + 3] * inv_diag[i + 3]
        for j in range(width):
            r0, s0 = re0[j], im0[j]
            r1, s1 = re1[j], im1[j]
            r2, s2 = re2[j], im2[j]
            r3, s3 = re3[j], im3[j]
            re = new_re[j] - (a0 * r0 + b0 * s0 + a1 * r1 + b1 * s1 + a2 * r2 + b2 * s2 + a3 * r3 + b3 * s3)
            im = new_im[j] - (a0 * s0 - b0 * r0 + a1 * s1 - b1 * r1 + a2 * s2 - b2 * r2 + a3 * s3 - b3 * r3)
            new_re[j] = re
            new_im[j] = im
        i += 4


@kernel(fastmath=FAST)
def project_out(new, inv_norm, target_re, target_im, state):
    """Take the direction of a basis row out of correlations and norms."""
    new_re, new_im = new[0], new[1]
    corr_re, corr_im, left = state[0], state[1], state[2]
    c_re, c_im, inv_norm2 = target_re * inv_norm, target_im * inv_norm, inv_norm * inv_norm
    for j in range(new_re.shape[0]):
        w_re, w_im = new_re[j], new_im[j]
        corr_re[j] -= w_re * c_re + w_im * c_im
        corr_im[j] -= w_re * c_im - w_im * c_re
        left[j] -= (w_re * w_re + w_im * w_im) * inv_norm2


@kernel(fastmath=FAST)
def project_and_score(new, inv_norm, target_re, target_im, state, independent, out_score):
    """Do the work of :func:`project_out` and of ORMP's :func:`score_atoms` in one pass."""
    new_re, new_im = new[0], new[1]
    corr_re, corr_im, left = state[0], state[1], state[2]
    zero = state.dtype.type(0)
    c_re, c_im, inv_norm2 = target_re * inv_norm, target_im * inv_norm, inv_norm * inv_norm
    for j in range(new_re.shape[0]):
        w_re, w_im = new_re[j], new_im[j]
        re = corr_re[j] - (w_re * c_re + w_im * c_im)
        im = corr_im[j] - (w_re * c_im - w_im * c_re)
        remaining = left[j] - (w_re * w_re + w_im * w_im) * inv_norm2
        corr_re[j] = re
        corr_im[j] = im
        left[j] = remaining
        gain = (re * re + im * im) / remaining
        out_score[j] = gain if remaining > independent else zero


@kernel(fastmath=FAST)
def score_atoms(state, independent, by_correlation, out_score):
    """Score every atom: its gain ``|corr|^2 / left`` (ORMP), or ``|corr|^2`` (OMP)."""
    corr_re, corr_im, left = state[0], state[1], state[2]
    zero = state.dtype.type(0)
    if by_correlation:
        for j in range(left.shape[0]):
            square = corr_re[j] * corr_re[j] + corr_im[j] * corr_im[j]
            out_score[j] = square if left[j] > independent else zero
    else:
        for j in range(left.shape[0]):
            square = corr_re[j] * corr_re[j] + corr_im[j] * corr_im[j]
            gain = square / left[j]
            out_score[j] = gain if left[j] > independent else zero


@kernel()
def first_largest(bits):
    """Place of the first largest of non-negative floats, given by their bits.

    Non-negative floats are ordered as the integers of the same bits, and a maximum of integers
    vectorizes without a promise that no NaN occurs.
    """
    largest = bits[0]
    for j in range(bits.shape[0]):
        largest = max(largest, bits[j])
    for j in range(bits.shape[0]):
        if bits[j] == largest:
            return j
    return 0


@kernel()
def squared_norms(gram):
    """Diagonal of the Gram matrix; read once for all rows, as every entry is on another cache line."""
    found = np.empty(gram.shape[0], dtype=gram.dtype)
    for j in range(gram.shape[0]):
        found[j] = gram[j, 0, j]
    return found


@kernel(fastmath=FAST)
def start_state(correlations, atom_norms2, out_state):
    """Correlations and norms of all atoms before any is chosen; columns beyond the atoms are zero."""
    out_state[:] = 0
    for j in range(atom_norms2.shape[0]):
        out_state[0, j] = correlations[2 * j]
        out_state[1, j] = correlations[2 * j + 1]
        out_state[2, j] = atom_norms2[j]


@kernel(fastmath=FAST)
def pursue(
    correlations, norm2, gram, atom_norms2, row, atoms, limits, by_correlation, basis, places, state, score_bits,
    chosen, needs_row,
):  # fmt: skip
    """Choose the atoms of one row; return their number."""
    corr_re, corr_im, left = state[0], state[1], state[2]
    support, inv_diag, target = chosen.support, chosen.inv_diag, chosen.target
    score = score_bits.view(state.dtype)
    one = state.dtype.type(1)
    start_state(correlations, atom_norms2, state)
    n_nonzero = support.shape[0]
    has_target = limits[TARGET] >= 0
    stop_gain = limits[GAIN] * norm2
    left_norm2 = norm2
    lowest = one
    score_atoms(state, limits[INDEPENDENT], by_correlation, score)
    for level in range(n_nonzero):
        if has_target and meets_target(left_norm2, norm2, limits, row, atoms, chosen, level, needs_row):
            return level
        best = first_largest(score_bits)
        square = corr_re[best] * corr_re[best] + corr_im[best] * corr_im[best]
        if not (score[best] > 0 and square > stop_gain * left[best]):
            return level
        inv_norm = one / np.sqrt(left[best])
        lowest = min(lowest, left[best])
        support[level] = best
        inv_diag[level] = inv_norm
        chosen.smallest_left[level] = lowest
        target[0, level] = corr_re[best] * inv_norm
        target[1, level] = corr_im[best] * inv_norm
        left_norm2 -= target[0, level] ** 2 + target[1, level] ** 2
        weights = chosen.triangle[level]
        read_column(basis, places, level, best, inv_diag, weights)
        if level == n_nonzero - 1:
            break
        append_basis_row(gram, basis, places, level, best, weights, inv_diag)
        new = basis[places[level]]
        if by_correlation:
            project_out(new, inv_norm, target[0, level], target[1, level], state)
            score_atoms(state, limits[INDEPENDENT], by_correlation, score)
        else:
            project_and_score(new, inv_norm, target[0, level], target[1, level], state, limits[INDEPENDENT], score)
        left[best] = 0
        score[best] = 0
    return n_nonzero


@kernel()
def pursue_batch(
    correlations, norms2, gram, rows, atoms, limits, by_correlation, score_bits,
    out_support, out_coefs, out_left, out_needs_row,
):  # fmt: skip
    """Code a block of rows by ORMP or OMP.

    Parameters
    ----------
    correlations : ndarray of float, shape (n_samples, 2 * n_atoms)
        ``atom_j^H row_k``, real and imaginary parts interleaved.
    norms2 : ndarray of float, shape (n_samples,)
        Squared norms of the rows.
    gram : ndarray of float, shape (n_atoms, 2, width)
        ``gram[i, :, j]`` is `atom_i^H atom_j`; columns from ``n_atoms`` on are zero.
    rows, atoms : ndarray of float, shapes (n_samples, 2 * N), (n_atoms, 2 * N)
        Rows and atoms, real and imaginary parts interleaved. Atoms have norm 1 or 0. Rows may have length 0.
    limits : ndarray of float, shape (5,)
        Tolerances; see :mod:`shapelex.kernels.triangle`.
    by_correlation : int
        0 for ORMP, 1 for OMP.
    score_bits : ndarray of int, shape (width,)
        Workspace; integers as wide as the floats.
    out_support : ndarray of int32, shape (n_samples, n_nonzero)
        Chosen atoms in order of choice, then -1.
    out_coefs : ndarray of float, shape (n_samples, n_levels, 2 * n_nonzero)
        Coefficients, interleaved. One level: those of the full support. As many levels as
        ``n_nonzero``: level ``s - 1`` has the coefficients of the first ``s`` atoms.
    out_left : ndarray of float, shape (n_samples,)
        Squared norms of the residuals, with errors of a few roundings of the squared norms of the rows.
    out_needs_row : ndarray of bool, shape (n_samples,)
        Set where `rows` have length 0 and the code must be computed again with the row.
    """
    n_samples, n_nonzero = out_support.shape
    width = gram.shape[2]
    basis = aligned_like(n_nonzero * 2 * width, rows).reshape((n_nonzero, 2, width))
    places = np.arange(n_nonzero)
    state = aligned_like(3 * width, rows).reshape((3, width))
    chosen = allocate_chosen(n_nonzero, rows)
    atom_norms2 = squared_norms(gram)
    for k in range(n_samples):
        row, needs_row = rows[k], out_needs_row[k : k + 1]
        n_chosen = pursue(
            correlations[k], norms2[k], gram, atom_norms2, row, atoms, limits,
            by_correlation, basis, places, state, score_bits, chosen, needs_row,
        )  # fmt: skip
        out_left[k] = norms2[k] - sum_of_squares(chosen.target, n_chosen)
        write_support(chosen.support, n_chosen, out_support[k])
        solve_levels(row, atoms, limits, chosen, n_chosen, out_coefs[k], needs_row)
