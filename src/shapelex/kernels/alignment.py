"""Memory for vector loops: arrays that start on a cache line.

A vector load that straddles two cache lines takes twice as long; on the widest loops this is a third of the
whole time. NumPy aligns to 16 bytes only.
"""

import numpy as np

from shapelex._typing import FloatArray
from shapelex.kernels.compilation import kernel

_LINE = 64


def aligned(size: int, like: FloatArray) -> FloatArray:
    """Flat uninitialized array on a cache line, with the dtype of `like`; reshape it."""
    itemsize = like.itemsize
    raw: FloatArray = np.empty(size + _LINE // itemsize, dtype=like.dtype)
    first = -raw.ctypes.data % _LINE // itemsize
    return raw[first : first + size]


# The same for kernels.
aligned_like = kernel()(aligned)
