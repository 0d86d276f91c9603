"""Convolutions of signals with fixed kernels of nine taps, and the share of each response above thresholds.

A kernel has the weight 2 at three of its nine taps and −1 at the others (Dempster et al. 2021), so the response to a
constant signal is 0. The taps are `dilation` samples apart. Instead of counting the responses above a threshold, each
response counts by a ramp from 0 to 1 around the threshold: a count would jump where rounding moves a response across.
"""

import itertools

import numpy as np

from shapelex.kernels.compilation import kernel
from shapelex.kernels.triangle import FAST

N_TAPS = 9
# The three taps of weight 2 of all 84 kernels.
KERNELS = np.array(list(itertools.combinations(range(N_TAPS), 3)), dtype=np.int64)


@kernel(fastmath=FAST)
def convolve_batch(signals, margins, closed, dilations, kernels, thresholds, slopes, out_shares):
    """Write the mean ramp of the responses of every row, signal, dilation, kernel and threshold, in this order.

    Parameters
    ----------
    signals : ndarray of float32, shape (n_rows, n_signals, n_samples)
        Signals; closed ones are periodic.
    margins : ndarray of int64, shape (n_signals,)
        Samples at both ends of a signal that are undefined; 0 for closed ones.
    closed : bool
        Whether to wrap around. Otherwise only responses whose taps all lie inside the signal count.
    dilations : ndarray of int64, shape (n_dilations,)
        Distances of neighboring taps.
    kernels : ndarray of int64, shape (n_kernels, 3)
        `KERNELS`.
    thresholds : ndarray of float32, shape (n_signals, n_dilations, n_kernels, n_thresholds)
        Middles of the ramps.
    slopes : ndarray of float32, shape (n_signals, n_dilations, n_kernels)
        Slopes of the ramps.
    out_shares : ndarray of float32, shape (n_rows, n_features)
        The means.
    """
    n_rows, n_signals, n_samples = signals.shape
    n_kernels, n_thresholds = thresholds.shape[2], thresholds.shape[3]
    zero, half, one, three = np.float32(0), np.float32(0.5), np.float32(1), np.float32(3)
    padded = np.empty(n_samples + 8 * dilations.max(), dtype=np.float32)
    others = np.empty(n_samples, dtype=np.float32)
    responses = np.empty(n_samples, dtype=np.float32)
    for row in range(n_rows):
        feature = 0
        for s in range(n_signals):
            signal = signals[row, s]
            for d in range(dilations.shape[0]):
                step = dilations[d]
                if closed:
                    n_responses = n_samples
                    for i in range(n_samples + 8 * step):
                        padded[i] = signal[(i - 4 * step) % n_samples]
                else:
                    n_inside = n_samples - 2 * margins[s]
                    n_responses = n_inside - 8 * step
                    for i in range(n_inside):
                        padded[i] = signal[margins[s] + i]
                others[:n_responses] = zero
                for tap in range(9):
                    shifted = padded[tap * step :]
                    for i in range(n_responses):
                        others[i] -= shifted[i]
                for k in range(n_kernels):
                    first = padded[kernels[k, 0] * step :]
                    second = padded[kernels[k, 1] * step :]
                    third = padded[kernels[k, 2] * step :]
                    for i in range(n_responses):
                        responses[i] = others[i] + three * (first[i] + second[i] + third[i])
                    slope = slopes[s, d, k]
                    for t in range(n_thresholds):
                        threshold = thresholds[s, d, k, t]
                        total = zero
                        for i in range(n_responses):
                            total += min(max((responses[i] - threshold) * slope + half, zero), one)
                        out_shares[row, feature] = total / np.float32(n_responses)
                        feature += 1
