"""Parts of a set that is read from files: in memory, or in files of a folder where memory would not hold them.

Input: records and sets, one after the other. Output: one set. Whether the parts are in memory or on disk changes
nothing else: the same function assembles them, and the same plan says what the columns of the whole set are.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from shapelex._messages import format_option, parameter
from shapelex._typing import BoolArray, ComplexArray, IntArray
from shapelex.exceptions import ShapeFileError, ShapelexError
from shapelex.io.assembly import SAME_COUNTS, Found, Wanted, assemble, check_cells, check_texts, mixed_note
from shapelex.io.formats import npz
from shapelex.io.names import tell_apart
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import ABSENT, METADATA, Column, ColumnKind, SeriesNumbers, cast_column
from shapelex.shapes.identity import GIVEN_ID, UniqueIds, hashes_of, id_in_file
from shapelex.shapes.preparation import Preparation, join_preparations
from shapelex.shapes.set import join_blocks
from shapelex.shapes.study import join_roles
from shapelex.spaces import Landmarks, Space

logger = logging.getLogger(__name__)

# What is told of a set whose files have the same names.
_SAME_FILE_NAMES = "ids begin with the folders of files whose names are the same, as in control/well1:3"

Describe: TypeAlias = Callable[[ShapeSet, Sequence[Path]], ShapeSet]
Where: TypeAlias = Callable[[int], str]

# Records wait until they are so many, or their points take so many bytes.
_BATCH_RECORDS = 1 << 12
_BATCH_BYTES = 1 << 26
# What a shape takes in memory beside its points.
_SHAPE_BYTES = 1 << 10
_PROVENANCES_KEPT = 100


@dataclass
class Plan:
    """What the parts so far say of the set: its space, its columns and what was done to the shapes."""

    space: Space | None = None
    first_where: str = ""
    n_shapes: int = 0
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.complex64))
    kinds: dict[str, ColumnKind] = field(default_factory=dict)
    n_repeated_ends: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    provenances: list[Mapping[str, Any]] = field(default_factory=list)
    preparation: Preparation | None = None
    roles: Mapping[str, str | None] = field(default_factory=dict)

    def admit(self, part: ShapeSet, where: Where, *, are_records: bool) -> None:
        """Take note of a part; refuse one that contradicts those before it."""
        if self.space is None:
            self.space, self.first_where = part.space, where(0)
        elif part.space != self.space:
            raise ShapeFileError(self._say_spaces(part.space, where(0)))
        preparations = [self.preparation, part.preparation] if self.n_shapes else [part.preparation]
        if are_records and len({one.resampling for one in preparations if one is not None}) > 1:
            # Some records have the wanted number of points already, others are resampled: neither holds for all.
            preparations = [one if one is None else replace(one, resampling=None) for one in preparations]
        try:
            self.preparation = join_preparations(preparations)
            self.roles = join_roles([self.roles, part.roles])
        except ShapelexError as error:
            raise ShapeFileError(f"The files do not make up one set. {where(0)}: {error}") from error
        for name, column in part.columns.items():
            self._admit_column(name, column)
        self.n_shapes += len(part)
        self._check_size()
        self.dtype = np.result_type(self.dtype, part.configurations.dtype)
        self.notes |= dict.fromkeys(part.notes)
        if part.provenance not in self.provenances[-1:] and len(self.provenances) < _PROVENANCES_KEPT:
            self.provenances.append(part.provenance)

    def _admit_column(self, name: str, column: Column) -> None:
        known = self.kinds.get(name, ColumnKind())
        self.kinds[name] = seen = known.see(column)
        kinds = {dtype.kind == "U" for dtype in (known.dtype, column.dtype) if dtype is not None}
        if seen.dtype is not None and seen.dtype.kind == "U" and len(kinds) > 1 and seen is not known:
            self.notes[mixed_note(name.removeprefix(METADATA))] = None

    def _say_spaces(self, space: Space, where: str) -> str:
        assert self.space is not None
        both = isinstance(space, Landmarks) and isinstance(self.space, Landmarks)
        if both and space.n_coordinates != self.space.n_coordinates:
            return (
                f"The shapes differ in their numbers of points: {self.space.n_coordinates} ({self.first_where}), "
                f"{space.n_coordinates} ({where}). {SAME_COUNTS}"
            )
        if both:
            first, second = (self.first_where, where) if self.space.closed else (where, self.first_where)
            return (
                f"Some shapes are closed ({first}), others open ({second}): say what they are with "
                f"{parameter('closed', True)} or {parameter('closed', False)}, or read one "
                f"kind alone, as with {format_option('only', 'outlines')} of ImageJ and GeoJSON files."
            )
        return (
            f"The files do not make up one set: {self.first_where} is in {self.space!r}, {where} in {space!r}; read "
            "them with the same n_points or space."
        )

    @property
    def columns(self) -> dict[str, np.dtype[Any]]:
        """Types of the columns of the whole set."""
        return {
            name: kind.dtype_of(self.n_shapes, ABSENT.get(name))
            for name, kind in self.kinds.items()
            if kind.dtype is not None or name not in ("labels", "sequence")
        }

    def _check_size(self) -> None:
        """Refuse a set that would need far more room than its records."""
        widths = {name: dtype.itemsize // 4 for name, dtype in self.columns.items() if dtype.kind == "U"}
        kinds = {name: kind for name, kind in self.kinds.items() if name.startswith(METADATA)}
        n_cells = sum(kind.n_present for kind in kinds.values())
        n_characters = sum(kind.n_characters for kind in self.kinds.values())
        check_cells(self.n_shapes, len(kinds), n_cells)
        check_texts(self.n_shapes, n_characters, widths)


class Parts:
    """The parts of a set in order.

    Parameters
    ----------
    folder : Path, optional
        Empty folder for parts that are not kept in memory.
    limit : int
        Bytes that the parts may take in memory, where there is a folder.
    """

    def __init__(self, folder: Path | None = None, limit: int = 0) -> None:
        self.folder, self._limit = folder, limit
        self._parts: list[ShapeSet | Path] = []
        self._n_bytes = 0

    @property
    def on_disk(self) -> bool:
        """Whether the parts are in files."""
        return bool(self._parts) and not isinstance(self._parts[0], ShapeSet)

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[ShapeSet]:
        for part in self._parts:
            yield part if isinstance(part, ShapeSet) else npz.read_set(part)

    def append(self, part: ShapeSet) -> None:
        """Add a part."""
        self._parts.append(part)
        self._n_bytes += part.configurations.nbytes + _SHAPE_BYTES * len(part)
        if self.folder is not None and self._n_bytes > self._limit:
            if not self.on_disk:
                logger.info("more than %d bytes of shapes: going on in %s", self._limit, self.folder)
            for place, one in enumerate(self._parts):
                if isinstance(one, ShapeSet):
                    self._parts[place] = self._stored(one, place)

    def __setitem__(self, place: int, part: ShapeSet) -> None:
        self._parts[place] = self._stored(part, place) if self.on_disk else part

    def _stored(self, part: ShapeSet, place: int) -> Path:
        """Write a part to its file."""
        assert self.folder is not None
        path = self.folder / f"{place}.npz"
        with path.open("wb") as stream:
            npz.write_set(part, stream)
        return path

    def __delitem__(self, place: int) -> None:
        del self._parts[place]

    def truncate(self, n_parts: int) -> None:
        """Remove all but the first parts."""
        del self._parts[n_parts:]


class SetBuilder:
    """Makes one set of the records and sets of files.

    Parameters
    ----------
    wanted : Wanted
        What the caller wants of the shapes.
    parts : Parts
        Where the parts of the set go.
    files : iterable of Path
        All files that are read, whose names ids may need.
    describe : callable
        Takes a part and the files of its shapes, and returns it with what is known of these.
    can_drop : bool
        Whether files may turn out to be damaged after some of their shapes were added.
    """

    def __init__(self, wanted: Wanted, parts: Parts, files: Iterable[Path], describe: Describe, can_drop: bool) -> None:
        self._wanted, self.parts, self._describe, self._can_drop = wanted, parts, describe, can_drop
        self.plan = Plan()
        self._names = tell_apart(files)
        # Of each part, a number for each id, and the number of its file.
        self._ids: list[tuple[IntArray, IntArray]] = []
        self._numbers = {path: number for number, path in enumerate(self._names)}
        self._waiting: list[Found] = []
        self._n_bytes = 0
        # Records that wait of files that came to a good end, and what was known before the file that is being read.
        self._n_kept = 0
        self._mark: tuple[Plan, int, int] | None = None
        self._series = SeriesNumbers()

    def add(self, item: Found | ShapeSet, path: Path) -> None:
        """Take a record of a file, or a set that it holds."""
        if isinstance(item, ShapeSet):
            self._flush()
            self._set_mark()
            paths = [path] * len(item)
            self._admit(item, paths, paths, lambda row: f"{path}, shape {row}", are_records=False)
            return
        name = id_in_file(item.record.id, path, self._names[path])
        if name is not None and name != item.record.id:
            item = replace(item, record=replace(item.record, id=name))
            self.plan.notes[_SAME_FILE_NAMES] = None
        self._waiting.append(item)
        self._n_bytes += item.record.points.nbytes
        if len(self._waiting) >= _BATCH_RECORDS or self._n_bytes >= _BATCH_BYTES:
            self._flush()

    def keep(self) -> None:
        """Keep all that was added: the file came to a good end."""
        self._n_kept, self._mark = len(self._waiting), None

    def drop(self) -> None:
        """Remove what was added since :meth:`keep`: the file is damaged further on."""
        del self._waiting[self._n_kept :]
        if self._mark is not None:
            self.plan, n_parts, n_series = self._mark
            self.parts.truncate(n_parts)
            del self._ids[n_parts:]
            self._series.truncate(n_series)
        self.keep()

    def finish(self) -> "ShapeSet | AssembledShapes | None":
        """Return the set, once all files are read; None where there is no shape."""
        self.keep()
        self._flush()
        if not self.plan.n_shapes:
            return None
        self._make_ids_unique()
        shapes = AssembledShapes(self.plan, self.parts, "error" if self._wanted.missing == "error" else "allow")
        return shapes if self.parts.on_disk else join_blocks(list(shapes.blocks()))

    def _flush(self) -> None:
        """Assemble the records that wait; first those that are kept whatever comes."""
        waiting, n_first = self._waiting, self._n_kept if self._can_drop else len(self._waiting)
        self._waiting, self._n_kept, self._n_bytes = [], 0, 0
        self._assemble(waiting[:n_first])
        if n_first < len(waiting):
            self._set_mark()
            self._assemble(waiting[n_first:])

    def _set_mark(self) -> None:
        """Remember what is known before the first part of a file that may have to be dropped."""
        if self._can_drop and self._mark is None:
            kinds, notes, provenances = dict(self.plan.kinds), dict(self.plan.notes), list(self.plan.provenances)
            kept = replace(self.plan, kinds=kinds, notes=notes, provenances=provenances)
            self._mark = kept, len(self.parts), len(self._series)

    def _make_ids_unique(self) -> None:
        """Rename or number the shapes whose ids others have, too."""
        hashes, sources = (np.concatenate(arrays) for arrays in zip(*self._ids, strict=True))
        if len(np.unique(hashes)) == len(hashes):
            return
        unique = UniqueIds(hashes, sources, list(self._names.items()))
        kinds = {"ids": ColumnKind(), f"{METADATA}{GIVEN_ID}": ColumnKind()}
        for place, (part, (_, own)) in enumerate(zip(self.parts, self._ids, strict=True)):
            part = part._with_ids(unique.rename(part.ids.tolist(), own.tolist()))
            kinds = {name: kind.see(part.columns[name]) for name, kind in kinds.items()}
            self.parts[place] = part
            self._ids[place] = hashes_of(part.ids.tolist()), own
        self.plan.kinds |= kinds
        self.plan.notes |= unique.notes
        # Names of files may make another id of the set.
        self._make_ids_unique()

    def _assemble(self, batch: Sequence[Found]) -> None:
        if batch:
            part, n_repeated = assemble(batch, self._wanted)
            self.plan.n_repeated_ends += n_repeated
            paths, series = [one.path for one in batch], [one.series_source for one in batch]
            self._admit(part, paths, series, lambda row: batch[row].where, are_records=True)

    def _admit(
        self, part: ShapeSet, paths: Sequence[Path], series: Sequence[Path], where: Where, *, are_records: bool
    ) -> None:
        if part.sequence is not None:
            part = part.replace(sequence=self._series.join(series, part.sequence))
        self._ids.append((hashes_of(part.ids.tolist()), np.array([self._numbers[path] for path in paths])))
        part = self._describe(part, paths)
        self.plan.admit(part, where, are_records=are_records)
        self.parts.append(part)


class AssembledShapes:
    """A set whose parts are assembled, to be gone through block by block like a `ShapeSet`."""

    def __init__(self, plan: Plan, parts: Parts, missing: str) -> None:
        assert plan.space is not None
        self.space, self.dtype, self.column_types = plan.space, plan.dtype, plan.columns
        self.shape = plan.n_shapes, plan.space.n_coordinates
        self.missing, self.preparation, self.roles = missing, plan.preparation, plan.roles
        given = [dict(one) for one in plan.provenances if one]
        self.provenance: Mapping[str, Any] = given[0] if len(given) == 1 else {"parts": given} if given else {}
        self.notes = tuple(plan.notes)
        if plan.n_repeated_ends:
            which = f"{plan.n_repeated_ends} closed {'shape' if plan.n_repeated_ends == 1 else 'shapes'}"
            self.notes = (f"The last point of {which} repeated the first and was dropped.", *self.notes)
        self._parts = parts

    def blocks(self) -> Iterator[ShapeSet]:
        """Yield the parts of the set in order, with all columns of the set in their types."""
        for part in self._parts:
            made = {
                name: cast_column(part.columns.get(name), dtype, len(part), ABSENT.get(name))
                for name, dtype in self.column_types.items()
            }
            yield ShapeSet(
                part.configurations.astype(self.dtype, copy=False),
                self.space,
                ids=made["ids"],
                labels=made.get("labels"),
                sequence=made.get("sequence"),
                metadata={name.removeprefix(METADATA): made[name] for name in made if name.startswith(METADATA)},
                missing=self.missing,
                notes=self.notes,
                provenance=self.provenance,
                preparation=self.preparation,
                roles=self.roles,
            )

    def replace(self, **changes: Any) -> "AssembledShapes":
        """Return a set with other notes, provenance or preparation; its parts are the same."""
        other = copy(self)
        other.__dict__.update(changes)
        return other

    def row_blocks(self) -> Iterator[ComplexArray]:
        """Yield the configurations alone."""
        return (part.configurations for part in self._parts)

    def replace_rows(self, change: Callable[[ComplexArray], ComplexArray]) -> None:
        """Put as many other configurations of the same space in the place of those there are."""
        for place, part in enumerate(self._parts):
            self._parts[place] = part.replace(configurations=change(part.configurations))

    def select(self, is_wanted: Callable[[ShapeSet], BoolArray]) -> None:
        """Keep only the shapes that a function wants, which is called for one part at a time."""
        n_kept, empty = 0, []
        for place, part in enumerate(self._parts):
            kept = part[is_wanted(part)]
            if not len(kept):
                empty.append(place)
            elif len(kept) < len(part):
                self._parts[place] = kept
            n_kept += len(kept)
        for place in reversed(empty):
            del self._parts[place]
        self.shape = n_kept, self.shape[1]
