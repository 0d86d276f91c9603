"""Dictionaries learned on the curved shape space itself, for comparison."""

from shapelex.riemannian.dictionary import RiemannianDictionary

__all__ = ["RiemannianDictionary"]
