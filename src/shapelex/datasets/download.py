"""Files of public repositories, in the user's cache.

In comes an entry of the registry; out go the paths of its files, downloaded where the cache does not have them. A file
enters the cache whole, and only if its git blob id and its number of columns are those of the registry.
"""

import hashlib
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shapelex.datasets.registry import Dataset, SourceFile
from shapelex.exceptions import DatasetUnavailableError, ShapeFileError, reason_of

PUBLIC_ADDRESS = "https://raw.githubusercontent.com"
MIRROR_VARIABLE = "SHAPELEX_DATA_URL"
FOLDER_VARIABLE = "SHAPELEX_DATA"

# Seconds to wait for a connection, and for the next bytes.
_TIMEOUT = (10.0, 30.0)
_N_RETRIES = 2


def address_of(entry: Dataset, file: SourceFile) -> str:
    """Return the public address of a file, or its address on the mirror that ``SHAPELEX_DATA_URL`` names."""
    base = os.environ.get(MIRROR_VARIABLE) or PUBLIC_ADDRESS
    return f"{base.rstrip('/')}/{entry.source}/{entry.commit}/{quote(file.path)}"


def cache_folder() -> Path:
    """Return the folder of the user's cache, which may not be there yet."""
    import pooch

    return Path(pooch.os_cache("shapelex"))


def check_file(path: Path, file: SourceFile) -> None:
    """Raise ShapeFileError unless the file at `path` is the one that the registry knows."""
    difference = _difference(path.read_bytes(), file)
    if difference:
        raise ShapeFileError(f"{path} {difference}: it is damaged or another file; replace it, or open it with read.")


def download_files(name: str, entry: Dataset) -> list[Path]:
    """Return the files of a set in the cache; say where they come from, and their license, before any download.

    Raises
    ------
    DatasetUnavailableError
        If a file cannot be downloaded, or what comes is not the file; the message says what to do by hand.
    """
    import pooch

    folder = cache_folder()
    wanted = [file for file in entry.files if not _is_whole(folder / file.name, file)]
    if wanted:
        # pooch's logger writes to standard error unless it is told otherwise.
        pooch.get_logger().info(f"{name}: from https://github.com/{entry.source}, license: {entry.license}.")
    for file in wanted:
        _download(entry, file, folder)
    return [folder / file.name for file in entry.files]


def _difference(content: bytes, file: SourceFile) -> str:
    """Return in what a file differs from the one that the registry knows; nothing where it is the same."""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if blob != file.blob:
        size = "" if file.n_bytes is None else f" and {file.n_bytes} bytes"
        return f"has the git blob id {blob} and {len(content)} bytes, but should have {file.blob}{size}"
    n_columns = content.partition(b"\n")[0].count(b",") + 1
    if file.n_columns not in (None, n_columns):
        return f"has {n_columns} columns, but should have {file.n_columns}"
    return ""


def _is_whole(path: Path, file: SourceFile) -> bool:
    try:
        return not _difference(path.read_bytes(), file)
    except FileNotFoundError:
        return False


def _download(entry: Dataset, file: SourceFile, folder: Path) -> None:
    import pooch

    address = address_of(entry, file)
    is_watched = sys.stderr.isatty() and pooch.get_logger().isEnabledFor(logging.INFO)
    load = pooch.HTTPDownloader(progressbar=is_watched, timeout=_TIMEOUT)

    def load_and_check(url: str, target: str, manager: Any) -> None:
        try:
            load(url, target, manager)
        except OSError as error:
            response = getattr(error, "response", None)
            if response is not None:
                response.close()  # pooch leaves it open
                # Time-outs and too many requests pass; for the rest the server would answer the same again.
                if response.status_code < 500 and response.status_code not in (408, 429):
                    raise FileNotFoundError(_reason(error)) from error
            raise
        difference = _difference(Path(target).read_bytes(), file)
        if difference:
            raise ValueError(f"what came {difference}")

    # pooch cannot check git blob ids, so the check is part of the download, which it repeats after network errors and
    # ValueError. The folder is temporary: another process may be loading the same file, and may be done first.
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="download-", dir=folder) as partial:
            manager = pooch.create(
                partial, "", registry={file.name: None}, urls={file.name: address}, retry_if_failed=_N_RETRIES
            )
            Path(manager.fetch(file.name, downloader=load_and_check)).replace(folder / file.name)
    except (OSError, ValueError) as error:
        raise DatasetUnavailableError(
            f"{file.name} could not be downloaded from {address} ({_reason(error)}): try again, or save the file from "
            f"that address by other means, such as a browser, into {folder} or the folder that {FOLDER_VARIABLE} names."
        ) from error


def _reason(error: Exception) -> str:
    """Return why a download failed; what the network library says fills a screen."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}"
    if type(error).__module__.startswith("requests"):
        return f"no complete answer, {type(error).__name__}"
    return reason_of(error)
