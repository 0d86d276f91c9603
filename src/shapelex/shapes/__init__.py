"""Sets of shapes, and collections of configurations that are read in blocks, whatever they are stored in."""

from shapelex.shapes.set import ShapeSet

__all__ = ["ShapeSet"]
