"""Some shapes of a file, with what is known of each as the file has it.

In come records or a set; out goes a block that can be written as one line of JSON and its rows, and read again. What a
column is, whole numbers, numbers or text, is known only when the values of all blocks have been seen.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.io.assembly import Found, Rows, Wanted, make_rows
from shapelex.shapes import ShapeSet


@dataclass(frozen=True)
class RawBlock:
    """Rows and their columns; entries that a file does not have are None.

    Parameters
    ----------
    rows : ndarray of complex, shape (n_rows, n_coordinates)
        The configurations.
    ids, labels : list of str
        Names and classes; a class that is not known is empty.
    sequence : list of int or None
        Time series, as the file numbers them.
    files : list of str
        Where each comes from.
    metadata : dict of str to list
        Further columns.
    dtypes : dict of str to dtype
        Types of the further columns of a set; records have none.
    """

    rows: ComplexArray
    ids: list[str]
    labels: list[str]
    sequence: list[int | None]
    files: list[str]
    metadata: dict[str, list[Any]]
    dtypes: dict[str, np.dtype[Any]] = field(default_factory=dict)

    def to_line(self) -> str:
        """Return all but the rows, and the type and number of these."""
        told = {
            "dtype": self.rows.dtype.str,
            "shape": self.rows.shape,
            "ids": self.ids,
            "labels": self.labels,
            "sequence": self.sequence,
            "files": [(name, len(list(group))) for name, group in groupby(self.files)],
            "metadata": self.metadata,
        }
        return json.dumps(told, default=_as_pair) + "\n"

    @staticmethod
    def from_line(line: str, stream: Any) -> "RawBlock":
        """Return the block of a line; its rows are what comes next in a stream of bytes."""
        told = json.loads(line)
        dtype, shape = np.dtype(told["dtype"]), tuple(told["shape"])
        rows = np.frombuffer(stream.read(dtype.itemsize * shape[0] * shape[1]), dtype=dtype).reshape(shape)
        files = [name for name, count in told["files"] for _ in range(count)]
        return RawBlock(rows, told["ids"], told["labels"], told["sequence"], files, told["metadata"])


def _as_pair(value: Any) -> tuple[float, float]:
    """Return a complex number, which metadata of arrays may be, as JSON has it."""
    number = complex(value)
    return number.real, number.imag


def block_of_records(found: Sequence[Found], wanted: Wanted) -> tuple[RawBlock, Rows]:
    """Return the block that records make up, and its configurations with what was done to them."""
    made = make_rows(found, wanted)
    records = [one.record for one in found]
    metadata: dict[str, list[Any]] = {}
    if any(record.frame is not None for record in records):
        metadata["frame"] = [-1 if record.frame is None else record.frame for record in records]
    for row, record in enumerate(records):
        for name, value in record.metadata.items():
            if name not in metadata:
                metadata[name] = [None] * len(records)
            metadata[name][row] = value.item() if isinstance(value, np.generic) else value
    block = RawBlock(
        made.configurations,
        ids=[record.id for record in records],
        labels=[record.label for record in records],
        sequence=[record.sequence for record in records],
        files=[str(one.path) for one in found],
        metadata=metadata,
    )
    return block, made


def block_of_set(shapes: ShapeSet, path: Path) -> RawBlock:
    """Return a set that a file holds as a block."""
    metadata = {name: column.tolist() for name, column in shapes.metadata.items()}
    series = [] if shapes.sequence is None else shapes.sequence.tolist()
    return RawBlock(
        shapes.configurations,
        ids=shapes.ids.tolist(),
        labels=[""] * len(shapes) if shapes.labels is None else shapes.labels.tolist(),
        sequence=[None if number == -1 else number for number in series] or [None] * len(shapes),
        files=[str(path)] * len(shapes),
        metadata=metadata,
        dtypes={name: column.dtype for name, column in shapes.metadata.items()},
    )
