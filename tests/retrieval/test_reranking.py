import numpy as np
import pytest

import shapelex as sx
from shapelex.retrieval import reranking
from shapelex.retrieval.outline_matching import height_functions
from tests.retrieval.test_search import OUTLINE, families


def dissimilarities(seed=0, n_shapes=30):
    points = np.random.default_rng(seed).normal(size=(n_shapes, 3))
    return np.linalg.norm(points[:, None] - points, axis=2)


def test_diffusion_sums_products_of_walks():
    within = dissimilarities()
    found = reranking.by_diffusion(within, within)
    ordered = np.sort(within, axis=1)
    scales, radii = ordered[:, 1:21].mean(axis=1), ordered[:, 12]
    is_near = (within <= radii[:, None]) | (within <= radii)
    steps = np.where(is_near, np.exp(-((within / (0.25 * (scales[:, None] + scales))) ** 2)), 0)
    steps /= steps.sum(axis=1, keepdims=True)
    powers = [np.linalg.matrix_power(steps, t) for t in range(1, 13)]
    total = sum(power @ power.T for power in powers)
    expected = 1 - total / np.sqrt(np.outer(np.diag(total), np.diag(total)))
    np.testing.assert_allclose(found, np.clip(expected, 0, 1), atol=1e-12)


def test_reciprocal_sets_give_jaccard_distances():
    within = dissimilarities(1, 60)
    found = reranking.by_reciprocal_neighbors(within, within)
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


def test_a_chain_of_shapes_is_closer_than_the_distance_says():
    """Two curved chains of points: the ends of one chain are nearer to the other chain than to each other."""
    angle = np.linspace(0, np.pi, 40)
    arcs = np.concatenate([np.exp(1j * angle), 1 - 0.4j - np.exp(1j * angle)])
    within = np.abs(arcs[:, None] - arcs)
    is_same = np.repeat([0, 1], 40)[:, None] == np.repeat([0, 1], 40)
    for rerank in reranking.RERANKERS.values():
        first = np.argsort(rerank(within, within), axis=1)[:, :25]
        plain = np.argsort(within, axis=1)[:, :25]
        assert np.take_along_axis(is_same, first, 1).mean() > np.take_along_axis(is_same, plain, 1).mean()


def test_heights_of_a_mirrored_outline_run_backwards():
    Z, _ = families(2, 3)
    heights, mirrored = height_functions(Z, OUTLINE), height_functions(Z.conj(), OUTLINE)
    # The sample that comes first differs: mirrored outlines are run from their last point.
    np.testing.assert_allclose(mirrored, heights[:, ::-1, ::-1], atol=1e-5)


def test_heights_do_not_depend_on_pose():
    Z, _ = families(2, 3)
    np.testing.assert_allclose(height_functions(2j * Z + 3, OUTLINE), height_functions(Z, OUTLINE), atol=1e-5)


@pytest.mark.realdata
def test_reranking_finds_more_of_the_classes_of_mpeg7(data_folder):
    shapes = sx.read(data_folder / "mpeg7_outlines_200.npz")
    labels = np.asarray(shapes.labels)
    chosen = np.isin(labels, np.unique(labels)[1::7])
    shapes, labels = shapes[chosen], labels[chosen]
    scores = {}
    for rerank in (None, "reciprocal", "diffusion"):
        indices, _ = sx.retrieve(shapes, shapes, 40, rerank=rerank)
        scores[rerank] = (labels[indices] == labels[:, None]).sum(axis=1).mean() / 20
    assert scores[None] > 0.85
    assert min(scores["reciprocal"], scores["diffusion"]) > 0.95
