"""Poses of DeepLabCut: a table as CSV or HDF5 comes in, a record for each individual and frame goes out.

Columns have three names, scorer, body part and coordinate, or four with the individual. A row is a frame of a video, or
an image that somebody labeled. In HDF5 tables the names are pickled lists of text: their parts are read one by one, and
nothing is unpickled. Records of :class:`Poses` are made here for SLEAP too: a landmark below the likelihood that the
caller asks for is missing, and frames in which nothing is known of an individual are left out, as remarks say.
"""

import pickletools
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from shapelex._extras import load_library
from shapelex._messages import format_option
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import check_number, points_to_complex
from shapelex.exceptions import ParameterError, ShapeFileError
from shapelex.files.guards import read_head, refusing
from shapelex.files.tables import TextRows, text_lines
from shapelex.files.text_file import open_text
from shapelex.io.formats.hdf5 import attributes_of, check_size, check_text, follow, opens_as_hdf5, read_values
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.series import check_max_gap, series_records

if TYPE_CHECKING:
    import h5py

_LEVELS = ["scorer", "individuals", "bodyparts", "coords"]
_GROUPS = ("df_with_missing", "tracks", "keypoints")
_MOST_LEVELS = 6
_NAMED = 100
_FRAME = re.compile(r"\d{1,15}")

T = TypeVar("T")
# Names of the columns from scorer to coordinate, the frames or images, and the numbers of all rows.
_Table: TypeAlias = tuple[list[tuple[str, ...]], IntArray | list[str], FloatArray]


@dataclass(frozen=True)
class Poses:
    """Poses as a file has them.

    Parameters
    ----------
    points : ndarray of complex, shape (n_individuals, n_frames, n_landmarks)
        The landmarks.
    likelihoods : ndarray of float, same shape, or None
        How sure the program is of each.
    frames : ndarray of int, or sequence of str
        Numbers of the frames of a video, or names of images that are not a video.
    individuals : sequence of str
        Their names; a single empty one where the file names none.
    landmarks : sequence of str
        Names of the landmarks, in order.
    tracked : bool
        Whether an individual is the same animal in all frames.
    """

    points: ComplexArray
    likelihoods: FloatArray | None
    frames: IntArray | Sequence[str]
    individuals: Sequence[str]
    landmarks: Sequence[str]
    tracked: bool = True


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
    check_options(likelihood, max_gap)
    if read_head(path, 8) == b"\x89HDF\r\n\x1a\n":
        table = read_hdf5(path, _read_hdf5, "DeepLabCut")
    else:
        table = yield from _read_csv(path)
    poses, left_out = _as_poses(table, individual, path)
    yield from pose_records(poses, path, likelihood, max_gap, y_down)
    if left_out:
        yield Remark(
            f"individuals {', '.join(left_out)[:200]}",
            f"left out, since their body parts are not those of {poses.individuals[0]}; the option individual= reads "
            "one of them.",
        )


def check_options(likelihood: float | None, max_gap: int | None) -> None:
    """Refuse a cut-off that is no likelihood, and a gap that is no number of frames."""
    if likelihood is not None and not 0 <= check_number(likelihood, format_option("likelihood")) <= 1:
        raise ParameterError(f"{format_option('likelihood')} must be between 0 and 1, got {likelihood!r}.")
    check_max_gap(max_gap)


def read_hdf5(path: Path, read: Callable[["h5py.File", Path], T], program: str) -> T:
    """Return what `read` finds in an HDF5 file of a program; all that goes wrong with damaged bytes is one error."""
    h5py = load_library("h5py", "h5py", f"Reading {program} files in HDF5")
    with refusing(path, f"a {program} file"), h5py.File(path, "r") as file:
        return read(file, path)


def pose_records(
    poses: Poses, path: Path, likelihood: float | None, max_gap: int | None, y_down: bool
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each individual in each frame in which it is seen, ordered by individual, then remarks."""
    n_individuals, n_frames, n_landmarks = poses.points.shape
    points = poses.points.conj() if y_down else poses.points.copy()
    remarks = []
    if y_down:
        text = "taken to point down, as in images, and negated; the option y_down=False keeps the numbers of the file."
        remarks.append(Remark("y", text))
    is_known = ~np.isnan(points)
    if poses.likelihoods is None:
        if likelihood is not None:
            raise ShapeFileError(
                f"{path} has no likelihoods, so {format_option('likelihood', likelihood)} has no meaning: leave it out."
            )
    elif likelihood is None:
        text = "all were taken, however unlikely; the option likelihood=0.6 makes those below 0.6 missing."
        remarks.append(Remark(f"{int(is_known.sum())} landmarks", text))
    else:
        with np.errstate(invalid="ignore"):
            is_unlikely = is_known & (poses.likelihoods < likelihood)
        points[is_unlikely] = complex(np.nan, np.nan)
        text = f"{int(is_unlikely.sum())} of them are below likelihood={likelihood:g} and were made missing."
        remarks.append(Remark(f"{int(is_known.sum())} landmarks", text))
    named = ", ".join(name[:40] for name in poses.landmarks[:_NAMED])
    remarks.append(Remark(f"{n_landmarks} landmarks", f"in this order: {named}{', …' * (n_landmarks > _NAMED)}."))
    rows = points.reshape(-1, n_landmarks)
    has_names = list(poses.individuals) != [""]
    individuals = np.repeat(np.arange(n_individuals), n_frames) if has_names else None
    images = None if isinstance(poses.frames, np.ndarray) else poses.frames
    frames = np.tile(np.arange(n_frames) if images is not None else poses.frames, n_individuals)
    names, stem = poses.individuals if has_names else None, path.name.split(".")[0]
    for found in series_records(rows, individuals, frames, stem, max_gap=max_gap, closed=None, names=names):
        if images is not None and isinstance(found, Record):
            image, owner = images[found.frame or 0], found.metadata.get("individual")
            name, told = f"{image}:{owner}" if has_names else image, {"image": image, **found.metadata}
            yield replace(found, id=name, metadata=told, sequence=None, frame=None, where=f"image {name!r}")
        elif images is not None:
            yield Remark(found.where.replace("frames", "poses"), "left out, since no landmark is known.")
        else:
            yield replace(found, sequence=None) if isinstance(found, Record) and not poses.tracked else found
    yield from remarks


def _as_poses(table: _Table, individual: str | None, path: Path) -> tuple[Poses, list[str]]:
    """Return the poses, and the individuals that were left out."""
    columns, frames, values = table
    if not len(values) or {len(names) for names in columns} not in ({3}, {4}):
        raise ShapeFileError(
            f"{path} is no DeepLabCut table: it holds no row of numbers, or columns without the three or four names."
        )
    if len(np.unique(frames)) < len(frames):
        raise ShapeFileError(f"{path} has several rows for one frame: save the rows of one video.")
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
    rows = TextRows(text_lines(open_text(path)), delimiter, path)
    levels: list[list[str]] = []
    for row in islice(rows, _MOST_LEVELS):
        levels.append(row)
        if row[0] == "coords":
            break
    found = [row[0] for row in levels]
    if found not in (_LEVELS, [_LEVELS[0], *_LEVELS[2:]]) or len({len(row) for row in levels}) > 1:
        raise ShapeFileError(
            f"{path} is no DeepLabCut table: expected rows of one length for scorer, bodyparts and coords, and for "
            f"individuals where there are several, found {', '.join(found)[:200]}."
        )
    # Images are named in three columns by newer versions: folder, video, file.
    n_columns = len(levels[0])
    n_names = next((place for place, name in enumerate(levels[-1]) if place and name), n_columns)
    frames: list[str] = []
    values: list[FloatArray] = [np.empty((0, n_columns - n_names))]
    for block in rows.blocks(n_columns):
        numbers, faults = block.numbers(range(n_names, n_columns))
        for place, fault in faults.items():
            yield BadRecord(f"line {block.lines[place]}", fault)
        good = [place for place in range(len(numbers)) if place not in faults]
        images = list(map("/".join, zip(*map(block.texts, range(n_names)), strict=True)))
        frames += [images[place] for place in good]
        values.append(numbers[good])
    is_video = n_names == 1 and all(map(_FRAME.fullmatch, frames))
    columns = list(zip(*(row[n_names:] for row in levels), strict=True))
    return columns, np.array(frames, dtype=np.int64) if is_video else frames, np.concatenate(values)


def _read_hdf5(file: "h5py.File", path: Path) -> _Table:
    """Return the table that pandas saved in either of its ways: as one table, or as blocks of columns."""
    name = next((name for name in _GROUPS if name in file), _GROUPS[0])
    group = follow(file, name, path)
    if group is None:
        raise ShapeFileError(f"{path} is no DeepLabCut file: it has no group {' or '.join(_GROUPS)}.")
    columns: list[tuple[str, ...]] = []
    values = []
    index: Any

    def stored(key: str) -> Any:
        found = follow(file, f"{name}/{key}", path)
        if not hasattr(found, "dtype") or found.is_virtual or found.external:
            raise ShapeFileError(f"{path} lacks {name}/{key}: read the .csv file that DeepLabCut writes beside.")
        check_size(found, key, path)
        check_text(found, path)
        return found

    def axis(key: str) -> Any:
        n_levels = int(attributes_of(group, path).get(f"{key}_nlevels", 0))
        if not n_levels:
            return stored(key)[()]
        names = [stored(f"{key}_level{level}")[()] for level in range(min(n_levels, _MOST_LEVELS))]
        places = [stored(f"{key}_label{level}")[()].astype(np.uint64) for level in range(len(names))]
        return list(zip(*(level[place].tolist() for level, place in zip(names, places, strict=True)), strict=True))

    if "table" in group:
        table = stored("table")
        for block in [field for field in table.dtype.names or () if re.fullmatch(r"values_block_\d+", field)]:
            columns += _text_in_pickle(bytes(attributes_of(table, path)[f"{block}_kind"]), path)
            values.append(np.asarray(table.fields(block)[()], dtype=float).reshape(len(table), -1))
        index = table.fields("index")[()]
    else:
        for number in range(int(attributes_of(group, path).get("nblocks", 1))):
            columns += [tuple(map(_as_text, names)) for names in axis(f"block{number}_items")]
            block = read_values(stored(f"block{number}_values"), "values", path).astype(float)
            values.append(block if "transposed" in stored(f"block{number}_values").attrs else block.T)
        index = axis("axis1")
    numbers = np.hstack(values)
    if numbers.shape != (len(index), len(columns)):
        raise ShapeFileError(f"{path}: {len(columns)} columns are named, {numbers.shape[1]} are there.")
    if getattr(index, "dtype", np.dtype(object)).kind in "iu":
        return columns, index.astype(np.int64), numbers
    return columns, [_as_text(image) for image in index], numbers


def _as_text(name: Any) -> str:
    """Return a name of HDF5 as text, and a path that is kept in parts in one."""
    if isinstance(name, tuple):
        return "/".join(map(_as_text, name))
    return str(name, "utf-8", "replace") if isinstance(name, bytes) else str(name)


def _text_in_pickle(pickled: bytes, path: Path) -> list[tuple[str, ...]]:
    """Return the list of tuples of text that a pickle spells, without unpickling: nothing else is known here."""
    names: list[tuple[Any, ...]] = []
    words: list[Any] = []
    memo: dict[Any, Any] = {}
    try:
        for operation, value, _ in pickletools.genops(pickled):
            match operation.name:
                case "UNICODE" | "STRING":
                    words.append(value)
                case "PUT":
                    memo[value] = words[-1] if words else None
                case "GET":
                    words.append(memo[value])
                case "TUPLE":
                    names.append(tuple(words))
                    words = []
                case "MARK" | "LIST" | "APPEND" | "STOP":
                    pass
                case _:
                    raise ValueError(f"it holds {operation.name}")
        if words or not all(type(word) is str for one in names for word in one):
            raise ValueError("it is no list of names")
    except Exception as error:  # damaged pickles fail in any of these steps
        raise ShapeFileError(
            f"{path}: the names of its columns cannot be read without unpickling ({error}): read the .csv file."
        ) from error
    return names
