"""Libraries that only some files need: a name in, the module out, or an error that says what to install."""

from importlib import import_module
from typing import Any


def load_library(module: str, distribution: str, purpose: str, extra: str = "io") -> Any:
    """Return an optional module, imported now.

    Parameters
    ----------
    module : str
        Name to import.
    distribution : str
        Name under which it is installed.
    purpose : str
        What needs it, for the message.
    extra : str
        The extra that brings it.

    Returns
    -------
    module
        The module.

    Raises
    ------
    ImportError
        If it is not installed; the message names the extra that brings it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f'{purpose} needs {distribution}, which is not installed: pip install "shapelex[{extra}]".'
        ) from error


def load_pyarrow() -> Any:
    """Return the package pyarrow with its part for Parquet, imported now."""
    load_library("pyarrow.parquet", "pyarrow", "A Parquet table", extra="large")
    return load_library("pyarrow", "pyarrow", "A Parquet table", extra="large")


def load_openpyxl() -> Any:
    """Return the package openpyxl, imported now."""
    return load_library("openpyxl", "openpyxl", "An Excel workbook", extra="excel")


def load_zarr() -> Any:
    """Return the package zarr, imported now."""
    return load_library("zarr", "zarr", "A Zarr folder", extra="large")
