"""Bouts, how long they last, and what follows what."""

from collections import Counter

import numpy as np
import pytest

from shapelex.exceptions import ParameterError
from shapelex.sequences import bouts, dwell, encode_sequence, ngrams, series_summary, transitions


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
    assert np.average(summary["flicker"]) == pytest.approx(found.flicker)
    assert np.isfinite(summary["phase_velocity"]).all()


def test_dwell_sums_to_all_time(result):
    table = dwell(result)
    assert table["share"].sum() == pytest.approx(1)
    assert table["total"].sum() == len(result)
    assert table["total"].is_monotonic_decreasing


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


def test_wrong_states(result):
    with pytest.raises(ParameterError, match="must be one of support, cluster, hmm"):
        bouts(result, "atoms")
    with pytest.raises(ParameterError, match="one label for each of 180 frames"):
        bouts(result, [1, 2])
    assert len(bouts(result, np.full(180, -1))) == 0
