"""Files of shapes to sets of shapes.

In come paths, a folder or a pattern; out goes one :class:`~shapelex.io.shapeset.ShapeSet`, whatever the formats.
"""

import glob
import logging
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from shapelex._validation import check_choice, check_count, check_flag
from shapelex.exceptions import ShapeFileError, ShapelexError, SkippedRecordsWarning
from shapelex.io.assembly import Found, Wanted, assemble, check_record, conform
from shapelex.io.formats import FORMATS, Format, find_format
from shapelex.io.guards import files_below
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.shapeset import ShapeSet
from shapelex.spaces import Space

logger = logging.getLogger(__name__)

PathLike: TypeAlias = str | os.PathLike[str]
Progress: TypeAlias = Callable[[int, int], None]

_SKIPPED_NAMED = 3
_MISSING_HINT = ': missing="allow" keeps them as NaN, on_error="skip" leaves such records out'
_PATTERN = re.compile(r"[*?\[]")


def read(
    paths: PathLike | Iterable[PathLike],
    format: str | None = None,  # noqa: A002
    *,
    space: Space | None = None,
    n_points: int | None = None,
    closed: bool | None = None,
    missing: str = "error",
    on_error: str = "raise",
    label_from: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> ShapeSet:
    r"""Read shapes from files.

    Parameters
    ----------
    paths : path, or iterable of paths
        A file; a folder, whose files and subfolders are read in order of their names; a pattern such as
        ``"wings/*.tps"`` (``**`` for any depth); or a list of these.
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
        Labels from the paths of the files: ``"parent"`` for the folder a file is in, or a regular expression whose
        first group is the label.
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
    wanted = _check_wanted(space, n_points, closed, missing)
    check_choice(on_error, ("raise", "skip"), "on_error")
    if format is not None:
        check_choice(format, FORMATS, "format")
    label_of = _label_maker(label_from)
    session = _Session(wanted, on_error == "skip", label_of, options)
    files, ignored = _list_files(paths, format, session.skipped if session.skips else None)
    session.has_many = len(files) + len(session.skipped) > 1
    _check_options(options, [known for _, known in files])
    parts: list[ShapeSet | Found] = []
    for n_done, (path, known) in enumerate(files, start=1):
        parts += session.read_file(path, known)
        logger.debug("read %s as %s", path, known.name)
        if progress is not None:
            progress(n_done, len(files))
    if not parts:
        reasons = f": {session.skipped[0]}" if session.skipped else ""
        raise ShapeFileError(f"No shape could be read from {_name_files(files)}{reasons}")
    shapes = _join(parts, wanted)
    if wanted.closed is not None and shapes.closed != wanted.closed:
        raise ShapeFileError(f"closed={closed} was asked for, but the shapes are in {shapes.space!r}.")
    session.warn()
    provenance = {"files": [str(path) for path, _ in files], "formats": sorted({known.name for _, known in files})}
    return shapes.replace(
        notes=(*shapes.notes, *session.notes(ignored)),
        provenance={**provenance, **({"source": dict(shapes.provenance)} if shapes.provenance else {})},
    )


@dataclass
class _Session:
    """What goes on over all files of one call."""

    wanted: Wanted
    skips: bool
    label_of: Callable[[Path], str] | None
    options: dict[str, Any]
    has_many: bool = False
    skipped: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def read_file(self, path: Path, known: Format) -> list[ShapeSet | Found]:
        """Return the set or the good records of a file; with `skips`, take note of the bad ones."""
        if self.wanted.missing == "negative" and not known.negative_is_missing:
            raise ValueError(f'missing="negative" has no meaning for {path}: the format {known.name} has no such use.')
        options = {name: value for name, value in self.options.items() if name in known.options}
        try:
            _check_not_empty(path)
            if known.makes_sets:
                return [self._label_set(conform(known.reader(path, **options), path, self.wanted), path)]
            return list(self._good_records(path, known.reader(path, **options)))
        except ShapeFileError as error:
            if not (self.skips and self.has_many):
                raise
            self.skipped.append(str(error))
            return []

    def _good_records(self, path: Path, records: Iterator[Record | BadRecord | Remark]) -> Iterator[Found]:
        hint = "" if self.skips else _MISSING_HINT
        for record in records:
            if isinstance(record, Remark):
                self.remarks.append(f"{path}, {record.where}: {record.text}")
                continue
            checked = check_record(record, self.wanted, hint) if isinstance(record, Record) else record
            if isinstance(checked, Record):
                yield Found(path, checked if self.label_of is None else replace(checked, label=self.label_of(path)))
                continue
            message = f"{path}, {checked.where}: {checked.reason}"
            if not self.skips:
                raise ShapeFileError(message)
            self.skipped.append(message)

    def _label_set(self, shapes: ShapeSet, path: Path) -> ShapeSet:
        changes: dict[str, Any] = {}
        if self.label_of is not None:
            changes["labels"] = [self.label_of(path)] * len(shapes)
        if self.has_many:
            changes["metadata"] = {**shapes.metadata, "file": [str(path)] * len(shapes)}
        return shapes.replace(**changes) if changes else shapes

    def warn(self) -> None:
        """Say once how many records were left out, and the first few reasons."""
        if not self.skipped:
            return
        named = "; ".join(self.skipped[:_SKIPPED_NAMED])
        n_more = len(self.skipped) - _SKIPPED_NAMED
        more = f"; and {n_more} more, in the notes of the set" if n_more > 0 else ""
        noun = "record" if len(self.skipped) == 1 else "records"
        message = f"Left out {len(self.skipped)} {noun}: {named}{more}"
        warnings.warn(message, SkippedRecordsWarning, stacklevel=3)

    def notes(self, ignored: Sequence[Path]) -> list[str]:
        """Return a note for every record left out, and one for files of other kinds."""
        notes = [f"left out: {message}" for message in self.skipped] + self.remarks
        if ignored:
            named = ", ".join(path.name for path in ignored[:_SKIPPED_NAMED])
            more = f" and {len(ignored) - _SKIPPED_NAMED} more" if len(ignored) > _SKIPPED_NAMED else ""
            notes.append(f"no files of shapes, not read: {named}{more}")
        return notes


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


def _list_files(
    paths: Any, name: str | None, skipped: list[str] | None
) -> tuple[list[tuple[Path, Format]], list[Path]]:
    """Return the files to read with their formats, and those in folders that are no files of shapes.

    A file named that is of no known format is an error, or goes to `skipped` where that is a list.
    """
    if not isinstance(paths, str | os.PathLike | Iterable):
        raise TypeError(f"paths must be a path or a list of paths, got {paths!r}.")
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files: list[tuple[Path, Format]] = []
    ignored: list[Path] = []
    for one in given:
        if not isinstance(one, str | os.PathLike):
            raise TypeError(f"paths must be a path or a list of paths, got {one!r}.")
        path = Path(one).expanduser()
        named: list[Path] = []
        if path.is_dir():
            before = len(files)
            for inner in files_below(path):
                known = _format_in_folder(inner, name)
                if known is None:
                    ignored.append(inner)
                else:
                    files.append((inner, known))
            if len(files) == before:
                raise FileNotFoundError(f"{path} holds no file that can be read{f' as {name}' if name else ''}.")
        elif not path.exists() and _PATTERN.search(str(path)):
            found = sorted(Path(match) for match in glob.glob(str(path), recursive=True))  # noqa: PTH207
            found = [match for match in found if match.is_file()]
            if not found:
                raise FileNotFoundError(f"No file matches {path}.")
            named += found
        elif not path.exists():
            raise FileNotFoundError(f"There is no file {path}.")
        elif not path.is_file():
            # Looking into a pipe would wait for whoever writes to it.
            raise ShapeFileError(f"{path} is no regular file.")
        else:
            named = [path]
        for match in named:
            try:
                _check_not_empty(match)
                files.append((match, find_format(match, name)))
            except ShapeFileError as error:
                if skipped is None:
                    raise
                skipped.append(str(error))
    if not files and skipped:
        raise ShapeFileError(f"No shape could be read: {skipped[0]}")
    if not files:
        raise FileNotFoundError("paths is empty: give at least one file.")
    return files, ignored


def _check_not_empty(path: Path) -> None:
    if path.stat().st_size == 0:
        raise ShapeFileError(f"{path} is empty: it has 0 bytes.")


def _format_in_folder(path: Path, name: str | None) -> Format | None:
    if name is not None:
        return FORMATS[name] if FORMATS[name].claims(path) else None
    try:
        return find_format(path) if any(known.claims(path) for known in FORMATS.values()) else None
    except ShapeFileError:
        return None


def _label_maker(label_from: str | None) -> Callable[[Path], str] | None:
    if label_from is None:
        return None
    if not isinstance(label_from, str):
        raise TypeError(f'label_from must be "parent" or a regular expression, got {label_from!r}.')
    if label_from == "parent":
        return lambda path: path.resolve().parent.name
    try:
        pattern = re.compile(label_from)
    except re.error as error:
        raise ValueError(f"label_from={label_from!r} is no regular expression: {error}.") from error
    if pattern.groups < 1:
        raise ValueError(f"label_from={label_from!r} needs a group in parentheses around the label.")

    def label_of(path: Path) -> str:
        match = pattern.search(path.as_posix())
        if match is None:
            raise ShapeFileError(f"{path} does not match label_from={label_from!r}, so it has no label.")
        return match.group(1) or ""

    return label_of


def _join(parts: Sequence[ShapeSet | Found], wanted: Wanted) -> ShapeSet:
    """Return one set of all parts in order; neighboring records are assembled together."""
    sets: list[ShapeSet] = []
    for is_ready, group in groupby(parts, key=lambda part: isinstance(part, ShapeSet)):
        members: list[Any] = list(group)
        sets += members if is_ready else [assemble(members, wanted)]
    if len(sets) == 1:
        return sets[0]
    try:
        return ShapeSet.concatenate(sets)
    except ShapelexError as error:
        raise ShapeFileError(f"The files do not make up one set. {error}") from error


def _check_options(options: dict[str, Any], formats: Sequence[Format]) -> None:
    """Refuse options that no format of the files takes."""
    known = {option for one in formats for option in one.options}
    unknown = sorted(set(options) - known)
    if unknown:
        names = ", ".join(sorted({one.name for one in formats}))
        takes = ", ".join(sorted(known)) or "none"
        raise TypeError(f"The format {names} has no option {', '.join(unknown)}; its options are: {takes}.")


def _name_files(files: list[tuple[Path, Format]]) -> str:
    first = str(files[0][0])
    return first if len(files) == 1 else f"{first} and {len(files) - 1} more files"
