"""What made a file, read back from it.

In comes a file that a command wrote; out goes the record of its run: command, earlier commands, seed, versions, sizes
and hashes of its inputs. Where it is kept depends on the format: the JSON header of ``.npz``, the attributes of Zarr
folders, the schema of Parquet, the metadata of PNG, SVG and PDF, the data of the HTML page; a file that has no place
for it, such as CSV, has a sidecar, its name with ``.json`` after it.
"""

import html
import json
import re
import struct
import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from shapelex._extras import load_pyarrow
from shapelex.exceptions import ShapeFileError
from shapelex.store.archive import read_header
from shapelex.store.atomic import write_atomically
from shapelex.store.folders import is_zarr_folder
from shapelex.store.input_hashes import describe_input
from shapelex.store.provenance import describe_run

KEY = "shapelex"
"""Name of the record in the metadata of files that have named entries."""

INPUT = "input "
"""How the names of the rows begin that describe inputs in the data of a page."""

_LIMIT = 1 << 26
_SIDECAR_LIMIT = 1 << 20
_SHOWN = ("command", "earlier", "seed", "versions")


def make_run(
    command: str | None, seed: int | None, inputs: Iterable[str] = (), outputs: Collection[Path] = ()
) -> dict[str, Any]:
    """Describe this run as JSON values, with the commands that made its inputs, in order, under ``earlier``.

    Under ``inputs`` are their sizes and hashes, see :mod:`shapelex.store.input_hashes`; the absolute paths `outputs` do
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
    try:
        run = _read_sidecar(source) or _find(source)
    except (
        AttributeError,
        ValueError,
        LookupError,
        struct.error,
        zipfile.BadZipFile,
        OSError,
        RecursionError,
    ) as error:
        raise ShapeFileError(f"{source} has no readable record of what made it ({error}).") from error
    if not isinstance(run, dict) or not isinstance(run.get("command"), str):
        raise ShapeFileError(f"{source} does not say what made it: it was not written by a shapelex command.")
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


def sidecar_path(path: Path) -> Path:
    """Return where the record of a file lies that has no place for it."""
    return path.with_name(path.name + ".json")


def has_sidecar(path: Path) -> bool:
    """Return whether a record of ours lies beside a file, or where the file was."""
    try:
        return _read_sidecar(path) is not None
    except (ValueError, RecursionError):
        return False


def write_sidecar(path: Path, run: Mapping[str, Any]) -> Path:
    """Write the record of a file that has no place for it beside the file, and return where it went."""
    text = json.dumps({"file": path.name, "run": dict(run)}, indent=2) + "\n"

    def write(stream: BinaryIO) -> None:
        stream.write(text.encode())

    write_atomically(sidecar_path(path), write)
    return sidecar_path(path)


def _read_sidecar(path: Path) -> Any:
    sidecar = sidecar_path(path)
    if not sidecar.is_file() or sidecar.stat().st_size > _SIDECAR_LIMIT:
        return None
    found = json.loads(sidecar.read_bytes())
    return found.get("run") if isinstance(found, dict) and found.get("file") == path.name else None


def _find(path: Path) -> Any:
    if path.is_dir():
        return _in_header(zarr_attributes(path))
    with path.open("rb") as stream:
        head = stream.read(16)
    if head.startswith(b"PK\x03\x04"):
        return _in_header(read_header(path))
    if head.startswith(b"\x89PNG"):
        return _in_png(path)
    if head.startswith(b"PAR1"):
        return _in_parquet(path)
    if path.stat().st_size > _LIMIT:
        return None
    contents = path.read_bytes()
    if head.startswith(b"%PDF"):
        return _in_pdf(contents)
    if b'id="shapelex-data"' in contents:
        return _in_page(contents)
    if b"<svg" in contents:
        found = _between(contents, b"<dc:description>", b"</dc:description>")
        return None if found is None else json.loads(html.unescape(found.decode()))
    if head.lstrip().startswith(b"{"):
        return json.loads(contents).get("run")
    return None


def zarr_attributes(path: Path) -> dict[str, Any]:
    """Return the attributes of the group or array in a Zarr folder; nothing where they cannot be read."""
    metadata = path / "zarr.json"
    try:
        if metadata.stat().st_size > _LIMIT:
            return {}
        found = json.loads(metadata.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    attributes = found.get("attributes") if isinstance(found, dict) else None
    return attributes if isinstance(attributes, dict) else {}


def _in_header(header: dict[str, Any]) -> Any:
    provenance = header.get("provenance", {})
    return header.get("run") or provenance.get("run") or provenance.get("source", {}).get("run") or provenance


def _in_parquet(path: Path) -> Any:
    metadata = load_pyarrow().parquet.read_schema(path).metadata or {}
    return json.loads(metadata[KEY.encode()]) if KEY.encode() in metadata else None


def _in_png(path: Path) -> Any:
    with path.open("rb") as stream:
        stream.seek(8)
        while len(opening := stream.read(8)) == 8:
            (length,), kind = struct.unpack(">I", opening[:4]), opening[4:]
            if kind in (b"tEXt", b"iTXt") and length <= _SIDECAR_LIMIT:
                name, _, text = stream.read(length).partition(b"\0")
                if name == KEY.encode():
                    return json.loads(text.lstrip(b"\0"))
                stream.seek(4, 1)
            else:
                stream.seek(length + 4, 1)
    return None


def _between(contents: bytes, opening: bytes, closing: bytes) -> bytes | None:
    """Return what follows the first `opening`, up to the next `closing`; in linear time, whatever the contents are."""
    found, is_closed, _ = contents.partition(opening)[2].partition(closing)
    return found if is_closed else None


def _in_pdf(contents: bytes) -> Any:
    _, _, rest = contents.partition(b"/Subject (")
    found = re.match(rb"((?:[^()\\]|\\.)*+)\)", rest, re.DOTALL)
    return json.loads(re.sub(rb"\\([()\\])", rb"\1", found[1])) if found else None


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
