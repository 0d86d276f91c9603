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


@pytest.mark.parametrize("method", ["cluster", "hmm"])
def test_known_states_are_found(recording, method):
    shapes, _, found = recording
    states = find_states(found, method, n_states=3)
    assert adjusted_rand_score(shapes.metadata["state"], states.labels) > 0.8
    counts = np.bincount(states.labels)
    assert (np.diff(counts) <= 0).all()


def test_number_of_states_is_chosen_and_explained(recording):
    shapes, _, found = recording
    states = find_states(found, "hmm")
    assert adjusted_rand_score(shapes.metadata["state"], states.labels) > 0.7
    assert "held-out log-likelihood" in states.explanation
    assert "s (" in states.explanation
    assert set(states.selection) == {"n_states", "dwell_time", "log_likelihood", "standard_error"}
    clusters = find_states(found, "cluster")
    assert "silhouette" in clusters.explanation
    assert adjusted_rand_score(shapes.metadata["state"], clusters.labels) > 0.5


@pytest.mark.parametrize("method", ["support", "cluster", "hmm"])
def test_states_apply_to_other_recordings(recording, method):
    shapes, model, found = recording
    number = None if method == "support" else 3
    states = find_states(found, method, n_states=number)
    np.testing.assert_array_equal(states.predict(found), states.labels)
    # The second animal alone gets the labels that it had, but for the ends of its series.
    rows = np.flatnonzero(shapes.sequence == 1)
    other = encode_sequence(shapes[rows], model, switch_cost=0.01)
    agree = states.predict(other) == states.labels[rows]
    assert agree.mean() > 0.99
    table = bouts(other, states)
    assert set(table["state"]) <= set(states.names)


def test_sets_that_did_not_occur_have_no_state(recording):
    shapes, model, found = recording
    rows = np.flatnonzero(shapes.metadata["state"] == 0)
    few = encode_sequence(shapes[rows], model, switch_cost=10.0)
    labels = find_states(few).predict(found)
    assert (labels == -1).any()
    assert len(bouts(found, find_states(few))) > 0


def test_similarity(recording):
    _, _, found = recording
    alike = find_states(found, "cluster", n_states=3).similarity()
    np.testing.assert_allclose(np.diag(alike), 1)
    np.testing.assert_allclose(alike, alike.T)
    assert ((alike.to_numpy() > 0) & (alike.to_numpy() <= 1)).all()


def test_frames_without_code_have_no_state(recording):
    shapes, model, _ = recording
    rows = np.asarray(shapes)[:60].copy()
    rows[10] = np.nan
    found = encode_sequence(rows, model, switch_cost=0.01)
    for method in ("support", "cluster"):
        assert find_states(found, method).labels[10] == -1


def test_wrong_arguments(recording):
    _, _, found = recording
    with pytest.raises(ParameterTypeError, match="what encode_sequence returns"):
        find_states(found.codes)
    with pytest.raises(ParameterError, match="at most the number of coded frames, 480, got 500"):
        find_states(found, "cluster", n_states=500)
    with pytest.raises(ValueError, match="method"):
        find_states(found, "hdbscan")
