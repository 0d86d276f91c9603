"""Accuracy and realism of learned dictionaries at the paper's sizes, for seeds 0 to 4.

Realism is the full distance of an atom to the nearest shape, median over atoms. Coherence is the largest
``|d_i* d_j|``. The plain settings are the paper's algorithm: ORMP, random first atoms, 30 updates.
"""

import time
import warnings
from typing import Any

import numpy as np

import shapelex as sx
from measure import print_table
from paper_sets import PAPER_SETS, PaperSet, load
from shapelex.learning import mutual_coherences

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "plain": {"coder": "ormp", "init": "random", "max_iter": 30},
}


def main(n_seeds: int = 5) -> None:
    rows = []
    for name, paper_set in PAPER_SETS.items():
        X = load(paper_set)
        if X is None:
            print(f"\n{name}: no data; set SHAPELEX_DATA")
            continue
        for label, settings in SETTINGS.items():
            measured = np.array([_measure(paper_set, X, settings, seed) for seed in range(n_seeds)])
            low, high = measured.min(axis=0), measured.max(axis=0)
            spans = [f"{a:.{d}f} to {b:.{d}f}" for a, b, d in zip(low, high, (2, 3, 3, 1, 1, 0), strict=True)]
            target = f"{paper_set.rmse_target:.2f}, {paper_set.realism_target}" if label == "default" else ""
            rows.append(
                [name, label, f"{paper_set.paper_rmse:.2f}", target, *spans, f"{np.median(measured[:, -1]):.2f}"]
            )
    header = ["set", "settings", "paper RMSE %", "targets", "RMSE %", "realism", "coherence"]
    if rows:
        rows = [[*row[:9], row[10]] for row in rows]
        print_table("Accuracy", [*header, "largest weight", "99 % of weights", "median s"], rows)


def _measure(paper_set: PaperSet, X: np.ndarray[Any, Any], settings: dict[str, Any], seed: int) -> list[float]:
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


if __name__ == "__main__":
    main()
