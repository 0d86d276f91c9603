"""Weighted pre-shapes in blocks: what sums over a set go through, whether it is in memory or stored outside it.

In come pre-shapes, or a stored set and its space; out go functions that give blocks of whitened pre-shapes with the
shares of their weights, from the first one on, as often as they are called.
"""

from collections.abc import Callable, Iterable, Iterator

from shapelex._typing import ComplexArray, FloatArray
from shapelex.shapes.collection import ArrayShapes, Shapes

WeightedBlocks = Callable[[], Iterable[tuple[ComplexArray, FloatArray]]]


def one_block(rows: ComplexArray, shares: FloatArray) -> WeightedBlocks:
    """Return rows that are in memory as the one block of their set."""
    return lambda: [(rows, shares)]


def preshape_blocks(shapes: Shapes, shares: FloatArray) -> WeightedBlocks:
    """Return the pre-shapes of a collection; those of shapes outside memory are computed whenever they are read."""
    if isinstance(shapes, ArrayShapes):
        return one_block(shapes.space.whitened_preshapes(shapes.configurations, shapes.name), shares)

    def read() -> Iterator[tuple[ComplexArray, FloatArray]]:
        for block in shapes.blocks():
            rows = shapes.space.whitened_preshapes(block.configurations, shapes.name, first_row=block.start)
            yield rows, shares[block.start : block.start + len(block)]

    return read
