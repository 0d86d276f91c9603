import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.learning import initial_atoms
from shapelex.learning import initialization as module
from shapelex.shapes.opening import as_shapes
from shapelex.spaces.plain import PlainRows
from tests.learning.samples import clustered, plain_shapes, random_rows


def draw(rows, n_atoms, init, seed=0, sample_weight=None):
    return initial_atoms(plain_shapes(rows, sample_weight), n_atoms, init, np.random.default_rng(seed))


def indices(atoms, rows):
    found = np.abs(atoms.conj() @ rows.T).argmax(axis=1)
    np.testing.assert_allclose(atoms, rows[found], atol=4 * np.finfo(atoms.dtype).eps)
    return found


@pytest.mark.parametrize("init", ["spread", "random"])
def test_draws_distinct_shapes_of_the_set(init):
    rows = clustered(60)
    for seed in range(5):
        chosen = indices(draw(rows, 20, init, seed), rows)
        assert len(set(chosen)) == 20


@pytest.mark.parametrize("init", ["spread", "random"])
def test_repeated_rows_are_drawn_once(init):
    shapes = random_rows(8, 5)
    phases = np.exp(1j * np.linspace(0, 6, 30))[:, None]
    # The same shapes in other poses count as repeats.
    rows = np.concatenate([phases * shape for shape in shapes])
    for seed in range(5):
        distances = sx.pairwise_distances(
            np.pad(draw(rows, 8, init, seed), ((0, 0), (0, 1))), space=sx.CustomSpace(np.eye(6), np.eye(6)[5])
        )
        assert distances[~np.eye(8, dtype=bool)].min() > 0.01


@pytest.mark.parametrize("init", ["spread", "random"])
def test_fewer_distinct_shapes_than_atoms(init):
    rows = np.repeat(random_rows(3, 5), 4, axis=0)
    atoms = draw(rows, 7, init)
    assert atoms.shape == (7, 5)
    assert len({tuple(np.round(atom, 9)) for atom in atoms}) == 3


def test_seed_decides():
    rows = clustered(60)
    for init in ("spread", "random"):
        np.testing.assert_array_equal(draw(rows, 9, init, 3), draw(rows, 9, init, 3))
        assert not np.array_equal(draw(rows, 9, init, 3), draw(rows, 9, init, 4))


def test_spread_covers_small_groups_better_than_random():
    groups = np.eye(6, dtype=complex)
    rng = np.random.default_rng(0)
    rows = np.concatenate([groups[[0] * 200], groups[1:]])
    rows = rows + 1e-3 * (rng.normal(size=rows.shape) + 1j * rng.normal(size=rows.shape))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    def covered(init):
        return np.mean([len(set(np.abs(draw(rows, 6, init, seed)).argmax(axis=1))) for seed in range(20)])

    assert covered("spread") > 5.8
    assert covered("random") < 3


def test_weight_is_repetition():
    rows = clustered(30)
    counts = np.random.default_rng(1).integers(0, 4, size=30)
    for seed in range(10):
        weighted = draw(rows, 6, "spread", seed, counts)
        copied = draw(np.repeat(rows, counts, axis=0), 6, "spread", seed)
        np.testing.assert_array_equal(weighted, copied)


@pytest.mark.parametrize("init", ["spread", "random"])
def test_weights_are_chances(init):
    rows = np.eye(4, dtype=complex)
    weights = np.array([1, 2, 3, 4.0])
    first = [indices(draw(rows, 2, init, seed, weights), rows)[0] for seed in range(2000)]
    np.testing.assert_allclose(np.bincount(first) / 2000, weights / 10, atol=0.04)


def test_shapes_of_weight_zero_are_not_drawn():
    rows = clustered(30)
    weights = np.zeros(30)
    weights[5:12] = 1
    for init in ("spread", "random"):
        assert set(indices(draw(rows, 7, init, 0, weights), rows)) == set(range(5, 12))


def test_large_sets_are_thinned(monkeypatch):
    monkeypatch.setattr(module, "MAX_CANDIDATES", 25)
    rows = clustered(100)
    candidates, weights = module.draw_candidates(plain_shapes(rows), 5, np.random.default_rng(0))
    assert candidates.shape == (25, 10)
    assert len(set(indices(candidates, rows))) == 25
    np.testing.assert_array_equal(weights, 1)
    np.testing.assert_array_equal(draw(rows, 5, "spread"), draw(rows, 5, "spread"))


def test_given_atoms_are_normalized_copies():
    atoms = 3 * random_rows(4, 5)
    found = draw(clustered(20, 5), 4, atoms)
    np.testing.assert_allclose(found, atoms / 3)
    assert not np.shares_memory(found, atoms)


def test_errors_say_what_to_do():
    rows = clustered(5)
    with pytest.raises(ParameterError, match=r"n_atoms must be at most the number of shapes, 5, got 6; learn fewer"):
        draw(rows, 6, "spread")
    with pytest.raises(ParameterError, match="of positive weight, 3, got 4"):
        draw(rows, 4, "random", 0, [1, 0, 0, 2, 0])
    with pytest.raises(ValueError, match="init must be one of 'spread', 'random', got 'kmeans'"):
        draw(rows, 2, "kmeans")
    with pytest.raises(ShapeInputError, match=r"init must be a complex array of n_atoms=2 rows of 10 coordinates"):
        draw(rows, 2, rows[:3])
    with pytest.raises(ShapeInputError, match="zero or not finite in row 1"):
        draw(rows, 2, rows[:2] * [[1], [0]])


def test_collections():
    rows = random_rows(20_000, 3)
    shapes = as_shapes([rows[:9000], rows[9000:]], PlainRows(3))
    blocks = [block.configurations for block in shapes.blocks()]
    assert [len(block) for block in blocks] == [8192, 8192, 3616]
    np.testing.assert_array_equal(np.concatenate(blocks), rows)
    chosen = np.array([0, 5, 8191, 8192, 16384, 19_999])
    np.testing.assert_array_equal(shapes.take(chosen), rows[chosen])
    for weights, message in (
        ([1, 2], r"sample_weight must be 3 real numbers, one per shape, got shape \(2,\)"),
        ([1, np.nan, 1], "not in row 1"),
        ([1, -1, 1], "not in row 1"),
        ([0, 0, 0], "all zero"),
        ([1j, 1, 1], "real numbers"),
    ):
        with pytest.raises(ShapeInputError, match=message):
            plain_shapes(rows[:3], weights)
    with pytest.raises(ShapeInputError, match="holds no shape"):
        plain_shapes(rows[:0])
    with pytest.raises(ShapeInputError, match="real array of shape"):
        plain_shapes(np.ones((3, 4)))


@pytest.mark.parametrize("init", ["spread", "random"])
def test_integer_weights_are_copies_for_fewer_shapes_than_atoms(init):
    rows, weights = clustered(3), [2, 1, 3]
    weighted = draw(rows, 5, init, 0, weights)
    copied = draw(np.repeat(rows, weights, axis=0), 5, init, 0)
    for atoms in (weighted, copied):
        assert {int(np.abs(rows.conj() @ atom).argmax()) for atom in atoms} == {0, 1, 2}
    if init == "spread":
        np.testing.assert_array_equal(weighted, copied)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_given_atoms_have_at_least_the_precision_of_the_shapes(dtype):
    rows = clustered(20)
    assert draw(rows.astype(dtype), 3, rows[:3].astype(np.complex64)).dtype == dtype
