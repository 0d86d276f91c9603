"""Arrays and texts as JSON that an HTML page can hold safely and in few bytes."""

import base64
import json
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray

_INT16_MAX = 32767
# These would end the script element, open a comment, or end a line of JavaScript.
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def pack_array(array: np.ndarray[Any, Any], dtype: str) -> dict[str, Any]:
    """Return an array as JSON: type, shape, and its bytes in base64. Complex numbers become a last axis of two.

    Parameters
    ----------
    array : ndarray
        Numbers.
    dtype : str
        Type to keep them in, such as ``"float32"``.

    Returns
    -------
    dict
        ``dtype``, ``shape``, ``base64``.

    Examples
    --------
    >>> pack_array(np.array([1 + 2j]), "int16")
    {'dtype': 'int16', 'shape': [1, 2], 'base64': 'AQACAA=='}
    """
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], axis=-1)
    numbers = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"dtype": dtype, "shape": list(array.shape), "base64": base64.b64encode(numbers.tobytes()).decode("ascii")}


def quantize(configurations: ComplexArray) -> tuple[np.ndarray[Any, np.dtype[np.int16]], FloatArray]:
    """Return configurations as 16-bit integers, and the step of each, so that ``integers * step`` is near.

    Parameters
    ----------
    configurations : ndarray of complex, shape (n_shapes, n_coordinates)
        Any but zero.

    Returns
    -------
    integers : ndarray of int16, shape (n_shapes, n_coordinates, 2)
        Real and imaginary parts.
    steps : ndarray of float32, shape (n_shapes,)
        No real or imaginary part is off by more than half a step: 1 / 65,534 of the largest.
    """
    parts = np.stack([configurations.real, configurations.imag], axis=-1).astype(np.float64)
    exact = np.abs(parts).max(axis=(1, 2)) / _INT16_MAX
    # Rounded up, so that the largest part still fits.
    steps = np.nextafter(exact.astype(np.float32), np.float32(np.inf))
    return np.rint(parts / steps[:, None, None].astype(np.float64)).astype(np.int16), steps


def dump_json(value: Any) -> str:
    r"""Return JSON that stays data inside a script element, whatever texts it holds.

    Parameters
    ----------
    value : object
        JSON values.

    Returns
    -------
    str
        JSON without ``<``, ``>``, ``&`` and the line ends that JavaScript knows and JSON does not.

    Examples
    --------
    >>> dump_json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone surrogate, as in a file name that is not text, has no bytes in UTF-8.
    return text.encode("utf-8", "replace").decode("utf-8").translate(_ESCAPES)
