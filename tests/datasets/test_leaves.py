"""Leaves made in code."""

import numpy as np
import pytest

import shapelex as sx


def crossings(outline: np.ndarray) -> int:
    """Count pairs of edges that cross."""
    following = np.roll(outline, -1)
    n_edges, found = len(outline), 0
    for i in range(n_edges):
        for j in range(i + 2, n_edges - (i == 0)):
            a, b, c, d = outline[i], following[i], outline[j], following[j]

            def side(p: complex, q: complex, r: complex) -> float:
                return float(np.imag(np.conj(q - p) * (r - p)))

            found += side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
    return found


def test_species_follow_each_other_with_labels_and_ids():
    leaves = sx.datasets.make_leaves(5, 6, 60, random_state=0)
    assert leaves.shape == (30, 60)
    assert leaves.space == sx.Landmarks(60, closed=True)
    assert len(set(leaves.labels)) == 6
    assert leaves.labels[:6].tolist() == leaves.labels[6:12].tolist()
    assert len(set(leaves.ids)) == 30
    assert leaves.ids[7] == f"{leaves.labels[7]}-1"


def test_outlines_are_simple_and_counter_clockwise():
    leaves = np.asarray(sx.datasets.make_leaves(4, 6, 80, random_state=1))
    assert (np.imag(np.conj(leaves) * np.roll(leaves, -1, axis=1)).sum(axis=1) > 0).all()
    assert [crossings(leaf) for leaf in leaves] == [0] * 24


def test_species_can_be_told_apart():
    leaves = sx.datasets.make_leaves(12, 6, random_state=2)
    distances = sx.pairwise_distances(leaves)
    np.fill_diagonal(distances, np.inf)
    assert np.mean(leaves.labels[distances.argmin(axis=1)] == leaves.labels) > 0.9


def test_without_variation_leaves_of_a_species_are_one_shape():
    leaves = sx.datasets.make_leaves(3, 6, variation=0, random_state=3)
    for label in set(leaves.labels):
        alike = leaves[leaves.labels == label]
        assert sx.pairwise_distances(alike).max() < 1e-7
    assert np.ptp(sx.Landmarks(100).norm(np.asarray(leaves))) > 0.1


def test_a_random_start_is_told():
    fixed = sx.datasets.make_leaves(4, 3, 400, random_state=4)
    moved = sx.datasets.make_leaves(4, 3, 400, random_start=True, random_state=4)
    assert (fixed.metadata["start"] == 0).all()
    assert np.ptp(moved.metadata["start"]) > 0.5
    for leaf, other, start in zip(fixed, moved, moved.metadata["start"], strict=True):
        back = np.roll(other, round(start * 400))
        assert sx.distance(leaf, back) < 0.02
        assert sx.distance(leaf, other) > 0.05


def test_a_space_to_fit_in():
    space = sx.BSpline(60)
    splines = sx.datasets.make_leaves(2, 6, space=space, random_state=5)
    assert splines.space == space
    points = np.asarray(sx.datasets.make_leaves(2, 6, 300, random_state=5))
    curves = space.sample(splines, space.parameters(300))
    assert np.median(np.abs(curves - points)) < 0.02


def test_columns_tell_the_width():
    leaves = sx.datasets.make_leaves(20, 2, 300, variation=0.1, random_state=6)
    lanceolate = leaves[leaves.labels == "lanceolate"]
    for leaf, width, curl in zip(lanceolate, lanceolate.metadata["width"], lanceolate.metadata["curl"], strict=True):
        if abs(curl) > 0.05:
            continue
        tip = np.abs(leaf - leaf[0]).argmax()
        upright = (leaf - leaf[0]) / (leaf[tip] - leaf[0])
        assert upright.imag.max() == pytest.approx(width, abs=0.02)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_species": 7}, ValueError, "at most 6"),
        ({"n_species": 0}, ValueError, "n_species"),
        ({"n_per_species": 0}, ValueError, "n_per_species"),
        ({"variation": np.nan}, ValueError, "variation must be finite"),
        ({"n_points": 2}, ValueError, "n_points"),
        ({"space": sx.Landmarks(50)}, TypeError, "closed=True"),
    ],
)
def test_what_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        sx.datasets.make_leaves(**options)
