"""Search for the shapes of a set that are most similar to given ones."""

from shapelex.retrieval.search import retrieve

__all__ = ["retrieve"]
