"""Shapes on their way from files to a file, on disk where memory would not hold them.

In come records and sets, one after the other; out goes a set that is gone through block by block.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, IntArray
from shapelex.exceptions import ShapeFileError
from shapelex.io.assembly import Found, Wanted, check_swelling, check_width, note_rows
from shapelex.io.columns import ColumnKind
from shapelex.io.raw_block import RawBlock, block_of_records, block_of_set
from shapelex.io.reading import Part
from shapelex.io.shapeset import ShapeSet
from shapelex.io.stored_shapes import METADATA
from shapelex.spaces import Landmarks, Space

_BLOCK_ROWS = 1 << 12


class ShapeSpool:
    """A set of shapes on disk: a :class:`~shapelex.io.reading.Collector` and, once closed, `ShapeBlocks`.

    Parameters
    ----------
    folder : Path
        Where its two files go; the caller removes it.
    wanted : Wanted
        What the caller wants of the shapes.

    Attributes
    ----------
    space : Space
        Where the shapes are, once there are some.
    dtype : dtype of complex
        Precision of the shapes.
    notes : tuple of str
        What was done to them, once it is closed.
    provenance : mapping
        What the first file says of itself.
    """

    space: Space

    def __init__(self, folder: Path, wanted: Wanted) -> None:
        self._wanted = wanted
        self._rows_path, self._lines_path = folder / "configurations.bin", folder / "columns.jsonl"
        for path in (self._rows_path, self._lines_path):
            path.write_bytes(b"")
        self._pending: list[tuple[Part, Path]] = []
        self._n_kept = 0
        # Number of shapes and lengths of the files, before the part that may yet be dropped.
        self._mark: tuple[int, int, int] | None = None
        self._n_shapes = 0
        self.dtype: np.dtype[Any] = np.dtype(np.complex64)
        self._kinds = {"ids": ColumnKind(), "labels": ColumnKind()}
        self._file_kind = ColumnKind()
        self._has_labels = self._has_many_files = False
        self._first_where = ""
        self._first_file: str | None = None
        self._series_files: set[str] = set()
        self._n_repeated_ends = 0
        self._told: dict[str, None] = {}
        self.notes: tuple[str, ...] = ()
        self.provenance: Mapping[str, Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Number of shapes, and of coordinates of each."""
        return self._n_shapes, self.space.n_coordinates

    @property
    def missing(self) -> str:
        """Whether NaN stands for missing landmarks: "allow", or "error"."""
        return "allow" if self._wanted.allows_missing else "error"

    @property
    def columns(self) -> dict[str, np.dtype[Any]]:
        """Types of all columns, as :class:`~shapelex.io.stored_shapes.ShapeBlocks` names them."""
        columns = {name: kind.dtype for name, kind in self._kinds.items() if name != "labels" or self._has_labels}
        if self._series_files:
            columns["sequence"] = np.dtype(np.int64)
        if self._has_many_files:
            columns[f"{METADATA}file"] = self._file_kind.dtype
        return columns

    def add(self, part: Part, path: Path) -> None:
        """Take a record or a set of a file."""
        self._pending.append((part, path))
        if isinstance(part, ShapeSet) or len(self._pending) >= _BLOCK_ROWS:
            self._flush()

    def keep(self) -> None:
        """Keep all that was added."""
        self._n_kept, self._mark = len(self._pending), None

    def drop(self) -> None:
        """Forget what was added since :meth:`keep`."""
        if self._mark is None:
            del self._pending[self._n_kept :]
            return
        self._pending.clear()
        self._n_shapes, n_row_bytes, n_line_bytes = self._mark
        os.truncate(self._rows_path, n_row_bytes)
        os.truncate(self._lines_path, n_line_bytes)
        self.keep()

    def close(self) -> None:
        """Write what is pending: the set is whole.

        Raises
        ------
        ShapeFileError
            If it would swell as a table: keys that few records have, or a few very long texts.
        """
        self.keep()
        self._flush()
        kinds = [*self._kinds.items(), (f"{METADATA}file", self._file_kind)]
        widths = {name: kind.dtype.itemsize // 4 for name, kind in kinds if kind.dtype.kind == "U"}
        check_swelling(
            self._n_shapes,
            len(self._kinds),
            sum(kind.n_present for _, kind in kinds),
            sum(kind.n_total_characters for _, kind in kinds),
            widths,
        )
        self.notes = (*note_rows(self._n_repeated_ends, ""), *self._told)

    def blocks(self) -> Iterator[ShapeSet]:
        """Go through the set in order, once it is closed.

        Yields
        ------
        ShapeSet
            The next shapes; columns have the type that all of their values need.
        """
        kinds = {name: kind for name, kind in self._kinds.items() if name.startswith(METADATA)}
        series: dict[tuple[str, int], int] = {}
        for block in self._raw_blocks():
            absent = [None] * len(block.rows)
            metadata = {
                name.removeprefix(METADATA): kind.make(block.metadata.get(name.removeprefix(METADATA), absent))
                for name, kind in kinds.items()
            }
            if self._has_many_files:
                metadata["file"] = self._file_kind.make(block.files)
            yield ShapeSet(
                block.rows.astype(self.dtype, copy=False),
                self.space,
                ids=self._kinds["ids"].make(block.ids),
                labels=self._kinds["labels"].make(block.labels) if self._has_labels else None,
                sequence=self._number_series(block, series) if self._series_files else None,
                metadata=metadata,
                missing=self.missing,
                notes=self.notes,
                provenance=self.provenance,
            )

    def row_blocks(self) -> Iterator[ComplexArray]:
        """Go through the configurations alone.

        Yields
        ------
        ndarray of complex, shape (n_rows, n_coordinates)
            The next ones.
        """
        for block in self._raw_blocks():
            yield block.rows

    def replace_rows(self, change: Callable[[ComplexArray], ComplexArray]) -> None:
        """Put other configurations in the place of those there are.

        Parameters
        ----------
        change : callable
            Takes some configurations and returns as many in the same space.
        """
        start = 0
        with self._rows_path.open("r+b") as stream:
            for rows in self.row_blocks():
                stream.seek(start)
                start += stream.write(np.ascontiguousarray(change(rows), dtype=rows.dtype).tobytes())

    def _raw_blocks(self) -> Iterator[RawBlock]:
        with self._rows_path.open("rb") as stream, self._lines_path.open(encoding="utf-8") as lines:
            for line in lines:
                yield RawBlock.from_line(line, stream)

    def _flush(self) -> None:
        self._write(self._pending[: self._n_kept])
        if self._n_kept < len(self._pending):
            if self._mark is None:
                self._mark = self._n_shapes, self._rows_path.stat().st_size, self._lines_path.stat().st_size
            self._write(self._pending[self._n_kept :])
        self._pending.clear()
        self._n_kept = 0

    def _write(self, parts: Sequence[tuple[Part, Path]]) -> None:
        for is_set, group in groupby(parts, key=lambda item: isinstance(item[0], ShapeSet)):
            members: list[Any] = list(group)
            if not is_set:
                self._write_records([found for found, _ in members])
                continue
            for shapes, path in members:
                self._told |= dict.fromkeys(shapes.notes)
                self.provenance = self.provenance or shapes.provenance
                self._append(block_of_set(shapes, path), shapes.space, str(path))

    def _write_records(self, found: list[Found]) -> None:
        check_width(found)
        block, space, n_repeated_ends, note = block_of_records(found, self._wanted)
        self._n_repeated_ends += n_repeated_ends
        self._told |= {note: None} if note else {}
        self._append(block, space, found[0].where)

    def _append(self, block: RawBlock, space: Space, where: str) -> None:
        self._check_space(space, where)
        self.dtype = np.result_type(self.dtype, block.rows.dtype)
        self._first_file = self._first_file or block.files[0]
        self._has_many_files |= any(file != self._first_file for file in block.files)
        self._has_labels |= any(block.labels)
        has_series = zip(block.files, block.sequence, strict=True)
        self._series_files |= {file for file, number in has_series if number is not None}
        self._kinds["ids"].see(block.ids)
        self._kinds["labels"].see(block.labels)
        self._file_kind.see(block.files)
        for name, values in block.metadata.items():
            if METADATA + name not in self._kinds:
                self._kinds[METADATA + name] = kind = ColumnKind()
                kind.is_complete = self._n_shapes == 0
            self._kinds[METADATA + name].see(values)
        for name, kind in self._kinds.items():
            kind.is_complete &= not name.startswith(METADATA) or name.removeprefix(METADATA) in block.metadata
        with self._rows_path.open("ab") as stream:
            stream.write(np.ascontiguousarray(block.rows).tobytes())
        with self._lines_path.open("a", encoding="utf-8") as lines:
            lines.write(block.to_line())
        self._n_shapes += len(block.rows)

    def _check_space(self, space: Space, where: str) -> None:
        if not hasattr(self, "space"):
            self.space, self._first_where = space, where
        if space == self.space:
            return
        if isinstance(space, Landmarks) and isinstance(self.space, Landmarks):
            if space.n_points != self.space.n_points:
                raise ShapeFileError(
                    f"The shapes differ in their numbers of points: {self.space.n_points} ({self._first_where}), "
                    f"{space.n_points} ({where}). Outlines: n_points=100 resamples them by arc length, "
                    "space=BSpline(40) fits a curve. Landmarks: correct or remove the odd ones, since all shapes must "
                    "have the same landmarks."
                )
            first, second = (self._first_where, where) if self.space.closed else (where, self._first_where)
            raise ShapeFileError(
                f"Some shapes are closed ({first}), others open ({second}): say what they are with closed=True or "
                "closed=False, or read them apart."
            )
        raise ShapeFileError(
            f"The files do not make up one set: {self._first_where} is in {self.space!r}, {where} in {space!r}; read "
            "them with the same n_points or space."
        )

    def _number_series(self, block: RawBlock, series: dict[tuple[str, int], int]) -> IntArray:
        """Return the series of each shape; series of different files keep apart."""
        pairs = zip(block.files, block.sequence, strict=True)
        if len(self._series_files) == 1:
            return np.array([-1 if number is None else number for number in block.sequence], dtype=np.int64)
        numbers = [-1 if number is None else series.setdefault((file, number), len(series)) for file, number in pairs]
        return np.array(numbers, dtype=np.int64)
