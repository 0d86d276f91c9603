"""Whether groups of shapes differ, as the page tells it: in shape, and in the use and weight of each atom."""

import warnings
from typing import Any

import numpy as np

from shapelex._messages import parameter
from shapelex.coding import SparseCodes
from shapelex.estimators import ShapeDictionary
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.report.shapes import ReportedShapes
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import Column
from shapelex.shapes.study import find_units
from shapelex.statistics.atom_differences import MEASURES, AtomTests
from shapelex.statistics.group_comparison import compare_groups

_PERMUTATIONS = 999
_LABEL = "label"
# Labels are compared without being asked for where they are few, and each has some shapes.
_MOST_GROUPS = 12
_FEWEST_SHAPES = 5
_MOST_SHAPES = 20_000
_UNREGISTERED = (
    "The outlines are not registered: differences of start points count as differences of shape. Register them by "
    "shapelex register, or sx.register in Python."
)


def group_tests(
    model: ShapeDictionary, shapes: ReportedShapes, codes: SparseCodes, by: str | None, unit: Any
) -> dict[str, Any] | None:
    """Test whether the groups of a column differ, by default those of the label where they are few.

    Returns JSON values; where the label cannot be compared, the reason, and None where nothing is to be compared.
    """
    column = (shapes.roles.get("group") or _LABEL) if by is None else by
    if by is None:
        if isinstance(unit, str) and unit != "auto":
            raise ParameterError(f"{parameter('unit')} needs {parameter('by')}, the column of the groups.")
        if not _can_compare(shapes.columns.get(column)):
            return None
    units = find_units(shapes.columns, unit, shapes.roles)
    given = ShapeSet(shapes.configurations, model.space_)
    with warnings.catch_warnings(record=True) as caught:
        # Told on the page: the mean of shapes that have nothing in common may not be unique, or not be found.
        warnings.simplefilter("always")
        try:
            found = compare_groups(
                given, column, unit=units, codes=codes, data=shapes.columns, where=False, permutations=_PERMUTATIONS
            )
        except ShapeInputError as error:
            if by is not None:
                raise
            return {"column": column, "refused": str(error)}
    tests, row = found.atoms, found.fit.table.iloc[0]
    assert tests is not None
    # The page may have been made by either.
    told = [one.replace("unit=None", "unit=None in Python, or --unit none in a command,") for one in tests.remarks]
    remarks = [*told, *(str(warning.message) for warning in caught)]
    return {
        "column": column,
        "unit": None if units is None else units.column,
        "units": found.fit.shapes.noun,
        "names": list(tests.groups),
        "counts": list(tests.counts),
        "n_used": found.fit.n_used,
        "n_shapes": len(shapes),
        "permutations": _PERMUTATIONS,
        "confidence": tests.confidence,
        "alpha": tests.alpha,
        "shape": {
            "df": [int(row["Df"]), int(found.fit.table["Df"].iloc[1])],
            "r2": float(row["Rsq"]),
            "f": float(row["F"]),
            "p": float(row["P"]),
        },
        "atoms": _list_atoms(tests),
        "remarks": [*(_UNREGISTERED,) * shapes.is_loose, *remarks],
    }


def _can_compare(labels: Column | None) -> bool:
    if labels is None or len(labels) > _MOST_SHAPES:
        return False
    texts, counts = np.unique(labels.astype(np.str_), return_counts=True)
    counts = counts[texts != ""]
    return 2 <= len(counts) <= _MOST_GROUPS and int(counts.min()) >= _FEWEST_SHAPES


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
