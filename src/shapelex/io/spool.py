"""Shapes on their way from files to a file, on disk where memory would not hold them.

In come records and sets, one after the other; out goes a set that is gone through block by block.
"""

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.exceptions import ShapeFileError
from shapelex.io.assembly import Found, Wanted, check_swelling, check_width, note_rows
from shapelex.io.raw_block import RawBlock, block_of_records, block_of_set
from shapelex.io.reading import Part
from shapelex.io.stored_shapes import METADATA
from shapelex.shapes.columns import ColumnKind
from shapelex.shapes.preparation import Preparation, join_preparations
from shapelex.shapes.shapeset import ShapeSet, renumber_series
from shapelex.spaces import Landmarks, Space

_BLOCK_ROWS = 1 << 12
_PROVENANCES_KEPT = 100


@dataclass
class _Known:
    """What the shapes so far tell of the set."""

    space: Space | None = None
    first_where: str = ""
    n_shapes: int = 0
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.complex64))
    kinds: dict[str, ColumnKind] = field(default_factory=lambda: {"ids": ColumnKind(), "labels": ColumnKind()})
    file_kind: ColumnKind = field(default_factory=ColumnKind)
    first_file: str | None = None
    has_many_files: bool = False
    has_labels: bool = False
    has_sets: bool = False
    # Series of each file, in order of appearance.
    series: dict[str, dict[int, None]] = field(default_factory=dict)
    n_repeated_ends: int = 0
    told: dict[str, None] = field(default_factory=dict)
    provenances: list[Mapping[str, Any]] = field(default_factory=list)
    preparation: Preparation | None = None

    def copy(self) -> "_Known":
        """Return a copy that later shapes do not change, but for series of later files."""
        return replace(
            self,
            kinds=copy.deepcopy(self.kinds),
            file_kind=copy.deepcopy(self.file_kind),
            told=dict(self.told),
            provenances=list(self.provenances),
        )


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
    notes : tuple of str
        What was done to them, once it is closed.
    provenance : mapping
        What the files say of themselves, once it is closed.
    preparation : Preparation or None
        How the outlines were resampled and registered, once it is closed.
    """

    def __init__(self, folder: Path, wanted: Wanted) -> None:
        self._wanted = wanted
        self._rows_path, self._lines_path = folder / "configurations.bin", folder / "columns.jsonl"
        for path in (self._rows_path, self._lines_path):
            path.write_bytes(b"")
        self._pending: list[tuple[Part, Path]] = []
        self._n_kept = 0
        self._known = _Known()
        # What was known, with how many files of series, and the lengths of our files, before the part that may yet be
        # dropped.
        self._mark: tuple[_Known, int, int, int] | None = None
        self.notes: tuple[str, ...] = ()
        self.provenance: Mapping[str, Any] = {}
        self.preparation: Preparation | None = None

    @property
    def space(self) -> Space:
        """Where the shapes are."""
        assert self._known.space is not None
        return self._known.space

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the shapes."""
        return self._known.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Number of shapes, and of coordinates of each."""
        return self._known.n_shapes, self.space.n_coordinates

    @property
    def missing(self) -> str:
        """Whether NaN stands for missing landmarks: "allow", or "error"."""
        return "allow" if self._wanted.allows_missing else "error"

    @property
    def columns(self) -> dict[str, np.dtype[Any]]:
        """Types of all columns, as :class:`~shapelex.io.stored_shapes.ShapeBlocks` names them."""
        columns = {
            name: kind.dtype for name, kind in self._known.kinds.items() if name != "labels" or self._known.has_labels
        }
        if self._known.series:
            columns["sequence"] = np.dtype(np.int64)
        if self._known.has_many_files:
            columns[f"{METADATA}file"] = self._known.file_kind.dtype
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
        self._known, n_series_files, n_row_bytes, n_line_bytes = self._mark
        for file in list(self._known.series)[n_series_files:]:
            del self._known.series[file]
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
        kinds = [*self._known.kinds.items(), (f"{METADATA}file", self._known.file_kind)]
        widths = {name: kind.dtype.itemsize // 4 for name, kind in kinds if kind.dtype.kind == "U"}
        check_swelling(
            self._known.n_shapes,
            len(self._known.kinds),
            sum(kind.n_present for _, kind in kinds),
            sum(kind.n_total_characters for _, kind in kinds),
            widths,
        )
        given = [dict(one) for one in self._known.provenances if one]
        self.provenance = given[0] if len(given) == 1 else {"parts": given} if given else {}
        self.preparation = self._known.preparation
        self.notes = (*note_rows(self._known.n_repeated_ends, ""), *self._known.told)

    def blocks(self) -> Iterator[ShapeSet]:
        """Go through the set in order, once it is closed.

        Yields
        ------
        ShapeSet
            The next shapes; columns have the type that all of their values need.
        """
        kinds = {name: kind for name, kind in self._known.kinds.items() if name.startswith(METADATA)}
        series = self._number_series()
        for block in self._raw_blocks():
            absent = [None] * len(block.rows)
            metadata = {
                name.removeprefix(METADATA): kind.make(block.metadata.get(name.removeprefix(METADATA), absent))
                for name, kind in kinds.items()
            }
            if self._known.has_many_files:
                metadata["file"] = self._known.file_kind.make(block.files)
            yield ShapeSet(
                block.rows.astype(self.dtype, copy=False),
                self.space,
                ids=self._known.kinds["ids"].make(block.ids),
                labels=self._known.kinds["labels"].make(block.labels) if self._known.has_labels else None,
                sequence=[
                    -1 if number is None else series.get((file, number), number)
                    for file, number in zip(block.files, block.sequence, strict=True)
                ]
                if self._known.series
                else None,
                metadata=metadata,
                missing=self.missing,
                notes=self.notes,
                provenance=self.provenance,
                preparation=self.preparation,
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
                n_row_bytes, n_line_bytes = (path.stat().st_size for path in (self._rows_path, self._lines_path))
                self._mark = self._known.copy(), len(self._known.series), n_row_bytes, n_line_bytes
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
                self._known.told |= dict.fromkeys(shapes.notes)
                self._known.has_sets = True
                provenances = self._known.provenances
                if shapes.provenance not in provenances[-1:] and len(provenances) < _PROVENANCES_KEPT:
                    provenances.append(shapes.provenance)
                self._append(block_of_set(shapes, path), shapes.space, shapes.preparation, str(path))

    def _write_records(self, found: list[Found]) -> None:
        check_width(found)
        block, made = block_of_records(found, self._wanted)
        self._known.n_repeated_ends += made.n_repeated_ends
        self._known.told |= {made.note: None} if made.note else {}
        before, resampling = self._known.preparation, made.resampling
        if before is not None and before.resampling != resampling:
            # Some records have the wanted number of points already, others are resampled: neither holds for all.
            resampling, self._known.preparation = None, replace(before, resampling=None)
        self._append(block, made.space, Preparation(resampling), found[0].where)

    def _append(self, block: RawBlock, space: Space, preparation: Preparation | None, where: str) -> None:
        self._check_space(space, where)
        if self._known.n_shapes:
            preparation = join_preparations([self._known.preparation, preparation])
        self._known.preparation = preparation
        self._known.dtype = np.result_type(self.dtype, block.rows.dtype)
        self._known.first_file = self._known.first_file or block.files[0]
        self._known.has_many_files |= any(file != self._known.first_file for file in block.files)
        self._known.has_labels |= any(block.labels)
        for file, number in zip(block.files, block.sequence, strict=True):
            if number is not None:
                self._known.series.setdefault(file, {})[number] = None
        self._known.kinds["ids"].see(block.ids)
        self._known.kinds["labels"].see(block.labels)
        self._known.file_kind.see(block.files)
        for name, values in block.metadata.items():
            if METADATA + name not in self._known.kinds:
                self._known.kinds[METADATA + name] = kind = ColumnKind()
                kind.is_complete = self._known.n_shapes == 0
            if name in block.dtypes:
                self._known.kinds[METADATA + name].see_array(values, block.dtypes[name])
            else:
                self._known.kinds[METADATA + name].see(values)
        for name, kind in self._known.kinds.items():
            kind.is_complete &= not name.startswith(METADATA) or name.removeprefix(METADATA) in block.metadata
        with self._rows_path.open("ab") as stream:
            stream.write(np.ascontiguousarray(block.rows).tobytes())
        with self._lines_path.open("a", encoding="utf-8") as lines:
            lines.write(block.to_line())
        self._known.n_shapes += len(block.rows)

    def _check_space(self, space: Space, where: str) -> None:
        if self._known.space is None:
            self._known.space, self._known.first_where = space, where
        if space == self.space:
            return
        if isinstance(space, Landmarks) and isinstance(self.space, Landmarks):
            if space.n_points != self.space.n_points:
                raise ShapeFileError(
                    f"The shapes differ in their numbers of points: {self.space.n_points} ({self._known.first_where}), "
                    f"{space.n_points} ({where}). Outlines: n_points=100 resamples them by arc length, "
                    "space=BSpline(40) fits a curve. Landmarks: correct or remove the odd ones, since all shapes must "
                    "have the same landmarks."
                )
            first, second = (self._known.first_where, where) if self.space.closed else (where, self._known.first_where)
            raise ShapeFileError(
                f"Some shapes are closed ({first}), others open ({second}): say what they are with closed=True or "
                "closed=False, or read them apart."
            )
        raise ShapeFileError(
            f"The files do not make up one set: {self._known.first_where} is in {self.space!r}, {where} in {space!r}; "
            "read them with the same n_points or space."
        )

    def _number_series(self) -> dict[tuple[str, int], int]:
        """Return the numbers of time series that are not those of their file, as sets in memory number them."""
        series = self._known.series
        if len(series) == 1:
            return {}
        if not self._known.has_sets:
            named = [(file, number) for file, numbers in series.items() for number in numbers]
            return {pair: place for place, pair in enumerate(named)}
        taken: set[int] = set()
        renamed: dict[tuple[str, int], int] = {}
        for file, numbers in series.items():
            new = renumber_series(set(numbers), taken)
            renamed |= {(file, old): number for old, number in new.items()}
            taken |= set(new.values()) or set(numbers)
        return renamed
