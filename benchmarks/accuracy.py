"""Accuracy and realism of learned dictionaries at the paper's sizes.

Options were tuned on seeds 0 to 4; seeds 10 to 14 are fresh. Realism is the full distance of an atom to the nearest
shape, median over atoms. Coherence is the largest ``|d_i* d_j|``. The paper's algorithm is ORMP from random first
atoms, 30 updates.
"""

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import shapelex as sx
from measure import print_table
from paper_sets import PAPER_SETS, PaperSet, load
from shapelex.learning import mutual_coherences

TUNING_SEEDS = range(5)
FRESH_SEEDS = range(10, 15)
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "the paper's algorithm": {"coder": "ormp", "tie": 0, "n_swaps": 0, "init": "random", "max_iter": 30},
}


def main() -> None:
    rows: list[list[str]] = []
    details: list[list[str]] = []
    for name, paper_set in PAPER_SETS.items():
        X = load(name, "accuracy")
        if X is None:
            continue
        for label, settings in SETTINGS.items():
            tuned, fresh = (
                np.array([_measure(paper_set, X, settings, seed) for seed in seeds])
                for seeds in (TUNING_SEEDS, FRESH_SEEDS)
            )
            both = np.concatenate([tuned, fresh])
            spans = [_span(values, digits) for values, digits in zip(both.T[2:5], (3, 1, 1), strict=True)]
            details.append([name, label, _span(both[:, 0], 2), *spans, f"{np.median(both[:, 5]):.2f}"])
            if label == "default":
                words = " atoms" if not rows else ""
                rows.append(
                    [
                        f"{name}, {paper_set.n_nonzero} of {paper_set.n_atoms}{words}",
                        f"{paper_set.paper_rmse:.2f} %",
                        f"{_span(tuned[:, 0], 2)} %",
                        f"{fresh[:, 0].mean():.2f} %, {fresh[:, 0].max():.2f} %",
                        _span(both[:, 1], 3),
                    ]
                )
    print_table(
        "README, What is here: training RMSE at the paper's sizes",
        [
            "training RMSE at the paper's sizes",
            "paper",
            "shapelex, seeds 0–4",
            "seeds 10–14: mean, worst",
            "atoms to nearest shape, median, all ten seeds",
        ],
        rows,
        "accuracy",
    )
    print_table(
        "Settings side by side, all ten seeds (not published)",
        ["set", "settings", "RMSE %", "coherence", "largest weight", "99 % of weights", "median s"],
        details,
    )


def _span(values: Sequence[float] | np.ndarray[Any, Any], digits: int) -> str:
    return f"{min(values):.{digits}f}–{max(values):.{digits}f}"


def _measure(paper_set: PaperSet, X: np.ndarray[Any, Any], settings: dict[str, Any], seed: int) -> list[float]:
    """Return RMSE in percent, realism, coherence, the largest weight, the 99 % quantile of weights, and seconds."""
    model = sx.ShapeDictionary(
        paper_set.n_atoms, paper_set.n_nonzero, space=paper_set.space, random_state=seed, **settings
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(X)
        seconds = time.perf_counter() - start
    codes = model.encode(X)
    moduli = np.abs(codes.coefs[codes.support >= 0])
    return [
        -100 * model.score(X),
        float(np.median(model.realism(X))),
        float(mutual_coherences(paper_set.space.whiten(model.atoms_)).max()),
        float(moduli.max()),
        float(np.quantile(moduli, 0.99)),
        seconds,
    ]
