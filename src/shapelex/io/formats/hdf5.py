"""Skeletons in HDF5: a file of Tierpsy, WormPose or anyone's comes in, one record for each frame goes out.

Tierpsy keeps skeletons in ``/coordinates/skeletons`` or ``/skeleton``, with a table that tells the worm and frame of
each row; others use ``/skeletons``. Any other dataset is read by its name: ``(n, n_points, 2)`` or complex ``(n,
n_points)``, or in another order of axes that the caller names. A large dataset is read in parts, so it may be larger
than memory. Frame rate and unit of length are read from the attributes of the file, where it has them. Datasets whose
values lie in other files are refused, as is one that declares far more than its file holds.

HDF5 keeps text of variable length elsewhere in the file, behind a number of bytes, an address and an index, and takes
as much memory as that number says before it looks at the address: 4 GiB for four damaged bytes. It offers no way to see
the number, so the header of an object is gone through here, as the HDF5 File Format Specification (version 3, section
IV.A) describes it. Not checked are attributes outside the header, where objects with very many have them.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from shapelex._extras import load_library
from shapelex._messages import format_option
from shapelex._typing import ComplexArray, IntArray
from shapelex._validation import check_choice, points_to_complex
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import LARGE_RATIO, read_head, refusing
from shapelex.io.records import Record, Remark
from shapelex.io.series import as_rate, block_records, check_max_gap, series_order
from shapelex.shapes.columns import FPS

if TYPE_CHECKING:
    import h5py

_MARK = b"\x89HDF\r\n\x1a\n"
_SKELETONS = ("/coordinates/skeletons", "/skeleton", "/skeletons")
_TABLES = ("/trajectories_data", "/timeseries_data", "/features_timeseries")
_WORM_COLUMNS = ("worm_index_joined", "worm_index", "worm_id")
_FRAME_COLUMNS = ("frame_number", "timestamp")
# Attributes of a file that tell its frame rate, and tables of Tierpsy that have them.
_RATES = ("fps", "framerate", "frame_rate", "expected_fps")
_DESCRIBED = (*_TABLES, "/plate_worms", "/mask", "/coordinates", "/")
# Orders of n shapes, p points, c coordinates.
_ORDERS = tuple("".join(order) for letters in ("npc", "np") for order in permutations(letters))
# The most that is held in memory, and the most that is held though it could be read in parts.
_MAX_BYTES = 2**31
_HELD_BYTES = 2**26
_MOST_TIMES_READ = 4
# Bytes of a part, as complex numbers; it grows to whole chunks, up to so many times its size.
_BLOCK_BYTES = 2**24
_MOST_GROWTH = 16
# Deflate packs at most 1,032 to one; a chunk that was never written takes no room at all.
_MAX_RATIO = 1100
_SMALL = 2**24
# Of the headers of objects; the last two are far above what one has.
_ATTRIBUTE, _CONTINUATION = 0x0C, 0x10
_VARIABLE_LENGTH = 9
_REFERENCE_BYTES = 16
_MAX_BLOCKS, _MAX_BLOCK_BYTES = 64, 1 << 24


def read_records(
    path: Path,
    *,
    dataset: str | None = None,
    axes: str | None = None,
    max_gap: int | None = None,
    y_down: bool = False,
) -> Iterator[Record | Remark]:
    """Yield a record for each row of skeletons that has one, ordered by worm and frame.

    Parameters
    ----------
    path : Path
        File to read.
    dataset : str, optional
        Name of the dataset; None looks for those of known programs, then for the only one that may hold points.
    axes : str, optional
        Order of the axes n (shapes), p (points) and c (x and y), such as "pcn"; "npc" when not given.
    max_gap : int, optional
        A new sequence begins where more frames than this are missing; None keeps each worm in one sequence.
    y_down : bool, default: False
        Whether y points down in the file; it is then negated. Trackers differ, so the default takes values as they are.
    """
    h5py = load_library("h5py", "h5py", "Reading HDF5 files")
    check_max_gap(max_gap)
    check_axes(axes)
    with ExitStack() as stack:
        with refusing(path, "HDF5"):
            file = stack.enter_context(h5py.File(path, "r"))
            name, found = _choose(file, dataset, path)
            _check_numbers(found, name, path)
            source = f"{path}: dataset {name!r}"
            shaped = PointAxes.find(found.dtype, found.shape, source, axes)
            # Before anything is made that is as long as the dataset says to be.
            n_bytes = check_size(found, name, path, is_held=False)
            if not n_bytes:
                return
            n_rows = 1 if shaped.is_single else found.shape[shaped.order[0]]
            if n_bytes > n_rows * _MAX_BYTES:
                raise ShapeFileError(f"{source} is {found.shape}: one of its shapes alone does not fit in memory.")
            worms, frames = _times(file, n_rows, name, path) if name in _SKELETONS else (None, None)
            about = _about(file, found, path)
            order = series_order(n_rows, worms, frames)
            parts = _split(order, found, shaped)
            n_read = sum(int(rows.max() - rows.min()) + 1 for rows in parts)
            is_read_often = n_read > _MOST_TIMES_READ * n_rows
            values: Any = found
            if shaped.is_single or n_bytes <= _HELD_BYTES or (is_read_often and n_bytes <= _MAX_BYTES):
                values = read_values(found, name, path)
                stack.close()
        blocks: Iterable[tuple[IntArray, ComplexArray]] = [(order, shaped.as_rows(values))] if shaped.is_single else []
        blocks = blocks or _read_parts(values, shaped, parts, source)
        if y_down:
            blocks = ((numbers, points.conj()) for numbers, points in blocks)
        closed = None if dataset else False
        yield from block_records(blocks, n_rows, worms, frames, path.stem, max_gap=max_gap, closed=closed, about=about)


def check_axes(axes: str | None) -> None:
    """Refuse an order of axes that is none."""
    if axes is not None:
        check_choice(axes, _ORDERS, format_option("axes"))


@dataclass(frozen=True)
class PointAxes:
    """The axes of an array of points: those of shapes, points and, for real numbers, coordinates.

    An array that `is_single` is one shape, without an axis of shapes.
    """

    order: tuple[int, ...]
    is_single: bool

    @classmethod
    def find(cls, dtype: np.dtype[Any], shape: tuple[int, ...], source: str, axes: str | None = None) -> "PointAxes":
        """Return what the axes of an array are; refuse one whose axes do not tell x and y.

        Which of the two long axes of ``(a, 2, b)`` counts the shapes cannot be seen, so `axes` must say it.
        """
        is_complex = dtype.kind == "c"
        order = tuple(range(len(shape)))
        if axes is not None:
            if len(shape) != len(axes) or is_complex == ("c" in axes):
                raise ShapeFileError(f"{source} is {dtype} {shape}, which {format_option('axes', axes)} does not fit.")
            order = tuple(axes.index(letter) for letter in "npc"[: len(axes)])
        sides = tuple(shape[axis] for axis in order)
        n_whole = 2 if is_complex else 3
        is_sound = is_complex or (dtype.kind in "iuf" and sides[-1:] == (2,))
        if not is_sound or len(sides) not in (n_whole - 1, n_whole):
            raise ShapeFileError(
                f"{source} must be real (n, n_points, 2) or complex (n, n_points), got {dtype} {sides}; for "
                f"another order of axes give {format_option('axes=')}, such as {format_option('axes', 'pcn')} for "
                "(n_points, 2, n)."
            )
        return cls(order, len(sides) < n_whole)

    def as_rows(self, values: np.ndarray[Any, Any]) -> ComplexArray:
        """Return values as complex rows ``(n, n_points)``, in memory of their own."""
        values = values.transpose(self.order)
        values = values[None] if self.is_single else values
        if np.iscomplexobj(values):
            return np.array(values, dtype=np.complex128, order="C")
        return points_to_complex(np.asarray(values, dtype=float))


def follow(file: "h5py.File", name: str, path: Path, n_links: int = 8) -> Any:
    """Return the object of that name, or None; links within the file are followed, those out of it refused."""
    import h5py

    group: Any = file
    parts = [part for part in name.split("/") if part not in ("", ".")]
    for position, part in enumerate(parts):
        link = group.get(part, getlink=True) if isinstance(group, h5py.Group) else None
        if isinstance(link, h5py.ExternalLink):
            raise ShapeFileError(f"{path} is refused: {name!r} is a link into another file.")
        if isinstance(link, h5py.SoftLink):
            if n_links == 0:
                raise ShapeFileError(f"{path} is refused: {name!r} is a chain of links without end.")
            start = "" if link.path.startswith("/") else "/".join(parts[:position]) + "/"
            return follow(file, "/".join([start + link.path, *parts[position + 1 :]]), path, n_links - 1)
        if link is None:
            return None
        group = group[part]
    return group


def opens_as_hdf5(path: Path, holds: Callable[["h5py.File"], bool]) -> bool:
    """Tell whether a file is HDF5 and `holds` something; False where that cannot be found out."""
    if read_head(path, len(_MARK)) != _MARK:
        return False
    try:
        h5py = load_library("h5py", "h5py", "Reading HDF5 files")
        with h5py.File(path, "r") as file:
            return holds(file)
    except Exception:  # h5py raises nearly anything on damaged bytes
        return False


def read_values(found: "h5py.Dataset", name: str, path: Path) -> np.ndarray[Any, Any]:
    """Return all values, once it is sure that they are numbers in this file that fit in memory."""
    _check_numbers(found, name, path)
    check_size(found, name, path)
    return np.asarray(found[()])


def _check_numbers(found: "h5py.Dataset", name: str, path: Path) -> None:
    if found.is_virtual or found.external:
        raise ShapeFileError(f"{path} is refused: the values of {name!r} lie in another file.")
    if found.shape is None or found.dtype.kind not in "iufc":
        raise ShapeFileError(f"{path}: {name!r} must hold numbers, got {found.dtype}.")


def check_size(found: "h5py.Dataset", name: str, path: Path, *, is_held: bool = True) -> int:
    """Return the size of a dataset; refuse one that declares more than it holds, or that does not fit in memory."""
    n_bytes = int(found.size) * int(found.dtype.itemsize)
    n_stored = int(found.id.get_storage_size())
    n_chunk = int(np.prod([int(side) for side in found.chunks or (0,)], dtype=object)) * found.dtype.itemsize
    is_large = n_bytes > _MAX_BYTES
    is_swollen = n_bytes > _SMALL and n_bytes > (LARGE_RATIO if is_large else _MAX_RATIO) * n_stored
    if n_chunk > _MAX_BYTES or is_swollen or (is_held and is_large):
        raise ShapeFileError(f"{path} is refused: {name!r} declares {found.shape} but holds {n_stored} bytes.")
    return n_bytes


def check_all_sizes(path: Path) -> None:
    """Refuse an HDF5 file that another library will read, if a dataset declares more than it holds."""
    h5py = load_library("h5py", "h5py", "Reading HDF5 files")

    def look(name: str, found: Any) -> None:
        if isinstance(found, h5py.Dataset):
            if found.is_virtual or found.external:
                raise ShapeFileError(f"{path} is refused: the values of {name!r} lie in another file.")
            check_size(found, name, path)
            check_text(found, path)

    with h5py.File(path, "r") as file:
        file.visititems(look)


def _choose(file: "h5py.File", dataset: str | None, path: Path) -> tuple[str, "h5py.Dataset"]:
    """Return the dataset to read: the one named, that of a known program, or the only one that may hold points."""
    import h5py

    for name in _SKELETONS if dataset is None else (dataset,):
        found = follow(file, name, path)
        if isinstance(found, h5py.Dataset):
            return name, found
    names: list[str] = []

    def look(name: str, found: Any) -> None:
        if isinstance(found, h5py.Dataset) and found.dtype.kind in "fc":
            is_real = found.ndim == 3 and found.shape[2] == 2
            if is_real or (found.dtype.kind == "c" and found.ndim == 2):
                names.append(f"/{name}")

    file.visititems(look)
    listed = f"{', '.join(names[:8])}{', …' if len(names) > 8 else ''}" or "no dataset"
    if dataset is not None:
        raise ShapeFileError(f"{path} has no dataset {dataset!r}; it has {listed}.")
    if len(names) != 1:
        raise ShapeFileError(
            f"{path} has no skeletons under a known name, and {listed} that may hold points: name one with "
            f"{format_option('dataset=')}."
        )
    return names[0], file[names[0]]


def _split(order: IntArray, found: "h5py.Dataset", axes: PointAxes) -> list[IntArray]:
    """Split the numbers of rows into those of parts that are read at once."""
    n_bytes = 16 * max(1, found.size // max(1, len(order)))
    n_rows = max(1, _BLOCK_BYTES // n_bytes)
    n_chunk = found.chunks[axes.order[0]] if found.chunks else 1
    # Chunks are unpacked as a whole.
    n_whole = -(-n_rows // n_chunk) * n_chunk
    n_rows = n_whole if n_whole * n_bytes <= _MOST_GROWTH * _BLOCK_BYTES else n_rows
    return [order[start : start + n_rows] for start in range(0, len(order), n_rows)]


def _read_parts(
    found: Any, axes: PointAxes, parts: Iterable[IntArray], source: str
) -> Iterator[tuple[IntArray, ComplexArray]]:
    """Yield the numbers and points of rows of a dataset or array, part by part; memory holds a part."""
    where: list[Any] = [slice(None)] * found.ndim
    for rows in parts:
        by_place = np.argsort(rows, kind="stable")
        places = rows[by_place]
        first, last = int(places[0]), int(places[-1]) + 1
        is_dense = last - first <= 2 * len(rows)
        where[axes.order[0]] = slice(first, last) if is_dense else places
        try:
            slab = axes.as_rows(np.asarray(found[tuple(where)]))
        except Exception as error:  # h5py raises nearly anything on damaged bytes
            raise ShapeFileError(f"{source} cannot be read: {error}.") from error
        yield rows, slab[rows - first] if is_dense else slab[np.argsort(by_place)]


def _times(file: "h5py.File", n_rows: int, name: str, path: Path) -> tuple[IntArray | None, IntArray | None]:
    """Return worm and frame of each row of skeletons from the first table that covers them."""
    import h5py

    tables = {table: follow(file, table, path) for table in _TABLES}
    tables = {table: found for table, found in tables.items() if isinstance(found, h5py.Dataset) and found.dtype.names}
    for table, found in tables.items():
        columns = found.dtype.names
        worm = next((key for key in _WORM_COLUMNS if key in columns), None)
        frame = next((key for key in _FRAME_COLUMNS if key in columns), None)
        if worm is None or frame is None or found.ndim != 1 or found.is_virtual or found.external:
            continue
        check_size(found, table, path, is_held=False)
        # Tables of features have hundreds of columns.
        worms, frames = (_integers(found.fields(key)[()]) for key in (worm, frame))
        rows = _integers(found.fields("skeleton_id")[()]) if "skeleton_id" in columns else np.arange(len(worms))
        has_skeleton = rows >= 0
        if np.array_equal(np.sort(rows[has_skeleton]), np.arange(n_rows)):
            order = np.argsort(rows[has_skeleton])
            return worms[has_skeleton][order], frames[has_skeleton][order]
        if len(worms) == n_rows:
            # The numbers count the skeletons of another file, from which these rows were taken.
            return worms, frames
    if tables:
        raise ShapeFileError(
            f"{path}: none of {', '.join(tables)} tells the worm and frame of the {n_rows} rows of {name!r}; "
            f"{format_option('dataset', name.lstrip('/'))} reads them as one series."
        )
    return None, None


def _about(file: "h5py.File", found: "h5py.Dataset", path: Path) -> dict[str, Any]:
    """Return the frame rate and the unit of the points, as far as attributes of the file tell them."""
    places = [found, found.parent, *(place for name in _DESCRIBED if (place := follow(file, name, path)) is not None)]
    rates, units = [], []
    for told in (attributes_of(place, path) for place in places):
        # Tierpsy says one frame per frame where it does not know the rate.
        if "fps" not in told or _text(told.get("time_units", "seconds")) == "seconds":
            rates += [rate for name in _RATES if name in told and (rate := as_rate(told[name])) is not None]
        if "xy_units" in told and found.name.startswith("/coordinates/"):
            units.append(_text(told["xy_units"]))
    return {**({FPS: rates[0]} if rates else {}), **({"units": units[0]} if any(units[:1]) else {})}


def _text(value: Any) -> str:
    """Return an attribute that is a short text; empty for all else."""
    value = value.decode("latin-1") if isinstance(value, bytes) else value
    return str(value)[:100] if isinstance(value, str) else ""


def _integers(column: np.ndarray[Any, Any]) -> IntArray:
    """Return a column as integers, −1 where it holds no whole number."""
    if column.ndim != 1 or column.dtype.kind not in "iuf":
        raise ValueError("a column of the table must hold one number per row")
    numbers = np.where(np.isfinite(column) & (np.abs(column.astype(float)) < 2**53), column, -1)
    return np.asarray(numbers, dtype=np.int64)


def attributes_of(found: "h5py.Dataset | h5py.Group", path: Path) -> Any:
    """Return the attributes of an object; refuse those of text that is longer than the file."""
    import h5py

    if len(found.attrs):
        with path.open("rb") as stream:
            n_before = found.file.userblock_size
            for message in _attribute_messages(stream, h5py.h5o.get_info(found.id).addr, n_before):
                _check_references(
                    _attribute_references(message), stream, n_before, f"an attribute of {found.name!r}", path
                )
    return found.attrs


def check_text(found: "h5py.Dataset", path: Path) -> None:
    """Refuse a dataset of text that is longer than the file."""
    if found.dtype.kind != "O":
        return
    with path.open("rb") as stream:
        for references in _stored_references(found, stream):
            _check_references(references, stream, found.file.userblock_size, repr(found.name), path)


def read_texts(found: "h5py.Dataset", path: Path) -> list[str]:
    """Return the entries of a list of text, once it is sure that they are not longer than the file."""
    check_text(found, path)
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in found[()].tolist()]


def _stored_references(found: "h5py.Dataset", stream: BinaryIO) -> Iterator[bytes]:
    """Yield what a dataset of text holds, a reference for each text: as a whole, or chunk by chunk."""
    # Unlike addresses of objects, these count from the start of the file.
    start = found.id.get_offset()
    if start is not None:
        yield _read(stream, start, _REFERENCE_BYTES * found.size)
    elif found.chunks is not None:
        n_bytes = _REFERENCE_BYTES * int(np.prod(found.chunks, dtype=object))
        for number in range(found.id.get_num_chunks()):
            stored = found.id.get_chunk_info(number)
            content = _read(stream, stored.byte_offset, min(stored.size, n_bytes + _MAX_BLOCK_BYTES))
            is_packed = found.compression == "gzip" and not stored.filter_mask & 1
            yield zlib.decompressobj().decompress(content, n_bytes) if is_packed else content


def _check_references(references: bytes, stream: BinaryIO, n_before: int, name: str, path: Path) -> None:
    """Refuse references to text that is longer than the file, or to a heap that HDF5 would search without end."""
    places = range(0, len(references) - _REFERENCE_BYTES + 1, _REFERENCE_BYTES)
    longest = max((_integer(references, place, 4) for place in places), default=0)
    if longest > path.stat().st_size:
        raise ShapeFileError(f"{path} is damaged: {name} declares {longest} bytes of text, more than the file has.")
    for address in {_integer(references, place + 4, 8) for place in places}:
        start = address + n_before
        heap = _read(stream, start, 16) if start < path.stat().st_size else b""
        if heap[:4] != b"GCOL":
            continue  # HDF5 says so itself
        heap += _read(stream, start + 16, min(_integer(heap, 8, 8), _MAX_BLOCK_BYTES) - 16)
        place = 16
        while place + 16 <= len(heap):
            n_bytes = _integer(heap, place + 8, 8)
            # What is free is an object of its own, with the number 0, whose size is that of its head, too.
            step = 16 + -(-n_bytes // 8) * 8 if _integer(heap, place, 2) else n_bytes
            if step < 16:
                raise ShapeFileError(f"{path} is damaged: the heap of {name} has an object of no size.")
            place += step


def _attribute_messages(stream: BinaryIO, address: int, n_before: int) -> Iterator[bytes]:
    """Yield the messages of an object's header that are attributes; `n_before` bytes of the file come before HDF5's."""
    head = _read(stream, address + n_before, 64)
    is_new = head[:4] == b"OHDR"
    if is_new:
        flags = head[5]
        place = 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        n_size = 1 << (flags & 3)
        blocks = [(address + place + n_size, _integer(head, place, n_size))]
        n_head = 4 + (2 if flags & 4 else 0)
    else:
        blocks = [(address + 16, _integer(head, 8, 4))]
        n_head = 8
    for _ in range(_MAX_BLOCKS):
        if not blocks:
            return
        start, n_bytes = blocks.pop(0)
        block = _read(stream, start + n_before, min(n_bytes, _MAX_BLOCK_BYTES))
        place = 0
        while place + n_head <= len(block):
            # Types take a byte, in older files two.
            kind, n_content = block[place], _integer(block, place + (1 if is_new else 2), 2)
            content = block[place + n_head : place + n_head + n_content]
            place += n_head + n_content
            if kind == _ATTRIBUTE:
                yield content
            elif kind == _CONTINUATION:
                start, n_bytes = _integer(content, 0, 8), _integer(content, 8, 8)
                # Newer blocks begin with a mark and end with a checksum.
                blocks.append((start + 4, max(n_bytes - 8, 0)) if is_new else (start, n_bytes))


def _attribute_references(message: bytes) -> bytes:
    """Return the references to the texts of an attribute: length, address and number; nothing for other kinds."""
    version, n_head = message[:1], 9 if message[:1] == b"\3" else 8
    sizes = [_integer(message, place, 2) for place in (2, 4, 6)]
    if version == b"\1":
        # The oldest messages fill each part up to eight bytes.
        sizes = [-(-size // 8) * 8 for size in sizes]
    kind = message[n_head + sizes[0] : n_head + sizes[0] + 1]
    if not kind or kind[0] & 0x0F != _VARIABLE_LENGTH:
        return b""
    return message[n_head + sum(sizes) :]


def _read(stream: BinaryIO, start: int, n_bytes: int) -> bytes:
    stream.seek(start)
    return stream.read(n_bytes)


def _integer(content: bytes, place: int, n_bytes: int) -> int:
    return int.from_bytes(content[place : place + n_bytes], "little")
