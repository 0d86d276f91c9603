"""One sweep of K-SVD: every atom in turn with the coefficients of the rows that use it.

In: supports, coefficients, atoms and residuals, all complex. Out: the same arrays, changed in place. The samples are
gone through in order and by one thread: each atom needs the residuals that the one before it left.
"""

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def project_rows(rows, atom, out_coefs):
    """Write ``atom^H row`` of every row."""
    for k in range(rows.shape[0]):
        total = rows[k, 0] * atom[0].conjugate()
        for n in range(1, rows.shape[1]):
            total += rows[k, n] * atom[n].conjugate()
        out_coefs[k] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def lead_rows(rows, weights, max_steps, tolerance, coefs, trial, out_atom):
    """Turn `out_atom` towards the leading singular vector of the weighted rows, by power steps from where it is.

    Each step can only raise what the atom explains of the rows, ``Σ w |atom^H row|²``.
    """
    n_rows, n_coordinates = rows.shape
    for _ in range(max_steps):
        project_rows(rows, out_atom, coefs)
        trial[:] = 0
        for k in range(n_rows):
            factor = coefs[k].conjugate() * weights[k]
            for n in range(n_coordinates):
                trial[n] += factor * rows[k, n]
        norm2 = weights.dtype.type(0)
        for n in range(n_coordinates):
            norm2 += trial[n].real ** 2 + trial[n].imag ** 2
        if not norm2 > 0:
            return
        scale = 1 / np.sqrt(norm2)
        moved2 = weights.dtype.type(0)
        for n in range(n_coordinates):
            value = trial[n] * scale
            change = value - out_atom[n]
            moved2 += change.real**2 + change.imag**2
            out_atom[n] = value
        if moved2 <= tolerance * tolerance:
            return


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def sweep_atoms(support, weights, max_steps, tolerance, coefs, atoms, residuals):
    """Refit every atom and its coefficients to what the other atoms leave.

    Parameters
    ----------
    support : ndarray of int32, shape (n_samples, n_nonzero)
        Atoms; negative entries are skipped.
    weights : ndarray of float, shape (n_samples,)
        Weights of the rows, in the precision of the other arrays.
    max_steps : int
        Most power steps an atom.
    tolerance : float
        The steps end when the atom moves by no more.
    coefs : ndarray of complex, shape (n_samples, n_nonzero)
        Coefficients, changed in place.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        Atoms of norm 1, changed in place.
    residuals : ndarray of complex, shape (n_samples, n_coordinates)
        Rows less their reconstructions, changed in place.
    """
    n_samples, n_nonzero = support.shape
    n_coordinates = atoms.shape[1]
    samples = np.empty(n_samples, dtype=np.int64)
    places = np.empty(n_samples, dtype=np.int64)
    partial = np.empty((n_samples, n_coordinates), dtype=atoms.dtype)
    partial_weights = np.empty(n_samples, dtype=weights.dtype)
    partial_coefs = np.empty(n_samples, dtype=atoms.dtype)
    trial = np.empty(n_coordinates, dtype=atoms.dtype)
    for j in range(atoms.shape[0]):
        atom = atoms[j]
        n_users = 0
        for k in range(n_samples):
            for place in range(n_nonzero):
                if support[k, place] == j:
                    samples[n_users] = k
                    places[n_users] = place
                    partial_weights[n_users] = weights[k]
                    coef = coefs[k, place]
                    for n in range(n_coordinates):
                        partial[n_users, n] = residuals[k, n] + coef * atom[n]
                    n_users += 1
        rows = partial[:n_users]
        lead_rows(rows, partial_weights[:n_users], max_steps, tolerance, partial_coefs[:n_users], trial, atom)
        project_rows(rows, atom, partial_coefs[:n_users])
        for user in range(n_users):
            k = samples[user]
            coef = partial_coefs[user]
            coefs[k, places[user]] = coef
            for n in range(n_coordinates):
                residuals[k, n] = rows[user, n] - coef * atom[n]
