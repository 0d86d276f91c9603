"""Training error, realism, weights and time of dictionaries at the paper's sizes, over seeds given with ``--seeds``.

Realism is the full distance from an atom to the nearest shape, median over atoms. The weight energy is the mean over
shapes of ``Σ_j |a_j|²``. Times are CPU times of one thread. ``--baseline`` names the ``src`` folder of another checkout
of shapelex, which is measured in turn with this one. The paper's algorithm is ORMP from random first atoms, 30 updates.
"""

import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from sklearn.base import clone

from learners import PAPER, Settings, make_dictionary
from measure import format_seeds, prefer_source_tree, print_table, skip
from paper_sets import PAPER_SETS, load

TARGET = "default"
LEARNERS: dict[str, Settings] = {
    TARGET: {},
    "effort=2, first 5 seeds": {"effort": 2},
    "the paper's algorithm": {**PAPER, "max_iter": 30},
}
BASELINE = "baseline"
LONG_SEEDS = 5
"""Number of seeds, the first ones, of learners with more effort."""

Measured = dict[str, float]


def main(seeds: Sequence[int], baseline: str | None = None) -> None:
    runs: dict[str, tuple[str | None, Settings]] = {name: (None, settings) for name, settings in LEARNERS.items()}
    if baseline is not None:
        runs[BASELINE] = (baseline, LEARNERS[TARGET])
    trees = {tree for tree, _ in runs.values()}
    # Also this checkout is measured in a process of its own, so that all are measured alike.
    workers = {
        tree: ProcessPoolExecutor(1, get_context("spawn"), initializer=prefer_source_tree, initargs=(tree,))
        for tree in trees
    }
    found = {}
    for name in PAPER_SETS:
        if load(name, "accuracy") is not None:
            found[name] = _measure_in_turns(name, runs, workers, seeds)
    for worker in workers.values():
        worker.shutdown()
    if found:
        _print_tables(found, format_seeds(seeds))


def _measure_in_turns(
    name: str,
    runs: Mapping[str, tuple[str | None, Settings]],
    workers: Mapping[str | None, ProcessPoolExecutor],
    seeds: Sequence[int],
) -> dict[str, list[Measured]]:
    found: dict[str, list[Measured]] = {}
    for seed in seeds:
        for label, (tree, settings) in runs.items():
            if "effort" in settings and seed not in seeds[:LONG_SEEDS]:
                continue
            measured = workers[tree].submit(measure_fit, name, settings, seed).result()
            if measured is not None:
                found.setdefault(label, []).append(measured)
            elif seed == seeds[0]:
                skip(f"accuracy, {name}, {label}", f"this version has not all of {', '.join(settings)}")
            print(f"{name}, seed {seed}, {label}: {measured}", file=sys.stderr, flush=True)
    return found


def measure_fit(name: str, settings: Settings, seed: int) -> Measured | None:
    """Fit one dictionary in this process; None where this version of shapelex lacks a setting."""
    chosen, X = PAPER_SETS[name], load(name, "accuracy")
    size = {"n_atoms": chosen.n_atoms, "n_nonzero": chosen.n_nonzero, "space": chosen.space}
    model = make_dictionary(settings, **size, n_jobs=1, random_state=seed)
    if model is None or X is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clone(model).fit(X[:: len(X) // 40])  # loads the kernels
        start = time.process_time()
        model.fit(X)
        seconds = time.process_time() - start
    codes = model.encode(X)
    return {
        "rmse": -100 * float(model.score(X)),
        "realism": float(np.median(model.realism(X))),
        "energy": float((np.abs(codes.coefs) ** 2).sum(axis=1).mean()),
        "seconds": seconds,
    }


def _print_tables(found: Mapping[str, Mapping[str, Sequence[Measured]]], seeds: str) -> None:
    details: list[list[str]] = []
    rows: list[list[str]] = []
    for name, learners in found.items():
        size = f"{PAPER_SETS[name].n_nonzero} of {PAPER_SETS[name].n_atoms}"
        for label, runs in learners.items():
            values = {key: np.array([run[key] for run in runs]) for key in runs[0]}
            rmses = values["rmse"]
            cells = [f"{rmses.mean():.3f}", f"{rmses.max():.3f}", f"{values['realism'].mean():.3f}"]
            cells += [f"{values['realism'].max():.3f}", f"{values['energy'].mean():.2f}"]
            details.append([f"{name}, {size}", label, *cells, f"{np.median(values['seconds']):.2f}"])
        rows.append(
            [
                f"{name}, {size}{'' if rows else ' atoms'}",
                f"{PAPER_SETS[name].paper_rmse:.2f} %",
                *(_mean_and_worst(learners.get(label)) for label in _published(found)),
                f"{np.mean([run['realism'] for run in learners[TARGET]]):.3f}",
            ]
        )
    print_table(
        "README, What is here: training RMSE at the paper's sizes",
        [
            f"training RMSE at the paper's sizes, seeds {seeds}: mean, worst",
            "paper",
            *_published(found),
            f"{TARGET}: atoms to nearest shape, median",
        ],
        rows,
        "accuracy",
    )
    print_table(
        "docs/how-to/evaluation.md, Training errors",
        [
            f"seeds {seeds}",
            "learner",
            "training RMSE %, mean",
            "worst",
            "atoms to nearest shape, median",
            "worst",
            "weight energy",
            "CPU s, median",
        ],
        details,
        "learning",
    )


def _published(found: Mapping[str, Mapping[str, Sequence[Measured]]]) -> list[str]:
    """Return the learners of this version, without the paper's, whose published errors are in the table."""
    labels = dict.fromkeys(label for learners in found.values() for label in learners)
    return [label for label in labels if label not in (BASELINE, "the paper's algorithm")]


def _mean_and_worst(runs: Sequence[Measured] | None) -> str:
    rmses = [run["rmse"] for run in runs or ()]
    return f"{np.mean(rmses):.2f} %, {max(rmses):.2f} %" if rmses else ""
