"""Whether groups of shapes differ, as the page tells it: in shape, and in the use and weight of each atom.

In come shapes, codes and a column; out go JSON values.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shapelex._messages import parameter
from shapelex._validation import closest_name
from shapelex.coding import SparseCodes
from shapelex.estimators import ShapeDictionary
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.report.shapes import ReportedShapes
from shapelex.shapes.columns import Column
from shapelex.statistics.atom_differences import MEASURES, AtomTests, atom_tests
from shapelex.statistics.distance_anova import shape_anova
from shapelex.statistics.grouping import read_groups
from shapelex.statistics.two_sample import tangent_coordinates

_PERMUTATIONS = 999
_BOOTSTRAP = 999
_LABEL = "label"
# Labels are compared without being asked for where they are few, and each has some shapes.
_MOST_GROUPS = 12
_FEWEST_SHAPES = 5
_MOST_SHAPES = 20_000


def compare_groups(
    model: ShapeDictionary, shapes: ReportedShapes, codes: SparseCodes, by: str | None, within: str | None
) -> dict[str, Any] | None:
    """Test whether the groups of a column differ.

    Parameters
    ----------
    model : ShapeDictionary
        Fitted.
    shapes : ReportedShapes
        All shapes.
    codes : SparseCodes
        Their codes.
    by : str or None
        Column of the groups; when None, the label where it divides the shapes into a few groups.
    within : str or None
        Column of strata, such as the animal.

    Returns
    -------
    dict or None
        JSON values; None where nothing is compared.
    """
    if by is None:
        if within is not None:
            raise ParameterError(f"{parameter('within')} needs {parameter('by')}, the column of the groups.")
        if not _can_compare(shapes.columns.get(_LABEL)):
            return None
    import pandas as pd

    names = [_LABEL if by is None else by, *([] if within is None else [within])]
    for name in names:
        _check_column(shapes.columns, name)
    table = pd.DataFrame({name: shapes.columns[name] for name in names})
    grouping, sample = read_groups(table, names[0], within)
    rows = model.space_.whitened_preshapes(shapes.configurations[sample.rows].astype(np.complex128))
    # The full mean needs no iterations, which may not end for shapes that have nothing in common.
    coordinates = tangent_coordinates(rows, np.ones(len(rows)))
    anova = shape_anova(grouping, coordinates, _PERMUTATIONS, np.random.default_rng(0))
    tests = atom_tests(
        codes, names[0], within, data=table, permutations=_PERMUTATIONS, bootstrap=_BOOTSTRAP, random_state=0
    )
    row = anova.iloc[0]
    return {
        "column": names[0],
        "within": within,
        "names": list(grouping.names),
        "counts": grouping.counts.tolist(),
        "unit": grouping.unit,
        "n_used": sample.n_used,
        "n_shapes": len(shapes),
        "permutations": _PERMUTATIONS,
        "confidence": tests.confidence,
        "alpha": tests.alpha,
        "shape": {
            "df": [int(row["Df"]), int(anova["Df"].iloc[1])],
            "r2": float(row["Rsq"]),
            "f": float(row["F"]),
            "p": float(row["P"]),
        },
        "atoms": _list_atoms(tests),
        "remarks": list(tests.remarks),
    }


def _can_compare(labels: Column | None) -> bool:
    if labels is None or len(labels) > _MOST_SHAPES:
        return False
    texts, counts = np.unique(labels.astype(np.str_), return_counts=True)
    counts = counts[texts != ""]
    return 2 <= len(counts) <= _MOST_GROUPS and int(counts.min()) >= _FEWEST_SHAPES


def _check_column(columns: Mapping[str, Column], name: str) -> None:
    if name not in columns:
        close = closest_name(name, columns)
        meant = f" (did you mean {close!r}?)" if close else ""
        raise ShapeInputError(f"{name!r} is no column of the shapes{meant}, which have {', '.join(columns)}.")


def _list_atoms(tests: AtomTests) -> list[dict[str, Any]]:
    """Return what was measured of each atom, with the averages of the groups and their intervals."""
    listed = []
    means = tests.means.set_index(["atom", "measure"]).sort_index()
    for measure in MEASURES:
        for row in tests.table[tests.table["measure"] == measure].to_dict("records"):
            groups = means.loc[[(row["atom"], measure)]]
            listed.append({
                "atom": int(row["atom"]),
                "measure": measure,
                "n": int(row["n"]),
                "means": [_number(value) for value in groups["mean"]],
                "low": [_number(value) for value in groups["low"]],
                "high": [_number(value) for value in groups["high"]],
                "contrast": row["contrast"],
                "difference": _number(row["difference"]),
                "interval": [_number(row["low"]), _number(row["high"])],
                "d": _number(row["d"]),
                "p": _number(row["P"]),
                "fdr": _number(row["P_fdr"]),
            })  # fmt: skip
    return listed


def _number(value: float) -> float | None:
    """Return a number with five digits, which are enough for a page; None where there is none."""
    return float(f"{value:.5g}") if np.isfinite(value) else None
