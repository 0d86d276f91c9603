"""Cholesky solution of small Hermitian systems.

In: a Hermitian matrix of unit diagonal and right-hand sides. Out: the solution, unless a pivot is too small to be
trusted. Written here and not left to LAPACK: at these sizes (tens to hundreds of unknowns) a threaded BLAS spends
milliseconds waking its threads for microseconds of work.
"""

from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def solve_cholesky(matrix, right, least_pivot, out_factor, out_solution):
    """Solve ``matrix @ solution = right``; tell whether all pivots were large enough.

    Parameters
    ----------
    matrix : ndarray of complex128, shape (n, n)
        Hermitian with unit diagonal; its lower triangle is read.
    right : ndarray of complex128, shape (n, m)
        Right-hand sides.
    least_pivot : float
        A pivot below this stops the factorization: the matrix is singular, or nearly so.
    out_factor : ndarray of complex128, shape (n, n)
        Workspace: the lower triangular factor.
    out_solution : ndarray of complex128, shape (n, m)
        The solution; meaningless where the answer is False.

    Returns
    -------
    bool
        Whether the system was solved.
    """
    n, m = right.shape
    factor = out_factor
    for j in range(n):
        pivot = matrix[j, j].real
        for k in range(j):
            pivot -= factor[j, k].real ** 2 + factor[j, k].imag ** 2
        if not pivot > least_pivot:
            return False
        root = pivot**0.5
        factor[j, j] = root
        for i in range(j + 1, n):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k].conjugate()
            factor[i, j] = total / root
    for i in range(n):
        for c in range(m):
            out_solution[i, c] = right[i, c]
        for k in range(i):
            weight = factor[i, k]
            for c in range(m):
                out_solution[i, c] -= weight * out_solution[k, c]
        for c in range(m):
            out_solution[i, c] /= factor[i, i].real
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            weight = factor[k, i].conjugate()
            for c in range(m):
                out_solution[i, c] -= weight * out_solution[k, c]
        for c in range(m):
            out_solution[i, c] /= factor[i, i].real
    return True
