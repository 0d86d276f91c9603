"""Norms of centered rows, without centering them.

Atoms are centered, so the correlations of a row with them do not depend on where the shape lies; only its norm does,
and that is a difference of two sums.
"""

import numpy as np

from shapelex.kernels.compilation import kernel
from shapelex.kernels.triangle import FAST


@kernel(fastmath=FAST)
def unit_scales_batch(rows, unit_shift, limits, out_scales):
    """Write one over the norm of every centered row; 0 where it cannot be trusted.

    With ``v`` the unit vector along which translations move a row ``x``, the squared norm of the centered row is
    ``|x|² − |v* x|²``. It is finite exactly when the row is, up to overflow. `rows` (n_rows, 2 * n_coordinates) and
    `unit_shift` have real and imaginary parts interleaved; `limits` are the smallest share of ``|x|²`` that must
    remain, and the range of ``|x|²``.
    """
    for k in range(rows.shape[0]):
        row = rows[k]
        total = along_re = along_im = 0.0
        # Written with 2 * n, the loop vectorizes; with a step of 2 it does not.
        for n in range(row.shape[0] // 2):
            re, im = np.float64(row[2 * n]), np.float64(row[2 * n + 1])
            v_re, v_im = unit_shift[2 * n], unit_shift[2 * n + 1]
            total += re * re + im * im
            along_re += v_re * re + v_im * im
            along_im += v_re * im - v_im * re
        remaining = total - (along_re * along_re + along_im * along_im)
        # Comparisons with NaN are false.
        is_usable = remaining > limits[0] * total and limits[1] < total < limits[2]
        out_scales[k] = 1 / np.sqrt(remaining) if is_usable else 0.0
