"""Held-out error in five folds, beside principal component analyses with as many real numbers per shape.

Errors are root mean square full Procrustes distances in percent: the mean over the folds and its standard error. Groups
of shapes are held out as a whole. Dictionaries are learned from every seed, and averaged within each fold. Tangent PCA
has ``2 n_nonzero`` modes, and, as its mean, rotation and scale are not counted, also two modes fewer: the ``n_nonzero``
complex weights of a dictionary include rotation and scale.
"""

import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import shapelex as sx
from evaluation_sets import SETS, Array, EvaluationShapes, load
from measure import format_seeds, print_result, print_table

N_FOLDS = 5
FOLD_SEED = 0
TANGENT = "tangent PCA"
ANALYSES = {TANGENT: sx.TangentPCA(), "complex PCA": sx.ComplexPCA()}
FEWER_MODES = f"{TANGENT} with two modes fewer"
PAGE = "docs/how-to/evaluation.md, Held-out errors"


def main(seeds: Sequence[int]) -> None:
    start = time.perf_counter()
    learners = {"default": sx.ShapeDictionary()}
    rows = []
    differences: dict[str, dict[str, Array]] = {TANGENT: {}, FEWER_MODES: {}}
    for name, chosen in SETS.items():
        shapes = load(chosen, f"held out, {name}")
        if shapes is None:
            continue
        for learner in learners.values():
            learner.set_params(n_atoms=chosen.n_atoms)
        k = chosen.n_nonzero
        errors = {label: _errors(shapes, {label: model}, [k], seeds)[k][label] for label, model in learners.items()}
        analyses = _errors(shapes, ANALYSES, [k - 1, k], seeds[:1])
        errors |= {**analyses[k], FEWER_MODES: analyses[k - 1][TANGENT]}
        best = min(errors, key=lambda label: errors[label].mean())
        for rival, found in differences.items():
            found[name] = errors["default"] - errors[rival]
        title = f"{name}: {len(shapes.X)} shapes, {k} of {chosen.n_atoms}"
        cells = [_with_error(values, "**" if label == best else "") for label, values in errors.items()]
        rows.append([title, *cells, _with_error(differences[TANGENT][name])])
        print(f"{time.perf_counter() - start:.0f} s, {name}", file=sys.stderr, flush=True)
    header = [f"held-out RMSE %, five folds, seeds {format_seeds(seeds)}", *learners, *ANALYSES, FEWER_MODES]
    print_table(PAGE, [*header, f"default − {TANGENT}"], rows, "held-out")
    if rows:
        print_result(f"{PAGE}: summary", "\n".join(map(_summarize, differences.items())), "held-out-summary.md")


def _errors(
    shapes: EvaluationShapes, methods: Mapping[str, Any], sparsities: Sequence[int], seeds: Sequence[int]
) -> dict[int, dict[str, Array]]:
    """Return the error in each fold, mean over seeds, by sparsity and method."""
    folds = shapes.split(N_FOLDS, FOLD_SEED)
    tables = []
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = sx.compare(shapes.X, methods, n_nonzero=sparsities, cv=folds, n_jobs=1, random_state=seed)
        rows = table.to_dataframe().query("split == 'held out'")
        tables.append(rows.pivot(index="fold", columns=["n_nonzero", "method"], values="rmse"))
    means = 100 * sum(tables) / len(tables)
    return {count: {label: means[count, label].to_numpy() for label in methods} for count in sparsities}


def _summarize(compared: tuple[str, Mapping[str, Array]]) -> str:
    rival, differences = compared
    ratios = {name: values.mean() / _standard_error(values) for name, values in differences.items()}
    ahead = [name for name, ratio in ratios.items() if ratio < -2]
    behind = [name for name, ratio in ratios.items() if ratio > 2]
    return (
        f"- By more than two standard errors of the difference, the default has a smaller error than {rival} on "
        f"{len(ahead)} of {len(ratios)} sets ({'; '.join(ahead) or 'none'}), and a larger one on {len(behind)} "
        f"({'; '.join(behind) or 'none'})."
    )


def _with_error(values: Array, mark: str = "") -> str:
    return f"{mark}{values.mean():.2f}{mark} ± {_standard_error(values):.2f}".replace("-", "−")


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))
