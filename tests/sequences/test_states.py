"""States of behavior, their bouts, how long they last, and what follows what."""

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import shapelex as sx
from shapelex.exceptions import ParameterError, ParameterTypeError
from shapelex.sequences import bouts, dwell, encode_sequence, find_states, ngrams, series_summary, transitions


def test_bouts_of_labels_and_of_sets(result):
    table = bouts(result, np.array(list("aaab" * 45)))
    assert table["n_frames"].sum() == 180
    assert set(table["state"]) == {"a", "b"}
    # Series do not join: the first bout of each has nothing before it.
    assert (table["previous_state"] == "").sum() == 3
    first = table[table["sequence"] == 1].iloc[0]
    assert (first["first_frame"], first["last_frame"], first["state"]) == (0, 2, "a")
    by_support = bouts(result)
    assert (by_support["previous_state"] != "").sum() == result.is_switch.sum()
    assert by_support["n_frames"].sum() == len(result)
    long = bouts(result, min_duration=8)
    assert len(long) < len(by_support)
    assert all((group >= 8).all() or len(group) == 1 for _, group in long.groupby("sequence")["n_frames"])


def test_gaps_end_bouts(worms, model):
    frames = np.array([0, 1, 2, 7, 8, 9])
    found = encode_sequence(np.asarray(worms)[:6], model, frames=frames, switch_cost=1e-3)
    table = bouts(found, ["x"] * 6)
    assert table[["first_frame", "last_frame"]].to_numpy().tolist() == [[0, 2], [7, 9]]
    assert len(transitions(found, ["x", "x", "x", "y", "y", "y"])) == 0


def test_durations_and_rates_are_in_seconds_where_the_rate_is_known(worms, model):
    found = encode_sequence(worms, model, switch_cost=2e-3, fps=20)
    table = bouts(found)
    np.testing.assert_allclose(table["duration"], table["n_frames"] / 20)
    summary = series_summary(found)
    assert summary["sequence"].tolist() == [0, 1, 2]
    np.testing.assert_allclose(summary.filter(like="share_").sum(axis=1), 1)
    assert (summary["n_frames"] == 60).all()
    times = dwell(found)
    assert times["share"].sum() == pytest.approx(1)
    assert times["total"].sum() == pytest.approx(len(found) / 20)
    assert times["total"].is_monotonic_decreasing
    assert np.average(summary["flicker"]) == pytest.approx(found.flicker)
    assert np.isfinite(summary["phase_velocity"]).all()


def test_transitions_are_probabilities(result):
    labels = np.array(list("aabbccabab" * 18))
    table = transitions(result, labels)
    np.testing.assert_allclose(table.groupby("from_state")["probability"].sum(), 1)
    assert table["count"].sum() == len(bouts(result, labels)) - 3
    matrix = table.pivot(index="from_state", columns="to_state", values="probability")
    assert np.isnan(matrix.loc["a", "a"])
    row = table[table["from_state"] == "a"]
    np.testing.assert_allclose(row["entropy"], -(row["probability"] * np.log2(row["probability"])).sum())
    expected = (table["count"] * table["entropy"]).sum() / table["count"].sum()
    assert table.attrs["entropy"] == pytest.approx(expected)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_ngrams_against_counting(result, n):
    labels = np.random.default_rng(0).choice(list("abc"), len(result))
    table = ngrams(result, n, labels)
    chains = [bouts(result, labels).query("sequence == @series")["state"].tolist() for series in range(3)]
    counted = Counter(" > ".join(chain[start : start + n]) for chain in chains for start in range(len(chain) - n + 1))
    assert dict(zip(table["ngram"], table["count"], strict=True)) == counted
    assert table["share"].sum() == pytest.approx(1)
    assert f"state_{n}" in table.columns
    if n == 1:
        np.testing.assert_allclose(table["expected"], table["count"])


@pytest.fixture(scope="module")
def recording():
    shapes = sx.datasets.make_behavior(240, 2, n_states=3, dwell=30, noise=0.01, random_state=1)
    model = sx.ShapeDictionary(6, 2, n_swaps=0, tol=1e-2, random_state=0).fit(shapes)
    return shapes, model, encode_sequence(shapes, model, switch_cost=0.01)


@pytest.fixture(scope="module")
def states(recording):
    """Return the states that each method finds where the number of states is given."""
    numbers = {"support": None, "cluster": 3, "hmm": 3}
    return {method: find_states(recording[2], method, n_states=number) for method, number in numbers.items()}


@pytest.mark.parametrize("method", ["support", "cluster", "hmm"])
def test_known_states_are_found_and_apply_to_other_recordings(recording, states, method):
    shapes, model, found = recording
    own = states[method]
    np.testing.assert_array_equal(own.predict(found), own.labels)
    if method != "support":
        assert adjusted_rand_score(shapes.metadata["state"], own.labels) > 0.8
        assert (np.diff(np.bincount(own.labels)) <= 0).all()
    # The second animal alone gets the labels that it had, but for the ends of its series.
    rows = np.flatnonzero(shapes.sequence == 1)
    other = encode_sequence(shapes[rows], model, switch_cost=0.01)
    assert (own.predict(other) == own.labels[rows]).mean() > 0.99
    assert set(bouts(other, own)["state"]) <= set(own.names)


@pytest.mark.parametrize(
    ("method", "words", "least"), [("hmm", "held-out log-lik", 0.7), ("cluster", "silhouette", 0.5)]
)
def test_number_of_states_is_chosen_and_explained(recording, method, words, least):
    shapes, _, found = recording
    chosen = find_states(found, method)
    assert adjusted_rand_score(shapes.metadata["state"], chosen.labels) > least
    assert words in chosen.explanation
    if method == "hmm":
        assert "s (" in chosen.explanation
        assert set(chosen.selection) == {"n_states", "dwell_time", "log_likelihood", "standard_error"}


def test_sets_that_did_not_occur_have_no_state(recording):
    shapes, model, found = recording
    rows = np.flatnonzero(shapes.metadata["state"] == 0)
    few = find_states(encode_sequence(shapes[rows], model, switch_cost=10.0))
    assert (few.predict(found) == -1).any()
    assert len(bouts(found, few)) > 0


def test_states_are_similar_and_frames_without_code_have_none(recording, states):
    alike = states["cluster"].similarity()
    np.testing.assert_allclose(np.diag(alike), 1)
    np.testing.assert_allclose(alike, alike.T)
    assert ((alike.to_numpy() > 0) & (alike.to_numpy() <= 1)).all()
    shapes, model, _ = recording
    rows = np.asarray(shapes)[:60].copy()
    rows[10] = np.nan
    found = encode_sequence(rows, model, switch_cost=0.01)
    for method, number in (("support", None), ("cluster", 2)):
        assert find_states(found, method, n_states=number).labels[10] == -1


def test_wrong_states(result):
    assert len(bouts(result, np.full(180, -1))) == 0
    for call, error, words in (
        (lambda: bouts(result, "atoms"), ParameterError, "must be one of support, cluster, hmm"),
        (lambda: bouts(result, [1, 2]), ParameterError, "one label for each of 180 frames"),
        (lambda: find_states(result.codes), ParameterTypeError, "what encode_sequence returns"),
        (lambda: find_states(result, "cluster", n_states=500), ParameterError, "coded frames, 180, got 500"),
        (lambda: find_states(result, "hdbscan"), ValueError, "method"),
    ):
        with pytest.raises(error, match=words):
            call()
