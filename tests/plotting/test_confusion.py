import numpy as np
from matplotlib.figure import Figure

import shapelex as sx


def draw(*arguments, **options):
    return sx.plotting.plot_confusion(*arguments, ax=Figure().subplots(), **options)


def test_colors_are_shares_and_numbers_counts():
    ax = draw(["b", "a", "a", "a"], ["a", "a", "b", "a"])
    np.testing.assert_allclose(ax.images[0].get_array(), [[2 / 3, 1 / 3], [1, 0]])
    found = {text.get_position(): text.get_text() for text in ax.texts}
    assert found == {(0, 0): "2", (1, 0): "1", (0, 1): "1"}
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]


def test_classes_are_in_the_given_order_and_may_be_empty():
    ax = draw([1, 2], [2, 2], classes=[3, 2, 1])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["3", "2", "1"]
    np.testing.assert_allclose(ax.images[0].get_array(), [[0, 0, 0], [0, 1, 0], [0, 1, 0]])
