"""What a classifier made of the shapes of a page while they were held out.

Input: a table with the class and the predicted class of shapes, by their ids. Output: the confusion matrix of all
shapes in the table, and both classes of the shapes that the page holds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import IntArray
from shapelex.exceptions import ShapeInputError
from shapelex.report.packing import pack_array

_COLUMNS = ("id", "class", "predicted")


def summarize_test(tested: Mapping[str, Any], ids: Sequence[str], rows: IntArray) -> dict[str, Any]:
    """Return JSON values of the test; `rows` are those of the shapes on the page."""
    table = _columns(tested)
    names, numbers = np.unique(np.concatenate([table["class"], table["predicted"]]), return_inverse=True)
    true, predicted = np.split(numbers, 2)
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, (true, predicted), 1)
    places = {name: place for place, name in enumerate(table["id"].tolist())}
    found = np.array([places.get(str(ids[row]), -1) for row in rows], dtype=np.int64)
    if not (found >= 0).any():
        raise ShapeInputError(
            f"{parameter('tested')} must hold ids of these shapes, but none of them is there: give the table of a test "
            "of the same shapes."
        )
    return {
        "names": names.tolist(),
        "counts": counts.tolist(),
        "n_tested": len(true),
        "accuracy": float(np.mean(true == predicted)),
        "true": pack_array(np.where(found >= 0, true[found], -1), "int16"),
        "predicted": pack_array(np.where(found >= 0, predicted[found], -1), "int16"),
    }


def _columns(tested: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns of the table as text, checked."""
    missing = [name for name in _COLUMNS if name not in tested]
    if missing:
        raise ShapeInputError(
            f"{parameter('tested')} must have the columns {', '.join(_COLUMNS)}, but {', '.join(missing)} is missing."
        )
    columns = {name: np.asarray(tested[name]).astype(str) for name in _COLUMNS}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1 or lengths == {0}:
        raise ShapeInputError(
            f"{parameter('tested')} must have columns of one length, at least 1, got {sorted(lengths)}."
        )
    if len(np.unique(columns["id"])) < len(columns["id"]):
        raise ShapeInputError(f"{parameter('tested')} must have every id once: shapes are found by their ids.")
    return columns
