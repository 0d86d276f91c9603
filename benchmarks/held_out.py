"""Held-out error in five folds, beside principal component analyses with as many real numbers per shape.

Errors are root mean square full Procrustes distances in percent: the mean over the folds and its standard error. Groups
of shapes are held out as a whole. Dictionaries are learned from every seed, and averaged within each fold. The last
column is the difference from tangent PCA in the same folds.
"""

import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import shapelex as sx
from evaluation_sets import SETS, Array, EvaluationShapes, load
from learners import LEARNERS, make_learners
from measure import format_seeds, print_table

N_FOLDS = 5
FOLD_SEED = 0
TANGENT = "tangent PCA"
ANALYSES = {TANGENT: sx.TangentPCA(), "complex PCA": sx.ComplexPCA()}


def main(seeds: Sequence[int]) -> None:
    start = time.perf_counter()
    learners = make_learners(LEARNERS, "held out")
    rows = []
    for name, chosen in SETS.items():
        shapes = load(chosen, f"held out, {name}")
        if shapes is None:
            continue
        for learner in learners.values():
            learner.set_params(n_atoms=chosen.n_atoms)
        errors = _errors(shapes, {**learners, **ANALYSES}, chosen.n_nonzero, seeds)
        best = min(errors, key=lambda label: errors[label].mean())
        cells = [_with_error(values, "**" if label == best else "") for label, values in errors.items()]
        title = f"{name}: {len(shapes.X)} shapes, {chosen.n_nonzero} of {chosen.n_atoms}"
        differences = [_with_error(errors[label] - errors[TANGENT]) for label in learners]
        rows.append([title, *cells, *differences])
        print(f"{time.perf_counter() - start:.0f} s, {name}", file=sys.stderr, flush=True)
    header = [f"held-out RMSE %, five folds, seeds {format_seeds(seeds)}", *learners, *ANALYSES]
    differences = [f"{label} − {TANGENT}" for label in learners]
    print_table("docs/how-to/evaluation.md, Held-out errors", [*header, *differences], rows, "held-out")


def _errors(
    shapes: EvaluationShapes, methods: dict[str, Any], n_nonzero: int, seeds: Sequence[int]
) -> dict[str, Array]:
    """Return the error of each method in each fold."""
    found: dict[str, list[Array]] = {label: [] for label in methods}
    folds = shapes.split(N_FOLDS, FOLD_SEED)
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = sx.compare(
                shapes.X, methods, n_nonzero=n_nonzero, cv=folds, n_jobs=1, random_state=seed
            ).to_dataframe()
        rows = table[table["split"] == "held out"].set_index("method")
        for label, errors in found.items():
            errors.append(100 * rows.loc[label, "rmse"].to_numpy())
    return {label: np.mean(errors, axis=0) for label, errors in found.items()}


def _with_error(values: Array, mark: str = "") -> str:
    return f"{mark}{values.mean():.2f}{mark} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"
