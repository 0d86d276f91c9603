"""States of behavior and their bouts, and pictures of codes over time."""

from collections import Counter

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from sklearn.metrics import adjusted_rand_score

import shapelex as sx
from shapelex.exceptions import ParameterError, ParameterTypeError, ShapeInputError
from shapelex.sequences import bouts, dwell, encode_sequence, find_states, ngrams, series_summary, transitions
from shapelex.sequences.rhythm import phase_plane


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


mpl.use("Agg")


@pytest.fixture
def ax():
    return Figure(figsize=(5, 3), layout="constrained").subplots()


@pytest.fixture(scope="module")
def crawl():
    """Return two worms of 14 and 20 frames, one of them without coordinates, and their codes."""
    worms = sx.datasets.make_worms(20, 2, 12, random_state=0)[6:]
    model = sx.ShapeDictionary(5, 2, random_state=0, tol=1e-2).fit(worms)
    rows = worms.configurations.copy()
    rows[30] = np.nan
    worms = worms.replace(configurations=rows, missing="allow")
    return worms, sx.sequences.encode_sequence(worms, model, switch_cost=0.005, fps=20)


def test_the_longest_series_is_drawn_and_frames_that_are_not_coded_are_left_out(crawl, tmp_path):
    worms, result = crawl
    for series, rows in ((None, np.setdiff1d(np.arange(14, 34), [30])), (0, np.arange(14))):
        ax = result.plot("phases", series=series, ax=Figure().subplots())
        times = np.unique(np.concatenate([line.get_xdata() for line in ax.lines]))
        np.testing.assert_allclose(times[np.isfinite(times)], (worms.metadata["frame"][rows] + 0.5) / 20)
    with Image.open(result.save_movie(tmp_path / "worm.gif", worms, max_frames=5)) as movie:
        # 19 coded frames, every fourth of them at 20 per second.
        assert (movie.n_frames, movie.info["duration"]) == (5, 200)


@pytest.mark.parametrize("picture", ["ethogram", "weights", "phases", "portrait", "kymograph", "transitions"])
def test_every_picture_has_times_in_seconds_where_it_has_time(crawl, ax, picture):
    _, result = crawl
    assert result.plot(picture, ax=ax) is ax
    if picture in ("portrait", "transitions"):
        return
    assert ax.get_xlabel() == "time (s)"
    assert ax.get_xlim()[1] == pytest.approx(20 / 20)


def test_ethogram_has_the_states_that_are_given(crawl, ax):
    _, result = crawl
    states = np.where(np.arange(34) % 14 < 7, "rest", "crawl")
    result.plot(states=states, ax=ax)
    assert [text.get_text().split()[0] for text in ax.get_legend().get_texts()] == ["rest", "crawl"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["1", "0"]
    other = ax.figure.subplots()
    result.plot(states=states, series=0, ax=other)
    assert [text.get_text() for text in other.get_legend().get_texts()] == ["crawl (50 %)", "rest (50 %)"]


def test_kymograph_is_of_the_reconstructions_or_of_the_shapes(crawl, ax):
    worms, result = crawl
    result.plot("kymograph", series=0, ax=ax)
    drawn = np.asarray(ax.images[0].get_array())
    np.testing.assert_allclose(drawn, sx.sequences.curvature(result.reconstruct()[:14]).T)
    other = ax.figure.subplots()
    result.plot("kymograph", series=0, X=worms, ax=other)
    np.testing.assert_allclose(np.asarray(other.images[0].get_array()), sx.sequences.curvature(worms[:14]).T)
    with pytest.raises(ShapeInputError, match="the 34 shapes that were coded, got 14"):
        result.plot("kymograph", X=worms[:14], ax=ax)


def test_phase_plane_turns_with_the_phase_velocity(crawl):
    worms = sx.datasets.make_worms(120, random_state=3)
    model = sx.ShapeDictionary(6, 3, random_state=0, tol=1e-2).fit(worms)
    result = sx.sequences.encode_sequence(worms, model, switch_cost=0.001)
    path, pair = phase_plane(result)
    turned = np.diff(np.unwrap(np.angle(path)))
    velocity = sx.sequences.phase_velocity(result, pair)
    assert np.corrcoef(turned, velocity[1:])[0, 1] > 0.5
    # The truth: the first two postures of simulated worms go around each other.
    truth = worms.metadata["posture_1"] + 1j * worms.metadata["posture_2"]
    correlation = np.corrcoef(np.cos(np.angle(path)), np.cos(np.angle(truth)))[0, 1]
    quadrature = np.corrcoef(np.cos(np.angle(path)), np.sin(np.angle(truth)))[0, 1]
    assert np.hypot(correlation, quadrature) > 0.9


def test_pictures_and_series_must_exist(crawl, ax):
    _, result = crawl
    for picture, series, words in (
        ("pie", None, "picture"),
        ("transitions", 0, "counts all series"),
        ("ethogram", 9, "series must be a series with coded frames: 0, 1, got 9"),
    ):
        with pytest.raises(ParameterError, match=words):
            result.plot(picture, series=series, ax=ax)
