"""Poses of DeepLabCut: a table as CSV or HDF5 comes in, a record for each individual and frame goes out.

Columns have three names, scorer, body part and coordinate, or four with the individual. A row is a frame of a video, or
an image that somebody labeled. In HDF5 the names are pickled lists of text: their parts are read one by one, and
nothing is unpickled.
"""

import csv
import pickletools
import re
from collections.abc import Generator, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from shapelex._extras import load_library
from shapelex._typing import FloatArray, IntArray
from shapelex._validation import points_to_complex
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.hdf5 import check_size, follow, opens_as_hdf5
from shapelex.io.formats.poses import Poses, check_likelihood, pose_records
from shapelex.io.formats.time_series import check_max_gap
from shapelex.io.guards import read_head
from shapelex.io.numbers import parse_number
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.text_file import open_text

if TYPE_CHECKING:
    import h5py

_LEVELS = ("scorer", "individuals", "bodyparts", "coords")
_GROUPS = ("df_with_missing", "tracks", "keypoints")
_MOST_LEVELS = 6
_FRAME = re.compile(r"\d{1,15}")
# Names of the columns from scorer to coordinate, the frames or images, and the numbers of all rows.
_Table: TypeAlias = tuple[list[tuple[str, ...]], IntArray | list[str], FloatArray]


def recognizes(path: Path) -> bool:
    """Tell whether a file is of DeepLabCut by the first word of its text, or by the name of its table."""
    if re.match(rb"(\xef\xbb\xbf)?scorer[,;\t]", read_head(path, 16)):
        return True
    return opens_as_hdf5(path, lambda file: any("pandas_type" in file[name].attrs for name in _GROUPS if name in file))


def read_records(
    path: Path,
    *,
    likelihood: float | None = None,
    individual: str | None = None,
    max_gap: int | None = None,
    y_down: bool = True,
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each individual in each frame in which it is seen, ordered by individual.

    Parameters
    ----------
    path : Path
        File to read.
    likelihood : float, optional
        Landmarks whose likelihood is below this are missing; None takes all.
    individual : str, optional
        Read this individual alone; by default all that have the body parts of the first.
    max_gap : int, optional
        A new sequence begins where more frames than this are missing; None keeps each individual in one sequence.
    y_down : bool, default: True
        Whether y points down in the file, as DeepLabCut has it; it is then negated.
    """
    check_likelihood(likelihood)
    check_max_gap(max_gap)
    if read_head(path, 8) == b"\x89HDF\r\n\x1a\n":
        columns, frames, values = _read_hdf5(path)
    else:
        columns, frames, values = yield from _read_csv(path)
    poses, left_out = _as_poses(columns, frames, values, individual, path)
    yield from pose_records(poses, path, likelihood=likelihood, max_gap=max_gap, y_down=y_down)
    if left_out:
        yield Remark(
            f"individuals {', '.join(left_out)[:200]}",
            f"left out, since their body parts are not those of {poses.individuals[0]}; the option individual= reads "
            "one of them.",
        )


def _as_poses(
    columns: Sequence[tuple[str, ...]],
    frames: IntArray | list[str],
    values: FloatArray,
    individual: str | None,
    path: Path,
) -> tuple[Poses, list[str]]:
    """Return the poses, and the individuals that were left out."""
    if len({names[0] for names in columns}) > 1:
        raise ShapeFileError(f"{path} has columns of several scorers: save those of one.")
    places: dict[str, dict[str, dict[str, int]]] = {}
    for place, names in enumerate(columns):
        owner, part, coordinate = ("", *names[1:]) if len(names) == 3 else names[1:]
        if coordinate not in ("x", "y", "likelihood"):
            raise ShapeFileError(
                f"{path}: the coordinates of body part {part!r} must be x, y and likelihood, got {coordinate!r}; "
                "poses in space are not planar."
            )
        if places.setdefault(owner, {}).setdefault(part, {}).setdefault(coordinate, place) != place:
            raise ShapeFileError(f"{path} has the column {', '.join(names)} twice.")
    if individual is not None and individual not in places:
        raise ShapeFileError(
            f"{path} has no individual {individual!r}, but {', '.join(filter(None, places)) or 'one'}."
        )
    first = next(iter(places)) if individual is None else individual
    landmarks = list(places[first])
    chosen = [first] if individual else [name for name, parts in places.items() if set(parts) == set(landmarks)]
    taken = [places[name][part] for name in chosen for part in landmarks]
    if not all({"x", "y"} <= set(part) for part in taken):
        raise ShapeFileError(f"{path}: a body part has x without y, or y without x.")
    shape = (len(values), len(chosen), len(landmarks))
    xy = np.stack([values[:, [part[axis] for part in taken]] for axis in ("x", "y")], axis=-1)
    points = points_to_complex(xy.reshape(*shape, 2)).swapaxes(0, 1)
    likelihoods = None
    if all("likelihood" in part for part in taken):
        likelihoods = values[:, [part["likelihood"] for part in taken]].reshape(shape).swapaxes(0, 1)
    left_out = [name for name in places if name not in chosen] if individual is None else []
    return Poses(points, likelihoods, frames, chosen, landmarks), left_out


def _read_csv(path: Path) -> Generator[BadRecord, None, _Table]:
    """Yield the rows that cannot be read, and return the table."""
    head = read_head(path, 64).removeprefix(b"\xef\xbb\xbf")
    delimiter = chr(head[6]) if head[6:7] in (b",", b";", b"\t") else ","
    lines = chain.from_iterable(block.splitlines(keepends=True) for block in open_text(path).blocks())
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        levels: list[list[str]] = []
        for row in islice(rows, _MOST_LEVELS):
            levels.append(row)
            if row and row[0] == "coords":
                break
        found = [row[0] if row else "" for row in levels]
        if found not in (list(_LEVELS), [_LEVELS[0], *_LEVELS[2:]]) or len({len(row) for row in levels}) > 1:
            raise ShapeFileError(
                f"{path} is no DeepLabCut table: expected rows of one length for scorer, bodyparts and coords, and "
                f"for individuals where there are several, found {', '.join(found)[:200]}."
            )
        # Images are named in three columns by newer versions: folder, video, file.
        n_names = next((place for place, name in enumerate(levels[-1]) if place and name), len(levels[-1]))
        columns = list(zip(*(row[n_names:] for row in levels), strict=True))
        frames: list[str] = []
        values: list[FloatArray] = []
        for row in rows:
            if not row:
                continue
            try:
                if len(row) != len(levels[0]):
                    raise ValueError(f"the table has {len(levels[0])} columns, this row {len(row)}")
                values.append(np.array([parse_number(cell) for cell in row[n_names:]]))
            except ValueError as error:
                yield BadRecord(f"line {rows.line_num}", f"{error}.")
            else:
                frames.append("/".join(row[:n_names]))
    except csv.Error as error:
        raise ShapeFileError(f"{path}, line {rows.line_num}: {error}.") from error
    if not values or not columns:
        raise ShapeFileError(f"{path} holds no row of numbers.")
    if len(set(frames)) < len(frames):
        raise ShapeFileError(f"{path} has several rows for one frame: save the rows of one video.")
    is_video = n_names == 1 and all(map(_FRAME.fullmatch, frames))
    return columns, np.array(frames, dtype=np.int64) if is_video else frames, np.stack(values)


def _read_hdf5(path: Path) -> _Table:
    h5py = load_library("h5py", "h5py", "Reading HDF5 files")
    try:
        with h5py.File(path, "r") as file:
            return _read_table(file, path)
    except (ShapeFileError, ImportError):
        raise
    except Exception as error:  # h5py raises nearly anything on damaged bytes
        raise ShapeFileError(f"{path} cannot be read as a DeepLabCut file: {error}.") from error


def _read_table(file: "h5py.File", path: Path) -> _Table:
    name = next((name for name in _GROUPS if name in file), _GROUPS[0])
    found = follow(file, f"{name}/table", path)
    fields = getattr(getattr(found, "dtype", None), "names", None) or ()
    blocks = [field for field in fields if re.fullmatch(r"values_block_\d+", field)]
    if not blocks or "index" not in fields or found.ndim != 1 or found.is_virtual or found.external:
        raise ShapeFileError(
            f"{path} does not hold its poses as one table, as DeepLabCut saves those of videos: read the .csv file "
            "that it writes beside."
        )
    check_size(found, name, path)
    columns: list[tuple[str, ...]] = []
    values = []
    for block in blocks:
        names = _text_in_pickle(bytes(found.attrs[f"{block}_kind"]), path)
        numbers = np.asarray(found.fields(block)[()], dtype=float).reshape(len(found), -1)
        if numbers.shape[1] != len(names):
            raise ShapeFileError(f"{path}: {len(names)} columns are named, {numbers.shape[1]} are there.")
        columns += names
        values.append(numbers)
    if not len(found) or {len(names) for names in columns} not in ({3}, {4}):
        raise ShapeFileError(
            f"{path} is no DeepLabCut table: it has no rows, or columns without the three or four names."
        )
    index = found.fields("index")[()]
    if len(np.unique(index)) < len(index):
        raise ShapeFileError(f"{path} has several rows for one frame: save the rows of one video.")
    if index.dtype.kind in "iu":
        return columns, index.astype(np.int64), np.hstack(values)
    return columns, [str(image, "utf-8", "replace") for image in index.tolist()], np.hstack(values)


def _text_in_pickle(pickled: bytes, path: Path) -> list[tuple[str, ...]]:
    """Return the list of tuples of text that a pickle spells, without unpickling: nothing else is known here."""
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[Any, Any] = {}
    try:
        for operation, value, _ in pickletools.genops(pickled):
            match operation.name:
                case "MARK":
                    marks.append(len(stack))
                case "LIST" | "TUPLE":
                    start = marks.pop()
                    items = stack[start:]
                    stack[start:] = [items if operation.name == "LIST" else tuple(items)]
                case "UNICODE" | "STRING":
                    stack.append(value)
                case "PUT":
                    memo[value] = stack[-1]
                case "GET":
                    stack.append(memo[value])
                case "APPEND":
                    item = stack.pop()
                    stack[-1].append(item)
                case "STOP":
                    break
                case _:
                    raise ValueError(f"it holds {operation.name}")
        (names,) = stack
        if not all(type(one) is tuple and all(type(name) is str for name in one) for one in names):
            raise ValueError("it is no list of names")
    except Exception as error:  # damaged pickles fail in any of these steps
        raise ShapeFileError(
            f"{path}: the names of its columns cannot be read without unpickling ({error}): read the .csv file."
        ) from error
    return list(names)
