"""Full distances between shapes, minimized over start point, direction and mirror image, and the least of them.

Input: pre-shapes of queries and a collection of shapes, which is read in blocks. Output: numbers and distances of the
nearest shapes of each query.
"""

import numpy as np

from shapelex._arrays import to_numpy
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.coding.threads import count_threads, run_blocks
from shapelex.geometry.distances import row_distances
from shapelex.geometry.registration.cyclic_search import CyclicSearch
from shapelex.shapes.collection import Block, Shapes
from shapelex.shapes.tensors import TensorShapes
from shapelex.spaces import Landmarks, Space

_BLOCK_ROWS = 2048
_BLOCK_QUERIES = 64
_NS_PER_PRODUCT = 20.0


def free_changes(space: Space, mirror: bool) -> dict[str, bool]:
    """Return the changes of a shape that do not count in a space: arguments of :class:`CyclicSearch`.

    Closed curves have no first point, and no curve has a preferred direction. Open landmarks are numbered.
    """
    is_closed = space.closed and space.coordinates_per_point is not None
    is_curve = is_closed or (not isinstance(space, Landmarks) and space.coordinates_per_point is not None)
    return {"start": is_closed, "direction": is_curve, "reflection": mirror}


def nearest_shapes(queries: ComplexArray, shapes: Shapes, k: int, mirror: bool) -> tuple[IntArray, FloatArray]:
    """Return numbers and full distances of the `k` nearest shapes of each query, the nearest first.

    Queries are pre-shapes. Of shapes at equal distances, up to rounding, the one of the smaller number comes first.
    """
    space, changes = shapes.space, free_changes(shapes.space, mirror)
    if isinstance(shapes, TensorShapes):
        return _measure_exactly(queries, shapes, _nearest_on_device(queries, shapes, k, changes), changes)
    found: list[IntArray] = [np.empty(0, dtype=np.int64)] * len(queries)
    largest: list[FloatArray] = [np.empty(0)] * len(queries)
    for block in shapes.blocks(_BLOCK_ROWS):
        search = CyclicSearch(preshapes_of(block, space), space, **changes)
        numbers_of_block = block.start + np.arange(len(block))

        def compare(start: int, stop: int, search: CyclicSearch = search, own: IntArray = numbers_of_block) -> None:
            for number in range(start, stop):
                squares = np.concatenate([largest[number], search.largest(queries[number])])
                numbers = np.concatenate([found[number], own])
                best = first_smallest(-squares, k)
                found[number], largest[number] = numbers[best], squares[best]

        run_blocks(compare, len(queries), 1, count_threads(None, len(queries) * search.n_products * _NS_PER_PRODUCT))
    return _measure_exactly(queries, shapes, np.stack(found), changes)


def _nearest_on_device(queries: ComplexArray, shapes: TensorShapes, k: int, changes: dict[str, bool]) -> IntArray:
    """Return the numbers of the nearest shapes in a tensor, which are compared on its device."""
    import torch

    from shapelex.kernels.torch.cyclic import largest_products
    from shapelex.kernels.torch.cyclic import preshapes_of as preshapes_on_device

    space, tensor = shapes.space, shapes.tensor
    gram, shift = (torch.from_numpy(np.array(part)).to(tensor) for part in (space.gram, space.shift))
    preshapes = preshapes_on_device(tensor, gram, shift)
    if not bool(torch.isfinite(preshapes.abs().sum())):
        # The checks of arrays name the rows.
        space.whitened_preshapes(shapes[:], shapes.name)
    found = []
    for start in range(0, len(queries), _BLOCK_QUERIES):
        some = queries[start : start + _BLOCK_QUERIES]
        duals, is_reversed = CyclicSearch(some, space, **changes).duals(some)
        parts = [torch.from_numpy(dual).to(tensor) for dual in duals]
        squares = to_numpy(largest_products(preshapes, parts, is_reversed, changes["start"]))
        found += [first_smallest(-row, k) for row in squares]
    return np.stack(found)


def full_distances(queries: ComplexArray, preshapes: ComplexArray, space: Space, mirror: bool) -> FloatArray:
    """Return the full distances of all queries (rows) to all pre-shapes (columns), good to about 1e-8."""
    search = CyclicSearch(preshapes, space, **free_changes(space, mirror))
    distances = np.empty((len(queries), len(preshapes)))

    def measure(start: int, stop: int) -> None:
        for number in range(start, stop):
            distances[number] = np.sqrt(np.maximum(1 - search.largest(queries[number]), 0))

    run_blocks(measure, len(queries), 1, count_threads(None, len(queries) * search.n_products * _NS_PER_PRODUCT))
    return distances


def preshapes_of(block: Block, space: Space) -> ComplexArray:
    """Return the pre-shapes of a block of a collection, whose errors name rows of the collection."""
    rows = space.whitened_preshapes(block.configurations, block.name, block.first_row)
    return space.unwhiten(rows)


def _measure_exactly(
    queries: ComplexArray, shapes: Shapes, found: IntArray, changes: dict[str, bool]
) -> tuple[IntArray, FloatArray]:
    """Measure the distances of the shapes found by their residuals, which are exact for close shapes, too."""
    space = shapes.space
    used, places = np.unique(found, return_inverse=True)
    preshapes = space.preshape(shapes.take(used))
    search = CyclicSearch(preshapes, space, **changes)
    numbers, distances = np.empty_like(found), np.empty(found.shape, dtype=queries.real.dtype)
    for number, (query, members) in enumerate(zip(queries, places.reshape(found.shape), strict=True)):
        settled = search.of(members).settle(query[None])
        closest = settled.apply(preshapes[members], space)
        measured = row_distances(space.whiten(query)[None], np.atleast_2d(space.whiten(closest)))
        order = np.lexsort((found[number], _rounded(measured)))
        numbers[number], distances[number] = found[number][order], measured[order]
    return numbers, distances


def first_smallest(values: FloatArray, k: int, ties: FloatArray | None = None) -> IntArray:
    """Return the places of the `k` smallest values; of values equal up to rounding, small `ties` come first."""
    rounded = _rounded(values)
    # Only what is no larger than the k-th value is sorted.
    places = (
        np.flatnonzero(rounded <= np.partition(rounded, k - 1)[k - 1]) if k < len(values) else np.arange(len(values))
    )
    keys = (rounded[places],) if ties is None else (ties[places], rounded[places])
    return np.asarray(places[np.lexsort(keys)][:k])


def _rounded(values: FloatArray) -> FloatArray:
    """Return values without the digits that rounding makes uncertain."""
    return np.round(values, 5 if values.dtype == np.float32 else 12)
