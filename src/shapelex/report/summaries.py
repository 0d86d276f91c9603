"""Numbers about all shapes, those that the page does not hold included."""

from typing import Any

import numpy as np

from shapelex._typing import FloatArray
from shapelex.coding import SparseCodes
from shapelex.report.columns import MAX_GROUPS, number_texts

_N_BINS = 40


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
