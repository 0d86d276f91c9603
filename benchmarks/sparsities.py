"""Errors at 1, 2, 3 and 5 atoms per shape, each method learned at each sparsity, on three quarters of the shapes.

All errors are full Procrustes distances from shapes to their reconstructions, root mean square, in percent, mean over
seeds. The last column says by how much the default is behind the better of the paper's algorithm and align-first, where
it is by more than 0.3 %.
"""

import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

import shapelex as sx
from evaluation_sets import SETS, EvaluationShapes, load
from learners import PAPER, make_learners
from measure import format_seeds, print_result, print_table

NAMES = (
    "digits", "worms", "hands", "leaves", "mpeg7", "osteosarcoma cells", "bee wings", "horses", "hearts", "molars",
    "apes", "mosquito wings",
)  # fmt: skip
SPARSITIES = (1, 2, 3, 5)
N_RESTARTS = 5
TOLERANCE = 0.003
PAGE = "docs/how-to/evaluation.md, Every sparsity"
SUMMARY = "The default is behind by more than 0.3 % of the error in {} of {} rows, in training or held out."
RIVALS = (f"paper, {N_RESTARTS} restarts", "align-first")


def main(seeds: Sequence[int]) -> None:
    start = time.perf_counter()
    settings = {"default": {}, RIVALS[0]: {**PAPER, "n_restarts": N_RESTARTS}}
    learners: dict[str, Any] = {
        **make_learners(settings, "sparsities", n_jobs=1),
        RIVALS[1]: sx.AlignFirstDictionary(n_jobs=1),
    }
    rows = []
    for name in NAMES:
        shapes = load(SETS[name], f"sparsities, {name}")
        if shapes is None:
            continue
        for n_nonzero in SPARSITIES:
            # Training and held-out error of each method, mean over seeds.
            size = {"n_atoms": SETS[name].n_atoms, "n_nonzero": n_nonzero}
            errors = np.mean([_errors(shapes, learners, size, seed) for seed in seeds], axis=0)
            found = dict(zip(learners, errors, strict=True))
            cells = [f"{train:.2f} / {held_out:.2f}" for train, held_out in errors]
            rows.append([name if n_nonzero == 1 else "", str(n_nonzero), *cells, _behind(found)])
        print(f"{time.perf_counter() - start:.0f} s, {name}", file=sys.stderr, flush=True)
    header = [f"RMSE %, training / held out, seeds {format_seeds(seeds)}", "atoms per shape", *learners]
    print_table(PAGE, [*header, "default behind"], rows, "sparsities")
    if rows:
        n_behind = sum(bool(row[-1]) for row in rows)
        print_result(f"{PAGE}: summary", SUMMARY.format(n_behind, len(rows)), "sparsities-summary.md")


def _errors(
    shapes: EvaluationShapes, learners: Mapping[str, Any], size: Mapping[str, int], seed: int
) -> list[list[float]]:
    learned, held_out = shapes.split(4, seed)[0]
    found = []
    for learner in learners.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(learner).set_params(**size, random_state=seed).fit(shapes.X[learned])
        found.append([_rmse(model, shapes.X[rows]) for rows in (learned, held_out)])
    return found


def _rmse(model: Any, shapes: sx.ShapeSet) -> float:
    distances = sx.distance(shapes.configurations, model.reconstruct(shapes), space=shapes.space)
    return 100 * float(np.sqrt(np.mean(distances**2)))


def _behind(found: Mapping[str, Any]) -> str:
    """Return by how much the default is behind the best rival, in percent of its error, where it is."""
    best = np.min([found[rival] for rival in RIVALS], axis=0)
    ratios = dict(zip(("training", "held out"), found["default"] / best, strict=True))
    return ", ".join(f"{split} {100 * ratio - 100:.1f} %" for split, ratio in ratios.items() if ratio > 1 + TOLERANCE)
