from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex._arrays import to_numpy
from shapelex.exceptions import (
    CollapsedShapeError,
    CoordinateCountError,
    NonFiniteError,
    ParameterError,
    ParameterTypeError,
    ShapeInputError,
    UnsupportedBySpaceError,
)
from shapelex.shapes.storage import TensorShapes
from tests import strategies
from tests.conftest import custom_space
from tests.devices import on_devices
from tests.geometry.test_registration import CLOSED_SPACES, changed

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


def slow_distances(query, Z, space, *, direction, mirror):
    """Return the least distance of every shape over all changes, tried one by one."""
    if space.closed:
        changes = list(product(range(space.n_points), {False, direction}, {False, mirror}))
        return np.array([sx.distance([changed(z, space, *c) for c in changes], query, space=space).min() for z in Z])
    copies = [Z, Z.conj()] if mirror else [Z]
    copies += [space.reverse(copy) for copy in copies] if direction else []
    return np.min([sx.distance(copy, query, space=space) for copy in copies], axis=0)


@settings(max_examples=15)
@given(st.sampled_from(CLOSED_SPACES), strategies.seeds, st.booleans())
def test_closed_curves_are_compared_over_all_changes(space, seed, mirror):
    Z = strategies.random_configurations(space, 5, seed)
    query = strategies.random_configurations(space, 1, seed + 1)[0]
    indices, distances = sx.retrieve(query, Z, 5, space=space, mirror=mirror)
    slow = slow_distances(query, Z, space, direction=True, mirror=mirror)
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
    slow = slow_distances(query, Z, space, direction=direction, mirror=mirror)
    np.testing.assert_array_equal(indices, np.argsort(slow)[:4])
    np.testing.assert_allclose(distances, np.sort(slow)[:4], atol=1e-12)
    # Large sets are read in blocks.
    Z = strategies.random_configurations(space, 2100, 0)
    indices, distances = sx.retrieve(Z[[3, 2090]], Z, 2100, space=space, mirror=mirror)
    for number, row in enumerate((3, 2090)):
        slow = slow_distances(Z[row], Z, space, direction=direction, mirror=mirror)
        np.testing.assert_allclose(distances[number], np.sort(slow), atol=1e-11)
        np.testing.assert_allclose(slow[indices[number]], distances[number], atol=1e-11)


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


def test_close_shapes_are_measured_exactly_and_equal_ones_come_in_the_order_of_the_set():
    Z, _ = families(2, 3)
    near = np.roll(Z[0], 9)
    near[3] += 1e-9 * abs(Z[0] - Z[0].mean()).max()
    _, distances = sx.retrieve(near, Z, 1, space=OUTLINE)
    assert 1e-11 < distances[0] < 1e-9
    copies = np.concatenate([Z, [np.roll(Z[1], 5), 2j * Z[1], OUTLINE.reverse(Z[1])], Z])
    indices, distances = sx.retrieve(Z[1], copies, 5, space=OUTLINE)
    np.testing.assert_array_equal(indices, [1, 6, 7, 8, 10])
    assert (distances < 1e-12).all()


@pytest.mark.parametrize("how", ["diffusion", "reciprocal"])
class TestReranking:
    def test_classes_come_first(self, how):
        Z, classes = families(n_classes=4, n_each=12, seed=1)
        Z[::3] = OUTLINE.reverse(Z[::3].conj())
        indices, distances = sx.retrieve(Z, Z, 12, space=OUTLINE, rerank=how)
        np.testing.assert_array_equal(indices[:, 0], np.arange(len(Z)))
        assert (classes[indices] == classes[:, None]).mean() > 0.95
        assert (np.diff(distances, axis=1) >= -1e-12).all()
        assert ((distances >= 0) & (distances <= 1)).all()
        is_new = np.arange(len(Z)) % 9 == 0
        indices, _ = sx.retrieve(Z[is_new], Z[~is_new], 8, space=OUTLINE, rerank=how)
        assert (classes[~is_new][indices] == classes[is_new][:, None]).mean() > 0.95

    def test_a_query_does_not_depend_on_the_others(self, how):
        Z, _ = families(4, 6)
        Z = Z[np.random.default_rng(0).permutation(len(Z))]
        together = sx.retrieve(Z, Z, 5, space=OUTLINE, rerank=how)
        for number in (0, 1):
            for alone, found in zip(sx.retrieve(Z[number], Z, 5, space=OUTLINE, rerank=how), together, strict=True):
                np.testing.assert_allclose(alone, found[number], atol=1e-9)

    def test_a_few_shapes_or_copies_of_one_are_enough(self, how):
        Z, _ = families(1, 3)
        for n_shapes in (1, 2, 3):
            indices, distances = sx.retrieve(Z[0], Z[:n_shapes], n_shapes, space=OUTLINE, rerank=how)
            assert sorted(indices) == list(range(n_shapes))
            assert np.isfinite(distances).all()
        indices, distances = sx.retrieve(Z[0], np.repeat(Z[:1], 30, axis=0), 5, space=OUTLINE, rerank=how)
        np.testing.assert_array_equal(indices, np.arange(5))
        np.testing.assert_allclose(distances, 0, atol=1e-9)

    def test_large_sets_are_refused(self, how):
        Z = strategies.random_configurations(sx.Landmarks(3), 5001, 0)
        with pytest.raises(ParameterError, match="at most 5000"):
            sx.retrieve(Z[0], Z, 3, rerank=how)


@pytest.mark.parametrize(
    ("arguments", "error", "name"),
    [
        ({"k": 49}, ParameterError, "k"),
        ({"k": 0}, ParameterError, "k"),
        ({"k": 2.5}, ParameterTypeError, "k"),
        ({"mirror": "yes"}, ParameterTypeError, "mirror"),
        ({"rerank": "best"}, ParameterError, "rerank"),
        ({"query": np.ones(7) + 1j * np.arange(7)}, CoordinateCountError, "query"),
        ({"query": np.full(40, np.nan + 0j)}, NonFiniteError, "query"),
        ({"query": np.ones(40, dtype=complex)}, CollapsedShapeError, "query"),
        ({"space": sx.Landmarks(12)}, CoordinateCountError, "shapes"),
        ({"query": sx.ShapeSet(families()[0][:2], space=sx.BSpline(40))}, ShapeInputError, "query"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, name):
    Z, _ = families()
    good = {"query": Z[0], "shapes": Z, "k": 3, "space": OUTLINE}
    with pytest.raises(error, match=f"^{name} "):
        sx.retrieve(**{**good, **arguments})


@pytest.mark.parametrize("how", [None, "diffusion"])
def test_bad_shapes_of_the_set_are_named_by_their_rows(how):
    Z, _ = families()
    Z[33, 4] = np.nan
    with pytest.raises(NonFiniteError, match="shapes has NaN in row 33"):
        sx.retrieve(Z[0], Z, 3, space=OUTLINE, rerank=how)


def test_spaces_without_mirror_images_need_to_be_told():
    space = custom_space(5)
    Z = strategies.random_configurations(space, 6, 0)
    with pytest.raises(UnsupportedBySpaceError, match="mirror=True"):
        sx.retrieve(Z[0], Z, 2, space=space)
    indices, _ = sx.retrieve(Z[0], Z, 2, space=space, mirror=False)
    np.testing.assert_array_equal(indices, np.argsort(sx.distance(Z, Z[0], space=space))[:2])


def within_of(Z):
    """Return the distances within a set of landmarks, and what re-ranking makes of them, in the order of the set."""

    def reranked(how):
        indices, distances = sx.retrieve(Z, Z, len(Z), mirror=False, rerank=how)
        return np.take_along_axis(distances, np.argsort(indices, axis=1), axis=1)

    return sx.pairwise_distances(Z), reranked


def test_diffusion_sums_products_of_walks():
    within, reranked = within_of(strategies.random_configurations(sx.Landmarks(4), 30, 0))
    ordered = np.sort(within, axis=1)
    scales, radii = ordered[:, 1:21].mean(axis=1), ordered[:, 12]
    is_near = (within <= radii[:, None]) | (within <= radii)
    steps = np.where(is_near, np.exp(-((within / (0.25 * (scales[:, None] + scales))) ** 2)), 0)
    steps /= steps.sum(axis=1, keepdims=True)
    powers = [np.linalg.matrix_power(steps, t) for t in range(1, 13)]
    total = sum(power @ power.T for power in powers)
    expected = 1 - total / np.sqrt(np.outer(np.diag(total), np.diag(total)))
    np.testing.assert_allclose(reranked("diffusion"), np.clip(expected, 0, 1), atol=1e-12)


def test_reciprocal_sets_give_jaccard_distances():
    within, reranked = within_of(strategies.random_configurations(sx.Landmarks(4), 60, 1))
    found = reranked("reciprocal")
    nearest = np.argsort(within, axis=1)
    scales = np.sort(within, axis=1)[:, 1:21].mean(axis=1)

    def reciprocal(shape, count):
        return {j for j in nearest[shape, : count + 1] if shape in nearest[j, : count + 1]}

    weights = np.zeros((60, 60))
    for shape in range(60):
        members = reciprocal(shape, 20)
        for member in sorted(members):
            close = reciprocal(member, 10)
            if len(close & reciprocal(shape, 20)) > 2 / 3 * len(close):
                members = members | close
        for member in members:
            weights[shape, member] = np.exp(-((within[shape, member] / (scales[shape] + scales[member])) ** 2))
    weights /= weights.sum(axis=1, keepdims=True)
    averaged = np.array([weights[nearest[shape, :6]].mean(axis=0) for shape in range(60)])
    for i, j in np.ndindex(60, 60):
        shared, either = np.minimum(averaged[i], averaged[j]).sum(), np.maximum(averaged[i], averaged[j]).sum()
        assert found[i, j] == pytest.approx(1 - shared / either, abs=1e-12)


@pytest.mark.realdata
def test_reranking_finds_more_of_the_classes_of_mpeg7(data_folder):
    shapes = sx.read(data_folder / "mpeg7_outlines_200.npz")
    labels = np.asarray(shapes.labels)
    chosen = np.isin(labels, np.unique(labels)[1::12])
    shapes, labels = shapes[chosen], labels[chosen]
    scores = {}
    for rerank in (None, "reciprocal", "diffusion"):
        indices, _ = sx.retrieve(shapes, shapes, 40, rerank=rerank)
        scores[rerank] = (labels[indices] == labels[:, None]).sum(axis=1).mean() / 20
    assert scores[None] > 0.85
    assert min(scores["reciprocal"], scores["diffusion"]) > 0.95


def tensor_shapes(Z, space, device):
    import torch

    return TensorShapes(torch.from_numpy(Z).to("cpu" if device == "torch" else device), space, "shapes")


@on_devices
@pytest.mark.parametrize(
    "space",
    [sx.Landmarks(7), OUTLINE, sx.BSpline(9), sx.HermiteSpline(5, closed=True), sx.BSpline(8, closed=False)],
    ids=repr,
)
@pytest.mark.parametrize("mirror", [False, True])
def test_tensors_give_the_same_as_arrays(device, space, mirror):
    Z = strategies.random_configurations(space, 40, 0)
    queries = strategies.random_configurations(space, 3, 1)
    found = sx.retrieve(queries, tensor_shapes(Z, space, device), 6, mirror=mirror)
    for got, expected in zip(found, sx.retrieve(queries, Z, 6, space=space, mirror=mirror), strict=True):
        np.testing.assert_allclose(to_numpy(got), expected, atol=1e-12)
    for value, error in ((np.nan, NonFiniteError), (space.shift, CollapsedShapeError)):
        Z[4] = value
        with pytest.raises(error, match="row 4"):
            sx.retrieve(queries, tensor_shapes(Z, space, device), 3, mirror=mirror)


@on_devices
@pytest.mark.parametrize("how", [None, "diffusion"])
def test_tensors_give_tensors(device, how):
    import torch

    Z = strategies.random_configurations(OUTLINE, 12, 0)
    where = "cpu" if device == "torch" else device
    expected = sx.retrieve(Z[:2], Z, 4, space=OUTLINE, rerank=how)
    tensor = torch.from_numpy(Z).to(where)
    for query, searched in ((tensor[:2], Z), (Z[:2], tensor)):
        found = sx.retrieve(query, searched, 4, space=OUTLINE, rerank=how)
        for tensor, wanted in zip(found, expected, strict=True):
            assert tensor.device.type == where
            np.testing.assert_allclose(tensor.cpu().numpy(), wanted, atol=1e-12)
