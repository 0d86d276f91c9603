"""Records of runs that lie beside files that have no place for them, such as tables and figures."""

import json
from pathlib import Path
from typing import Any

_LIMIT = 1 << 20


def sidecar_path(path: Path) -> Path:
    """Return the path of the record beside a file."""
    return path.with_name(path.name + ".json")


def read_sidecar(path: Path) -> Any:
    """Return the record beside a file, or beside where it was; None where there is none."""
    sidecar = sidecar_path(path)
    if not sidecar.is_file() or sidecar.stat().st_size > _LIMIT:
        return None
    found = json.loads(sidecar.read_bytes())
    return found.get("run") if isinstance(found, dict) and found.get("file") == path.name else None


def has_sidecar(path: Path) -> bool:
    """Return whether a record of ours lies beside a file, or beside where it was."""
    try:
        return read_sidecar(path) is not None
    except (OSError, ValueError, RecursionError):
        return False
