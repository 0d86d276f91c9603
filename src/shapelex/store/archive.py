"""Archives: ``.npz`` files with a JSON header and plain arrays, the form of model, checkpoint and code files.

In come JSON values and arrays; out goes an archive, and the parts again. Reading never unpickles, and asks for no more
memory than the archive has bytes.
"""

import json
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from shapelex.store.npy_array import read_array, write_arrays

HEADER = "header"


def as_plain(value: Any) -> Any:
    """Return NumPy numbers as Python ones, which JSON knows."""
    return value.item() if isinstance(value, np.generic) else value


def write_archive(stream: BinaryIO, header: bytes, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write a header, which is JSON text, and arrays."""
    write_arrays(stream, {**arrays, HEADER: np.frombuffer(header, dtype=np.uint8)})


def read_archive(
    stream: BinaryIO, header_limit: int | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Return the header and the arrays of an archive.

    Raises
    ------
    ValueError
        If it is damaged, compressed, or has no header, or one of more than `header_limit` bytes; the text is a clause
        that begins with "it" or "its".
    """
    try:
        arrays = _read_members(stream)
    except (ValueError, MemoryError):
        raise
    # zipfile and NumPy's header parser raise almost anything on hostile bytes.
    except Exception as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
    encoded = arrays.pop(HEADER, None)
    if encoded is None or encoded.dtype != np.uint8 or encoded.ndim != 1:
        raise ValueError("it has no header")
    if header_limit is not None and encoded.size > header_limit:
        raise ValueError(f"its header has more than {header_limit} bytes")
    try:
        header = json.loads(encoded.tobytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its header is no JSON ({error})") from error
    if not isinstance(header, dict):
        raise ValueError("its header is of another kind")
    return header, arrays


def _read_members(stream: BinaryIO) -> dict[str, np.ndarray[Any, Any]]:
    n_bytes = stream.seek(0, 2)
    stream.seek(0)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        # What we write is stored, not compressed, so a member larger than the file is a trap.
        if sum(member.file_size for member in members) > n_bytes:
            raise ValueError("it declares more data than it holds")
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name in arrays or member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"its member {name!r} is repeated or compressed")
            with archive.open(member) as part:
                arrays[name] = read_array(part, member.file_size)
    return arrays
