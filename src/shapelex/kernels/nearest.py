"""The row nearest to each atom, from correlations."""

from shapelex.kernels.compilation import kernel


@kernel()
def nearest_batch(correlations, weights, out_index, out_squares):
    """Write, for each atom, the first row of positive weight with the largest ``|atom^H row|²``, and that number.

    `correlations` (n_rows, 2 * n_atoms) have real and imaginary parts interleaved. Where no row has weight, the index
    is 0 and the square −1.
    """
    for j in range(out_index.shape[0]):
        out_index[j] = 0
        out_squares[j] = -1
    for k in range(correlations.shape[0]):
        if weights[k] > 0:
            for j in range(out_index.shape[0]):
                square = correlations[k, 2 * j] ** 2 + correlations[k, 2 * j + 1] ** 2
                if square > out_squares[j]:
                    out_squares[j] = square
                    out_index[j] = k
