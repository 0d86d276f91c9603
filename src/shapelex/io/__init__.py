"""Files in and out: sets of shapes, model files, files of codes."""

from shapelex.io.code_files import read_codes
from shapelex.io.read import read
from shapelex.io.shapeset import ShapeSet
from shapelex.io.stored_shapes import StoredShapes, open_shapes
from shapelex.io.write import write

__all__ = ["ShapeSet", "StoredShapes", "open_shapes", "read", "read_codes", "write"]
