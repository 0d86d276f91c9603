"""The row nearest to each atom.

In: rows and atoms of norm 1, complex numbers as interleaved reals. Out: for each atom the row of the largest
``|atom^H row|²``, which is the row of the least full distance.
"""

from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def nearest_batch(rows, atoms, turned_atoms, out_index, out_squares):
    """Find the nearest row of every atom; the first of equals.

    Parameters
    ----------
    rows : ndarray of float, shape (n_samples, 2 * n_coordinates)
        The rows.
    atoms, turned_atoms : ndarray of float, shape (n_atoms, 2 * n_coordinates)
        Atoms ``d``, and ``i d``: real products with them are the real and the imaginary part of `atom^H row`.
    out_index : ndarray of int64, shape (n_atoms,)
        Number of the row; -1 where there is no row.
    out_squares : ndarray of float, shape (n_atoms,)
        ``|atom^H row|²`` of that row.
    """
    n_reals = rows.shape[1]
    for j in range(atoms.shape[0]):
        atom, turned = atoms[j], turned_atoms[j]
        best = rows.dtype.type(-1)
        index = -1
        for k in range(rows.shape[0]):
            row = rows[k]
            real = rows.dtype.type(0)
            imag = rows.dtype.type(0)
            for n in range(n_reals):
                real += atom[n] * row[n]
                imag += turned[n] * row[n]
            square = real * real + imag * imag
            if square > best:
                best = square
                index = k
        out_index[j] = index
        out_squares[j] = best
