"""What a classifier made of the shapes of a page while they were held out.

Input: a table with the class and the predicted class of shapes, by their ids. Output: the confusion matrix of all
shapes in the table, and both classes of the shapes that the page holds. Ids are often plain row numbers, so that the
classes of the table are compared with the columns of the set: the table of another set is refused.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import IntArray
from shapelex.exceptions import ShapeInputError
from shapelex.report.columns import as_texts
from shapelex.report.packing import pack_array
from shapelex.report.shapes import ReportedShapes

_COLUMNS = ("id", "class", "predicted")
_MOST_NAMED = 5


def summarize_test(
    tested: Mapping[str, Any], shapes: ReportedShapes, rows: IntArray, *, is_whole: bool = True
) -> dict[str, Any]:
    """Return JSON values of the test; `rows` are those of the shapes on the page.

    `is_whole` says whether `shapes` are the whole set, in which every shape of the table must then be.
    """
    table = _columns(tested)
    names, numbers = np.unique(np.concatenate([table["class"], table["predicted"]]), return_inverse=True)
    true, predicted = np.split(numbers, 2)
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, (true, predicted), 1)
    places = {name: place for place, name in enumerate(table["id"].tolist())}
    all_places = np.array([places.get(str(name), -1) for name in shapes.ids], dtype=np.int64)
    remarks = _compare(table, shapes, all_places, is_whole)
    found = all_places[rows]
    return {
        "names": names.tolist(),
        "counts": counts.tolist(),
        "n_tested": len(true),
        "accuracy": float(np.mean(true == predicted)),
        "true": pack_array(np.where(found >= 0, true[found], -1), "int16"),
        "predicted": pack_array(np.where(found >= 0, predicted[found], -1), "int16"),
        "remarks": remarks,
    }


def _compare(
    table: Mapping[str, np.ndarray[Any, Any]], shapes: ReportedShapes, places: IntArray, is_whole: bool
) -> list[str]:
    """Refuse a table of other shapes, and return what a reader should know of one that is accepted.

    `places` has the row of each shape in the table, -1 for shapes that are not there.
    """
    is_there = places >= 0
    if not is_there.any():
        raise ShapeInputError(
            f"{parameter('tested')} must hold ids of these shapes, but none of them is there: give the table of a test "
            "of the same shapes."
        )
    n_there, n_table = int(is_there.sum()), len(table["class"])
    column, n_other = _closest_column(table["class"], shapes, places)
    if column is not None and n_other:
        raise ShapeInputError(
            f"{parameter('tested')} must be the table of a test of these shapes, but {n_other} of the {n_there} shapes "
            f"that are in both have another class in it than in the column {column!r}: give the table that was made "
            "from these shapes."
        )
    n_unknown = n_table - n_there if is_whole else 0
    if column is None and (shapes.labels is not None or n_unknown):
        counted = f", and {n_unknown} of its {n_table} ids are not in the set" if n_unknown else ""
        raise ShapeInputError(
            f"{parameter('tested')} must be the table of a test of these shapes, but no column of the set has its "
            f"classes {_name_some(table['class'])}{counted}: give the table that was made from these shapes."
        )
    remarks = []
    if column is None:
        remarks.append(
            "The set has no column with these classes: only the ids show that the predictions belong to these shapes."
        )
    if n_unknown:
        remarks.append(f"{n_unknown} of the {n_table} shapes that were tested are not in this set.")
    if n_there < len(shapes):
        remarks.append(f"{len(shapes) - n_there} of the {len(shapes)} shapes of this set were not tested.")
    return remarks


def _closest_column(classes: np.ndarray[Any, Any], shapes: ReportedShapes, places: IntArray) -> tuple[str | None, int]:
    """Return the column that agrees best with the classes, and how many shapes have another class there.

    Columns in which none of the classes occurs do not count.
    """
    is_there = places >= 0
    expected = classes[places[is_there]]
    known = np.unique(classes)
    best: tuple[str | None, int] = (None, 0)
    for name, values in shapes.columns.items():
        if name == "id" or values.dtype.kind in "fc":
            continue
        texts = np.array(as_texts(values))[is_there]
        n_other = int(np.count_nonzero(texts != expected))
        if np.isin(texts, known).any() and (best[0] is None or n_other < best[1]):
            best = (name, n_other)
    return best


def _name_some(classes: np.ndarray[Any, Any]) -> str:
    names = np.unique(classes).tolist()
    return ", ".join(map(repr, names[:_MOST_NAMED])) + (", …" if len(names) > _MOST_NAMED else "")


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
