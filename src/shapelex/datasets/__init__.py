"""Shapes to try things on."""

from shapelex.datasets.deformation import deform

__all__ = ["deform"]
