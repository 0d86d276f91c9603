"""Model files: ``.npz`` with a JSON header and plain arrays.

In come the parts of a fitted model; out comes a file, and the parts again. Reading never unpickles: a damaged,
truncated, too new or hostile file is a :class:`~shapelex.exceptions.ModelFileError`.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.exceptions import ModelFileError, UnsupportedBySpaceError
from shapelex.spaces import Space
from shapelex.store.archive import read_archive, write_archive
from shapelex.store.atomic import write_atomically
from shapelex.store.space_description import build_space, describe_space

FORMAT_NAME = "shapelex model"
FORMAT_VERSION = 1

_HEADER_LIMIT = 1 << 20


@dataclass(frozen=True)
class Model:
    """The parts of a fitted model that a file holds: `kind` is the name of its class, `results` its fitted numbers."""

    kind: str
    parameters: dict[str, Any]
    space: Space
    arrays: dict[str, np.ndarray[Any, Any]]
    results: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)


def write_model(path: str | Path, model: Model) -> Path:
    """Write a model file, whole or not at all, and return where it went; ``.npz`` is added where it is missing."""
    target = Path(path)
    if target.suffix != ".npz":
        target = target.with_name(target.name + ".npz")
    space, space_arrays = _describe_space(model.space)
    header = {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "kind": model.kind,
        "parameters": model.parameters,
        "space": space,
        "results": model.results,
        "provenance": model.provenance,
        "arrays": sorted([*model.arrays, *space_arrays]),
    }
    try:
        encoded = json.dumps(header, allow_nan=True, indent=1).encode()
    except TypeError as error:
        raise ModelFileError(f"The model cannot be written as data ({error}); pickle the estimator instead.") from error
    if len(encoded) > _HEADER_LIMIT:
        raise ModelFileError(
            f"The model has {len(encoded)} bytes of numbers and names beside its arrays, a model file holds at most "
            f"{_HEADER_LIMIT}: pickle the estimator instead."
        )
    write_atomically(target, lambda stream: write_archive(stream, encoded, {**model.arrays, **space_arrays}))
    return target


def read_model(path: str | Path) -> Model:
    """Read a model file; a damaged one, one of another kind or of a newer version is a ModelFileError."""
    source = Path(path)
    with source.open("rb") as stream:
        try:
            header, arrays = read_archive(stream, _HEADER_LIMIT)
        except ValueError as error:
            raise ModelFileError(f"{source} is damaged or no model file: {error}.") from error
    _check_version(header, source)
    expected = header.get("arrays")
    if not isinstance(expected, list) or sorted(arrays) != sorted(map(str, expected)):
        raise ModelFileError(f"{source} is damaged: it holds the arrays {sorted(arrays)}, its header names {expected}.")
    parts: dict[str, Any] = {name: header.get(name) for name in ("parameters", "space", "results", "provenance")}
    if not isinstance(header.get("kind"), str) or not all(isinstance(part, dict) for part in parts.values()):
        raise ModelFileError(f"{source} is damaged: its header is incomplete.")
    space = _build_space(parts["space"], arrays, source)
    return Model(header["kind"], parts["parameters"], space, arrays, parts["results"], parts["provenance"])


def _check_version(header: dict[str, Any], source: Path) -> None:
    if header.get("format") != FORMAT_NAME:
        raise ModelFileError(f"{source} is no model file: its header is of another kind.")
    version = header.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"{source} is damaged: its version is {version!r}.")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{source} has format version {version}, this shapelex reads up to {FORMAT_VERSION}: upgrade shapelex."
        )


def _describe_space(space: Space) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    try:
        return describe_space(space)
    except UnsupportedBySpaceError as error:
        raise ModelFileError(
            f"{space} holds functions, which a model file cannot: pickle the estimator instead."
        ) from error


def _build_space(description: Any, arrays: dict[str, np.ndarray[Any, Any]], source: Path) -> Space:
    try:
        return build_space(description, arrays)
    except LookupError as error:
        raise ModelFileError(f"{source} needs {error.args[0]}.") from error
    except ValueError as error:
        raise ModelFileError(f"{source} is damaged: {error}.") from error
