"""Write sets of shapes to files, in the format that the name of the file tells."""

import gzip
from pathlib import Path
from typing import Any, BinaryIO

from shapelex._messages import parameter
from shapelex._validation import check_choice, check_flag
from shapelex.exceptions import EmptySetError, ParameterTypeError, ShapeFileError
from shapelex.files.atomic import check_replaceable, is_zarr_folder, write_atomically
from shapelex.files.provenance import installed_versions
from shapelex.io.file_list import PathLike
from shapelex.io.registry import FORMATS, Format
from shapelex.shapes import ShapeSet
from shapelex.shapes.set import join_blocks


def write(
    shapes: ShapeSet,
    path: PathLike,
    format: str | None = None,  # noqa: A002
    *,
    overwrite: bool = False,
    command: str | None = None,
    **options: Any,
) -> Path:
    """Write a set of shapes to a file.

    Parameters
    ----------
    shapes : ShapeSet
        The set. One that :func:`open_shapes` opened goes to ``.npz`` and ``.zarr`` block by block, elsewhere through
        memory.
    path : path
        Where to. The end of the name tells the format: ``.npz`` and the folder ``.zarr`` keep everything, ``.csv``,
        ``.tsv`` and ``.tps`` are for other programs; ``.gz`` after it compresses text.
    format : str, optional
        Name of the format, whatever the path ends with.
    overwrite : bool, default False
        Whether to replace a file that is there.
    command : str, optional
        What made the set, to go into the provenance, where the format has a place for it.
    **options : object
        Options of the format, such as ``layout="long"`` of tables; ``raw_cells=True`` writes text in ``.csv`` and
        ``.tsv`` as it is, where otherwise an apostrophe keeps a spreadsheet from taking it for a formula.

    Returns
    -------
    Path
        Where it went.

    Raises
    ------
    FileExistsError
        If there is a file already and `overwrite` is False.
    ShapeFileError
        If the format cannot hold the set, or there is none for this name.

    See Also
    --------
    read : The other way.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import shapelex as sx
    >>> shapes = sx.ShapeSet([[0, 1, 1j], [0, 2, 1j]], space=sx.Landmarks(3, closed=True), labels=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sx.read(sx.write(shapes, Path(folder) / "shapes.npz")).equals(shapes)
    True
    """
    if not isinstance(shapes, ShapeSet):
        raise ParameterTypeError(
            f"shapes must be a ShapeSet, got {type(shapes).__name__}: wrap arrays with ShapeSet(X, space)."
        )
    check_flag(overwrite, "overwrite")
    target = Path(path).expanduser()
    known = find_writable(target, format)
    if len(shapes) == 0:
        raise EmptySetError("shapes holds no shape, so there is nothing to write.")
    if target.is_dir() and (known.writer is not None or not is_zarr_folder(target)):
        raise IsADirectoryError(f"{target} is a folder: give the name of a file.")
    if known.writer is None and target.suffix.lower() != ".zarr":
        raise ShapeFileError(f"The name of a Zarr folder must end in .zarr, got {target.name}.")
    if known.writer is None and target.is_file():
        raise FileExistsError(f"{target} is a file, where a Zarr folder would go: remove it, or give another name.")
    check_replaceable(target, overwrite)
    unknown = sorted(set(options) - known.writer_options)
    if unknown:
        takes = ", ".join(sorted(known.writer_options)) or "none"
        raise ParameterTypeError(
            f"The format {known.name} has no option {', '.join(unknown)} to write; it takes: {takes}."
        )
    made: dict[str, Any] = installed_versions() | ({} if command is None else {"command": str(command)})
    marked = shapes.replace(provenance={**made, "source": dict(shapes.provenance)})
    if known.block_writer is not None and (known.writer is None or not marked.in_memory):
        known.block_writer(marked, target)
    else:
        _write_set(join_blocks(list(marked.blocks())), target, known, options)
    return target


def _write_set(shapes: ShapeSet, target: Path, known: Format, options: dict[str, Any]) -> None:
    write_set = known.writer
    assert write_set is not None

    def write_contents(stream: BinaryIO) -> None:
        if target.name.lower().endswith(".gz"):
            # No time and no name in the file: the same set gives the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
                write_set(shapes, packed, **options)
        else:
            write_set(shapes, stream, **options)

    write_atomically(target, write_contents)


def find_writable(path: Path, name: str | None = None) -> Format:
    """Return the format to write in: the one named, else by the end of the path; refuse one that is only read."""
    if name is not None:
        check_choice(name, FORMATS, "format")
        known = FORMATS[name]
        if not known.can_write:
            raise ShapeFileError(f"The format {name} is only read; written are {_name_writable()}.")
        return known
    claiming = [known for known in FORMATS.values() if known.claims(path)]
    for known in claiming:
        if known.can_write:
            return known
    raise ShapeFileError(
        f"{path.name} does not end like a format that is written: {_name_writable()}; or give {parameter('format=')}."
    )


def _name_writable() -> str:
    return ", ".join(f"{known.name} ({known.extensions[0]})" for known in FORMATS.values() if known.can_write)
