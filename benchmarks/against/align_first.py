"""Align-first dictionaries against SPAMS on the same arrays, for seeds 0 to 4.

SPAMS runs `trainDL` with at most `n_nonzero` atoms per shape, 1000 iterations from random shapes, then `omp`. Both see
pre-shapes rotated along their mean, as real vectors in whitened coordinates.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import shapelex as sx
from measure import find_peer, print_table
from paper_sets import PAPER_SETS, PaperSet, load

PAPER_RMSE = {"Hermite worms": 7.95, "hands": 2.73, "leaves, B-splines": 7.01}
N_ITERATIONS = 1000
BATCH_SIZE = 1024


def main(n_seeds: int = 5) -> None:
    spams = find_peer("spams", "align-first dictionaries by SPAMS")
    rows = []
    for name, paper_set in PAPER_SETS.items():
        X = load(name, "align-first")
        if X is None:
            continue
        fits: dict[str, Callable[[PaperSet, np.ndarray[Any, Any], int], float]] = {
            "shapelex, ormp": lambda chosen, shapes, seed: _fit(chosen, shapes, seed, coder="ormp", tie=0, n_swaps=0),
            "shapelex, default": _fit,
        }
        if spams is not None:
            fits = {"SPAMS": lambda chosen, shapes, seed: _fit_spams(spams, chosen, shapes, seed), **fits}
        for label, fit in fits.items():
            start = time.perf_counter()
            rmses = [100 * fit(paper_set, X, seed) for seed in range(n_seeds)]
            seconds = (time.perf_counter() - start) / n_seeds
            cells = [f"{np.mean(rmses):.2f}", f"{min(rmses):.2f} to {max(rmses):.2f}", f"{seconds:.2f}"]
            rows.append([name, label, f"{PAPER_RMSE[name]:.2f}", *cells])
    header = ["set", "method", "paper RMSE %", "mean RMSE %", "RMSE %", "mean s"]
    print_table("Align-first dictionaries (not published)", header, rows)


def _fit(paper_set: PaperSet, X: np.ndarray[Any, Any], seed: int, **options: Any) -> float:
    model = sx.AlignFirstDictionary(
        paper_set.n_atoms, paper_set.n_nonzero, space=paper_set.space, random_state=seed, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(model.fit(X).rmse_)


def _fit_spams(spams: Any, paper_set: PaperSet, X: np.ndarray[Any, Any], seed: int) -> float:
    rows = paper_set.space.whiten(sx.align_to_mean(X, space=paper_set.space))
    columns = np.asfortranarray(np.concatenate([rows.real, rows.imag], axis=1).T)
    chosen = np.random.default_rng(seed).permutation(columns.shape[1])[: paper_set.n_atoms]
    # Mode 3 bounds the number of atoms, which SPAMS calls lambda1.
    atoms = spams.trainDL(
        columns,
        D=np.asfortranarray(columns[:, chosen]),
        lambda1=paper_set.n_nonzero,
        mode=3,
        iter=N_ITERATIONS,
        batchsize=min(BATCH_SIZE, columns.shape[1]),
        numThreads=1,
        verbose=False,
    )
    atoms = np.asfortranarray(atoms / np.linalg.norm(atoms, axis=0))
    residuals = columns - atoms @ spams.omp(columns, atoms, L=paper_set.n_nonzero, numThreads=1).toarray()
    return float(np.sqrt((residuals**2).sum(axis=0).mean()))
