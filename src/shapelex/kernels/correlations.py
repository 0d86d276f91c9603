"""Correlations of rows with atoms, split into real and imaginary parts.

In: complex rows seen as interleaved reals, and atoms packed once by
:func:`pack_atoms`. Out: `atom^H row` for every atom, the real parts first,
then the imaginary parts, both padded with zeros to a multiple of 4.

The product is written here, not left to BLAS, for three reasons: every output
number goes through the same operations wherever its row and its atom stand, so
the bits depend neither on the block nor on the number of threads, and repeated
atoms tie exactly; no second thread pool exists that could fight with ours; and
the result arrives in the layout that the pursuits vectorize over. It runs at
the speed of a one-thread ``dgemm`` at the sizes this package meets.
"""

import numpy as np
from numba import njit

from shapelex._typing import ComplexArray, FloatArray
from shapelex.kernels.alignment import aligned_like, aligned_zeros

FAST = {"contract", "reassoc", "nsz", "arcp"}
CHUNK = 1 << 15  # numbers of the packed atoms that stay in the cache while a block of rows passes by
THREE_PRODUCTS = 64
"""Atoms from which on a complex product is made of three real ones, not four: below, the loops are too short."""


@njit(cache=True, nogil=True, error_model="numpy")
def half_width(n_atoms, itemsize):
    """Columns of the real parts in the correlations.

    `n_atoms`, rounded up to 4; with many atoms to a cache line, so that the loops start on one and have no tail.
    """
    unit = 64 // itemsize if n_atoms >= THREE_PRODUCTS else 4
    return (n_atoms + unit - 1) // unit * unit


def pack_atoms(atom_rows: ComplexArray) -> FloatArray:
    """Lay atoms out for :func:`correlate_batch`.

    Parameters
    ----------
    atom_rows : ndarray of complex, shape (n_atoms, n_coordinates)
        The atoms.

    Returns
    -------
    ndarray of float
        With few atoms, shape ``(2 * n_coordinates, 2 * half)``: the interleaved reals of a row, times this, give the
        real, then the imaginary parts of `atom^H row`. With many atoms, shape ``(3 * n_coordinates, half)``: the real
        parts, the imaginary parts and their difference.
    """
    n_atoms, n_coordinates = atom_rows.shape
    half = half_width(n_atoms, atom_rows.real.itemsize)
    is_large = n_atoms >= THREE_PRODUCTS
    shape = (3 * n_coordinates, half) if is_large else (2 * n_coordinates, 2 * half)
    packed = aligned_zeros(shape, atom_rows.real.dtype)
    _fill_packed(np.ascontiguousarray(atom_rows).view(atom_rows.real.dtype), is_large, packed)
    return packed


def correlation_width(packed: FloatArray, n_coordinates: int) -> int:
    """Columns that :func:`correlate_batch` writes; those after ``2 * half`` are scratch.

    Parameters
    ----------
    packed : ndarray of float
        Atoms, as :func:`pack_atoms` gives them.
    n_coordinates : int
        Their number of coordinates.

    Returns
    -------
    int
        ``2 * half`` or ``3 * half``.
    """
    return int(packed.shape[1] * (3 if packed.shape[0] == 3 * n_coordinates else 1))


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_packed(atoms, is_large, out_packed):
    """Write atoms, given as interleaved reals, into zeros."""
    n_coordinates = atoms.shape[1] // 2
    half = out_packed.shape[1] // 2
    for n in range(n_coordinates):
        for j in range(atoms.shape[0]):
            re, im = atoms[j, 2 * n], atoms[j, 2 * n + 1]
            if is_large:
                out_packed[n, j] = re
                out_packed[n_coordinates + n, j] = im
                out_packed[2 * n_coordinates + n, j] = re - im
            else:
                out_packed[2 * n, j] = re
                out_packed[2 * n + 1, j] = im
                out_packed[2 * n, half + j] = -im
                out_packed[2 * n + 1, half + j] = re


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _add_products(x, first, last, packed, offset, y0, y1, y2, y3):
    """Add the products of columns `first` to `last` of four rows with the packed rows from `offset` on.

    Four columns go at a time, so that a loaded vector of atoms serves sixteen products.
    """
    width = packed.shape[1]
    i = first
    while i + 4 <= last:
        row = offset + i
        p0, p1, p2, p3 = packed[row], packed[row + 1], packed[row + 2], packed[row + 3]
        a0, a1, a2, a3 = x[0, i], x[0, i + 1], x[0, i + 2], x[0, i + 3]
        b0, b1, b2, b3 = x[1, i], x[1, i + 1], x[1, i + 2], x[1, i + 3]
        c0, c1, c2, c3 = x[2, i], x[2, i + 1], x[2, i + 2], x[2, i + 3]
        d0, d1, d2, d3 = x[3, i], x[3, i + 1], x[3, i + 2], x[3, i + 3]
        for j in range(width):
            q0, q1, q2, q3 = p0[j], p1[j], p2[j], p3[j]
            y0[j] += a0 * q0 + a1 * q1 + a2 * q2 + a3 * q3
            y1[j] += b0 * q0 + b1 * q1 + b2 * q2 + b3 * q3
            y2[j] += c0 * q0 + c1 * q1 + c2 * q2 + c3 * q3
            y3[j] += d0 * q0 + d1 * q1 + d2 * q2 + d3 * q3
        i += 4
    while i < last:
        p0 = packed[offset + i]
        a0, b0, c0, d0 = x[0, i], x[1, i], x[2, i], x[3, i]
        for j in range(width):
            y0[j] += a0 * p0[j]
            y1[j] += b0 * p0[j]
            y2[j] += c0 * p0[j]
            y3[j] += d0 * p0[j]
        i += 1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _add_three_products(rows, first, last, packed, x, out):
    """Add the three real products of coordinates `first` to `last`: real, imaginary parts, sum times difference."""
    half = packed.shape[1]
    n_coordinates = packed.shape[0] // 3
    for s in range(4):
        for n in range(first, last):
            re, im = rows[s, 2 * n], rows[s, 2 * n + 1]
            x[0, s, n - first] = re
            x[1, s, n - first] = im
            x[2, s, n - first] = re + im
    for part in range(3):
        begin, end = part * half, (part + 1) * half
        _add_products(
            x[part],
            0,
            last - first,
            packed,
            part * n_coordinates + first,
            out[0, begin:end],
            out[1, begin:end],
            out[2, begin:end],
            out[3, begin:end],
        )


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _combine(half, out):
    """Turn three real products into real and imaginary parts, in place."""
    for j in range(half):
        re, im, mixed = out[j], out[half + j], out[2 * half + j]
        out[j] = re + im
        out[half + j] = mixed - re + im


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def correlate_batch(rows, packed, out_correlations, out_norms2):
    """Correlate rows with packed atoms, and take the squared norms of the rows.

    A few coordinates of all atoms stay in the cache while all rows of the block pass by. Rows go by four; the last
    ones are filled up with zeros, so that all rows take one code path.

    Parameters
    ----------
    rows : ndarray of float, shape (n_samples, 2 * n_coordinates)
        Complex rows, real and imaginary parts interleaved.
    packed : ndarray of float
        Atoms, as :func:`pack_atoms` gives them.
    out_correlations : ndarray of float, shape (n_samples, :func:`correlation_width`)
        Real parts of `atom^H row` in ``half`` columns, then imaginary parts.
    out_norms2 : ndarray of float, shape (n_samples,)
        Squared norms of the rows.
    """
    n_samples, n_reals = rows.shape
    width = packed.shape[1]
    is_large = 2 * packed.shape[0] == 3 * n_reals
    n_inner = n_reals // 2 if is_large else n_reals
    n_chunk = max(CHUNK // width // 4 * 4, 4)
    x = np.empty((3, 4, n_chunk), dtype=rows.dtype)
    n_full = n_samples // 4 * 4
    n_last = n_samples - n_full
    last_rows = np.zeros((4, n_reals), dtype=rows.dtype)
    for s in range(n_last):
        for i in range(n_reals):
            last_rows[s, i] = rows[n_full + s, i]
    n_columns = out_correlations.shape[1]
    last_out = aligned_like(4 * n_columns, rows).reshape((4, n_columns))
    last_out[:] = 0
    out_correlations[:] = 0
    for first in range(0, n_inner, n_chunk):
        last = min(first + n_chunk, n_inner)
        for k in range(0, n_samples, 4):
            is_full = k < n_full
            four = rows[k : k + 4] if is_full else last_rows
            out = out_correlations[k : k + 4] if is_full else last_out
            if is_large:
                _add_three_products(four, first, last, packed, x, out)
            else:
                _add_products(four, first, last, packed, 0, out[0], out[1], out[2], out[3])
    for s in range(n_last):
        for j in range(n_columns):
            out_correlations[n_full + s, j] = last_out[s, j]
    for k in range(n_samples):
        norm2 = rows.dtype.type(0)
        for i in range(n_reals):
            norm2 += rows[k, i] * rows[k, i]
        out_norms2[k] = norm2
        if is_large:
            _combine(width, out_correlations[k])
