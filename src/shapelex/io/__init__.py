"""Reads and writes sets of shapes as files."""

from shapelex.io.read import read
from shapelex.io.stored_shapes import StoredShapes, open_shapes
from shapelex.io.write import write
from shapelex.store import read_codes

__all__ = ["StoredShapes", "open_shapes", "read", "read_codes", "write"]
