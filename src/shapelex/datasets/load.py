"""Sets of shapes by name, from a folder, the cache or a public address, with their checksums verified.

In comes a name of the registry; out goes the set of shapes.
"""

import hashlib
import os
from pathlib import Path

from shapelex._validation import check_choice
from shapelex.datasets.download import FOLDER_VARIABLE, address_of, cache_folder, check_file, download_files
from shapelex.datasets.registry import REGISTRY, Dataset
from shapelex.exceptions import DatasetUnavailableError, ShapeFileError
from shapelex.io import read
from shapelex.shapes import ShapeSet


def list_datasets() -> dict[str, str]:
    """Return the names that :func:`~shapelex.datasets.fetch` knows, with a line on each.

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
    return {name: entry.title for name, entry in REGISTRY.items()}


def fetch(name: str, *, folder: str | Path | None = None) -> ShapeSet:
    """Return one of the sets of real shapes that shapelex is tested on, downloaded where needed.

    The set is looked for in the folder that the environment variable ``SHAPELEX_DATA`` names, and then in the user's
    cache: a file ``<name>.npz``, or the files of its source under the names they have there, such as ``hands.csv``.
    Otherwise the files of its source are downloaded into the cache, if they have a public address. Their source and
    license are shown first, on standard error. Every file is verified by its checksum or git blob id.

    Parameters
    ----------
    name : str
        Name of the set, one of :func:`list_datasets`.
    folder : str or Path, optional
        The only folder to look in: neither ``SHAPELEX_DATA`` nor the cache is used, and nothing is downloaded.

    Returns
    -------
    ShapeSet
        The shapes in their space, with labels, time series and further columns where the source has them. Its
        ``provenance`` has the keys ``"dataset"``, ``"source"``, ``"license"`` and ``"DESCR"``, a text of a few lines.

    Raises
    ------
    ValueError
        If there is no set of that name.
    DatasetUnavailableError
        If the set is in none of the places and cannot be downloaded; the message says what to do by hand. It is a
        FileNotFoundError.
    ShapeFileError
        If a file in one of the folders is not the one that the registry knows: its checksum is another.

    Examples
    --------
    >>> import shapelex as sx
    >>> sx.datasets.fetch("no such set")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    shapelex.exceptions.ParameterError: name must be one of ...
    """
    check_choice(name, REGISTRY, "name")
    entry = REGISTRY[name]
    provenance = {"dataset": name, "source": entry.source, "license": entry.license, "DESCR": entry.describe()}
    return _open(name, entry, folder).replace(provenance=provenance)


def _open(name: str, entry: Dataset, folder: str | Path | None) -> ShapeSet:
    given = (os.environ.get(FOLDER_VARIABLE) or None) if folder is None else folder
    cache = cache_folder() if folder is None else None
    places = [] if given is None else [Path(given)]
    for place in [*places, *([cache] if cache else [])]:
        archive = place / f"{name}.npz"
        if entry.sha256 is not None and archive.is_file():
            _verify(archive, entry)
            return read(archive)
        paths = [place / file.name for file in entry.files]
        if entry.convert is not None and place is not cache and all(path.is_file() for path in paths):
            for path, file in zip(paths, entry.files, strict=True):
                check_file(path, file)
            return entry.convert(paths)
    if entry.convert is not None and cache is not None:
        return entry.convert(download_files(name, entry))
    raise DatasetUnavailableError(_advice(name, entry, places, cache))


def _advice(name: str, entry: Dataset, places: list[Path], cache: Path | None) -> str:
    """Say where a set was looked for, and what to do by hand."""
    archive = [f"{name}.npz"] if entry.sha256 is not None else []
    sources = [" with ".join(file.name for file in entry.files)] if entry.files else []
    looked = [*places, *([cache] if cache else [])]
    advice = "" if cache is None else f", or set {FOLDER_VARIABLE} to the folder that holds it"
    step = (
        f"download {' and '.join(address_of(entry, file) for file in entry.files)} into that folder"
        if entry.files
        else "it cannot be downloaded, as it has no public address: get it from whoever shares the data with you, and "
        f"put it into {looked[-1]}{advice}"
    )
    return f"{' or '.join(archive + sources)} is not in {' nor in '.join(map(str, looked))}: {step}."


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
