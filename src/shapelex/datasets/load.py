"""Shape files by name, from a folder or a cache, with their checksums verified.

In comes a name of the registry; out goes the set of shapes that the file holds.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from shapelex._validation import check_choice
from shapelex.datasets.registry import REGISTRY, Dataset
from shapelex.exceptions import ShapeFileError
from shapelex.io import ShapeSet, read

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
    check_choice(name, REGISTRY, "name")
    entry = REGISTRY[name]
    path = _find(f"{name}.npz", folder)
    _verify(path, entry)
    provenance = {"dataset": name, "source": entry.source, "license": entry.license}
    return read(path).replace(provenance=provenance)


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


def _verify(path: Path, entry: Dataset) -> None:
    n_bytes = path.stat().st_size
    if n_bytes != entry.n_bytes:
        raise ShapeFileError(
            f"{path} has {n_bytes} bytes, but should have {entry.n_bytes}: it is damaged or another file; replace it, "
            "or open it with read."
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != entry.sha256:
        raise ShapeFileError(
            f"{path} has the SHA-256 checksum {found}, but should have {entry.sha256}: it is damaged or another file; "
            "replace it, or open it with read."
        )
