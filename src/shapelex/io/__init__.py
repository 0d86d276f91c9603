"""Reads and writes sets of shapes as files."""

from typing import TYPE_CHECKING, Any

from shapelex.io.read import read
from shapelex.io.stored_shapes import open_shapes
from shapelex.io.write import write

if TYPE_CHECKING:
    from shapelex.files import read_codes

__all__ = ["open_shapes", "read", "read_codes", "write"]


def __getattr__(name: str) -> Any:
    # Codes need numba, shapes do not.
    if name == "read_codes":
        from shapelex.files import read_codes

        return read_codes
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
