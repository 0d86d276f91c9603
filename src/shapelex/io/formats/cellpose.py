"""Outlines of Cellpose as text, a record for each region, and the masks in its ``NAME_seg.npy`` files.

A line of ``NAME_cp_outlines.txt`` holds the border pixels of one region as ``x,y,x,y,…`` with y down; the number of the
line is the rank of its label. Regions that have no outline are blank lines.
"""

import io
import math
import pickle
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import read_bytes, refusing
from shapelex.files.numbers import parse_number
from shapelex.files.text_file import open_text
from shapelex.io.formats.regions import to_complex
from shapelex.io.records import BadRecord, Record, Remark

_END = "_cp_outlines.txt"


def recognizes(path: Path) -> bool:
    """Tell outlines of Cellpose from other text by the name."""
    return path.name.lower().endswith(_END)


def read_records(path: Path, *, y_down: bool = True) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each outline, and a remark on regions that have none.

    Parameters
    ----------
    path : Path
        File to read.
    y_down : bool, default: True
        Whether y points down in the file, as Cellpose has it; it is then negated.
    """
    stem = path.name[: -len(_END)] if recognizes(path) else path.stem
    lines = chain.from_iterable(block.removesuffix("\n").split("\n") for block in open_text(path).blocks())
    n_regions = n_blank = 0
    for n_regions, line in enumerate(lines, start=1):
        if not line.strip():
            n_blank += 1
            continue
        where = f"line {n_regions}"
        try:
            numbers = np.array([parse_number(word) for word in line.strip().rstrip(",").split(",")])
            if len(numbers) % 2:
                raise ValueError(f"an outline is x,y,x,y,…, but the line has {len(numbers)} numbers")
            points = to_complex(numbers.reshape(-1, 2), closed=True, y_down=y_down)
        except ValueError as error:
            yield BadRecord(where, f"{error}.")
        else:
            yield Record(points, id=f"{stem}:{n_regions}", closed=True, where=where)
    if n_blank == n_regions:
        raise ShapeFileError(f"{path} holds no outline.")
    if n_blank:
        text = "left out, since Cellpose found no outline; a label image (*_cp_masks.tif) has these regions too."
        yield Remark(f"{n_blank} of {n_regions} regions", text)


def read_masks(path: Path) -> np.ndarray[Any, Any]:
    """Return the label image in a ``_seg.npy`` file, which is a pickled dict; nothing that is pickled is called."""
    stream = io.BytesIO(read_bytes(path))
    with refusing(path, "masks of Cellpose"):
        np.lib.format.read_magic(stream)
        np.lib.format.read_array_header_1_0(stream)
        found = _Unpickler(stream).load()._state[4][0]["masks"]
        _, shape, dtype, is_fortran, content = found._state
        kind = np.dtype(dtype._arguments[0]).newbyteorder(dtype._state[1])
        if kind.kind not in "iu" or math.prod(shape) * kind.itemsize != len(content):
            raise ValueError(f"its masks are {kind} {shape}")
        masks = np.frombuffer(content, kind).reshape(shape, order="F" if is_fortran else "C")
        return masks.astype(kind.newbyteorder("="))


class _Unpickler(pickle._Unpickler):
    """Reads a pickle in which everything but numbers, texts and containers is an object that only keeps its parts."""

    # It would take memory for as many bytes as it declares.
    dispatch: ClassVar = {**pickle._Unpickler.dispatch}
    del dispatch[pickle.BYTEARRAY8[0]]

    def find_class(self, _module: str, _name: str) -> Any:
        class Part:
            def __init__(self, *arguments: Any) -> None:
                self._arguments = arguments

            def __setstate__(self, state: Any) -> None:
                self._state = state

        return Part
