"""Hold sets of shapes, and read their configurations in blocks, whatever they are stored in."""

from shapelex.shapes.set import ShapeSet

__all__ = ["ShapeSet"]
