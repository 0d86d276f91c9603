"""Weighted pre-shapes in blocks: what sums over a set go through, whether it is in memory or stored outside it.

In come pre-shapes, or a stored set and its space; out go functions that give blocks of whitened pre-shapes with the
shares of their weights, from the first one on, as often as they are called.
"""

from collections.abc import Callable, Iterable, Iterator

from shapelex._typing import ComplexArray, FloatArray
from shapelex.spaces import Space
from shapelex.spaces.stored import StoredConfigurations

WeightedBlocks = Callable[[], Iterable[tuple[ComplexArray, FloatArray]]]

# Configurations of a stored set that are in memory at a time.
_BLOCK_ROWS = 8192


def one_block(rows: ComplexArray, shares: FloatArray) -> WeightedBlocks:
    """Return rows that are in memory as the one block of their set."""
    return lambda: [(rows, shares)]


def stored_blocks(stored: StoredConfigurations, space: Space, shares: FloatArray, name: str) -> WeightedBlocks:
    """Return a stored set block by block, checked and whitened whenever it is read."""

    def read() -> Iterator[tuple[ComplexArray, FloatArray]]:
        for part in stretches(len(stored)):
            yield space.whitened_preshapes(stored[part], name, first_row=part.start), shares[part]

    return read


def stretches(n_shapes: int) -> Iterator[slice]:
    """Yield the stretches of rows that are read together."""
    for start in range(0, n_shapes, _BLOCK_ROWS):
        yield slice(start, min(start + _BLOCK_ROWS, n_shapes))
