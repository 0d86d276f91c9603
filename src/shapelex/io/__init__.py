"""Files in and out: sets of shapes, model files."""

from shapelex.io.read import read
from shapelex.io.shapeset import ShapeSet
from shapelex.io.write import write

__all__ = ["ShapeSet", "read", "write"]
