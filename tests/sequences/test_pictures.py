"""Pictures of codes over time: which frames are drawn, and with which states, rates and shapes."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import shapelex as sx
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.sequences.rhythm import phase_plane

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
