"""NumPy arrays from streams and into them, without trust.

In comes a stream in NumPy's ``.npy`` format and how many bytes it has; out goes the array. The declared size is
compared with what is there before memory is asked for, and Python objects are never read.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy


def write_arrays(stream: BinaryIO, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write arrays as an ``.npz`` archive; arrays of Python objects are refused, since reading them would run code."""
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise ValueError(f"{name} holds Python objects, which are not written to files.")
    # The argument allow_pickle is an array to store, for NumPy before 2.2.
    np.savez(stream, **arrays)  # type: ignore[arg-type]


def read_array(part: Any, n_bytes: int) -> np.ndarray[Any, Any]:
    """Return the array that a stream of `n_bytes` bytes holds, writable.

    Raises
    ------
    ValueError
        If it is no array, holds objects, or is shorter or longer than it declares; NumPy's header parser may raise
        almost anything else on hostile bytes.
    """
    shape, is_fortran, dtype = read_array_header(part, n_bytes)
    n_items = math.prod(shape)
    content = part.read(n_items * dtype.itemsize)
    # Reading to the end checks the checksum of a zip member.
    if len(content) != n_items * dtype.itemsize or part.read(1):
        raise ValueError("an array is shorter or longer than declared")
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype=dtype)
    array = np.frombuffer(content, dtype=dtype).reshape(shape, order="F" if is_fortran else "C")
    return array.copy()


def read_array_header(part: Any, n_bytes: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether the order is Fortran's, and type as declared; the stream is then at the values."""
    version = npy.read_magic(part)
    readers: dict[tuple[int, int], Callable[[Any], Any]] = {
        (1, 0): npy.read_array_header_1_0,
        (2, 0): npy.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"unknown array version {version}")
    shape, is_fortran, dtype = readers[version](part)
    if dtype.hasobject:
        raise ValueError("arrays of Python objects are not read")
    shape = tuple(map(int, shape))
    if any(length < 0 or length > n_bytes for length in shape):
        raise ValueError(f"an array of shape {shape} does not fit in {n_bytes} bytes")
    if math.prod(shape) * max(dtype.itemsize, 1) > n_bytes:
        raise ValueError(f"an array of shape {shape} does not fit in {n_bytes} bytes")
    return shape, is_fortran, dtype
