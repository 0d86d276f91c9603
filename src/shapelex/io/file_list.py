"""Files to read: paths, folders and patterns to files with their formats, and labels from their paths."""

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from shapelex._messages import marked_text, parameter
from shapelex.exceptions import ParameterError, ParameterTypeError, ShapeFileError
from shapelex.files.atomic import is_zarr_folder, real_path, recover
from shapelex.files.guards import files_below
from shapelex.io.names import MASK_NAME
from shapelex.io.registry import FORMATS, Format, find_format
from shapelex.shapes.columns import FILE

PathLike: TypeAlias = str | os.PathLike[str]

_FILES_NAMED = 3
_PATTERN = re.compile(r"[*?\[]")
_FIELD = re.compile(r"\{([^\W\d]\w*)\}")
# What Cellpose writes beside a mask: the same objects again, or pictures of them.
_SAME_OBJECTS = re.compile(r"(?i)(.+?)(?:_cp_outlines|_cp_output|_flows|_outlines|_seg)")


def list_files(
    paths: Any, name: str | None, skipped: list[str], leave_out: Path | None = None
) -> tuple[list[tuple[Path, Format]], list[str]]:
    """Return the files to read with their formats, and remarks on those that are not read.

    What is wrong with files that are named, but are of no known format, goes to `skipped`. What is found in folders or
    by patterns and is `leave_out` is not listed.
    """
    own = None if leave_out is None else real_path(leave_out)
    given = [paths] if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable) else list(paths)
    files: list[tuple[Path, Format]] = []
    ignored: list[Path] = []
    for one in given:
        if not isinstance(one, str | os.PathLike):
            raise ParameterTypeError(f"paths must be a path or a list of paths, got {one!r}.")
        if not os.fspath(one):
            # An empty variable of the shell, which would stand for the folder that one is in.
            raise ParameterError("paths must name files, got an empty path; '.' is the current folder.")
        path = Path(one).expanduser()
        if path.is_dir() and not is_zarr_folder(path):
            inner = [(file, _format_in_folder(file, name)) for file in _files_and_zarr_folders(path)]
            inner = [(file, known) for file, known in inner if real_path(file) != own]
            ignored += [file for file, known in inner if known is None]
            found = [(file, known) for file, known in inner if known is not None]
            if not found:
                raise FileNotFoundError(f"{path} holds no file that can be read{f' as {name}' if name else ''}.")
            files += found
            continue
        named = [path]
        if not path.exists() and _PATTERN.search(str(path)):
            matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))  # noqa: PTH207
            named = [match for match in matches if match.is_file() or is_zarr_folder(match)]
            named = [match for match in named if real_path(match) != own]
            if not named:
                raise FileNotFoundError(f"No file matches {path}.")
        elif not recover(path):
            raise FileNotFoundError(f"There is no file {path}.")
        elif not (path.is_file() or path.is_dir()):
            # Looking into a pipe would wait for whoever writes to it.
            raise ShapeFileError(f"{path} is not a regular file.")
        for match in named:
            try:
                check_not_empty(match)
                files.append((match, find_format(match, "zarr" if is_zarr_folder(match) else name)))
            except ShapeFileError as error:
                skipped.append(marked_text(error))
    if not files and skipped:
        raise ShapeFileError("\n".join(skipped))
    if not files:
        raise FileNotFoundError("paths is empty: give at least one file.")
    once = {real_path(one[0]): one for one in reversed(files)}
    repeated = [one[0] for one in files if once[real_path(one[0])] is not one]
    files, segmented = _leave_out_segmented([one for one in files if once[real_path(one[0])] is one])
    remarks = {
        "not read, since their masks lie beside them: {}; name them alone to read them.": segmented,
        "named several times, but read once: {}": repeated,
        "no files of shapes, not read: {}": ignored,
    }
    return files, [text.format(name_some(paths)) for text, paths in remarks.items() if paths]


def name_some(paths: Sequence[Path]) -> str:
    """Return the names of the first files, and how many more there are."""
    named = ", ".join(path.name for path in paths[:_FILES_NAMED])
    return f"{named} and {len(paths) - _FILES_NAMED} more" if len(paths) > _FILES_NAMED else named


def _leave_out_segmented(files: list[tuple[Path, Format]]) -> tuple[list[tuple[Path, Format]], list[Path]]:
    """Return the files without those that a mask among them was made of or with, and the files left out.

    A mask is an image such as ``a_cp_masks.tif`` or ``a_label.png`` beside ``a.tif``; what Cellpose writes with it is
    left out as well. An image with two masks is refused.
    """
    masks: dict[tuple[Path, str], list[Path]] = {}
    for path, known in files:
        if known.name == "image" and path.suffix != ".npy" and (found := MASK_NAME.fullmatch(path.stem)):
            masks.setdefault((path.parent, found[1]), []).append(path)
    for path, known in files:
        # What Cellpose saves for itself counts where its masks are not there as an image.
        if known.name == "image" and path.suffix == ".npy":
            masks.setdefault((path.parent, path.stem.removesuffix("_seg")), [path])
    if not masks:
        return files, []
    read, left_out = [], []
    are_masks = {path for own in masks.values() for path in own}
    for path, known in files:
        same = _SAME_OBJECTS.fullmatch(path.stem)
        bases = [path.stem] * (known.name == "image") + ([same[1]] if same else [])
        own = [] if path in are_masks else [mask for base in bases for mask in masks.get((path.parent, base), [])]
        if len(own) > 1:
            raise ShapeFileError(
                f"{path} has two masks beside it, {own[0].name} and {own[1].name}: choose one kind by a "
                f'pattern such as "{path.parent.name}/*_masks.tif".'
            )
        if own:
            left_out.append(path)
        else:
            read.append((path, known))
    return read, left_out


def _files_and_zarr_folders(folder: Path) -> Iterator[Path]:
    """Yield what can be read below a folder; a Zarr folder counts as one file."""
    last = None
    for path in files_below(folder):
        inner = next((parent for parent in path.parents if parent.suffix.lower() == ".zarr"), None)
        if inner is None or not is_zarr_folder(inner):
            yield path
        elif inner != last:
            last = inner
            yield inner


def check_not_empty(path: Path) -> None:
    """Refuse a file of no bytes."""
    if path.is_file() and path.stat().st_size == 0:
        raise ShapeFileError(f"{path} is empty: it has 0 bytes.")


def _format_in_folder(path: Path, name: str | None) -> Format | None:
    if name is not None:
        return FORMATS[name] if FORMATS[name].claims(path) else None
    try:
        return find_format(path) if any(known.claims(path) for known in FORMATS.values()) else None
    except ShapeFileError:
        return None


class PathPattern:
    """What paths say of their shapes: the folder, or the groups of a pattern, see :func:`shapelex.read`.

    Attributes
    ----------
    columns : tuple of str
        Names of the groups, of which the first is the label unless another is asked for; empty for one without a name.
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise ParameterTypeError(
                f'{parameter("label_from")} must be "parent", a pattern such as "{{arm}}/{{well}}.tif" or a regular '
                f"expression, got {text!r}."
            )
        self._text, self._is_of_names = text, _FIELD.search(text) is not None
        self.columns: tuple[str, ...] = ()
        self._patterns: list[re.Pattern[str]] = []
        if text == "parent":
            return
        # A name may be parted in several ways: then the shortest and the longest first parts differ.
        wanted = [_as_expression(text, part) for part in ("[^/]+?", "[^/]+")] if self._is_of_names else [text]
        try:
            self._patterns = list(map(re.compile, wanted))
        except re.error as error:
            raise ParameterError(f"{parameter('label_from', text)} is no regular expression: {error}.") from error
        self.columns = tuple(self._patterns[0].groupindex)
        if not self._patterns[0].groups:
            raise ParameterError(
                f"{parameter('label_from', text)} needs a group in parentheses around the label, or names as in "
                '"{arm}/{well}.tif".'
            )
        if taken := sorted({"id", "sequence", "closed", "frame", FILE} & set(self.columns)):
            raise ParameterError(
                f"{parameter('label_from', text)} has a part named {taken[0]!r}, which means something else: rename it."
            )

    def read(self, path: Path) -> tuple[str, ...]:
        """Return the text of each column, or the label alone; refuse paths that do not match."""
        if not self._patterns:
            return (real_path(path).parent.name,)
        # A pattern without folders is one of the name of the file.
        whole = path.absolute() if self._is_of_names else path
        text = whole.as_posix() if "/" in self._text else path.name
        found = [pattern.search(text) for pattern in self._patterns]
        if found[0] is None or found[-1] is None:
            raise ShapeFileError(f"{path} does not match {parameter('label_from', self._text)}, so it has no label.")
        parts = [tuple(one or "" for one in match.groups()) for match in found if match is not None]
        if parts[0] != parts[-1]:
            raise ShapeFileError(
                f"{parameter('label_from', self._text)} parts {path} in several ways, as {', '.join(parts[0])} or "
                f"{', '.join(parts[-1])}: give a regular expression with named groups, as in (?P<well>[^_]+)_."
            )
        match = found[0]
        return tuple(match[name] or "" for name in self.columns) or (match[1] or "",)


def _as_expression(text: str, field: str) -> str:
    """Return a pattern with names in braces as a regular expression that fits the end of a path."""
    parts = _FIELD.split(text)
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = [f"(?P<{name}>{field})" for name in parts[1::2]]
    return f"(?:^|/){''.join(parts)}$"
