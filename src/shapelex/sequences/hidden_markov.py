"""States of a hidden Markov model of postures."""

import logging
from typing import Any

import numpy as np

from shapelex._extras import load_library
from shapelex._typing import FloatArray, IntArray
from shapelex.estimators.folds import make_folds
from shapelex.sequences.result import SequenceCodes
from shapelex.sequences.states import (
    BehaviorStates,
    PostureFeatures,
    by_frequency,
    in_rows,
    state_centers,
)

N_STATES = (1, 2, 3, 4, 5, 6, 7, 8)
"""Numbers of states that are tried."""

LEAST_GAIN = 0.15
"""Share of the gain in held-out log-likelihood, of the best number over one state, that a further state must add."""

DWELL_TIMES = (2.0, 5.0, 10.0, 20.0, 50.0)
"""Mean dwell times that are tried, in frames."""

_N_FOLDS = 4
_N_ITER = 25
_FIRST_DWELL = 10.0
# Relative to the variance of a feature over all frames: states of one posture keep a width.
_LEAST_VARIANCE = 1e-3


def fit_hidden_markov(
    result: SequenceCodes, features: PostureFeatures, n_states: int | None, random_state: int | None
) -> BehaviorStates:
    """Return the states of a hidden Markov model with Gaussian emissions of diagonal covariance."""
    rows, lengths = features(result), _lengths(result)
    scale = rows.std(axis=0)
    scale[scale == 0] = 1
    folds = _folds(lengths)
    counts = [n for n in N_STATES if n <= len(rows) // 10] or [1]
    tried: dict[str, Any] = {"n_states": [], "dwell_time": [], "log_likelihood": [], "standard_error": []}

    def score(count: int, dwell: float) -> tuple[float, float]:
        values = [
            _fit(rows[kept] / scale, kept_lengths, count, dwell, random_state).score(rows[held] / scale, held_lengths)
            / len(held)
            for kept, kept_lengths, held, held_lengths in folds
        ]
        mean, error = float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
        for name, value in zip(tried, (count, dwell, mean, error), strict=True):
            tried[name].append(value)
        return mean, error

    chosen, dwell = n_states or 1, _FIRST_DWELL
    if n_states is None and len(folds) > 1:
        scores = [score(count, _FIRST_DWELL) for count in counts]
        means = np.array([mean for mean, _ in scores])
        whole = means.max() - means[0]
        worthwhile = np.flatnonzero(np.diff(means) >= LEAST_GAIN * whole)
        # States that raise the likelihood by less than its error are none.
        is_structured = whole > scores[int(means.argmax())][1] and len(worthwhile) > 0
        chosen = counts[int(worthwhile[-1]) + 1] if is_structured else counts[0]
    if len(folds) > 1 and chosen > 1:
        times = [score(chosen, dwell_time)[0] for dwell_time in DWELL_TIMES]
        dwell = DWELL_TIMES[int(np.argmax(times))]
    model = _fit(rows / scale, lengths, chosen, dwell, random_state)
    ordered = model.predict(rows / scale, lengths)
    rank = by_frequency(ordered, chosen)

    def predict(other: SequenceCodes) -> IntArray:
        return in_rows(other, rank[model.predict(features(other) / scale, _lengths(other))])

    labels = rank[ordered]
    return BehaviorStates(
        in_rows(result, labels),
        [f"s{number}" for number in range(chosen)],
        state_centers(result, labels, chosen),
        _explain(result, chosen, dwell, n_states is None, len(folds)),
        predict,
        result,
        {name: np.array(values) for name, values in tried.items()},
    )


def _fit(rows: FloatArray, lengths: IntArray, n_states: int, dwell: float, random_state: int | None) -> Any:
    hmm = load_library("hmmlearn.hmm", "hmmlearn", "A hidden Markov model", extra="sequences")
    # Too few frames for all parameters, and slow convergence, are only logged.
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    model = hmm.GaussianHMM(
        n_states,
        covariance_type="diag",
        n_iter=_N_ITER,
        tol=1e-3 * len(rows),
        min_covar=_LEAST_VARIANCE,
        params="mc",
        init_params="mc",
        random_state=random_state,
        implementation="log",
    )
    stay = 1 - 1 / dwell
    model.startprob_ = np.full(n_states, 1 / n_states)
    model.transmat_ = np.full((n_states, n_states), (1 - stay) / max(n_states - 1, 1))
    np.fill_diagonal(model.transmat_, stay if n_states > 1 else 1.0)
    return model.fit(rows, lengths)


def _lengths(result: SequenceCodes) -> IntArray:
    """Return the numbers of coded frames of the series."""
    starts = np.flatnonzero(result.time_order.steps == 0)
    return np.diff(np.append(starts, len(result.time_order.order)))


def _folds(lengths: IntArray) -> list[tuple[IntArray, IntArray, IntArray, IntArray]]:
    """Return training and held-out frames with the lengths of their stretches: whole series, or parts of a few."""
    stretches = np.repeat(np.arange(len(lengths)), lengths)
    if len(lengths) < _N_FOLDS:
        parts = np.concatenate([np.arange(length) * _N_FOLDS // length for length in lengths])
        stretches = np.unique(_N_FOLDS * stretches + parts, return_inverse=True)[1]
    n_folds = min(_N_FOLDS, int(stretches.max()) + 1)
    if n_folds < 2:
        return []

    def with_lengths(frames: IntArray) -> tuple[IntArray, IntArray]:
        return frames, np.unique(stretches[frames], return_counts=True)[1]

    folds = make_folds(n_folds, len(stretches), stretches)
    return [(*with_lengths(kept), *with_lengths(held)) for kept, held in folds if len(kept) >= 10]


def _explain(result: SequenceCodes, n_states: int, dwell: float, is_chosen: bool, n_folds: int) -> str:
    told = f"{dwell:g} frames" if result.fps is None else f"{dwell / result.fps:.3g} s ({dwell:g} frames)"
    if n_folds < 2:
        return f"{n_states} states of a hidden Markov model; the recording is too short to hold out parts of it"
    number = (
        f"the largest number of {N_STATES[0]} to {N_STATES[-1]} whose last state adds at least "
        f"{100 * LEAST_GAIN:.0f} % of the gain in held-out log-likelihood of the best number over one state"
        if is_chosen
        else "as asked for"
    )
    return (
        f"{n_states} states of a hidden Markov model of postures, {number}; a mean dwell time of "
        f"{told} has the best held-out log-likelihood of those tried"
    )
