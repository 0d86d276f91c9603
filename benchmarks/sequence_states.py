"""Known states of simulated recordings: how well bouts are recovered, beside a plain hidden Markov model.

The adjusted Rand index compares the states of all frames with the truth (1: equal, 0: by chance). The F1 score of
boundaries counts a change of state as found where the truth has one at most three frames away.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

import shapelex as sx
from measure import find_peer, format_seeds, print_table

Array = np.ndarray[Any, Any]

NOISES = (0.01, 0.03, 0.06)
RELATIVE_COSTS = (0.0, 0.25, 1.0, 4.0)
N_STATES = 4
TOLERANCE = 3
SEEDS = (10, 11, 12)


def main(seeds: tuple[int, ...] = SEEDS) -> None:
    hmm = find_peer("hmmlearn.hmm", "states beside hidden Markov models")
    if hmm is None:
        return
    columns: list[dict[str, str]] = []
    for noise in NOISES:
        runs = [_measure(noise, seed, hmm) for seed in seeds]
        columns.append(
            {
                method: ", ".join(f"{np.mean([run[method][place] for run in runs]):.2f}" for place in (0, 1))
                for method in runs[0]
            }
        )
    print_table(
        f"docs/how-to/sequences.md, Known states: adjusted Rand index and F1 of boundaries, mean of seeds "
        f"{format_seeds(seeds)}",
        ["states by", *(f"noise {noise:g}" for noise in NOISES)],
        [[method, *(column[method] for column in columns)] for method in columns[0]],
        "sequence-states",
    )


def _measure(noise: float, seed: int, hmm: Any) -> dict[str, tuple[float, float]]:
    shapes = sx.datasets.make_behavior(500, 2, n_states=N_STATES, noise=noise, random_state=seed)
    truth, sequence = shapes.metadata["state"], np.asarray(shapes.sequence)
    found: dict[str, tuple[float, float]] = {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", sx.exceptions.ConvergenceWarning)
        single = sx.ShapeDictionary(N_STATES, 1, random_state=seed).fit(shapes)
        model = sx.ShapeDictionary(8, 3, random_state=seed).fit(shapes)
        unit = sx.sequences.encode_sequence(shapes, single, switch_cost=0).rmse ** 2
        for relative in RELATIVE_COSTS:
            coded = sx.sequences.encode_sequence(shapes, single, switch_cost=relative * unit)
            labels = sx.sequences.find_states(coded).labels
            found[f"support, 1 of {N_STATES} atoms, cost of {relative:g} mean squared errors"] = _scores(
                truth, labels, sequence
            )
        coded = sx.sequences.encode_sequence(shapes, single)
        found[f"support, 1 of {N_STATES} atoms, chosen cost"] = _scores(
            truth, sx.sequences.find_states(coded).labels, sequence
        )
        coded = sx.sequences.encode_sequence(shapes, model)
        for method, words in (("cluster", "clusters"), ("hmm", "hidden Markov model")):
            for number in (N_STATES, None):
                labels = sx.sequences.find_states(coded, method, n_states=number).labels
                told = f"{N_STATES} states" if number else "number of states chosen"
                found[f"{words} of codes, 3 of 8 atoms, {told}"] = _scores(truth, labels, sequence)
        found[f"hidden Markov model of TangentPCA scores, {N_STATES} states"] = _scores(
            truth, _plain_states(shapes, hmm, seed), sequence
        )
    return found


def _plain_states(shapes: sx.ShapeSet, hmm: Any, seed: int) -> Array:
    """Return the states of a hidden Markov model of six scores, all of whose parameters are learned."""
    scores = sx.TangentPCA(6).fit_transform(shapes)
    lengths = np.bincount(np.asarray(shapes.sequence))
    model = hmm.GaussianHMM(N_STATES, covariance_type="diag", n_iter=50, random_state=seed)
    return np.asarray(model.fit(scores / scores.std(axis=0), lengths).predict(scores / scores.std(axis=0), lengths))


def _scores(truth: Array, labels: Array, sequence: Array) -> tuple[float, float]:
    inside = np.diff(sequence) == 0
    told, found = (np.flatnonzero((np.diff(states) != 0) & inside) for states in (truth, labels))
    near = np.abs(told[:, None] - found[None]) <= TOLERANCE
    recall = near.any(axis=1).mean() if len(told) else 1.0
    # A true change counts for one found change only.
    precision = min(int(near.any(axis=1).sum()), len(found)) / max(len(found), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-12)
    return float(adjusted_rand_score(truth, labels)), float(f1)


if __name__ == "__main__":
    main()
