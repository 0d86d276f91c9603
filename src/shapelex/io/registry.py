"""The registry of file formats: which reader takes which file.

A reader is a private module with one of two functions, imported when first used:

- ``read_records(path, **options)`` yields :class:`~shapelex.io.records.Record` and
  :class:`~shapelex.io.records.BadRecord`;
- ``read_set(path, **options)`` returns a :class:`~shapelex.ShapeSet`, for files that hold configurations
  ready for use; beside it may be ``open_set(path)``, which returns a
  :class:`~shapelex.ShapeSet` that stays in its file.

``write_set(shapes, stream, **options)`` writes a set to a binary stream, ``write_blocks(shapes, path)`` one that is
gone through block by block, to a file or folder that is whole or not there.

The keyword arguments of the function are the options that :func:`shapelex.read` passes on.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from shapelex._messages import parameter
from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import read_head


@dataclass(frozen=True)
class Format:
    """A file format that can be read.

    Parameters
    ----------
    name : str
        What users call it in ``format=``.
    extensions : tuple of str
        Lower-case ends of file names, longest first where one ends another.
    module : str
        Module of its reader in ``shapelex.io.formats``.
    sniff : callable
        Tells from the first bytes of a file whether it may be of this format; by default they do not tell it.
    negative_is_missing : bool
        Whether ``missing="negative"`` has a meaning: coordinates as people digitize them, not turned upside down.
    has_own_mark : bool
        Whether the reader has ``recognizes(path)``, which tells its files from others with the same end of the name.
    """

    name: str
    extensions: tuple[str, ...]
    module: str
    sniff: Callable[[bytes], bool] = lambda _: False
    negative_is_missing: bool = False
    has_own_mark: bool = False

    @cached_property
    def functions(self) -> Any:
        """The module of its reader."""
        return import_module(f"shapelex.io.formats.{self.module}")

    @cached_property
    def reader(self) -> Callable[..., Any]:
        """The function that reads a file."""
        reader: Callable[..., Any] = getattr(self.functions, "read_set", None) or self.functions.read_records
        return reader

    @property
    def opener(self) -> Callable[[Path], Any] | None:
        """The function that opens a file to be read piece by piece, where there is one."""
        return getattr(self.functions, "open_set", None)

    @property
    def writer(self) -> Callable[..., None] | None:
        """The function that writes a set to a binary stream, where there is one."""
        return getattr(self.functions, "write_set", None)

    @property
    def block_writer(self) -> Callable[[Any, Path], None] | None:
        """The function that writes a set block by block to a path, where there is one."""
        return getattr(self.functions, "write_blocks", None)

    @property
    def can_write(self) -> bool:
        """Whether sets can be written in this format."""
        return self.writer is not None or self.block_writer is not None

    @property
    def writer_options(self) -> frozenset[str]:
        """Names of the options that its writer takes."""
        return frozenset() if self.writer is None else frozenset(list(inspect.signature(self.writer).parameters)[2:])

    @property
    def makes_sets(self) -> bool:
        """Whether the reader returns a whole set rather than records."""
        return bool(self.reader.__name__ == "read_set")

    @cached_property
    def options(self) -> frozenset[str]:
        """Names of the options that its reader takes."""
        parameters = list(inspect.signature(self.reader).parameters)
        return frozenset(parameters[1:])

    def claims(self, path: Path) -> bool:
        """Tell whether the name of a file ends like this format's."""
        return path.name.lower().endswith(self.extensions)


def find_format(path: Path, name: str | None = None) -> Format:
    """Return the format of a file: the one named, else by the end of its name, else by its content."""
    if name is not None:
        check_choice(name, FORMATS, "format")
        return FORMATS[name]
    if path.name.lower().endswith(".ctx"):
        raise ShapeFileError(
            f"{path} is a CTX file, a format that is no longer read: draw its contours as a mask (.png), or save their "
            "points as a table (.csv)."
        )
    claiming = [known for known in FORMATS.values() if known.claims(path)]
    for known in claiming:
        if known.has_own_mark and known.functions.recognizes(path):
            return known
    claiming = [known for known in claiming if not known.has_own_mark]
    if len(claiming) == 1:
        return claiming[0]
    head = read_head(path)
    # Landmarks of tpsDig are passed on as .txt too, and their lines of x and y would pass for a table.
    for known in [FORMATS["tps"], *claiming] if claiming else FORMATS.values():
        if known.sniff(head):
            return known
    kinds = ", ".join(known.name for known in claiming or FORMATS.values())
    raise ShapeFileError(f"{path} looks like none of {kinds}: name its format with {parameter('format=')}.")


def _starts_with(*marks: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(marks)


def _matches(pattern: bytes) -> Callable[[bytes], bool]:
    compiled = re.compile(pattern)
    return lambda head: compiled.match(head.lstrip(b"\xef\xbb\xbf \t\r\n")) is not None


def _is_tps(head: bytes) -> bool:
    return b"\0" not in head and re.search(rb"(?im)^[ \t]*LM3?[ \t]*=", head.replace(b"\r", b"\n")) is not None


def _is_nts(head: bytes) -> bool:
    lines = [line.strip() for line in head.replace(b"\r", b"\n").split(b"\n") if line.strip()]
    lines = [line for line in lines if not line.startswith((b'"', b"'"))]
    return bool(lines) and re.match(rb"(?i)1\s+\d+[LBE]?\s+\d+[LBE]?\s+\d.*DIM=", lines[0]) is not None


def _is_table(head: bytes) -> bool:
    """Tell text in which every whole line has numbers between separators, but for a first line of names."""
    if b"\0" in head:
        return False
    lines = [line for line in head.replace(b"\r", b"\n").split(b"\n") if line.strip()]
    rows = [line for line in lines[1:] if re.search(rb"\d\"?\s*[,;\t |]\s*\"?[-+.\d]", line)]
    # The last line may be cut off.
    return len(lines) >= 2 and len(rows) >= max(1, len(lines) - 2)


def _holds(pattern: bytes) -> Callable[[bytes], bool]:
    compiled = re.compile(pattern, re.DOTALL)
    return lambda head: compiled.match(head) is not None


_COCO = rb'.*"(annotations|images|categories|licenses|segmentation)"\s*:'
_GEOJSON = rb'.*"type"\s*:\s*"(Feature|FeatureCollection|Polygon|MultiPolygon|LineString|MultiLineString|MultiPoint)"'
_WKT = rb"(?i)(?:[^();\n]{0,200};){0,2}\s*(?:MULTI)?(?:POLYGON|LINESTRING|POINT)\s*(?:ZM|Z|M)?\s*\("
_IMAGE_MARKS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


def _is_image(head: bytes) -> bool:
    """Tell images, and the pickled objects of Cellpose."""
    return head.startswith(_IMAGE_MARKS) or (head.startswith(b"\x93NUMPY") and b"'|O'" in head[:128])


_LISTED = [
    Format("npz", (".npz",), "npz", _starts_with(b"PK\x03\x04")),
    Format("zarr", (".zarr",), "zarr"),
    Format("roi", (".roi", ".zip"), "roi", _holds(rb"Iout|PK\x03\x04.{0,8000}?\.roi")),
    Format("wcon", (".wcon", ".zip", ".json"), "wcon", _holds(rb'(?=.*"units"\s*:)\s*\{|PK\x03\x04.{0,8000}?\.wcon')),
    Format("geojson", (".geojson", ".geojson.gz", ".json", ".json.gz"), "geojson", _holds(_GEOJSON)),
    Format("coco", (".json", ".json.gz"), "coco", _holds(_COCO)),
    Format("wkt", (".wkt", ".wkt.gz", ".txt"), "wkt", _matches(_WKT)),
    Format("cellpose", ("_cp_outlines.txt",), "cellpose", has_own_mark=True),
    Format("image", ("_seg.npy", ".png", ".tif", ".tiff", ".jpg", ".jpeg"), "masks", _is_image),
    Format("npy", (".npy",), "npy", _starts_with(b"\x93NUMPY")),
    Format("matlab", (".mat",), "matlab", _starts_with(b"MATLAB 5.0", b"MATLAB 7.3")),
    Format("sleap", (".h5", ".hdf5"), "sleap", has_own_mark=True),
    Format("sleap_project", (".slp",), "sleap_project"),
    Format("nwb", (".nwb", ".h5"), "nwb", has_own_mark=True),
    Format("deeplabcut", (".csv", ".csv.gz", ".h5"), "deeplabcut", _matches(rb"scorer[,;\t]"), has_own_mark=True),
    Format("r_array", (".csv", ".csv.gz"), "r_array", negative_is_missing=True, has_own_mark=True),
    Format("hdf5", (".h5", ".hdf5", ".hdf"), "hdf5", _starts_with(b"\x89HDF\r\n\x1a\n")),
    Format("tps", (".tps", ".tps.gz"), "tps", _is_tps, negative_is_missing=True),
    Format("morphologika", (".morphologika", ".txt"), "morphologika", _matches(rb"(?i)\[[a-z ]+\]"), True),
    Format("nts", (".nts", ".nts.gz", ".dta", ".txt", ".dat"), "nts", _is_nts, negative_is_missing=True),
    Format("tsv", (".tsv", ".tsv.gz", ".tab"), "tsv", _is_table, negative_is_missing=True),
    Format("csv", (".csv", ".csv.gz", ".txt", ".txt.gz", ".dat"), "csv", _is_table, negative_is_missing=True),
    Format("excel", (".xlsx",), "excel", negative_is_missing=True),
    Format("parquet", (".parquet",), "frames", _starts_with(b"PAR1"), negative_is_missing=True),
]

FORMATS: dict[str, Format] = {listed.name: listed for listed in _LISTED}

DATA_FRAME = Format("dataframe", (), "frames", negative_is_missing=True)
"""What reads data frames, which are no files."""
