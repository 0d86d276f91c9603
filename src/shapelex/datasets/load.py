"""Shape files by name, from a folder or a cache, with their checksums verified.

In comes a name of the registry; out goes the set of shapes that the file holds.
"""

import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.datasets.registry import REGISTRY, Dataset
from shapelex.exceptions import ShapeFileError
from shapelex.io.shapeset import ShapeSet
from shapelex.spaces import BSpline, HermiteSpline, Landmarks, Space, from_points

_FOLDER_VARIABLE = "SHAPELEX_DATA"


def list_datasets() -> dict[str, str]:
    """Return the names that :func:`fetch` knows, with a line on each.

    Returns
    -------
    dict of str to str
        Names and descriptions.

    Examples
    --------
    >>> import shapelex as sx
    >>> sx.datasets.list_datasets()["hands"]
    '56 landmarks along the contour of a hand (paper; Stegmann and Gomez 2002): 40 shapes'
    """
    return {name: f"{entry.description}: {entry.n_shapes} shapes" for name, entry in REGISTRY.items()}


def fetch(name: str, *, folder: str | Path | None = None) -> ShapeSet:
    """Return one of the sets of real shapes that shapelex is tested on.

    The file ``<name>.npz`` is looked for in `folder`, or else in the folder that the environment variable
    ``SHAPELEX_DATA`` names, then in the user's cache. Nothing is downloaded: the files have no public address yet.

    Parameters
    ----------
    name : str
        Name of the set, one of :func:`list_datasets`.
    folder : str or Path, optional
        Where to look instead of ``SHAPELEX_DATA`` and the cache.

    Returns
    -------
    ShapeSet
        The shapes in their space, with ids, labels, time series and further columns where the file has them.

    Raises
    ------
    ValueError
        If there is no set of that name.
    FileNotFoundError
        If the file is in none of the places; the message says where to put it.
    ShapeFileError
        If the file is not the one that the registry knows: its checksum is another.

    Examples
    --------
    >>> import shapelex as sx
    >>> sx.datasets.fetch("no such set")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: name must be one of ...
    """
    if not isinstance(name, str) or name not in REGISTRY:
        known = ", ".join(REGISTRY)
        raise ValueError(f"name must be one of the names that list_datasets() gives ({known}), got {name!r}.")
    entry = REGISTRY[name]
    path = _find(f"{name}.npz", folder)
    contents = _read_verified(path, entry)
    with np.load(io.BytesIO(contents), allow_pickle=False) as file:
        return _as_shape_set({key: file[key] for key in file.files}, name, entry)


def _find(file_name: str, folder: str | Path | None) -> Path:
    looked: list[Path] = []
    for place in _places(folder):
        if (place / file_name).is_file():
            return place / file_name
        looked.append(place)
    advice = "" if folder is not None else f", or set {_FOLDER_VARIABLE} to the folder that holds it"
    raise FileNotFoundError(
        f"{file_name} is not in {' nor in '.join(map(str, looked))}. It cannot be downloaded, as it has no public "
        f"address yet: get it from whoever shares the data with you, and put it into {looked[-1]}{advice}."
    )


def _places(folder: str | Path | None) -> Iterator[Path]:
    """Yield the folders to look in; the cache, which needs pooch, only when the others did not do."""
    if folder is not None:
        yield Path(folder)
        return
    named = os.environ.get(_FOLDER_VARIABLE)
    if named:
        yield Path(named)
    yield _cache_folder()


def _cache_folder() -> Path:
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f'The cache of shape files needs pooch, which is not installed: pip install "shapelex[io]", or set '
            f"{_FOLDER_VARIABLE} to the folder that holds the files."
        ) from error
    return Path(pooch.os_cache("shapelex"))


def _read_verified(path: Path, entry: Dataset) -> bytes:
    """Return the bytes of the file; what is checked is what is read."""
    n_bytes = path.stat().st_size
    if n_bytes != entry.n_bytes:
        raise ShapeFileError(
            f"{path} has {n_bytes} bytes, but should have {entry.n_bytes}: it is damaged or another file; replace it, "
            "or open it with read."
        )
    contents = path.read_bytes()
    found = hashlib.sha256(contents).hexdigest()
    if found != entry.sha256:
        raise ShapeFileError(
            f"{path} has the SHA-256 checksum {found}, but should have {entry.sha256}: it is damaged or another file; "
            "replace it, or open it with read."
        )
    return contents


def _as_shape_set(arrays: Mapping[str, np.ndarray[Any, Any]], name: str, entry: Dataset) -> ShapeSet:
    columns = dict(arrays)
    points = from_points(columns.pop("points"))
    space = _space(str(columns.pop("kind", "landmarks")), points.shape[1], bool(columns.pop("closed")))
    return ShapeSet(
        points,
        space,
        ids=columns.pop("ids", columns.pop("names", None)),
        labels=columns.pop("labels", None),
        sequence=columns.pop("sequence", None),
        metadata=columns,
        provenance={"dataset": name, "source": entry.source, "license": entry.license},
    )


def _space(kind: str, n_coordinates: int, closed: bool) -> Space:
    if kind == "hermite":
        return HermiteSpline(n_coordinates // 2, closed=closed)
    if kind == "bspline":
        return BSpline(n_coordinates, closed=closed)
    return Landmarks(n_coordinates, closed=closed)
