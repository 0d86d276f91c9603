import numpy as np
import pytest
from sklearn.model_selection import KFold

import shapelex as sx
from shapelex.exceptions import ShapeInputError
from shapelex.selection.atom_stability import AtomStability
from shapelex.selection.elbow import choose, choose_size, most_stable
from shapelex.selection.error_surface import ErrorSurface
from shapelex.selection.row_order import describe_order
from shapelex.selection.suggestion_reasons import explain_stability


def _simulate(n_atoms, n_nonzero, noise, n_shapes, n_points, seed):
    """Shapes that are sums of few atoms, each with its own size and rotation, and white noise."""
    rng = np.random.default_rng(seed)
    atoms = rng.normal(size=(n_atoms, n_points, 2)) @ [1, 1j]
    atoms -= atoms.mean(axis=1, keepdims=True)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    supports = np.array([rng.choice(n_atoms, n_nonzero, replace=False) for _ in range(n_shapes)])
    weights = rng.normal(size=(n_shapes, n_nonzero, 2)) @ [1, 1j]
    X = np.einsum("ks,ksn->kn", weights, atoms[supports])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X + noise * (rng.normal(size=(*X.shape, 2)) @ [1, 1j]) / np.sqrt(2 * n_points), atoms


def _surface(errors, n_dimensions=20):
    rows = [
        {"n_atoms": J, "n_nonzero": s, "fold": 0, "rmse": rmse, "train_rmse": rmse, "energy": 1 / s, "seconds": 0.0}
        for (J, s), rmse in errors.items()
    ]
    return ErrorSurface(rows, n_dimensions)


@pytest.mark.parametrize(("n_atoms", "n_nonzero", "noise", "n_points"), [(6, 2, 0.05, 12), (7, 3, 0.02, 14)])
def test_finds_the_dictionary_that_made_the_shapes(n_atoms, n_nonzero, noise, n_points):
    X, _ = _simulate(n_atoms, n_nonzero, noise, 50 * n_atoms, n_points, seed=n_atoms)
    sizes = range(n_atoms - 1, n_atoms + 3)
    found = sx.suggest(X, sizes, range(1, n_nonzero + 2), random_state=0)
    assert (found.n_atoms, found.n_nonzero) == (n_atoms, n_nonzero)
    assert found.rmse < 1.2 * noise
    assert found.stability.of(n_atoms) > 0.7
    assert found.stability["n_atoms"].tolist() == list(sizes)


@pytest.fixture(scope="module")
def small():
    return _simulate(4, 2, 0.05, 90, 8, seed=3)[0]


@pytest.fixture(scope="module")
def found(small):
    return sx.suggest(small, random_state=0)


def test_default_search_refines_around_the_elbow(found):
    assert (found.n_atoms, found.n_nonzero) == (4, 2)
    assert {3, 4, 5} <= set(found.surface.sizes())
    assert {1, 2, 3} <= set(found.surface.sparsities(4))
    assert set(found.surface["fold"]) == {0, 1, 2}
    # Stability is measured where it decides: a smaller size has a much larger error here.
    assert found.stability["n_atoms"].tolist() == [4]


def test_deterministic_whatever_the_threads(small, found):
    again = sx.suggest(small, random_state=0, n_jobs=1)
    assert again.surface["rmse"].tolist() == found.surface["rmse"].tolist()
    assert again.stability["distance"].tolist() == found.stability["distance"].tolist()


def test_says_why(found):
    text = str(found)
    assert text.startswith("Suggested: n_atoms=4, n_nonzero=2\n")
    for words in (
        "held out in turn",
        "to justify the longer code",
        "beyond 4 a further atom",
        "learned again",
    ):
        assert words in text
    assert "Order:" not in text
    assert repr(found) == "<Suggestion: n_atoms=4, n_nonzero=2>"


def test_time_order_is_noticed(small):
    slow = np.repeat(small[::9], 9, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(90, 8))
    slow[5] = slow[4]
    options = {"n_atoms": [2], "n_nonzero": [1], "stability": False, "random_state": 0}
    text = str(sx.suggest(slow, **options))
    assert "1 of 90 rows are copies" in text
    assert "so whole blocks of rows were held out" in text
    assert "whole groups were held out" in str(sx.suggest(slow, groups=np.arange(90) // 9, **options))
    assert "these errors are too small" in str(sx.suggest(slow, cv=KFold(3, shuffle=True, random_state=0), **options))


def test_many_shapes_are_thinned(small):
    found = sx.suggest(small, [2, 3], [1], max_shapes=30, stability=False, random_state=0)
    assert "30 of 90 shapes, evenly spaced" in str(found)


def test_progress_can_stop(small):
    seen = []
    found = sx.suggest(
        small, [3, 4], [1, 2], random_state=0, callback=lambda *news: seen.append(news) or len(seen) == 4
    )
    assert [done for done, _, _ in seen] == [1, 2, 3, 4]
    # Four cells, the same four learned again as neighbors of the elbow, 3 folds; 2 sizes, all shapes and halves.
    assert all(most == (4 + 4) * 3 + 2 * 2 for _, most, _ in seen)
    assert len(found.surface) == 4
    assert found.n_atoms == 3


def test_interrupt_goes_through(small):
    def interrupt(*news):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sx.suggest(small, [3], [1], callback=interrupt)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"cv": None}, ValueError, "cv must hold out some shapes"),
        ({"min_gain": 0}, ValueError, "min_gain must be between"),
        ({"min_gain": "3 %"}, TypeError, "min_gain must be a number"),
        ({"n_atoms": []}, ValueError, "n_atoms must hold at least one number"),
        ({"n_atoms": [61]}, ValueError, "n_atoms must be at most 60"),
        ({"n_nonzero": []}, ValueError, "at least one number"),
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


def test_too_few_shapes(small):
    with pytest.raises(ShapeInputError, match="too few shapes"):
        sx.suggest(small[:2], cv=2)


def test_sizes_that_were_learned_badly_do_not_hide_larger_ones():
    errors = {(4, 2): 0.4, (6, 2): 0.2, (7, 2): 0.21, (8, 2): 0.05, (9, 2): 0.05, (12, 2): 0.0499}
    assert choose_size(_surface(errors), 2, 0.03) == 8


def test_a_step_must_pay():
    errors = {(8, 1): 0.5, (8, 2): 0.05, (8, 3): 0.048, (8, 4): 0.046}
    assert choose(_surface(errors), 0.03) == (8, 2)
    # In many dimensions every step shortens the description, but a step of a few percent is none to look for.
    assert choose(_surface(errors, n_dimensions=1000), 0.03) == (8, 2)


def test_errors_below_any_precision_are_equal():
    errors = {(5, 2): 1e-6, (6, 2): 1e-7, (5, 3): 1e-9, (6, 3): 1e-9, (4, 2): 0.2, (4, 1): 0.5}
    assert choose(_surface(errors), 0.03) == (5, 2)


def test_stable_atoms_win_among_equals():
    surface = _surface({(6, 2): 0.100, (8, 2): 0.098, (4, 2): 0.2})
    rows = [
        {"n_atoms": J, "n_nonzero": 2, "distance": 0.0, "chance": 1.0, "n_named": J, "stability": stability}
        for J, stability in ((4, 1.0), (6, 0.9), (8, 0.4))
    ]
    assert most_stable(surface, AtomStability(rows), 8, 2) == 6
    assert most_stable(surface, AtomStability(rows[1:2]), 6, 2) == 6


def test_order_of_rows():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 6, 2)) @ [1, 1j]
    rows = sx.Landmarks(6).whitened_preshapes(X, "X")
    assert not describe_order(X, X, rows, rng).is_ordered
    assert describe_order(X, X, rows, rng).n_copies == 0
    twice = np.repeat(X, 2, axis=0)
    assert describe_order(twice, twice, np.repeat(rows, 2, axis=0), rng).n_copies == 50


def _columns(**columns):
    return sx.ShapeSet(np.random.default_rng(5).normal(size=(40, 6, 2)), **columns)


@pytest.mark.parametrize(
    ("columns", "sorted_by"),
    [
        ({"labels": ["a"] * 25 + ["b"] * 15}, "label"),
        ({"labels": ["a", "b"] * 20}, ""),
        ({"labels": ["a"] * 40}, ""),
        ({"labels": [f"{i}" for i in range(40)]}, ""),
        ({"labels": ["a", "b"] * 20, "metadata": {"file": ["1.png"] * 20 + ["2.png"] * 20}}, "file"),
        ({"metadata": {"file": [f"control_{i}.png" for i in range(20)] + [f"drug_{i}.png" for i in range(20)]}},
         "name of file"),
        ({"metadata": {"file": [f"cell_{i}.png" for i in range(40)]}}, ""),
        ({"labels": ["a"] * 25 + ["b"] * 15, "sequence": [0] * 20 + [1] * 20}, ""),
    ],
)  # fmt: skip
def test_sorted_sets_are_recognized(columns, sorted_by):
    shapes = _columns(**columns)
    rows = shapes.space.whitened_preshapes(shapes.configurations, "X")
    order = describe_order(shapes, shapes.configurations, rows, np.random.default_rng(0))
    assert order.sorted_by == sorted_by
    assert order.needs_shuffling == bool(sorted_by)


def test_sorted_sets_are_shuffled(small):
    shapes = sx.ShapeSet(small, labels=["a"] * 45 + ["b"] * 45)
    options = {"n_atoms": [2], "n_nonzero": [1], "stability": False, "random_state": 0}
    found = sx.suggest(shapes, **options)
    assert "the rows are sorted by label" in str(found)
    assert "shuffled and held out at random" in str(found)
    blocks = sx.suggest(shapes, cv=KFold(3), **options)
    assert "shuffled" not in str(blocks)
    assert found.surface["rmse"].tolist() != blocks.surface["rmse"].tolist()
    assert "shuffled" not in str(sx.suggest(shapes, groups=np.arange(90) // 9, **options))


def test_recordings_sorted_by_label_stay_in_blocks(small):
    slow = np.repeat(small[::9], 9, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(90, 8))
    shapes = sx.ShapeSet(slow, labels=["a"] * 45 + ["b"] * 45)
    text = str(sx.suggest(shapes, [2], [1], stability=False, random_state=0))
    assert "whole blocks of rows were held out" in text
    assert "shuffled" not in text


@pytest.mark.parametrize("n_shapes", [3, 6, 29])
def test_few_shapes_allow_no_conclusions(small, n_shapes):
    found = sx.suggest(small[:n_shapes], random_state=0)
    assert found.reasons[0].startswith(f"Few shapes: {n_shapes} shapes are too few")
    assert len(found.stability) == 0
    assert "they can be named" not in str(found)


@pytest.mark.parametrize(
    ("n_named", "words"),
    [(4, "they can be named"), (3, "3 of 4 atoms are found again"), (0, "no atom is found again")],
)
def test_only_atoms_that_are_found_again_can_be_named(n_named, words):
    row = {"n_atoms": 4, "n_nonzero": 2, "distance": 0.1, "chance": 1.0, "n_named": n_named, "stability": 0.9}
    text = explain_stability(AtomStability([row]), 4)
    assert words in text
    assert ("they can be named" in text) == (n_named == 4)
    assert explain_stability(AtomStability([row]), 5) == ""


def test_stability_is_that_of_a_dictionary(small):
    """Shapes in all directions have no atoms that are found again, and the reasons do not say so."""
    X = np.random.default_rng(0).normal(size=(60, 12, 2)) @ [1, 1j]
    found = sx.suggest(X, [4], [2], random_state=0)
    assert found.stability["n_named"].tolist() == [0]
    assert "they can be named" not in str(found)
    assert "0 of 4" in str(found.stability)


def test_only_given_sparsities_are_tried(small):
    found = sx.suggest(small, n_nonzero=[1, 3], stability=False, random_state=0)
    assert set(found.surface["n_nonzero"]) == {1, 3}


def test_repeats_of_a_few_shapes(small):
    found = sx.suggest(np.repeat(small[:2], 30, axis=0), random_state=0)
    assert found.rmse < 1e-6


def test_sets_bring_their_space():
    space = sx.HermiteSpline(4)
    X = np.random.default_rng(0).normal(size=(60, 8, 2)) @ [1, 1j]
    options = {"n_atoms": [3, 4], "n_nonzero": [1, 2], "stability": False, "random_state": 0}
    reasons = sx.suggest(X, space=space, **options).reasons
    assert sx.suggest(sx.ShapeSet(X, space), **options).reasons == reasons
    assert sx.suggest(X, **options).reasons != reasons
