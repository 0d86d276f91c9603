"""Find public sets of shapes by name, in a folder, the cache or at a public address; and the digits of scikit-learn."""

import hashlib
import logging
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files as package_files
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
from scipy import ndimage

from shapelex import spaces
from shapelex._extras import load_library
from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_choice, check_count
from shapelex.exceptions import DatasetUnavailableError, ShapeFileError, reason_of
from shapelex.geometry.resampling import resample
from shapelex.io.contours import check_closed_space, fit_outline, start_at_top
from shapelex.io.read import read
from shapelex.shapes import ShapeSet
from shapelex.shapes.summary import signed_areas

_PUBLIC_ADDRESS = "https://raw.githubusercontent.com"
_MIRROR_VARIABLE = "SHAPELEX_DATA_URL"
_FOLDER_VARIABLE = "SHAPELEX_DATA"

# Seconds to wait for a connection, and for the next bytes.
_TIMEOUT = (10.0, 30.0)
_N_RETRIES = 2

_N_MIDLINE_POINTS = 20
_N_CELL_POINTS = 100
_N_SEGMENT_SAMPLES = 40

# Gray values run from 0 to 16. At 6 the strokes of all but a few digits hang together.
_LEVEL = 6.0
# Cubic interpolation between the pixels, that many steps from one to the next.
_STEPS = 4
_FRAME = 2
# A part smaller than this share of the largest is a speck, not a stroke.
_SPECK = 0.05
# Below it, the outline of the largest part is not that of the digit.
_LEAST_SHARE = 0.95


@dataclass(frozen=True)
class SourceFile:
    """A file of a public repository, known by its git blob id; or one of ours, known by its SHA-256 checksum."""

    path: str
    blob: str
    n_bytes: int | None = None

    @property
    def name(self) -> str:
        """Name that the file keeps in the cache, or in a folder of the user."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True)
class Dataset:
    """What ``registry.toml`` says of a set: its file ``<name>.npz``, and the files of its source with their reader."""

    description: str
    source: str
    license: str
    n_shapes: int | None = None
    n_bytes: int | None = None
    sha256: str | None = None
    commit: str = ""
    files: tuple[SourceFile, ...] = ()
    reader: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    space: Mapping[str, Any] | None = None

    @property
    def title(self) -> str:
        """What the set holds and how many shapes, in one line."""
        return self.description if self.n_shapes is None else f"{self.description}: {self.n_shapes} shapes"

    def describe(self) -> str:
        """What the set holds, its source and its license, in three lines."""
        files = ", ".join(file.path for file in self.files)
        place = f", commit {self.commit}: {files}" if files else ""
        return f"{self.title}\nSource: https://github.com/{self.source}{place}\nLicense: {self.license}"

    def convert(self, *paths: Path) -> ShapeSet:
        """Make the set from the files of its source."""
        options = dict(self.options)
        if self.space is not None:
            options["space"] = getattr(spaces, self.space["kind"])(self.space["size"], closed=self.space["closed"])
        return _READERS[self.reader](*paths, **options)

    def address_of(self, file: SourceFile) -> str:
        """Return the public address of a file, or its address on the mirror that ``SHAPELEX_DATA_URL`` names."""
        base = os.environ.get(_MIRROR_VARIABLE) or _PUBLIC_ADDRESS
        return f"{base.rstrip('/')}/{self.source}/{self.commit}/{quote(file.path)}"


def _difference(path: Path, file: SourceFile) -> str:
    """Return how a file differs from the one that is wanted; nothing where it is the same."""
    content = path.read_bytes()
    kind, found = "SHA-256 checksum", hashlib.sha256(content).hexdigest()
    if len(file.blob) != len(found):
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        kind, found = "git blob id", blob.hexdigest()
    if found == file.blob:
        return ""
    size = "" if file.n_bytes is None else f" and {file.n_bytes} bytes"
    return f"has the {kind} {found} and {len(content)} bytes, but should have {file.blob}{size}"


_REGISTRY_TEXT = package_files("shapelex.datasets").joinpath("registry.toml").read_text(encoding="utf-8")
REGISTRY = {
    name: Dataset(**entry | {"files": tuple(SourceFile(**file) for file in entry.get("files", ()))})
    for name, entry in tomllib.loads(_REGISTRY_TEXT).items()
}


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
    import pooch

    given = (os.environ.get(_FOLDER_VARIABLE) or None) if folder is None else folder
    cache = Path(pooch.os_cache("shapelex")) if folder is None else None
    places = [Path(place) for place in (given, cache) if place is not None]
    archive = () if entry.sha256 is None else (SourceFile(f"{name}.npz", entry.sha256, entry.n_bytes),)
    openers: dict[tuple[SourceFile, ...], Callable[..., ShapeSet]] = {archive: read, entry.files: entry.convert}
    for place in places:
        for files, convert in openers.items():
            paths = [place / file.name for file in files]
            # Files of the source in the cache are ours: a damaged one is downloaded again.
            if not paths or (files is entry.files and place == cache) or not all(path.is_file() for path in paths):
                continue
            for path, file in zip(paths, files, strict=True):
                if difference := _difference(path, file):
                    advice = "it is damaged or another file; replace it, or open it with read"
                    raise ShapeFileError(f"{path} {difference}: {advice}.")
            return convert(*paths)
    if entry.files and cache is not None:
        return entry.convert(*_download(name, entry, cache))
    wanted = " or ".join(" with ".join(file.name for file in files) for files in openers if files)
    step = f"download {' and '.join(map(entry.address_of, entry.files))} into that folder"
    if not entry.files:
        advice = "" if cache is None else f", or set {_FOLDER_VARIABLE} to the folder that holds it"
        step = (
            "it cannot be downloaded, as it has no public address: get it from whoever shares the data with you, and "
            f"put it into {places[-1]}{advice}"
        )
    raise DatasetUnavailableError(f"{wanted} is not in {' nor in '.join(map(str, places))}: {step}.")


def _download(name: str, entry: Dataset, folder: Path) -> list[Path]:
    """Return the files of a set in the cache; say where they come from, and their license, before any download."""
    import pooch

    paths = {file: folder / file.name for file in entry.files}
    missing = [file for file, path in paths.items() if not path.is_file() or _difference(path, file)]
    if missing:
        # pooch's logger writes to standard error unless it is told otherwise.
        pooch.get_logger().info(f"{name}: from https://github.com/{entry.source}, license: {entry.license}.")
    for file in missing:
        paths[file].unlink(missing_ok=True)
        address = entry.address_of(file)
        # pooch cannot check git blob ids, so the check is part of the download, which it repeats after network errors
        # and ValueError; it moves complete files into the folder.
        options = {"registry": {file.name: None}, "urls": {file.name: address}, "retry_if_failed": _N_RETRIES}
        manager = pooch.create(folder, "", **options)
        try:
            manager.fetch(file.name, downloader=partial(_load_and_check, file))
        except (OSError, ValueError) as error:
            raise DatasetUnavailableError(
                f"{file.name} could not be downloaded from {address} ({_reason(error)}): try again, or save the file "
                f"from that address by other means, such as a browser, into {folder} or the folder that "
                f"{_FOLDER_VARIABLE} names."
            ) from error
    return list(paths.values())


def _load_and_check(file: SourceFile, address: str, target: str, manager: Any) -> None:
    """Download a file for pooch; raise what makes it try again, or not."""
    import pooch

    is_watched = sys.stderr.isatty() and pooch.get_logger().isEnabledFor(logging.INFO)
    try:
        pooch.HTTPDownloader(progressbar=is_watched, timeout=_TIMEOUT)(address, target, manager)
    except OSError as error:
        response = getattr(error, "response", None)
        if response is not None:
            response.close()  # pooch leaves it open
            # Time-outs and too many requests pass; for the rest the server would answer the same again.
            if response.status_code < 500 and response.status_code not in (408, 429):
                raise FileNotFoundError(_reason(error)) from error
        raise
    if difference := _difference(Path(target), file):
        raise ValueError(f"what came {difference}")


def _reason(error: Exception) -> str:
    """Return why a download failed; what the network library says fills a screen."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}"
    if type(error).__module__.startswith("requests"):
        return f"no complete answer, {type(error).__name__}"
    return reason_of(error)


def _read_columns(table: Path, *, space: spaces.Space) -> ShapeSet:
    """Return the rows of a table without header, all x and then all y, as configurations in `space`."""
    return ShapeSet(read(table, layout="blocks").configurations, space)


def _read_splines_as_landmarks(table: Path, *, space: spaces.Space) -> ShapeSet:
    """Return points at equal steps along the open Hermite splines of a table."""
    n_segments = space.n_coordinates // 2 - 1
    parameters = space.parameters(_N_SEGMENT_SAMPLES * n_segments + 1)
    curves = space.sample(_read_columns(table, space=space).configurations, parameters)
    return ShapeSet(resample(curves, _N_MIDLINE_POINTS, closed=False))


def _read_midlines(recording: Path, **options: Any) -> ShapeSet:
    """Return the midlines of a recording at equal steps; frames without one are left out."""
    return read([recording], n_points=_N_MIDLINE_POINTS, **options).replace(ids=None)


def _read_bee_wings(landmarks: Path, specimens: Path) -> ShapeSet:
    """Return landmarks in pixels, with what the table of specimens says of each image."""
    wings = read(landmarks, scale="ignore")
    images = [Path(image).stem for image in wings.metadata["image"].tolist()]
    known = pd.read_csv(specimens, dtype=str, index_col="catalogNumber").reindex(images).fillna("")
    columns = {"family": known["Family"], "species": known["Species"], "image": images}
    metadata = {**columns, "scale": wings.metadata["scale"]}
    return wings.replace(ids=None, labels=known["Genus"].tolist(), metadata=metadata)


def _read_cells(outlines: Path, lines: Path, treatments: Path) -> ShapeSet:
    """Return outlines at equal steps from their first point, counter-clockwise."""
    blocks = outlines.read_text(encoding="utf-8").strip().split("\n\n")
    vertices = [np.array(block.split(), dtype=float).reshape(-1, 2) @ [1, 1j] for block in blocks]
    turned = [outline if signed_areas(outline) > 0 else np.roll(outline[::-1], 1) for outline in vertices]
    line, treatment = (path.read_text(encoding="utf-8").split() for path in (lines, treatments))
    points = resample(turned, _N_CELL_POINTS, closed=True)
    labels = [f"{one}/{other}" for one, other in zip(line, treatment, strict=True)]
    n_raw = [len(outline) for outline in vertices]
    metadata: dict[str, Any] = {"cell_line": line, "treatment": treatment, "n_raw": n_raw}
    return ShapeSet(points, spaces.Landmarks(_N_CELL_POINTS, closed=True), labels=labels, metadata=metadata)


_READERS: dict[str, Callable[..., ShapeSet]] = {
    "columns": _read_columns,
    "splines_as_landmarks": _read_splines_as_landmarks,
    "midlines": _read_midlines,
    "bee_wings": _read_bee_wings,
    "cells": _read_cells,
}


def load_digits_outlines(n_points: int = 64, *, space: spaces.Space | None = None, only_whole: bool = True) -> ShapeSet:
    """Return the outer outlines of 1,797 handwritten digits, from scikit-learn's bundled images.

    Each image of 8 × 8 pixels is interpolated by cubic splines, and the contour of its largest part is followed.
    Outlines run counter-clockwise with y up, from the topmost point; holes, as in 0 or 8, are not seen.

    Parameters
    ----------
    n_points : int, default 64
        Points of an outline, at equal steps of arc length.
    space : Space, optional
        A closed space to fit the outlines in instead, such as ``BSpline(24)``; `n_points` is then not used.
    only_whole : bool, default True
        Leave out the few digits whose ink falls into several parts, so that the outline of the largest part is not the
        digit's. The notes of the set say how many.

    Returns
    -------
    ShapeSet
        Outlines with labels ``"0"`` to ``"9"`` and ids that count scikit-learn's rows; the column ``largest_part``
        tells the share of the inked area inside the outline.

    Raises
    ------
    ImportError
        If scikit-image is not installed; it comes with ``pip install "shapelex[io]"``.

    Examples
    --------
    >>> import shapelex as sx
    >>> sx.datasets.load_digits_outlines(32)
    ShapeSet(1793 shapes, space=Landmarks(n_points=32, closed=True), 10 labels, metadata: largest_part)
    """
    n_wanted = check_count(n_points, 3, "n_points")
    target = spaces.Landmarks(n_wanted, closed=True) if space is None else check_closed_space(space)
    from sklearn.datasets import load_digits

    find_contours = load_library("skimage.measure", "scikit-image", "Following outlines").find_contours
    digits: Any = load_digits()
    outlines = np.empty((len(digits.images), target.n_coordinates), dtype=np.complex128)
    shares = np.empty(len(digits.images))
    for row, image in enumerate(digits.images):
        contour, shares[row] = _outer_contour(image, find_contours)
        outlines[row] = fit_outline(contour, target)
    kept = shares >= _LEAST_SHARE if only_whole else np.ones(len(shares), dtype=bool)
    ids, labels, columns = np.flatnonzero(kept), digits.target[kept], {"largest_part": shares[kept]}
    n_broken = int(np.count_nonzero(~kept))
    notes = (f"{n_broken} digits in several parts left out",) if n_broken else ()
    source = {"source": "scikit-learn, load_digits (UCI, optical recognition of handwritten digits)"}
    return ShapeSet(outlines[kept], target, ids=ids, labels=labels, metadata=columns, notes=notes, provenance=source)


def _outer_contour(image: FloatArray, find_contours: Callable[..., list[Any]]) -> tuple[ComplexArray, float]:
    """Return the contour of the largest part, in pixels of the image, and its share of the inked area."""
    framed = np.pad(image, _FRAME)
    n_fine = (len(framed) - 1) * _STEPS + 1
    fine = ndimage.zoom(framed, n_fine / len(framed), order=3)
    bottom = 1j * (len(image) - 1)
    contours = [bottom + (points[:-1] / _STEPS - _FRAME) @ [-1j, 1] for points in find_contours(fine, _LEVEL)]
    areas = np.array([signed_areas(contour) for contour in contours])
    largest = int(np.abs(areas).argmax())
    # Parts turn the same way as the largest one; holes turn the other way.
    parts = areas * np.sign(areas[largest])
    parts = parts[parts > _SPECK * parts[largest]]
    outline = contours[largest] if areas[largest] > 0 else contours[largest][::-1]
    return start_at_top(outline), float(parts.max() / parts.sum())
