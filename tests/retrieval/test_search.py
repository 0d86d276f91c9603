import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import (
    CollapsedShapeError,
    CoordinateCountError,
    NonFiniteError,
    ParameterError,
    ParameterTypeError,
    ShapeInputError,
    UnsupportedBySpaceError,
)
from shapelex.retrieval import nearest
from tests import strategies
from tests.conftest import custom_space
from tests.geometry.registration.test_outlines import CLOSED_SPACES, all_changes, changed

OUTLINE = sx.Landmarks(40, closed=True)


def families(n_classes=6, n_each=8, seed=0, n_points=40):
    """Return outlines of several classes, each with its own start point, place, size and angle, and their classes."""
    rng = np.random.default_rng(seed)
    t = np.exp(2j * np.pi * np.arange(n_points) / n_points)
    frequencies = np.array([-4, -3, -2, -1, 2, 3, 4])
    waves = t ** frequencies[:, None]
    centers = rng.normal(size=(n_classes, 7)) + 1j * rng.normal(size=(n_classes, 7))
    classes = np.repeat(np.arange(n_classes), n_each)
    noise = rng.normal(size=(len(classes), 7)) + 1j * rng.normal(size=(len(classes), 7))
    Z = t + 0.12 * (centers[classes] + 0.3 * noise) @ waves
    for row in range(len(Z)):
        Z[row] = np.roll(Z[row], rng.integers(n_points)) * np.exp(2j * np.pi * rng.random()) + 5 * rng.normal()
    return Z, classes


def slow_distances(query, Z, space, *, is_closed, direction, mirror):
    """Return the least distance of every shape over all changes, tried one by one."""
    if not is_closed:
        copies = [Z, *([Z.conj()] if mirror else [])]
        copies += [space.reverse(copy) for copy in copies] if direction else []
        return np.min([sx.distance(copy, query, space=space) for copy in copies], axis=0)
    changes = all_changes(space, direction, mirror)
    return np.array(
        [sx.distance(np.array([changed(z, space, *c) for c in changes]), query, space=space).min() for z in Z]
    )


@settings(max_examples=15)
@given(st.sampled_from(CLOSED_SPACES), strategies.seeds, st.booleans())
def test_closed_curves_are_compared_over_all_changes(space, seed, mirror):
    Z = strategies.random_configurations(space, 5, seed)
    query = strategies.random_configurations(space, 1, seed + 1)[0]
    indices, distances = sx.retrieve(query, Z, 5, space=space, mirror=mirror)
    slow = slow_distances(query, Z, space, is_closed=True, direction=True, mirror=mirror)
    np.testing.assert_allclose(distances, np.sort(slow), atol=1e-12)
    np.testing.assert_allclose(distances, slow[indices], atol=1e-12)
    assert sorted(indices) == list(range(5))


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize(
    ("space", "direction"), [(sx.Landmarks(7), False), (sx.BSpline(7, closed=False), True), (sx.HermiteSpline(4), True)]
)
def test_open_curves_keep_their_points_and_landmarks_their_numbers(space, direction, mirror):
    Z = strategies.random_configurations(space, 9, 0)
    query = strategies.random_configurations(space, 1, 1)[0]
    indices, distances = sx.retrieve(query, Z, 4, space=space, mirror=mirror)
    slow = slow_distances(query, Z, space, is_closed=False, direction=direction, mirror=mirror)
    np.testing.assert_array_equal(indices, np.argsort(slow)[:4])
    np.testing.assert_allclose(distances, np.sort(slow)[:4], atol=1e-12)


def test_landmarks_without_mirror_images_have_the_full_distance():
    Z = strategies.random_configurations(sx.Landmarks(6), 30, 0)
    indices, distances = sx.retrieve(Z[:4], Z, 6, mirror=False)
    table = sx.pairwise_distances(Z[:4], Z)
    np.testing.assert_array_equal(indices, np.argsort(table, axis=1)[:, :6])
    np.testing.assert_allclose(distances, np.sort(table, axis=1)[:, :6], atol=1e-14)


@settings(max_examples=10)
@given(st.integers(0, 39), st.booleans(), st.booleans(), strategies.phases, st.sampled_from([None, "reciprocal"]))
def test_pose_start_point_direction_and_mirror_image_of_a_query_do_not_count(
    shift, is_reversed, is_mirrored, phase, how
):
    Z, _ = families(3, 5)
    query = 3 * phase * changed(Z[7], OUTLINE, shift, is_reversed, is_mirrored) + 2 - 1j
    indices, distances = sx.retrieve(query, Z, 5, space=OUTLINE)
    expected, at = sx.retrieve(Z[7], Z, 5, space=OUTLINE)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(distances, at, atol=1e-10)
    assert indices[0] == 7
    assert distances[0] < 1e-12
    if how is not None:
        assert sx.retrieve(query, Z, 2, space=OUTLINE, rerank=how)[0][0] == 7


def test_mirror_images_differ_where_they_are_not_allowed():
    Z, _ = families(3, 5)
    mirrored = Z[3].conj()
    assert sx.retrieve(mirrored, Z, 1, space=OUTLINE)[1][0] < 1e-12
    assert sx.retrieve(mirrored, Z, 1, space=OUTLINE, mirror=False)[1][0] > 0.01


def test_close_shapes_are_measured_to_full_precision():
    Z, _ = families(2, 3)
    near = np.roll(Z[0], 9)
    near[3] += 1e-9 * abs(Z[0] - Z[0].mean()).max()
    _, distances = sx.retrieve(near, Z, 1, space=OUTLINE)
    assert 1e-11 < distances[0] < 1e-9


def test_equal_shapes_come_in_the_order_of_the_set():
    Z, _ = families(2, 3)
    copies = np.concatenate([Z, [np.roll(Z[1], 5), 2j * Z[1], OUTLINE.reverse(Z[1])], Z])
    indices, distances = sx.retrieve(Z[1], copies, 5, space=OUTLINE)
    np.testing.assert_array_equal(indices, [1, 6, 7, 8, 10])
    assert (distances < 1e-12).all()


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_blocks_give_the_same_as_the_whole(rows, monkeypatch):
    Z, _ = families()
    whole = sx.retrieve(Z[:6], Z, 9, space=OUTLINE)
    monkeypatch.setattr(nearest, "_BLOCK_ROWS", rows)
    parts = sx.retrieve(Z[:6], Z, 9, space=OUTLINE)
    np.testing.assert_array_equal(parts[0], whole[0])
    np.testing.assert_allclose(parts[1], whole[1], atol=1e-14)


def test_sets_files_and_lists_give_the_same_as_arrays(tmp_path):
    Z, classes = families()
    expected = sx.retrieve(Z[:3], Z, 5, space=OUTLINE)
    shapes = sx.ShapeSet(Z, space=OUTLINE, labels=classes.astype(str))
    sx.write(shapes, tmp_path / "shapes.npz")
    np.save(tmp_path / "shapes.npy", Z)
    stored = sx.open_shapes(tmp_path / "shapes.npz")
    mapped = np.load(tmp_path / "shapes.npy", mmap_mode="r")
    for query, source, space in (
        (shapes[:3], shapes, None),
        (Z[:3], stored, None),
        (shapes[:3], stored, None),
        (Z[:3], mapped, OUTLINE),
        (Z[:3], [Z[:20], Z[20:]], OUTLINE),
    ):
        for got, wanted in zip(sx.retrieve(query, source, 5, space=space), expected, strict=True):
            np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_single_precision_gives_single_precision():
    Z, _ = families()
    indices, distances = sx.retrieve(Z[:3].astype(np.complex64), Z.astype(np.complex64), 5, space=OUTLINE)
    assert distances.dtype == np.float32
    expected = sx.retrieve(Z[:3], Z, 5, space=OUTLINE)
    np.testing.assert_array_equal(indices, expected[0])
    np.testing.assert_allclose(distances, expected[1], atol=1e-3)


@pytest.mark.parametrize("how", ["diffusion", "reciprocal"])
class TestReranking:
    def test_classes_come_first(self, how):
        Z, classes = families(n_classes=4, n_each=20, seed=1)
        Z[::3] = OUTLINE.reverse(Z[::3].conj())
        indices, distances = sx.retrieve(Z, Z, 20, space=OUTLINE, rerank=how)
        np.testing.assert_array_equal(indices[:, 0], np.arange(len(Z)))
        assert (classes[indices] == classes[:, None]).mean() > 0.95
        assert (np.diff(distances, axis=1) >= -1e-12).all()
        assert (distances >= 0).all()
        assert (distances <= 1).all()

    def test_a_query_does_not_depend_on_the_others(self, how):
        Z, _ = families(4, 6)
        Z = Z[np.random.default_rng(0).permutation(len(Z))]
        together = sx.retrieve(Z, Z, 5, space=OUTLINE, rerank=how)
        alone = [sx.retrieve(z, Z, 5, space=OUTLINE, rerank=how) for z in Z[:2]]
        for number, (indices, distances) in enumerate(alone):
            np.testing.assert_array_equal(indices, together[0][number])
            np.testing.assert_allclose(distances, together[1][number], atol=1e-9)

    def test_new_queries_find_their_class(self, how):
        Z, classes = families(5, 9, seed=2)
        is_new = np.arange(len(Z)) % 9 == 0
        indices, _ = sx.retrieve(Z[is_new], Z[~is_new], 8, space=OUTLINE, rerank=how)
        assert (classes[~is_new][indices] == classes[is_new][:, None]).mean() > 0.95

    def test_landmarks_are_reranked_by_their_full_distance(self, how):
        rng = np.random.default_rng(0)
        centers = rng.normal(size=(3, 7)) + 1j * rng.normal(size=(3, 7))
        classes = np.repeat(np.arange(3), 10)
        Z = centers[classes] + 0.1 * (rng.normal(size=(30, 7)) + 1j * rng.normal(size=(30, 7)))
        indices, _ = sx.retrieve(Z, Z, 10, rerank=how)
        np.testing.assert_array_equal(classes[indices], np.broadcast_to(classes[:, None], (30, 10)))

    @pytest.mark.parametrize("n_shapes", [1, 2, 3])
    def test_a_few_shapes_are_enough(self, how, n_shapes):
        Z, _ = families(1, 3)
        indices, distances = sx.retrieve(Z[0], Z[:n_shapes], n_shapes, space=OUTLINE, rerank=how)
        assert sorted(indices) == list(range(n_shapes))
        assert np.isfinite(distances).all()

    def test_copies_of_one_shape_are_all_alike(self, how):
        Z, _ = families(1, 1)
        copies = np.repeat(Z, 30, axis=0)
        indices, distances = sx.retrieve(Z[0], copies, 5, space=OUTLINE, rerank=how)
        np.testing.assert_array_equal(indices, np.arange(5))
        np.testing.assert_allclose(distances, 0, atol=1e-9)

    def test_large_sets_are_refused(self, how, monkeypatch):
        monkeypatch.setattr("shapelex.retrieval.search._MOST_RERANKED", 10)
        Z, _ = families()
        with pytest.raises(ParameterError, match="at most 10, got 48: find the nearest few thousand"):
            sx.retrieve(Z[0], Z, 3, space=OUTLINE, rerank=how)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 49}, ParameterError, "k must be at most the number of shapes, 48, got 49"),
        ({"k": 0}, ParameterError, "k must be at least 1, got 0"),
        ({"k": 2.5}, ParameterTypeError, "k must be an integer, got 2.5"),
        ({"mirror": "yes"}, ParameterTypeError, "mirror must be True or False, got 'yes'"),
        ({"rerank": "best"}, ParameterError, "rerank must be one of 'diffusion', 'reciprocal', got 'best'"),
        ({"query": np.ones(7) + 1j * np.arange(7)}, CoordinateCountError, "query has 7 coordinates per shape"),
        ({"query": np.full(40, np.nan + 0j)}, NonFiniteError, "query has NaN in row 0"),
        ({"query": np.ones(40, dtype=complex)}, CollapsedShapeError, "query has collapsed shapes in row 0"),
        ({"space": sx.Landmarks(12)}, CoordinateCountError, "shapes has 40 coordinates per shape"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, message):
    Z, _ = families()
    good = {"query": Z[0], "shapes": Z, "k": 3, "space": OUTLINE}
    with pytest.raises(error, match=message):
        sx.retrieve(**{**good, **arguments})


@pytest.mark.parametrize("how", [None, "diffusion"])
def test_bad_shapes_of_the_set_are_named_by_their_rows(how):
    Z, _ = families()
    Z[33, 4] = np.nan
    with pytest.raises(NonFiniteError, match="shapes has NaN in row 33"):
        sx.retrieve(Z[0], Z, 3, space=OUTLINE, rerank=how)


def test_a_query_in_another_space_is_refused():
    Z, _ = families()
    query = sx.ShapeSet(Z[:2], space=sx.BSpline(40))
    with pytest.raises(ShapeInputError, match="query is in BSpline"):
        sx.retrieve(query, sx.ShapeSet(Z, space=OUTLINE), 3)


def test_spaces_without_mirror_images_need_to_be_told():
    space = custom_space(5)
    Z = strategies.random_configurations(space, 6, 0)
    with pytest.raises(UnsupportedBySpaceError, match="mirror=True"):
        sx.retrieve(Z[0], Z, 2, space=space)
    indices, _ = sx.retrieve(Z[0], Z, 2, space=space, mirror=False)
    np.testing.assert_array_equal(indices, np.argsort(sx.distance(Z, Z[0], space=space))[:2])
