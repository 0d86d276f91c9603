"""Files of shapes to sets of shapes.

Input: paths, a folder or a pattern, or a data frame. Output: one :class:`~shapelex.ShapeSet`, whatever the formats; or,
for commands, one that is on disk where memory would not hold it.
"""

import logging
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from shapelex._messages import format_option, marked_text, parameter, without_marks
from shapelex._typing import ComplexArray
from shapelex._validation import check_choice, check_count, check_flag, check_positive, did_you_mean, is_data_frame
from shapelex.exceptions import (
    ParameterError,
    ParameterTypeError,
    ShapeFileError,
    ShapelexError,
    SkippedRecordsWarning,
)
from shapelex.files.tables import as_text
from shapelex.io import stored_shapes
from shapelex.io.file_list import PathLike, PathPattern, check_not_empty, list_files
from shapelex.io.joining import Sheet, spelling_notes
from shapelex.io.parts import Part, Parts, SetBuilder, Wanted, check_record, conform
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.registry import DATA_FRAME, FORMATS, Format
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import FILE, FPS, METADATA, Column, Columns
from shapelex.spaces import Space

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

Progress: TypeAlias = Callable[[int, int], None]

_SKIPPED_NAMED = 3
_PROBLEMS_NAMED = 30
_LABELS_NAMED = 8
_RATE = "the frame rate"
_FPS, _FILE = f"{METADATA}{FPS}", f"{METADATA}{FILE}"
_FILES_NAMED = 100
# Options that say what lengths are, of formats that may tell it themselves.
_LENGTHS = {"scale", "pixel_size"}
_MISSING_HINT = (
    f": {parameter('missing', 'allow')} keeps them as NaN, {parameter('on_error', 'skip')} leaves such records out"
)


def read(
    paths: "PathLike | Iterable[PathLike] | pd.DataFrame",
    format: str | None = None,  # noqa: A002
    *,
    space: Space | None = None,
    n_points: int | None = None,
    closed: bool | None = None,
    missing: str = "error",
    on_error: str = "raise",
    label_from: str | None = None,
    join: "PathLike | pd.DataFrame | None" = None,
    on: str | None = None,
    label: str | None = None,
    fps: float | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> ShapeSet:
    r"""Read shapes from files, or from a data frame.

    Parameters
    ----------
    paths : path, iterable of paths, or DataFrame
        A file; a folder, whose files and subfolders are read in order of their names; a pattern such as
        ``"wings/*.tps"`` (``**`` for any depth); or a list of these. A pandas data frame is read like a table, see
        :meth:`ShapeSet.from_dataframe`.
    format : str, optional
        Name of the format; by default it follows from the end of a file's name, or from its content.
    space : Space, optional
        Space to bring the shapes into: curves such as ``BSpline(40)`` are fitted to the polygons through the points, by
        least squares; ``Landmarks(n)`` takes shapes of n points as they are and resamples others.
    n_points : int, optional
        Resample every shape to so many points, at equal steps of arc length.
    closed : bool, optional
        Whether the last point of a shape joins its first. By default what the file says, and open where it says
        nothing. A last point that repeats the first of a closed shape is dropped.
    missing : {"error", "allow", "negative"}, default "error"
        Whether a missing landmark is an error, or stays as NaN. ``"negative"`` also takes landmarks with a negative
        coordinate for missing, as some TPS files mean them; otherwise negative coordinates are coordinates.
    on_error : {"raise", "skip"}, default "raise"
        What to do with a record that cannot be read: raise, or leave it out and say so in a warning and in the notes of
        the set. A file that cannot be read at all raises too, unless there are others.
    label_from : str, optional
        Labels from the paths of the files: ``"parent"`` for the folder a file is in; a pattern that fits the end of the
        path, such as ``"{arm}/{well}_{field}.tif"``, each name in which becomes a column, and the first one the label
        unless `label` names another; or a regular expression, with named groups for columns or one group for the
        label. Patterns are looked for in the name of the file, or in its path where they have a ``/``.
    join : path or DataFrame, optional
        Sheet of metadata (``.csv``, ``.tsv``, ``.xlsx``, ``.parquet``), one row per key, whose columns are joined to
        the shapes; see :meth:`ShapeSet.join`.
    on : str, optional
        By what the rows of the sheet are found: ``"id"``, ``"file"``, or a column of the metadata; ``"id=Specimen"``
        where the column of the sheet has another name. By default ids are tried, then files, and a note says what fits.
    label : str, optional
        Column that becomes the label, too: of the sheet, of the paths, or of what the file says of its shapes.
    fps : float, optional
        Number of frames per second of the recordings, for times in seconds. By default what the file says: WCON, HDF5,
        TIFF and MATLAB files of worm trackers often do. It becomes the column ``fps`` of the metadata.
    progress : callable, optional
        Called with the number of files read and of all files, after each.
    **options : object
        Options of the format, such as ``layout="blocks"`` of tables or ``curves="append"`` of TPS files: see "Your
        data" in the guide.

    Returns
    -------
    ShapeSet
        The shapes.

    Raises
    ------
    ShapeFileError
        If a file or record is damaged or cannot be read as planar shapes; the message names file, record and line.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    write : The other way.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import shapelex as sx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "wings.npz"
    ...     _ = sx.write(sx.ShapeSet([[0, 1, 1j], [0, 2, 1j]], ids=["left", "right"]), path)
    ...     shapes = sx.read(path)
    >>> shapes
    ShapeSet(2 shapes, space=Landmarks(n_points=3, closed=False))
    >>> shapes.ids.tolist()
    ['left', 'right']
    """
    told: dict[str, Any] = {"label_from": label_from, "join": join, "on": on, "label": label, "fps": fps, **options}
    reading = open_reading(
        paths, format, space=space, n_points=n_points, closed=closed, missing=missing, on_error=on_error, **told
    )
    return reading.run(Parts(), progress)


def read_to(
    paths: Any, folder: Path, *, limit: int | None = None, progress: Progress | None = None, **options: Any
) -> ShapeSet:
    """Read shapes as :func:`read` does; those that take more than `limit` bytes stay in files of an empty folder."""
    parts = Parts(folder, stored_shapes.LARGE_BYTES if limit is None else limit)
    return open_reading(paths, **options).run(parts, progress)


@dataclass
class Reading:
    """Files that are read, and what was left out of them so far.

    Parameters
    ----------
    wanted : Wanted
        What the caller wants of the shapes.
    skips : bool
        Whether bad records are left out; else they raise.
    pattern : PathPattern, optional
        What the paths of the files say.
    options : dict
        Options of the formats.
    sheet : Sheet, optional
        Metadata that is joined.
    label : str, optional
        Column that becomes the label.
    fps : float, optional
        Frame rate, whatever the files say.
    files : list of (Path, Format)
        What to read.
    frame : DataFrame, optional
        What is read instead of a file.
    skipped, remarks : list of str
        What was left out and why, and what else is told of the files.
    file_remarks : list of (Path, Remark)
        What readers say of their files.
    """

    wanted: Wanted
    skips: bool
    pattern: PathPattern | None
    options: dict[str, Any]
    sheet: Sheet | None
    label: str | None
    fps: float | None = None
    files: list[tuple[Path, Format]] = field(default_factory=list)
    frame: Any = None
    has_many: bool = False
    n_unlisted: int = 0
    skipped: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    file_remarks: list[tuple[Path, Remark]] = field(default_factory=list)
    _found_in_paths: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    _units: dict[Path, str] = field(default_factory=dict)
    _labels: set[str] = field(default_factory=set)
    _n_unlabeled: int = 0
    _has_label: bool = False

    def run(self, parts: Parts, progress: Progress | None = None) -> ShapeSet:
        """Read all files and return the set that they make up; `progress` is called after each file."""
        builder = SetBuilder(self.wanted, parts, (path for path, _ in self.files), self._describe, self.has_many)
        for n_done, (path, known) in enumerate(self.files, start=1):
            items = self._items_of(path, known, in_blocks=parts.folder is not None)
            while True:
                try:
                    item = next(items, None)
                except ShapeFileError as error:
                    if not self.has_many:
                        raise
                    self.skipped.append(marked_text(error))
                    builder.drop()
                    self._found_in_paths.pop(path, None)
                    self._units.pop(path, None)
                    self.file_remarks = [one for one in self.file_remarks if one[0] != path]
                    break
                if item is None:
                    builder.keep()
                    break
                # What is wrong with the whole set is no fault of one file, and is not caught.
                builder.add(item, path)
            logger.debug("read %s as %s", path, known.name)
            if progress is not None:
                progress(n_done, len(self.files))
        if self.skipped and not self.skips:
            raise ShapeFileError(self._say_skipped())
        shapes = builder.finish()
        if shapes is None:
            told = self.skipped or [f"{path}, {remark.where}: {remark.text}" for path, remark in self.file_remarks]
            reasons = f": {told[0]}" if told else ""
            raise ShapeFileError(f"No shape could be read from {self._name_files()}{reasons}")
        if self.wanted.closed is not None and shapes.space.closed != self.wanted.closed:
            raise ShapeFileError(
                f"{parameter('closed', self.wanted.closed)} was asked for, but the shapes are in {shapes.space!r}."
            )
        self._check_units()
        if self.skipped:
            self._warn()
        left_out = tuple(name for name in ("border", "holes") if self.options.get(name) == "drop")
        preparation = shapes.preparation
        if left_out and preparation is not None:
            preparation = replace(preparation, left_out=left_out)
        named: dict[str, Any] = {"files": [str(path) for path, _ in self.files[:_FILES_NAMED]]}
        if len(self.files) > _FILES_NAMED:
            named["n_files"] = len(self.files)
        named["formats"] = sorted({known.name for _, known in self.files})
        provenance = named | ({"source": dict(shapes.provenance)} if shapes.provenance else {})
        notes = (*shapes.notes, *self._notes(shapes.column_types))
        return shapes.replace(notes=notes, provenance=provenance, preparation=preparation)

    def _items_of(self, path: Path, known: Format, *, in_blocks: bool) -> Iterator[Record | ShapeSet]:
        """Yield the set or the good records of a file; where bad ones are skipped, take note of them."""
        if self.wanted.missing == "negative" and not known.negative_is_missing:
            raise ParameterError(
                f"{parameter('missing', 'negative')} has no meaning for {path}: the format {known.name} has no such "
                "use."
            )
        options = {name: value for name, value in self.options.items() if name in known.options}
        if self.frame is None:
            check_not_empty(path)
        if known.makes_sets:
            first_row = 0
            is_small = options or not (in_blocks and stored_shapes.is_large(path))
            for block in [known.reader(path, **options)] if is_small else _blocks_of(path):
                yield conform(block, path, self.wanted, first_row)
                first_row += len(block)
            return
        marks: Counter[complex] = Counter()
        for record in known.reader(path if self.frame is None else self.frame, **options):
            if isinstance(record, Remark):
                self.file_remarks.append((path, record))
                continue
            if isinstance(record, Record):
                if known.negative_is_missing and self.wanted.missing != "negative":
                    marks.update(_negative_marks(record.points))
                record = check_record(record, self.wanted, "" if self.skips else _MISSING_HINT)
            if isinstance(record, BadRecord):
                message = f"{path}, {record.where}: {record.reason}"
                if not self.skips:
                    raise ShapeFileError(message)
                self.skipped.append(message)
                continue
            if _LENGTHS & known.options:
                unit = "the unit of SCALE" if "applied_scale" in record.metadata else "pixels"
                self._units[path] = str(record.metadata.get("units", unit))
            yield record
        for mark, count in marks.items():
            text = 'taken as coordinates; missing="negative" (--missing negative) reads them as missing.'
            place = f"{count} landmark{'s' * (count > 1)} at ({mark.real:g}, {mark.imag:g})"
            self.file_remarks.append((path, Remark(place, text)))

    def _describe(self, part: Part, paths: Sequence[Path]) -> None:
        """Add the names of files, the rows of the sheet and the labels that are asked for to the columns of a part."""
        columns = part.columns
        if self.fps is not None:
            self._note_rates(columns.get(_FPS), paths, self.fps)
            columns[_FPS] = np.full(len(paths), self.fps)
        if self.has_many or (self.sheet is not None and self.sheet.kind == FILE):
            # Sets say of which files their shapes are.
            columns[_FILE] = columns.pop(_FILE, np.array([str(path) for path in paths]))
        if self.pattern is not None:
            told = np.array([self._read_path(path) for path in paths])
            if taken := [name for name in self.pattern.columns if f"{METADATA}{name}" in columns]:
                raise ShapeFileError(f"{paths[0]} has a column {taken[0]!r}: rename it in {parameter('label_from=')}.")
            names = [f"{METADATA}{name}" for name in self.pattern.columns] or ["labels"]
            columns |= dict(zip(names, told.T, strict=True))
        label = self.label
        if self.sheet is not None:
            shapes = ShapeSet(part.configurations, part.space, missing="allow")._with(columns=Columns(columns))
            part.columns = columns = dict(self.sheet.join(shapes, paths).columns)
            label = "label" if label is None and "label" in self.sheet.columns else label
        if label is not None:
            key = f"{METADATA}{label}"
            self._has_label |= key in columns
            labels = [as_text(value) for value in columns[key].tolist()] if key in columns else [""] * len(paths)
            if label == "label":
                columns.pop(key, None)
            columns["labels"] = np.array(labels, dtype=np.str_)
            self._n_unlabeled += labels.count("")
        if "labels" in columns:
            self._labels.update(columns["labels"].tolist())

    def _read_path(self, path: Path) -> tuple[str, ...]:
        """Return what a path says of its shapes."""
        assert self.pattern is not None
        if path not in self._found_in_paths:
            self._found_in_paths[path] = self.pattern.read(path)
        return self._found_in_paths[path]

    def _note_rates(self, rates: Column | None, paths: Sequence[Path], fps: float) -> None:
        """Take note of files that say another frame rate than the caller."""
        if rates is None or rates.dtype.kind not in "iuf":
            return
        found = {path: rate for path, rate in zip(paths, rates.tolist(), strict=True) if rate > 0}
        told = {path for path, remark in self.file_remarks if remark.where == _RATE}
        for path, rate in found.items():
            if path not in told and abs(rate - fps) > 1e-6 * fps:
                text = f"the given one is used ({fps:g} per second), not that of the file ({rate:g} per second)."
                self.file_remarks.append((path, Remark(_RATE, text)))

    def _check_units(self) -> None:
        """Refuse files whose lengths are in different units, or in one that only some of them tell."""
        first = {unit: path for path, unit in reversed(self._units.items())}
        if len(first) < 2 or any(self.options.get(name, "auto") != "auto" for name in _LENGTHS):
            return
        (unit, path), (other, odd) = list(reversed(first.items()))[:2]
        raise ShapeFileError(
            f"Lengths would be in different units: those of {path} are in {unit}, those of {odd} in {other}. For TPS "
            f"files, {format_option('scale', 'drop')} leaves out records without a scale, and "
            f"{format_option('scale', 'ignore')} keeps all coordinates as they are; for images, "
            f"{format_option('pixel_size=')} gives the size of a pixel, and {format_option('pixel_size', 1)} keeps "
            "pixels."
        )

    def _say_skipped(self) -> str:
        """Return what is wrong with all files that cannot be read, and how to read the others."""
        told = self.skipped[:_PROBLEMS_NAMED]
        n_more = len(self.skipped) - len(told)
        words = "\n".join(f"{number}. {message}" for number, message in enumerate(told, start=1))
        words += f"\nand {n_more} more" if n_more else ""
        n_files = len(self.files) + self.n_unlisted
        words = f"{len(self.skipped)} of {n_files} files cannot be read:\n{words}" if len(self.skipped) > 1 else told[0]
        return f"{words}\n{parameter('on_error', 'skip')} reads the files without what is wrong in them."

    def _warn(self) -> None:
        """Say once how many records were left out, and the first few reasons."""
        named = "; ".join(self.skipped[:_SKIPPED_NAMED])
        n_more = len(self.skipped) - _SKIPPED_NAMED
        more = f"; and {n_more} more, in the notes of the set" if n_more > 0 else ""
        noun = "record" if len(self.skipped) == 1 else "records"
        message = f"Left out {len(self.skipped)} {noun}: {named}{more}"
        warnings.warn(message, SkippedRecordsWarning, stacklevel=4)

    def _notes(self, column_types: Iterable[str]) -> list[str]:
        """Return a note for every record left out, and one for everything else that users should know."""
        notes = (
            [f"left out: {without_marks(message)}" for message in self.skipped]
            + sum_up(self.file_remarks)
            + self.remarks
        )
        if self._found_in_paths:
            counts = Counter(told[0] for told in self._found_in_paths.values()).most_common()
            named = ", ".join(f"{label!r} ({n_files})" for label, n_files in counts[:_LABELS_NAMED])
            more = f" and {len(counts) - _LABELS_NAMED} more" if len(counts) > _LABELS_NAMED else ""
            columns = self.pattern.columns if self.pattern is not None else ()
            what = f"columns {', '.join(columns)} from the paths, {columns[0]}" if columns else "labels from the paths"
            notes.append(f"{what} of {len(self._found_in_paths)} files: {named}{more}")
        if self.sheet is None or self.label not in self.sheet.columns:
            notes += spelling_notes(self._labels, "labels")
        if self.label is not None and not self._has_label:
            known = sorted(name.removeprefix(METADATA) for name in column_types if name.startswith(METADATA))
            meant = did_you_mean(self.label, known, lambda name: parameter("label", name))
            raise ShapeFileError(
                f"{parameter('label', self.label)} is not a column of {self._name_files()}{meant}, which has: "
                f"{', '.join(known) or 'none'}."
            )
        if self._n_unlabeled:
            have = "shape has" if self._n_unlabeled == 1 else "shapes have"
            notes.append(f"{self._n_unlabeled} {have} no {self.label or 'label'!r}, so the label is empty")
        if self.sheet is not None:
            notes += self.sheet.notes()
        return notes

    def _name_files(self) -> str:
        first = str(self.files[0][0])
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more files"


def _blocks_of(path: Path) -> Iterator[ShapeSet]:
    """Yield the blocks of a stored set; whatever is wrong with one is told of the file."""
    try:
        yield from stored_shapes.open_shapes(path).blocks()
    except ShapeFileError:
        raise
    except ShapelexError as error:
        raise ShapeFileError(f"{path}: {marked_text(error)}") from error


def _negative_marks(points: ComplexArray) -> list[complex]:
    """Return the points with one negative number as both coordinates, in a shape that has no other negative ones."""
    is_mark = (points.real == points.imag) & (points.real < 0)
    if not is_mark.any():
        return []
    is_negative = (points.real < 0) | (points.imag < 0)
    return [] if (is_negative & ~is_mark).any() else points[is_mark].tolist()


def sum_up(remarks: Iterable[tuple[Path, Remark]]) -> list[str]:
    """Return the remarks on files in words; those of several files that differ only in numbers of things are added up.

    Numbers of things are at the beginning of the place or of the text, as in ``3 objects`` or ``3 of 20 records``.
    Numbers in parentheses, such as a threshold that follows from the file, are left out where they differ.
    """
    groups: dict[str, list[tuple[Path, str]]] = {}
    for path, remark in remarks:
        text = f"{remark.where}: {remark.text}"
        kind = _COUNT.sub(lambda found: f"# {found[2].removesuffix('s')}", _ASIDE.sub("", text))
        groups.setdefault(kind, []).append((path, text))
    notes = []
    for members in groups.values():
        path, text = members[0]
        if any(_ASIDE.findall(other) != _ASIDE.findall(text) for _, other in members):
            members = [(one, _ASIDE.sub("", other)) for one, other in members]
            text = members[0][1]
        counts = [[int(found[1]) for found in _COUNT.finditer(text)] for _, text in members]
        sums = iter([sum(numbers) for numbers in zip(*counts, strict=True)])
        # The word after a sum is that of several things, unless it is the "of" before the next number.
        text = _COUNT.sub(lambda found: _count_things(next(sums), found[2]), text) if len(members) > 1 else text  # noqa: B023
        more = "" if len(members) == 1 else f" and {len(members) - 1} more file{'s' if len(members) > 2 else ''}"
        notes.append(f"{path}{more}, {text}")
    return notes


_ASIDE = re.compile(r" \(\d[^()]*\)")
_COUNT = re.compile(r"(?:(?<=^)|(?<=: )|(?<= of ))(\d+) (\w+)")


def _count_things(count: int, noun: str) -> str:
    return f"{count} {noun}" if noun == "of" or noun.endswith("s") or count == 1 else f"{count} {noun}s"


def open_reading(
    paths: PathLike | Iterable[PathLike],
    format: str | None = None,  # noqa: A002
    *,
    space: Space | Callable[[bool], Space] | None = None,
    n_points: int | None = None,
    closed: bool | None = None,
    missing: str = "error",
    on_error: str = "raise",
    label_from: str | None = None,
    leave_out: Path | None = None,
    join: Any = None,
    on: str | None = None,
    label: str | None = None,
    fps: float | None = None,
    **options: Any,
) -> Reading:
    """Find the files to read; the parameters are those of :func:`shapelex.read`.

    `leave_out` is a path that is not read where it is found in a folder or by a pattern: that of the output. `space`
    may also be a function that returns the space once it is known whether the shapes are closed.
    """
    check_choice(missing, ("error", "allow", "negative"), "missing")
    if not (space is None or callable(space) or isinstance(space, Space)):
        raise ParameterTypeError(f"{parameter('space')} must be a space such as BSpline(40), or None, got {space!r}.")
    if space is not None and n_points is not None:
        raise ParameterError(
            f"{parameter('space')} and {parameter('n_points')} cannot both be given: the space says how many points "
            "there are."
        )
    closed = None if closed is None else check_flag(closed, "closed")
    if isinstance(space, Space) and closed not in (None, space.closed):
        raise ParameterError(f"{parameter('closed', closed)} contradicts {parameter('space')} {space!r}.")
    n_points = None if n_points is None else check_count(n_points, 3, "n_points")
    wanted = Wanted(space, n_points, closed, missing)
    check_choice(on_error, ("raise", "skip"), "on_error")
    fps = None if fps is None else check_positive(fps, "fps")
    if format is not None:
        check_choice(format, FORMATS, "format")
    pattern = None if label_from is None else PathPattern(label_from)
    if pattern is not None and pattern.columns:
        label = pattern.columns[0] if label is None else label
    elif label is not None and pattern is not None:
        raise ParameterError(
            f"{parameter('label')} and {parameter('label_from')} cannot both be given: each says what the labels are."
        )
    sheet = None if join is None else Sheet(join, on)
    if sheet is not None and pattern is not None and label is None and "label" in sheet.columns:
        raise ParameterError(
            f"{parameter('label_from')} and the column 'label' of {sheet.name} both say what the labels are: rename "
            f"the column, or leave {parameter('label_from')} out."
        )
    reading = Reading(wanted, on_error == "skip", pattern, options, sheet, label, fps)
    if is_data_frame(paths):
        if format is not None or label_from is not None:
            raise ParameterError(
                f"{parameter('format')} and {parameter('label_from')} are for files: a data frame has columns, "
                f"{format_option('label_column=')} names one."
            )
        reading.files, reading.frame = [(Path("DataFrame"), DATA_FRAME)], paths
        _check_options(options, [DATA_FRAME])
        return reading
    if hasattr(paths, "__array__"):
        raise ParameterTypeError(
            f"paths must be a path or a list of paths, got {type(paths).__name__}: ShapeSet(X, space) makes a set of "
            "an array, from_columns(X) shapes of a table of numbers."
        )
    reading.files, reading.remarks = list_files(paths, format, reading.skipped, leave_out)
    reading.n_unlisted = len(reading.skipped)
    reading.has_many = len(reading.files) + reading.n_unlisted > 1
    _check_options(options, [known for _, known in reading.files])
    return reading


def _check_options(options: dict[str, Any], formats: Sequence[Format]) -> None:
    """Refuse options that no format of the files takes."""
    known = {option for one in formats for option in one.options}
    unknown = sorted(set(options) - known)
    if unknown:
        names = ", ".join(sorted({one.name for one in formats}))
        takes = ", ".join(sorted(known)) or "none"
        named = [*signature(read).parameters, *sorted(known)]
        meant = did_you_mean(unknown[0], named, lambda name: (format_option if name in known else parameter)(name))
        raise ParameterTypeError(
            f"The format {names} has no option {', '.join(unknown)}{meant}; its options are: {takes}. The "
            f"command shapelex formats {min(one.name for one in formats)} explains them."
        )
