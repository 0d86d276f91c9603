"""Distances as colors: order, names, and what is refused."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import shapelex as sx


def draw(table, **options):
    return sx.plotting.plot_distances(table, ax=Figure().subplots(), **options)


@pytest.fixture
def table():
    return sx.pairwise_distances(np.random.default_rng(0).normal(size=(5, 6, 2)))


def test_shapes_of_a_label_are_neighbors(table):
    labels = ["b", "a", "b", "", "a"]
    ax = draw(table, labels=labels)
    order = [3, 1, 4, 0, 2]
    np.testing.assert_array_equal(ax.images[0].get_array(), table[np.ix_(order, order)])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["(none)", "a", "b"]
    np.testing.assert_array_equal(ax.get_yticks(), [0, 1.5, 3.5])
    assert [line.get_ydata()[0] for line in ax.lines if line.get_gid() != "tick"][::2] == [0.5, 2.5]


def test_names_where_there_is_room(table):
    assert [text.get_text() for text in draw(table, names=list("vwxyz")).get_yticklabels()] == [*"vwxyz"]
    many = np.zeros((41, 3))
    assert "n7" not in [text.get_text() for text in draw(many, names=[f"n{k}" for k in range(41)]).get_yticklabels()]


@pytest.mark.parametrize(("role", "is_lettered"), [("labels", False), ("names", True)])
def test_names_and_letters_stay_in_the_figure(role, is_lettered):
    for length in (1, 6, 13):
        figure = Figure(figsize=(7, 5.6), layout="constrained")
        names = [f"{'x' * length}{k}" for k in range(4)]
        ax = sx.plotting.plot_distances(1 - np.eye(4), **{role: names}, ax=figure.subplots())
        if is_lettered:
            sx.plotting.letter_panels(ax)
        for _ in range(2):
            figure.draw_without_rendering()
        assert ax.get_tightbbox().x0 >= 0
