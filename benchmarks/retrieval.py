"""Retrieval: how many of the nearest shapes have the class of the query, and the processor time for all queries.

Every shape is a query in the set of all, itself included. The bull's-eye score is the share of the shapes of its class
that are among the first ``2 n``, where ``n`` is the size of a class: 40 for MPEG-7, 20 for the leaves. Settings of the
re-ranking were chosen on the even-numbered classes of MPEG-7 (in alphabetical order, counted from 0), and on no others;
nothing was chosen on the leaves.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import shapelex as sx
from measure import print_table
from shape_data import open_set

Array = np.ndarray[Any, Any]

METHODS: dict[str, dict[str, Any]] = {
    "full distance, without mirror images": {"mirror": False},
    "full distance": {},
    'rerank="reciprocal"': {"rerank": "reciprocal"},
    'rerank="diffusion"': {"rerank": "diffusion"},
}


def bulls_eye(labels: Array, indices: Array) -> Array:
    """Return the share of the class of each query that is among the shapes found."""
    counts = np.bincount(labels)[labels]
    return np.asarray((labels[indices] == labels[:, None]).sum(axis=1) / counts)


def main() -> None:
    header = ["method", "even classes", "odd classes", "all", "1-nearest neighbor", "CPU seconds"]
    mpeg7 = open_set("mpeg7_outlines_200", "retrieval of MPEG-7 shapes")
    if mpeg7 is not None:
        rows = _measure(mpeg7, lambda labels: labels % 2 == 0)
        print_table("docs/how-to/retrieval.md, MPEG-7", header, rows, "retrieval-mpeg7")
    leaves = open_set("leaves_kaggle_outlines_200", "retrieval of leaves")
    if leaves is not None:
        rows = [
            [row[0], *row[3:]] for row in _measure(leaves[np.asarray(leaves.labels) != ""], lambda labels: labels >= 0)
        ]
        print_table("docs/how-to/retrieval.md, leaves", [header[0], *header[3:]], rows, "retrieval-leaves")


def _measure(shapes: sx.ShapeSet, is_first: Callable[[Array], Array]) -> list[list[str]]:
    labels = np.unique(np.asarray(shapes.labels), return_inverse=True)[1]
    k = 2 * int(np.bincount(labels).max())
    first = is_first(labels)
    rows = []
    for name, options in METHODS.items():
        sx.retrieve(shapes[:30], shapes[:30], 5, **options)  # compiles, or reads the cache
        start = time.process_time()
        indices, _ = sx.retrieve(shapes, shapes, k, **options)
        seconds = time.process_time() - start
        scores = 100 * bulls_eye(labels, indices)
        # The first shape found that is not the query.
        others = np.array([next(i for i in row if i != query) for query, row in enumerate(indices)])
        nearest = 100 * np.mean(labels[others] == labels)
        parts = [scores[first], scores[~first] if (~first).any() else scores, scores]
        rows.append([name, *(f"{part.mean():.1f}" for part in parts), f"{nearest:.1f}", f"{seconds:.0f}"])
    return rows


if __name__ == "__main__":
    main()
