"""Checkpoint files: numbers and arrays behind a checksum, the last one and the one before it.

Reading never unpickles: what is damaged, truncated or of another kind is a
:class:`~shapelex.exceptions.CheckpointError`.
"""

import hashlib
import io
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.exceptions import CheckpointError
from shapelex.files.archive import Arrays, read_archive, write_archive
from shapelex.files.atomic import work_folder, write_atomically

_MAGIC = b"shapelex checkpoint 2\n"
_MAGIC_0_1_0 = b"shapelex checkpoint 1\n"
_DIGEST_BYTES = 32


def previous_path(path: Path) -> Path:
    """Return where the checkpoint before the last one is: its name with ``.previous`` added."""
    return path.with_name(path.name + ".previous")


def write_checkpoint(path: Path, numbers: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write JSON values and arrays; the checkpoint that was there becomes the previous one.

    Where that fails with an OSError, the older ones are as they were.
    """
    payload = io.BytesIO()
    write_archive(payload, numbers, arrays)
    content = payload.getvalue()
    if path.exists():
        _keep_previous(path)
    write_atomically(path, lambda stream: stream.write(_MAGIC + hashlib.sha256(content).digest() + content))


def read_checkpoint(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the numbers and arrays of a checkpoint; the error for a damaged one names the last good one."""
    content = _read_bytes(path)
    if content.startswith(_MAGIC_0_1_0):
        raise CheckpointError(
            f"{path} was written by shapelex 0.1.0, and this version cannot resume from it: finish the fit with "
            "shapelex 0.1.0, or remove the file to start again."
        )
    try:
        return _parse(content)
    except CheckpointError as error:
        older = previous_path(path)
        try:
            _parse(_read_bytes(older))
        except (OSError, CheckpointError):
            advice = f"there is no good one before it: remove {path} to start again"
        else:
            advice = f"the last good one is {older}: move it to {path} to resume from there"
        raise CheckpointError(f"{path} is not a whole checkpoint ({error}); {advice}.") from error


def _read_bytes(path: Path) -> bytes:
    if not path.is_file():
        raise CheckpointError(f"{path} is not a regular file: give another path for the checkpoint.")
    return path.read_bytes()


def _parse(content: bytes) -> tuple[dict[str, Any], Arrays]:
    start = len(_MAGIC) + _DIGEST_BYTES
    if not content.startswith(_MAGIC):
        raise CheckpointError("it does not begin like one")
    if hashlib.sha256(content[start:]).digest() != content[len(_MAGIC) : start]:
        raise CheckpointError("its checksum is wrong")
    try:
        return read_archive(io.BytesIO(content[start:]))
    except ValueError as error:
        raise CheckpointError(f"its contents cannot be read: {error}") from error


def _keep_previous(path: Path) -> None:
    """Give the checkpoint a second name; it is never without its first one."""
    older = previous_path(path)
    with work_folder(older) as folder:
        try:
            os.link(path, folder / "content")
        except OSError:
            # File systems without links.
            shutil.copy2(path, folder / "content")
        # Renaming one of two names of the same file does nothing.
        (folder / "content").replace(older)
