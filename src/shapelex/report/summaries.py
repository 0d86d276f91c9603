"""Numbers about all shapes, those that the page does not hold included.

In come errors, codes and columns; out go plain lists and arrays for the figures of the page.
"""

from typing import Any

import numpy as np

from shapelex._typing import FloatArray, IntArray
from shapelex.coding import SparseCodes
from shapelex.report.columns import MAX_GROUPS, number_texts
from shapelex.report.shapes import ReportedShapes

_N_BINS = 40
_MOST_COLUMNS = 360


def summarize_errors(errors: FloatArray) -> dict[str, Any]:
    """Return the error of the set in a few numbers, and a histogram.

    Parameters
    ----------
    errors : ndarray of float, shape (n_shapes,)
        Full distances of shapes to their reconstructions.

    Returns
    -------
    dict
        ``rmse``, ``median``, ``p95``, ``largest``; ``edges`` and ``counts`` of the histogram.
    """
    largest = float(errors.max())
    # Exact reconstructions have no width to divide.
    counts, edges = np.histogram(errors, bins=_N_BINS, range=(0.0, largest if largest > 1e-9 else 1e-9))
    return {
        "rmse": float(np.sqrt(np.mean(errors**2))),
        "median": float(np.median(errors)),
        "p95": float(np.quantile(errors, 0.95)),
        "largest": largest,
        "edges": edges.tolist(),
        "counts": counts.tolist(),
    }


def summarize_atoms(codes: SparseCodes) -> dict[str, Any]:
    """Return how often each atom is used, and how strongly.

    Parameters
    ----------
    codes : SparseCodes
        Codes of all shapes.

    Returns
    -------
    dict
        ``use``: share of the shapes; ``typical``: median modulus of the weight where it is used, 0 where it never is.
    """
    use, typical = [], []
    moduli = np.abs(codes.coefs)
    for atom in range(codes.n_atoms):
        of_atom = moduli[codes.support == atom]
        use.append(len(of_atom) / len(codes))
        typical.append(float(np.median(of_atom)) if len(of_atom) else 0.0)
    return {"use": use, "typical": typical}


def summarize_groups(values: list[str], codes: SparseCodes, errors: FloatArray) -> dict[str, Any]:
    """Return use of the atoms and error by group, the largest groups first.

    Parameters
    ----------
    values : list of str
        Group of each shape; ``""`` where there is none.
    codes : SparseCodes
        Codes of all shapes.
    errors : ndarray of float, shape (n_shapes,)
        Errors of all shapes.

    Returns
    -------
    dict
        ``names``, ``counts``, ``rmse``, ``use`` (a list for each group, share of its shapes that use each atom), and
        ``n_left_out``: how many groups are too small to be here.
    """
    names, numbers, counts = number_texts(values)
    rows: dict[str, Any] = {"names": names[:MAX_GROUPS], "counts": counts[:MAX_GROUPS].tolist(), "rmse": [], "use": []}
    for group in range(len(rows["names"])):
        members = numbers == group
        support = codes.support[members]
        used = np.bincount(support[support >= 0], minlength=codes.n_atoms)
        rows["rmse"].append(float(np.sqrt(np.mean(errors[members] ** 2))))
        rows["use"].append((used / counts[group]).round(4).tolist())
    return rows | {"n_left_out": len(names) - len(rows["names"])}


def summarize_times(shapes: ReportedShapes, codes: SparseCodes) -> dict[str, Any]:
    """Return the mean modulus of each atom's weight along time, series after series.

    Parameters
    ----------
    shapes : ReportedShapes
        All shapes, with their series.
    codes : SparseCodes
        Codes of all shapes.

    Returns
    -------
    dict
        ``weights`` (n_atoms, n_columns), −1 in columns without a shape; ``series``, ``first`` and ``last`` time of
        each column; ``rows``: a shape in each column, −1 where there is none.
    """
    assert shapes.sequence is not None
    members = [np.flatnonzero(shapes.sequence == series) for series in range(len(shapes.sequence_names))]
    times = [_times_of(shapes, rows) for rows in members]
    spans = np.array([_count_steps(column) for column in times], dtype=np.float64)
    n_columns = np.maximum(1, np.minimum(spans, np.floor(_MOST_COLUMNS * spans / spans.sum()))).astype(int)
    n_columns = n_columns[:_MOST_COLUMNS]
    column_of = np.full(len(codes), -1)
    series_of: list[int] = []
    first, last = [], []
    for series, (rows, column, count) in enumerate(zip(members, times, n_columns, strict=False)):
        edges = np.linspace(column.min(), column.max() + 1e-9 * max(1.0, abs(column.max())), count + 1)
        bins = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, count - 1)
        column_of[rows] = len(series_of) + bins
        for place in range(count):
            here = column[bins == place]
            first.append(float(here.min()) if len(here) else float(edges[place]))
            last.append(float(here.max()) if len(here) else float(edges[place + 1]))
        series_of += [series] * int(count)
    return {
        "weights": _mean_moduli(codes, column_of, len(series_of)),
        "series": series_of,
        "first": first,
        "last": last,
        "rows": _one_of_each(column_of, len(series_of)),
        "n_left_out": len(members) - len(n_columns),
    }


def _mean_moduli(codes: SparseCodes, column_of: IntArray, n_columns: int) -> FloatArray:
    """Mean modulus of every atom's weight in every column, (n_atoms, n_columns); −1 in columns without a shape."""
    columns = np.broadcast_to(column_of[:, None], codes.support.shape)
    is_used = (codes.support >= 0) & (columns >= 0)
    places = codes.support[is_used].astype(np.int64) * n_columns + columns[is_used]
    sums = np.bincount(places, weights=np.abs(codes.coefs[is_used]), minlength=codes.n_atoms * n_columns)
    counts = np.bincount(column_of[column_of >= 0], minlength=n_columns)
    means: FloatArray = sums.reshape(codes.n_atoms, n_columns) / np.maximum(counts, 1)
    means[:, counts == 0] = -1
    return means


def _one_of_each(column_of: IntArray, n_columns: int) -> list[int]:
    """A shape in the middle of each column; −1 where there is none."""
    rows = [np.flatnonzero(column_of == column) for column in range(n_columns)]
    return [int(inside[len(inside) // 2]) if len(inside) else -1 for inside in rows]


def _times_of(shapes: ReportedShapes, rows: IntArray) -> FloatArray:
    return np.arange(len(rows), dtype=np.float64) if shapes.frames is None else shapes.frames[rows]


def _count_steps(times: FloatArray) -> int:
    """Number of time steps that a series spans, gaps included: its length in units of the usual step."""
    steps = np.diff(np.unique(times))
    return 1 if not len(steps) else 1 + round(float((times.max() - times.min()) / np.median(steps)))
