"""Arc-length resampling of open and closed polylines."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import ArrayTypeError, CollapsedShapeError, EmptySetError, NonFiniteError, ShapeInputError

coordinates = st.floats(-100, 100).map(lambda x: round(x, 3))
polylines = st.lists(st.tuples(coordinates, coordinates), min_size=3, max_size=12).map(
    lambda points: np.array([complex(*point) for point in points])
)


def walk(line, n_points, closed):
    """Walk along the edges, one at a time, to each point wanted."""
    vertices = np.append(line, line[:closed])
    edges, points = np.abs(np.diff(vertices)), []
    for left in edges.sum() * np.arange(n_points) / (n_points - (not closed)):
        edge = 0
        while edge < len(edges) - 1 and left > edges[edge]:
            left, edge = left - edges[edge], edge + 1
        share = min(left / edges[edge], 1) if edges[edge] else 0
        points.append(vertices[edge] + share * (vertices[edge + 1] - vertices[edge]))
    return np.array(points)


@given(polylines, st.integers(3, 40), st.booleans())
def test_agrees_with_a_walk_along_the_edges(line, n_points, closed):
    assume(np.abs(np.diff(line)).sum() > 1e-3)
    np.testing.assert_allclose(sx.resample(line, n_points, closed=closed), walk(line, n_points, closed), atol=1e-9)


@given(polylines, st.integers(3, 40))
def test_ends_are_kept_exactly(line, n_points):
    assume(np.abs(np.diff(line)).sum() > 1e-3)
    points = sx.resample(line, n_points, closed=False)
    assert (points[0], points[-1]) == (line[0], line[-1])
    assert sx.resample(line, n_points, closed=True)[0] == line[0]


@given(polylines, st.data(), st.booleans())
def test_repeated_vertices_change_nothing(line, data, closed):
    assume(np.abs(np.diff(line)).sum() > 1e-3)
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=len(line), max_size=len(line)))
    again = np.append(np.repeat(line, repeats), line[:closed])
    found, expected = (sx.resample(points, 17, closed=closed) for points in (again, line))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_every_layout_gives_the_same_points():
    stack = np.array([[0, 3, 3 + 4j], [1j, 2, 5 - 1j]])
    expected = sx.resample(stack, 5, closed=True)
    assert expected.shape == (2, 5)
    pairs = sx.to_points(stack)
    for layout in (pairs, list(stack), tuple(pairs), stack.tolist(), pairs.tolist()):
        np.testing.assert_array_equal(sx.resample(layout, 5, closed=True), expected)
    for single in (stack[0], pairs[0], stack[0].tolist(), pairs[0].tolist()):
        np.testing.assert_array_equal(sx.resample(single, 5, closed=True), expected[0])


def test_polylines_of_different_lengths():
    lines = [np.array([0, 4]) + 0j, [[0, 0], [1, 0], [1, 3]], [0, 1, 2, 3, 4j]]
    found = sx.resample(lines, 3, closed=False)
    np.testing.assert_allclose(found[:2], [[0, 2, 4], [0, 1 + 1j, 1 + 3j]])
    nested = sx.resample([[[0, 0], [4, 0]], [[0, 0], [1, 0], [1, 3]]], 3, closed=False)
    np.testing.assert_allclose(nested, found[:2])


def test_single_precision_stays_single():
    line = np.array([0, 1, 1 + 1j], dtype=np.complex64)
    assert sx.resample(line, 5, closed=True).dtype == np.complex64
    assert sx.resample([line, line.astype(complex)], 5, closed=True).dtype == np.complex128
    assert sx.resample(sx.to_points(line), 5, closed=True).dtype == np.complex64


@pytest.mark.parametrize(
    ("lines", "closed", "error", "words"),
    [
        ([1 + 1j] * 4, True, CollapsedShapeError, "all its 4 vertices coincide"),
        ([[0, 1, 1j], [2 + 0j] * 3], True, CollapsedShapeError, r"polylines\[1\] has no length"),
        (np.array([0, 1, 1j]) * 5e-324, True, CollapsedShapeError, "a length below 2.2e-308, the least number of full"),
        (np.array([0, 1, 1j], np.complex64) * np.float32(1e-40), False, CollapsedShapeError, "below 1.2e-38"),
        ([[0, 1, 1j], [0, 1e-310, 1e-310j]], True, CollapsedShapeError, r"polylines\[1\] has a length below"),
        ([0, np.nan, 1j], True, NonFiniteError, "vertices at 1:"),
        ([0, np.inf, 1j, 1], False, NonFiniteError, "NaN or infinite"),
        ([0, 1j], True, ShapeInputError, "a closed polyline needs at least 3"),
        ([1j], False, ShapeInputError, "an open polyline needs at least 2"),
        ([], False, EmptySetError, "at least one"),
        (np.zeros((4, 3)), False, ShapeInputError, r"real array of shape \(4, 3\)"),
        (np.zeros((2, 2, 2), dtype=complex), False, ShapeInputError, "complex array"),
        ([np.zeros(3)], False, ShapeInputError, r"polylines\[0\] must be"),
        (["a", "b"], False, ArrayTypeError, "numbers"),
        ([0, 1e308, -1e308 + 1j], False, ShapeInputError, "overflows"),
    ],
)
def test_what_is_refused(lines, closed, error, words):
    with pytest.raises(error, match=words):
        sx.resample(lines, 10, closed=closed)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        *(
            ({"n_points": n_points, "closed": closed}, ValueError, "n_points of")
            for n_points, closed in [(1, False), (2, True), (0, True), (-3, False)]
        ),
        ({"n_points": 5}, TypeError, "closed"),
        ({"n_points": 5, "closed": "yes"}, TypeError, "closed must be True or False"),
    ],
)
def test_options_that_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        sx.resample([0, 1, 1j], **options)
