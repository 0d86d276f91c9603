import numpy as np
import pytest
from sklearn.model_selection import KFold

import shapelex as sx
from shapelex.exceptions import ShapeInputError
from shapelex.selection.suggestion import AtomStability, ErrorSurface, choose, most_stable

QUICK = {"n_atoms": [2], "n_nonzero": [1], "stability": False, "random_state": 0}


def _simulate(n_atoms, n_nonzero, noise, n_shapes, n_points):
    """Return shapes that are sums of random atoms, and white noise."""
    rng = np.random.default_rng(n_atoms)
    atoms = rng.normal(size=(n_atoms, n_points, 2)) @ [1, 1j]
    space = sx.Landmarks(n_points)
    sample = sx.datasets.make_from_dictionary(
        n_shapes, n_nonzero=n_nonzero, atoms=atoms, space=space, noise=noise, random_state=rng
    )
    return np.asarray(sample.shapes)


def _surface(errors, n_dimensions=20):
    rows = [
        {"n_atoms": J, "n_nonzero": s, "fold": 0, "rmse": rmse, "train_rmse": rmse, "energy": 1 / s, "seconds": 0.0}
        for (J, s), rmse in errors.items()
    ]
    return ErrorSurface(rows, n_dimensions)


def test_finds_the_dictionary_that_made_the_shapes():
    found = sx.suggest(_simulate(6, 2, 0.05, 300, 12), [5, 6, 7, 8], [1, 2, 3], random_state=0)
    assert (found.n_atoms, found.n_nonzero) == (6, 2)
    assert found.rmse < 1.2 * 0.05
    assert found.stability.of(6) > 0.7
    assert found.stability["n_atoms"].tolist() == [5, 6, 7, 8]


@pytest.fixture(scope="module")
def small():
    return _simulate(4, 2, 0.05, 90, 8)


@pytest.fixture(scope="module")
def found(small):
    return sx.suggest(small, random_state=0)


def test_default_search_refines_around_the_elbow(small, found):
    assert (found.n_atoms, found.n_nonzero) == (4, 2)
    assert {3, 4, 5} <= set(found.surface.sizes())
    assert {1, 2, 3} <= set(found.surface.sparsities(4))
    assert set(found.surface["fold"]) == {0, 1, 2}
    # Stability is measured where it decides: a smaller size has a much larger error here.
    assert found.stability["n_atoms"].tolist() == [4]
    assert repr(found) == "<Suggestion: n_atoms=4, n_nonzero=2>"
    assert str(found).startswith("Suggested: n_atoms=4, n_nonzero=2\n")
    for words in "held out in turn", "one more would gain", "beyond 4 a further atom", "4 of 4 atoms are reproducible":
        assert words in str(found)
    assert "Order:" not in str(found)
    one, more = (sx.suggest(small, [4], [2], random_state=0, n_jobs=n_jobs) for n_jobs in (1, None))
    assert one.surface["rmse"].tolist() == more.surface["rmse"].tolist()
    assert one.stability["distance"].tolist() == more.stability["distance"].tolist()


@pytest.fixture(scope="module")
def slow(small):
    """A recording in which each shape is much like the one before, and one is a copy."""
    shapes = np.repeat(small[::9], 9, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(90, 8))
    shapes[5] = shapes[4]
    return shapes


def test_time_order_is_noticed(slow):
    text = str(sx.suggest(slow, max_shapes=30, **QUICK))
    assert "30 of 90 shapes, evenly spaced" in text
    assert "1 of 90 rows are copies" in text
    assert "whole blocks of rows were held out" in text
    assert "whole groups were held out" in str(sx.suggest(slow, groups=np.arange(90) // 9, **QUICK))
    assert "these errors are too small" in str(sx.suggest(slow, cv=KFold(3, shuffle=True, random_state=0), **QUICK))


def test_progress_can_stop(small):
    seen = []
    found = sx.suggest(
        small, [3, 4], [1, 2], random_state=0, callback=lambda *news: seen.append(news) or len(seen) == 4
    )
    assert [done for done, _, _ in seen] == [1, 2, 3, 4]
    # Four cells in 3 folds, and the stability of 2 sizes.
    assert all(most == 4 * 3 + 2 for _, most, _ in seen)
    assert len(found.surface) == 4
    assert found.n_atoms == 3


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"cv": None}, ValueError, "cv must hold out some shapes"),
        ({"min_gain": 0}, ValueError, "min_gain must be between"),
        ({"min_gain": "3 %"}, TypeError, "min_gain must be a number"),
        ({"n_atoms": []}, ValueError, "n_atoms must hold 1 to 10000 numbers, got none"),
        ({"n_atoms": [61]}, ValueError, "n_atoms must be at most 60"),
        ({"n_atoms": range(1, 10**9)}, ValueError, "must hold 1 to 10000"),
        ({"n_nonzero": []}, ValueError, "must hold 1 to 10000"),
        ({"n_nonzero": [0]}, ValueError, "n_nonzero must be at least 1"),
        ({"max_shapes": 2}, ValueError, "max_shapes must be at least 6"),
        ({"stability": 3}, TypeError, "stability must be True or False"),
        ({"space": 8}, TypeError, "space must be a space"),
        ({"groups": [0, 1]}, ShapeInputError, "one entry per shape"),
    ],
)
def test_what_is_refused(small, options, error, words):
    with pytest.raises(error, match=words):
        sx.suggest(small, **options)
    with pytest.raises(ShapeInputError, match="too few shapes"):
        sx.suggest(small[:2], cv=2)


@pytest.mark.parametrize(
    ("errors", "n_dimensions", "expected"),
    [
        # A size that was learned badly does not hide the larger ones.
        ({(4, 2): 0.4, (6, 2): 0.2, (7, 2): 0.21, (8, 2): 0.05, (9, 2): 0.05, (12, 2): 0.0499}, 20, (8, 2)),
        # A step must pay; in many dimensions every one shortens the description, but a few percent are too little.
        ({(8, 1): 0.5, (8, 2): 0.05, (8, 3): 0.048, (8, 4): 0.046}, 20, (8, 2)),
        ({(8, 1): 0.5, (8, 2): 0.05, (8, 3): 0.048, (8, 4): 0.046}, 1000, (8, 2)),
        # Errors below any precision are equal.
        ({(5, 2): 1e-6, (6, 2): 1e-7, (5, 3): 1e-9, (6, 3): 1e-9, (4, 2): 0.2, (4, 1): 0.5}, 20, (5, 2)),
    ],
)
def test_elbow(errors, n_dimensions, expected):
    assert choose(_surface(errors, n_dimensions), 0.03) == expected


def test_stable_atoms_win_among_equals():
    surface = _surface({(6, 2): 0.100, (8, 2): 0.098, (4, 2): 0.2})
    row = {"n_nonzero": 2, "distance": 0.0, "chance": 1.0, "n_named": 3}
    rows = [{**row, "n_atoms": J, "stability": stability} for J, stability in ((4, 1.0), (6, 0.9), (8, 0.4))]
    assert most_stable(surface, AtomStability(rows), 8, 2) == 6
    assert most_stable(surface, AtomStability(rows[1:2]), 6, 2) == 6


@pytest.mark.parametrize(
    ("columns", "sorted_by"),
    [
        ({"labels": ["a"] * 25 + ["b"] * 15}, "label"),
        ({"labels": ["a", "b"] * 20}, ""),
        ({"labels": ["a"] * 40}, ""),
        ({"labels": [f"{i}" for i in range(40)]}, ""),
        # Both files are units, and held out as a whole.
        ({"labels": ["a", "b"] * 20, "metadata": {"file": ["1.png"] * 20 + ["2.png"] * 20}}, ""),
        ({"metadata": {"file": [f"control_{i}.png" for i in range(20)] + [f"drug_{i}.png" for i in range(20)]}},
         "name of file"),
        ({"metadata": {"file": [f"cell_{i}.png" for i in range(40)]}}, ""),
        ({"labels": ["a"] * 25 + ["b"] * 15, "sequence": [0] * 20 + [1] * 20}, ""),
    ],
)  # fmt: skip
def test_sorted_sets_are_recognized(columns, sorted_by):
    shapes = sx.ShapeSet(np.random.default_rng(5).normal(size=(40, 6, 2)), **columns)
    text = str(sx.suggest(shapes, **QUICK))
    assert ("shuffled and held out at random" in text) == bool(sorted_by)
    if sorted_by:
        assert f"the rows are sorted by {sorted_by}:" in text


def test_only_numbers_of_folds_without_groups_are_shuffled(small, slow):
    shapes = sx.ShapeSet(small, labels=["a"] * 45 + ["b"] * 45)
    found, blocks = sx.suggest(shapes, **QUICK), sx.suggest(shapes, cv=KFold(3), **QUICK)
    assert found.surface["rmse"].tolist() != blocks.surface["rmse"].tolist()
    for other in (blocks, sx.suggest(shapes, groups=np.arange(90) // 9, **QUICK)):
        assert "shuffled" not in str(other)
    # Recordings that are sorted by label stay in blocks.
    text = str(sx.suggest(sx.ShapeSet(slow, labels=["a"] * 45 + ["b"] * 45), **QUICK))
    assert "whole blocks of rows were held out" in text
    assert "shuffled" not in text


@pytest.mark.parametrize("n_shapes", [3, 12])
def test_few_shapes_allow_no_conclusions(small, n_shapes):
    found = sx.suggest(small[:n_shapes], random_state=0)
    assert found.reasons[0].startswith(f"Few shapes: {n_shapes} shapes are too few")
    assert len(found.stability) == 0
    assert "reproducible" not in str(found)


def test_stability_is_that_of_a_dictionary(small):
    """Shapes in all directions have no atoms that are found again."""
    X = np.random.default_rng(0).normal(size=(60, 12, 2)) @ [1, 1j]
    found = sx.suggest(X, [4], [2], random_state=0)
    assert found.stability["n_named"].tolist() == [0]
    assert "0 of 4 atoms are reproducible" in str(found)
    assert "0 of 4" in str(found.stability)


def test_repeats_of_a_few_shapes(small):
    assert sx.suggest(np.repeat(small[:2], 30, axis=0), random_state=0).rmse < 1e-6
