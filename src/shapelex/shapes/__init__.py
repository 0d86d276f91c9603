"""Sets of shapes, and collections of configurations that are read in blocks, whatever they are stored in."""

from shapelex.shapes.shapeset import ShapeSet

__all__ = ["ShapeSet"]
