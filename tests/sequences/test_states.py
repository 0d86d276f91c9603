"""States of behavior: known ones are found, and apply to other recordings."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import shapelex as sx
from shapelex.exceptions import ParameterError, ParameterTypeError
from shapelex.sequences import bouts, encode_sequence, find_states


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


def test_similarity(states):
    alike = states["cluster"].similarity()
    np.testing.assert_allclose(np.diag(alike), 1)
    np.testing.assert_allclose(alike, alike.T)
    assert ((alike.to_numpy() > 0) & (alike.to_numpy() <= 1)).all()


def test_frames_without_code_have_no_state(recording):
    shapes, model, _ = recording
    rows = np.asarray(shapes)[:60].copy()
    rows[10] = np.nan
    found = encode_sequence(rows, model, switch_cost=0.01)
    for method, number in (("support", None), ("cluster", 2)):
        assert find_states(found, method, n_states=number).labels[10] == -1


def test_wrong_arguments(recording):
    _, _, found = recording
    with pytest.raises(ParameterTypeError, match="what encode_sequence returns"):
        find_states(found.codes)
    with pytest.raises(ParameterError, match="at most the number of coded frames, 480, got 500"):
        find_states(found, "cluster", n_states=500)
    with pytest.raises(ValueError, match="method"):
        find_states(found, "hdbscan")
