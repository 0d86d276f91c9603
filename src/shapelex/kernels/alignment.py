"""Memory for vector loops: arrays that start on a cache line.

A vector load that straddles two cache lines takes twice as long; on the widest loops this is a third of the
whole time. NumPy aligns to 16 bytes only.
"""

from math import prod

import numpy as np
import numpy.typing as npt

from shapelex._typing import FloatArray
from shapelex.kernels.compilation import kernel

_LINE = 64


def aligned_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> FloatArray:
    """Zeros on a cache line.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    dtype : dtype
        Real dtype.

    Returns
    -------
    ndarray
        C-contiguous.
    """
    size = prod(shape)
    itemsize = np.dtype(dtype).itemsize
    raw: FloatArray = np.zeros(size + _LINE // itemsize, dtype=dtype)
    first = -raw.__array_interface__["data"][0] % _LINE // itemsize
    return raw[first : first + size].reshape(shape)


@kernel()
def aligned_like(size, like):
    """Flat uninitialized array on a cache line, with the dtype of `like`; reshape it."""
    itemsize = like.itemsize
    raw = np.empty(size + _LINE // itemsize, dtype=like.dtype)
    first = (_LINE - raw.ctypes.data % _LINE) % _LINE // itemsize
    return raw[first : first + size]
