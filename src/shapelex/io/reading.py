"""What goes on while files of shapes are read: which files, in which formats, and what becomes of bad ones.

In come paths and what the caller wants; out go the records and sets of one file after the other, into a
:class:`Collector` that makes a set of them, in memory or on disk.
"""

import logging
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from shapelex._validation import check_choice, check_count, check_flag, is_data_frame
from shapelex.exceptions import ShapeFileError, ShapeInputError, ShapelexError, SkippedRecordsWarning
from shapelex.io.assembly import Found, Wanted, assemble, check_record, conform
from shapelex.io.file_list import PathLike, check_not_empty, label_maker, leave_out_segmented, list_files
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.registry import DATA_FRAME, FORMATS, Format
from shapelex.io.sheets import open_sheet
from shapelex.io.stored_shapes import is_large, open_shapes
from shapelex.shapes import ShapeSet
from shapelex.shapes.sheet import Sheet, as_text, keys_of
from shapelex.spaces import Space

logger = logging.getLogger(__name__)

Progress: TypeAlias = Callable[[int, int], None]
Part: TypeAlias = ShapeSet | Found

_SKIPPED_NAMED = 3
_TOLD_PARTS = 10_000
_LABELS_NAMED = 8
_MISSING_HINT = ': missing="allow" keeps them as NaN, on_error="skip" leaves such records out'


class Collector(Protocol):
    """Takes parts of files in order."""

    def add(self, part: Part, path: Path) -> None:
        """Take a record of a file, or a set that it holds."""

    def keep(self) -> None:
        """Keep all that was added: the file came to a good end."""

    def drop(self) -> None:
        """Forget what was added since :meth:`keep`: the file is damaged further on."""


class Gathering:
    """Parts of a set in memory."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.n_kept = 0

    def add(self, part: Part, path: Path) -> None:  # noqa: ARG002
        """Take a part."""
        self.parts.append(part)

    def keep(self) -> None:
        """Keep all that was added."""
        self.n_kept = len(self.parts)

    def drop(self) -> None:
        """Forget what was added since."""
        del self.parts[self.n_kept :]

    def join(self, wanted: Wanted) -> ShapeSet:
        """Return one set of all parts in order; neighboring records are assembled together."""
        sets: list[ShapeSet] = []
        for is_ready, group in groupby(self.parts, key=lambda part: isinstance(part, ShapeSet)):
            members: list[Any] = list(group)
            sets += members if is_ready else [assemble(members, wanted)]
        if len(sets) == 1:
            return sets[0]
        try:
            return ShapeSet.concatenate(sets)
        except ShapelexError as error:
            raise ShapeFileError(f"The files do not make up one set. {error}") from error


@dataclass
class Reading:
    """Files to read, and what was left out of them so far.

    Parameters
    ----------
    wanted : Wanted
        What the caller wants of the shapes.
    skips : bool
        Whether bad records are left out; else they raise.
    label_of : callable or None
        Gives the label of a file.
    options : dict
        Options of the formats.
    files : list of (Path, Format)
        What to read.
    ignored : list of Path
        Files in folders that are no files of shapes.
    skipped : list of str
        What was left out, and why.
    remarks : list of str
        What readers say of their files.
    in_blocks : bool
        Whether large files of arrays are read block by block.
    frame : DataFrame, optional
        What is read instead of a file.
    sheet : Sheet, optional
        Metadata that is joined.
    label : str, optional
        Column that becomes the label.
    found_labels : dict of Path to str
        Labels that `label_of` has given.
    n_unlabeled : int
        Records without the column that becomes the label.
    known_columns : set of str
        Columns of the records where one is to become the label.
    """

    wanted: Wanted
    skips: bool
    label_of: Callable[[Path], str] | None
    options: dict[str, Any]
    files: list[tuple[Path, Format]] = field(default_factory=list)
    ignored: list[Path] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    in_blocks: bool = False
    frame: Any = None
    sheet: Sheet | None = None
    label: str | None = None
    found_labels: dict[Path, str] = field(default_factory=dict)
    n_unlabeled: int = 0
    known_columns: set[str] = field(default_factory=set)
    has_many: bool = False
    _is_broken: bool = False

    def run(self, collector: Collector, progress: Progress | None = None) -> None:
        """Read all files into a collector.

        Parameters
        ----------
        collector : Collector
            Takes the parts.
        progress : callable, optional
            Called with the number of files read and of all files, after each.

        Raises
        ------
        ShapeFileError
            If a file or record is bad and none is to be skipped, or no shape is left.
        """
        n_parts = 0
        for n_done, (path, known) in enumerate(self.files, start=1):
            n_own = 0
            parts = self._parts_of(path, known)
            # What the collector says of a part is no fault of one file, so it is not caught.
            while (part := self._next_part(parts)) is not None:
                collector.add(part, path)
                n_own += 1
                if n_own % _TOLD_PARTS == 0:
                    logger.debug("%d shapes", n_parts + n_own)
            if self._is_broken:
                collector.drop()
            else:
                collector.keep()
                n_parts += n_own
            logger.debug("read %s as %s", path, known.name)
            if progress is not None:
                progress(n_done, len(self.files))
        if not n_parts:
            reasons = f": {self.skipped[0]}" if self.skipped else ""
            raise ShapeFileError(f"No shape could be read from {_name_files(self.files)}{reasons}")

    def _next_part(self, parts: Iterator[Part]) -> Part | None:
        """Return the next part of a file; None at its end, which may be a bad one."""
        self._is_broken = False
        try:
            return next(parts, None)
        except ShapeFileError as error:
            if not (self.skips and self.has_many):
                raise
            self.skipped.append(str(error))
            self._is_broken = True
            return None

    def _parts_of(self, path: Path, known: Format) -> Iterator[Part]:
        """Yield the set or the good records of a file; where bad ones are skipped, take note of them."""
        if self.wanted.missing == "negative" and not known.negative_is_missing:
            raise ValueError(f'missing="negative" has no meaning for {path}: the format {known.name} has no such use.')
        options = {name: value for name, value in self.options.items() if name in known.options}
        if self.frame is not None:
            yield from self._good_records(path, known.reader(self.frame, **options))
            return
        check_not_empty(path)
        if not known.makes_sets:
            yield from self._good_records(path, known.reader(path, **options))
        elif options or not (self.in_blocks and is_large(path)):
            yield self._label_set(conform(known.reader(path, **options), path, self.wanted), path)
        else:
            first_row = 0
            for block in _blocks_of(path):
                yield self._label_set(conform(block, path, self.wanted, first_row), path)
                first_row += len(block)

    def _good_records(self, path: Path, records: Iterator[Record | BadRecord | Remark]) -> Iterator[Found]:
        hint = "" if self.skips else _MISSING_HINT
        for record in records:
            if isinstance(record, Remark):
                self.remarks.append(f"{path}, {record.where}: {record.text}")
                continue
            checked = check_record(record, self.wanted, hint) if isinstance(record, Record) else record
            if isinstance(checked, Record):
                yield Found(path, self._told_more(checked, path))
                continue
            message = f"{path}, {checked.where}: {checked.reason}"
            if not self.skips:
                raise ShapeFileError(message)
            self.skipped.append(message)

    def _told_more(self, record: Record, path: Path) -> Record:
        """Return a record with its row of the sheet, and the label that is asked for."""
        if self.label_of is not None:
            record = replace(record, label=self._label_of_file(path))
        if self.sheet is None and self.label is None:
            return record
        metadata, label = dict(record.metadata), self.label
        if self.sheet is not None:
            on = self.sheet.on
            if on not in ("id", "file") and on not in metadata:
                raise ShapeFileError(
                    f"{path}, {record.where}: it has no {on!r} to find its row of {self.sheet.name} by."
                )
            self.sheet.check_free(list(metadata))
            own = record.id if on == "id" else str(path) if on == "file" else metadata[on]
            row = self.sheet.row(keys_of(own))
            metadata |= {name: row.get(name) for name in self.sheet.columns}
            label = "label" if label is None and "label" in self.sheet.columns else label
        if label is None:
            return replace(record, metadata=metadata)
        self.known_columns |= set(metadata)
        self.n_unlabeled += label not in metadata
        return replace(record, label=as_text(metadata.pop(label, None)), metadata=metadata)

    def _label_of_file(self, path: Path) -> str:
        if path not in self.found_labels:
            assert self.label_of is not None
            self.found_labels[path] = self.label_of(path)
        return self.found_labels[path]

    def _label_set(self, shapes: ShapeSet, path: Path) -> ShapeSet:
        changes: dict[str, Any] = {}
        if self.label_of is not None:
            changes["labels"] = [self._label_of_file(path)] * len(shapes)
        if self.has_many:
            changes["metadata"] = {**shapes.metadata, "file": [str(path)] * len(shapes)}
        shapes = shapes.replace(**changes) if changes else shapes
        if self.sheet is None and self.label is None:
            return shapes
        has_file = self.sheet is None or self.sheet.on != "file" or "file" in shapes.metadata
        if not has_file:
            shapes = shapes.replace(metadata={**shapes.metadata, "file": [str(path)] * len(shapes)})
        try:
            return shapes._join(self.sheet, self.label)
        except ShapeInputError as error:
            raise ShapeFileError(f"{path}: {error}") from error

    def finish(self, shapes: ShapeSet) -> ShapeSet:
        """Return the set that was read with what happened on the way; warn of what was left out."""
        self.check_closed(shapes.space)
        self.warn()
        return shapes.replace(notes=(*shapes.notes, *self.notes()), provenance=self.provenance(shapes.provenance))

    def check_closed(self, space: Space) -> None:
        """Refuse a space that is not open or closed as the caller said."""
        if self.wanted.closed is not None and space.closed != self.wanted.closed:
            raise ShapeFileError(f"closed={self.wanted.closed} was asked for, but the shapes are in {space!r}.")

    def provenance(self, source: Mapping[str, Any], n_named: int | None = None) -> dict[str, Any]:
        """Return where the shapes come from: at most `n_named` files, and what the files say themselves."""
        named: dict[str, Any] = {"files": [str(path) for path, _ in self.files[:n_named]]}
        if n_named is not None and len(self.files) > n_named:
            named["n_files"] = len(self.files)
        named["formats"] = sorted({known.name for _, known in self.files})
        return {**named, **({"source": dict(source)} if source else {})}

    def warn(self) -> None:
        """Say once how many records were left out, and the first few reasons."""
        if not self.skipped:
            return
        named = "; ".join(self.skipped[:_SKIPPED_NAMED])
        n_more = len(self.skipped) - _SKIPPED_NAMED
        more = f"; and {n_more} more, in the notes of the set" if n_more > 0 else ""
        noun = "record" if len(self.skipped) == 1 else "records"
        message = f"Left out {len(self.skipped)} {noun}: {named}{more}"
        warnings.warn(message, SkippedRecordsWarning, stacklevel=4)

    def notes(self) -> list[str]:
        """Return a note for every record left out, and one for files of other kinds."""
        notes = [f"left out: {message}" for message in self.skipped] + self.remarks
        if self.found_labels:
            notes.append(_note_labels(self.found_labels.values()))
        if self.n_unlabeled and self.label not in self.known_columns:
            known = ", ".join(sorted(self.known_columns)) or "none"
            raise ShapeFileError(f"label={self.label!r} is none of the columns of {_name_files(self.files)}: {known}.")
        if self.n_unlabeled:
            notes.append(f"{self.n_unlabeled} shapes have no {self.label!r}, so their label is empty")
        if self.sheet is not None:
            notes += self.sheet.notes()
        if self.ignored:
            notes.append(f"no files of shapes, not read: {_name_some(self.ignored)}")
        return notes


def _blocks_of(path: Path) -> Iterator[ShapeSet]:
    """Yield the blocks of a stored set; whatever is wrong with one is told of the file."""
    try:
        yield from open_shapes(path).blocks()
    except ShapeFileError:
        raise
    except ShapelexError as error:
        raise ShapeFileError(f"{path}: {error}") from error


def open_reading(
    paths: PathLike | Iterable[PathLike],
    format: str | None = None,  # noqa: A002
    *,
    space: Space | None = None,
    n_points: int | None = None,
    closed: bool | None = None,
    missing: str = "error",
    on_error: str = "raise",
    label_from: str | None = None,
    leave_out: Path | None = None,
    join: Any = None,
    on: str = "id",
    label: str | None = None,
    **options: Any,
) -> Reading:
    """Find the files to read; the parameters are those of :func:`shapelex.read`.

    `leave_out` is a path that is not read where it is found in a folder or by a pattern: that of the output.
    """
    wanted = _check_wanted(space, n_points, closed, missing)
    check_choice(on_error, ("raise", "skip"), "on_error")
    if format is not None:
        check_choice(format, FORMATS, "format")
    if label is not None and label_from is not None:
        raise ValueError("label and label_from cannot both be given: each says what the labels are.")
    reading = Reading(wanted, on_error == "skip", label_maker(label_from), options, label=label)
    if join is not None:
        reading.sheet = open_sheet(join, on)
    if is_data_frame(paths):
        if format is not None or label_from is not None:
            raise ValueError("format and label_from are for files: a data frame has columns, label_column= names one.")
        reading.files, reading.frame = [(Path("DataFrame"), DATA_FRAME)], paths
        _check_options(options, [DATA_FRAME])
        return reading
    reading.files, reading.ignored = list_files(paths, format, reading.skipped if reading.skips else None, leave_out)
    reading.files, left_out = leave_out_segmented(reading.files)
    if left_out:
        reading.remarks.append(
            f"not read, since their masks lie beside them: {_name_some(left_out)}; name them to read them."
        )
    reading.has_many = len(reading.files) + len(reading.skipped) > 1
    _check_options(options, [known for _, known in reading.files])
    return reading


def _check_wanted(space: Space | None, n_points: int | None, closed: bool | None, missing: str) -> Wanted:
    check_choice(missing, ("error", "allow", "negative"), "missing")
    if space is not None and not isinstance(space, Space):
        raise TypeError(f"space must be a space such as BSpline(40), or None, got {space!r}.")
    if space is not None and n_points is not None:
        raise ValueError("space and n_points cannot both be given: the space says how many points there are.")
    if closed is not None:
        closed = check_flag(closed, "closed")
        if space is not None and space.closed != closed:
            raise ValueError(f"closed={closed} contradicts space={space!r}.")
    if n_points is not None:
        n_points = check_count(n_points, 3, "n_points")
    return Wanted(space, n_points, closed, missing)


def _check_options(options: dict[str, Any], formats: Sequence[Format]) -> None:
    """Refuse options that no format of the files takes."""
    known = {option for one in formats for option in one.options}
    unknown = sorted(set(options) - known)
    if unknown:
        names = ", ".join(sorted({one.name for one in formats}))
        takes = ", ".join(sorted(known)) or "none"
        raise TypeError(f"The format {names} has no option {', '.join(unknown)}; its options are: {takes}.")


def _name_some(paths: list[Path]) -> str:
    named = ", ".join(path.name for path in paths[:_SKIPPED_NAMED])
    return f"{named} and {len(paths) - _SKIPPED_NAMED} more" if len(paths) > _SKIPPED_NAMED else named


def _note_labels(labels: Collection[str]) -> str:
    """Say which labels the paths of files gave."""
    counts = Counter(labels).most_common()
    named = ", ".join(f"{label!r} ({n_files})" for label, n_files in counts[:_LABELS_NAMED])
    more = f" and {len(counts) - _LABELS_NAMED} more" if len(counts) > _LABELS_NAMED else ""
    return f"labels from the paths of {len(labels)} files: {named}{more}"


def _name_files(files: list[tuple[Path, Format]]) -> str:
    first = str(files[0][0])
    return first if len(files) == 1 else f"{first} and {len(files) - 1} more files"
