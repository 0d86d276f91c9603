"""What made a file: the command, the versions, the seed and the inputs, to put into it and to read back.

Where the record of a run is kept depends on the format: the JSON header of ``.npz``, the attributes of Zarr folders,
the schema of Parquet, the data of the HTML page; a file that has no place for it, such as a CSV table or a figure, has
a sidecar, its name with ``.json`` after it.
"""

import glob
import hashlib
import json
import os
import platform
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from shapelex import __version__
from shapelex._extras import load_pyarrow
from shapelex.exceptions import ShapeFileError
from shapelex.files.archive import read_header
from shapelex.files.atomic import is_zarr_folder, write_atomically
from shapelex.files.guards import check_regular
from shapelex.files.sidecar import read_sidecar, sidecar_path

KEY = "shapelex"
"""Name of the record in the metadata of files that have named entries."""

INPUT = "input "
"""How the names of the rows begin that describe inputs in the data of a page."""

_LIMIT = 1 << 26
_MOST_FILES = 200_000
_ZARR_METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
_SHOWN = ("command", "earlier", "seed", "versions")
_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib")


def installed_versions() -> dict[str, str]:
    """Return the versions of shapelex, of Python and of the installed packages that results depend on."""
    versions = {"shapelex": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def describe_run(command: str | None, seed: int | None) -> dict[str, Any]:
    """Describe this run, as JSON values.

    Parameters
    ----------
    command : str or None
        What was typed, or None where nothing was.
    seed : int or None
        Seed of all that was random.

    Returns
    -------
    dict
        ``command``, ``seed``, ``versions`` of Python and of the packages that matter, ``processors``.

    Examples
    --------
    >>> describe_run("shapelex learn", 0)["command"]
    'shapelex learn'
    """
    return {"command": command, "seed": seed, "versions": installed_versions(), "processors": os.cpu_count()}


def make_run(
    command: str | None, seed: int | None, inputs: Iterable[str] = (), outputs: Collection[Path] = ()
) -> dict[str, Any]:
    """Describe this run as JSON values, with the commands that made its inputs, in order, under ``earlier``.

    Under ``inputs`` are their sizes and hashes, see :func:`describe_input`; the absolute paths `outputs` do
    not count in folders that hold both.
    """
    inputs = list(dict.fromkeys(inputs))
    earlier: dict[str, None] = {}
    for name in inputs:
        try:
            run = read_run(name)
        except (ShapeFileError, OSError):
            continue
        earlier |= dict.fromkeys([*run.get("earlier", []), run["command"]])
    described = [describe_input(name, outputs) for name in inputs]
    return {**describe_run(command, seed), "earlier": list(earlier), "inputs": described}


def read_run(path: str | Path) -> dict[str, Any]:
    r"""Read the record of the run that made a file.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    dict
        At least ``command`` and ``earlier``; ``inputs`` where they were recorded.

    Raises
    ------
    ShapeFileError
        If the file has no record, or a damaged one.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "codes.csv"
    ...     _ = table.write_text("id\n1\n")
    ...     _ = write_sidecar(table, make_run("shapelex encode", 0))
    ...     read_run(table)["command"]
    'shapelex encode'
    """
    source = Path(path)
    if source.is_dir() and not is_zarr_folder(source):
        raise ShapeFileError(f"{source} is a folder: name a file in it.")
    if not source.is_dir():
        check_regular(source)
    try:
        run = read_sidecar(source) or _find(source)
    except (ImportError, MemoryError):
        raise
    # Damaged files raise whatever the libraries that read them do.
    except Exception as error:
        raise ShapeFileError(f"{source} has no readable record of what made it ({error}).") from error
    if not isinstance(run, dict) or not isinstance(run.get("command"), str):
        raise ShapeFileError(
            f"{source} does not say what made it: no record of a shapelex command is in it, or beside it in "
            f"{sidecar_path(source).name}, where tables and figures have theirs. Name a file that shapelex wrote."
        )
    earlier, inputs = run.get("earlier", []), run.pop("inputs", None)
    is_list = isinstance(earlier, list) and all(isinstance(one, str) for one in earlier)
    run["earlier"] = earlier if is_list else []
    # Earlier versions did not record them.
    if isinstance(inputs, list) and all(_is_input(one) for one in inputs):
        run["inputs"] = inputs
    return run


def _is_input(value: Any) -> bool:
    kinds = {"path": str, "bytes": int, "sha256": str}
    return isinstance(value, dict) and all(isinstance(value.get(name), kind) for name, kind in kinds.items())


def write_sidecar(path: Path, run: Mapping[str, Any]) -> Path:
    """Write the record of a file that has no place for it beside the file, and return where it went."""
    text = json.dumps({"file": path.name, "run": dict(run)}, indent=2) + "\n"
    write_atomically(sidecar_path(path), lambda stream: stream.write(text.encode()))
    return sidecar_path(path)


def _find(path: Path) -> Any:
    if path.is_dir():
        return _in_header(zarr_attributes(path))
    with path.open("rb") as stream:
        head = stream.read(16)
    if head.startswith(b"PK\x03\x04"):
        return _in_header(read_header(path))
    if head.startswith(b"PAR1"):
        metadata = load_pyarrow().parquet.read_schema(path).metadata or {}
        return json.loads(metadata[KEY.encode()]) if KEY.encode() in metadata else None
    if path.stat().st_size > _LIMIT:
        return None
    contents = path.read_bytes()
    if b'id="shapelex-data"' in contents:
        return _in_page(contents)
    return json.loads(contents).get("run") if head.lstrip().startswith(b"{") else None


def zarr_attributes(path: Path) -> dict[str, Any]:
    """Return the attributes of the group or array in a Zarr folder; nothing where they cannot be read."""
    metadata = path / "zarr.json"
    try:
        if not metadata.is_file() or metadata.stat().st_size > _LIMIT:
            return {}
        found = json.loads(metadata.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    attributes = found.get("attributes") if isinstance(found, dict) else None
    return attributes if isinstance(attributes, dict) else {}


def _in_header(header: dict[str, Any]) -> Any:
    provenance = header.get("provenance", {})
    return header.get("run") or provenance.get("run") or provenance.get("source", {}).get("run") or provenance


def _between(contents: bytes, opening: bytes, closing: bytes) -> bytes | None:
    """Return what follows the first `opening`, up to the next `closing`; in linear time, whatever the contents are."""
    found, is_closed, _ = contents.partition(opening)[2].partition(closing)
    return found if is_closed else None


def _in_page(contents: bytes) -> Any:
    found = _between(contents, b'id="shapelex-data">', b"</script>")
    rows = [] if found is None else json.loads(found)["provenance"]
    run = {name: value for name, value in rows if name in _SHOWN}
    inputs = [
        {"path": name.removeprefix(INPUT), "bytes": int(value.split()[0]), "sha256": value.split()[-1]}
        for name, value in rows
        if name.startswith(INPUT)
    ]
    run["earlier"] = [line for line in run.get("earlier", "").split("\n") if line]
    return {**run, "inputs": inputs} if inputs else run


def describe_input(name: str, leave_out: Collection[Path] = ()) -> dict[str, Any]:
    """Return ``path``, ``bytes`` and ``sha256`` of a file, a folder or a pattern.

    Parameters
    ----------
    name : str
        As it was typed.
    leave_out : collection of Path
        Absolute paths in folders and patterns that do not count, such as those that the command writes.
    """
    sizes = _sizes(name, leave_out)
    return {"path": name, "bytes": sum(sizes.values()), "sha256": _hash(name, sizes)}


def state_of_input(recorded: dict[str, Any], leave_out: Collection[Path] = ()) -> str:
    """Return ``unchanged``, ``changed`` or ``missing`` for what :func:`describe_input` described earlier.

    Records may be of others: a pattern for far more files than any command reads is not followed to its end.
    """
    name = recorded["path"]
    try:
        sizes = _sizes(name, leave_out, _MOST_FILES)
    except _TooManyError:
        return f"not compared, since there are more than {_MOST_FILES} files"
    if not sizes:
        return "missing"
    # Sizes first: nothing is read where they differ.
    is_same = sum(sizes.values()) == recorded["bytes"] and _hash(name, sizes) == recorded["sha256"]
    return "unchanged" if is_same else "changed"


class _TooManyError(Exception):
    """A name stands for more files than are looked at."""


def _sizes(name: str, leave_out: Collection[Path], most: int | None = None) -> dict[Path, int]:
    """Return the sizes of all files that a name stands for, in order; at most `most` are looked at."""
    path = Path(name).expanduser()
    if path.is_file():
        return {path: path.stat().st_size}
    matches = glob.iglob(str(path), recursive=True)  # noqa: PTH207
    found: Iterable[Path] = [path] if path.is_dir() else map(Path, matches)
    files = set()
    named = (file for one in found for file in (_files_below(one) if one == path or _is_in_zarr(one) else [one]))
    for number, file in enumerate(named):
        if number == most:
            raise _TooManyError
        files.add(file)
    return {file: file.stat().st_size for file in sorted(files) if file.is_file() and not _is_below(file, leave_out)}


def _is_below(file: Path, paths: Collection[Path]) -> bool:
    absolute = file.absolute()
    return any(one in paths for one in (absolute, *absolute.parents))


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files that are not hidden, and all those of Zarr folders."""
    for name, folders, files in os.walk(folder):
        is_zarr = _is_in_zarr(Path(name))
        folders[:] = [inner for inner in folders if not inner.startswith(".")]
        yield from (Path(name, file) for file in files if is_zarr or not file.startswith("."))


def _is_in_zarr(path: Path) -> bool:
    return any(part.lower().endswith(".zarr") for part in path.parts)


def _hash(name: str, sizes: dict[Path, int]) -> str:
    if list(sizes) == [Path(name).expanduser()]:
        return _hash_file(Path(name).expanduser())
    total = hashlib.sha256()
    for file, size in sizes.items():
        is_chunk = _is_in_zarr(file) and file.name not in _ZARR_METADATA
        total.update(f"{size if is_chunk else _hash_file(file)}  ".encode() + os.fsencode(file.as_posix()) + b"\n")
    return total.hexdigest()


def _hash_file(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        # In a folder, beside the files that the command could read.
        return str(error.strerror)
