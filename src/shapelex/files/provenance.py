"""What made a file: the command, the versions, the seed and the inputs, to put into it and to read back.

Where the record of a run is kept depends on the format: the JSON header of ``.npz``, the attributes of Zarr folders,
the schema of Parquet, the data of the HTML page; a file that has no place for it, such as a CSV table or a figure, has
a sidecar, its name with ``.json`` after it.
"""

import json
import os
import platform
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from shapelex import __version__
from shapelex._extras import load_pyarrow
from shapelex.exceptions import ShapeFileError
from shapelex.files.archive import read_header
from shapelex.files.atomic import is_zarr_folder, write_atomically
from shapelex.files.guards import check_regular
from shapelex.files.input_hashes import describe_input
from shapelex.files.sidecar import read_sidecar, sidecar_path

KEY = "shapelex"
"""Name of the record in the metadata of files that have named entries."""

INPUT = "input "
"""How the names of the rows begin that describe inputs in the data of a page."""

_LIMIT = 1 << 26
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

    Under ``inputs`` are their sizes and hashes, see :mod:`shapelex.files.input_hashes`; the absolute paths `outputs` do
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
