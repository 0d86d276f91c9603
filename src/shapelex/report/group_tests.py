"""Whether groups of shapes differ, as the page tells it: in shape, and in the use and weight of each atom."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._validation import did_you_mean
from shapelex.coding import SparseCodes
from shapelex.estimators import ShapeDictionary
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.report.shapes import ReportedShapes
from shapelex.shapes.columns import Column
from shapelex.statistics.atom_differences import MEASURES, AtomTests, atom_tests
from shapelex.statistics.data import AlignedShapes, as_groups, tangent_rows
from shapelex.statistics.formulas import INTERCEPT, Design
from shapelex.statistics.grouping import Grouping, read_groups
from shapelex.statistics.models import ShapeLinearModel, fit_model
from shapelex.statistics.results import Sample
from shapelex.statistics.terms import Exchanges

if TYPE_CHECKING:
    import pandas as pd

_PERMUTATIONS = 999
_BOOTSTRAP = 999
_LABEL = "label"
# Labels are compared without being asked for where they are few, and each has some shapes.
_MOST_GROUPS = 12
_FEWEST_SHAPES = 5
_MOST_SHAPES = 20_000
_UNREGISTERED = (
    "The outlines are not registered: differences of start points count as differences of shape. Register them by "
    "shapelex register, or sx.register in Python."
)


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
    with warnings.catch_warnings(record=True) as caught:
        # Told on the page: the mean of shapes that have nothing in common may not be unique, or not be found.
        warnings.simplefilter("always")
        fit = _fit(model, shapes, table.iloc[sample.rows], grouping, sample)
    tests = atom_tests(
        codes, names[0], within, data=table, permutations=_PERMUTATIONS, bootstrap=_BOOTSTRAP, random_state=0
    )
    row = fit.table.iloc[0]
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
            "df": [int(row["Df"]), int(fit.table["Df"].iloc[1])],
            "r2": float(row["Rsq"]),
            "f": float(row["F"]),
            "p": float(row["P"]),
        },
        "atoms": _list_atoms(tests),
        "remarks": [
            *(_UNREGISTERED,) * shapes.is_loose, *tests.remarks, *(str(warning.message) for warning in caught)
        ],
    }  # fmt: skip


def _fit(
    model: ShapeDictionary, shapes: ReportedShapes, table: "pd.DataFrame", grouping: Grouping, sample: Sample
) -> ShapeLinearModel:
    """Return the linear model with the groups as its only term, as ``shapelex test`` fits it."""
    column, *within = map(str, table.columns)
    coordinates, mean = tangent_rows(shapes.configurations[sample.rows].astype(np.complex128), model.space_)
    used = AlignedShapes(coordinates, table[[column]], sample.rows, dict(sample.dropped), model.space_, mean)
    members = (grouping.group_of_shapes()[:, None] == np.arange(len(grouping.names))).astype(np.float64)
    # Relative to the first group.
    matrix = np.hstack([np.ones((len(members), 1)), members[:, 1:]])
    places = {INTERCEPT: np.array([0]), column: np.arange(1, matrix.shape[1])}
    design = Design(
        (column,), matrix, (INTERCEPT, *grouping.names[1:]), places, {column: frozenset({column})},
        frozenset({column}), None,
    )  # fmt: skip
    blocks = as_groups(table[within[0]])[0] if within else None
    exchanges = Exchanges(len(matrix), None, blocks)
    return fit_model(f"shape ~ {column}", used, design, exchanges, permutations=_PERMUTATIONS, seed=0)


def _can_compare(labels: Column | None) -> bool:
    if labels is None or len(labels) > _MOST_SHAPES:
        return False
    texts, counts = np.unique(labels.astype(np.str_), return_counts=True)
    counts = counts[texts != ""]
    return 2 <= len(counts) <= _MOST_GROUPS and int(counts.min()) >= _FEWEST_SHAPES


def _check_column(columns: Mapping[str, Column], name: str) -> None:
    if name not in columns:
        meant = did_you_mean(name, columns)
        raise ShapeInputError(f"{name!r} is not a column of the shapes{meant}, which have {', '.join(columns)}.")


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
