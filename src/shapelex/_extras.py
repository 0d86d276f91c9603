"""Import libraries that only some files need, or say what to install."""

from importlib import import_module
from typing import Any


def load_library(module: str, distribution: str, purpose: str, extra: str = "io") -> Any:
    """Return an optional module, imported now; the error where it is not installed names its extra.

    `distribution` is the name under which it is installed, and `purpose` what needs it.
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
