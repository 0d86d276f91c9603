"""Atoms that are found again from halves of the shapes, and those that are not."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import shapelex as sx
from shapelex.geometry.matching import NAMED_RATIO, DictionaryStability, matched_distances
from tests.learning.samples import planted, random_rows


def fit(X, n_atoms=4, n_nonzero=2, **options):
    return sx.ShapeDictionary(n_atoms, n_nonzero, **{"random_state": 0, "tol": 1e-3, "n_swaps": 10} | options).fit(X)


@pytest.fixture(scope="module")
def small():
    return np.random.default_rng(0).normal(size=(60, 8, 2))


@given(st.integers(1, 5), st.integers(0, 2**32))
def test_the_matching_is_the_best_of_all(n_atoms, seed):
    first, second = random_rows(n_atoms, 6, seed), random_rows(n_atoms, 6, seed + 1)
    squares = 1 - np.abs(first.conj() @ second.T) ** 2
    best = min(sum(squares[i, j] for i, j in enumerate(order)) for order in itertools.permutations(range(n_atoms)))
    assert np.sum(matched_distances(first, second) ** 2) == pytest.approx(best, abs=1e-9)


def test_a_true_dictionary_is_found_again():
    rows, _ = planted(n_rows=400, n_atoms=6, n_coordinates=10, noise=0.02, seed=3)
    found = fit(rows, 6, 2, n_swaps=30).stability_
    assert found.distances.max() < 0.05
    assert found.between_halves < 0.05
    assert found.can_be_named.all()
    assert found.n_shapes == 400


def test_shapes_in_all_directions_have_no_true_dictionary():
    found = fit(random_rows(200, 16), 5, 2, max_iter=0).stability_
    assert found.ratio.min() > 0.7
    assert found.between_halves / found.chance_between_halves > 0.7
    assert not found.can_be_named.any()


def test_chance_is_the_distance_of_random_shapes():
    """Of six isolated shapes, many times each, a draw of six distinct ones is always all of them."""
    found = fit(np.repeat(random_rows(6, 8), 30, axis=0), 6, 1).stability_
    assert found.chance.max() < 1e-6
    assert found.chance_between_halves < 1e-6
    rows = random_rows(5000, 8, seed=4)
    one = fit(rows, 1, 1, init="random", max_iter=0, n_swaps=0).stability_
    expected = sx.pairwise_distances(rows[:300], rows[300:600]).mean()
    assert one.chance_between_halves == pytest.approx(expected, abs=0.05)
    assert one.chance[0] == pytest.approx(expected, abs=0.1)
    # The sample of a large set.
    assert one.n_shapes == 4000


def test_the_rule():
    found = DictionaryStability(np.array([0.1, 0.5, 1.02]), np.array([1.0, 1.0, 2.0]), 0.4, 0.9, 100)
    assert NAMED_RATIO == 0.5
    assert found.can_be_named.tolist() == [True, True, False]
    assert found.ratio.tolist() == [0.1, 0.5, 0.51]
    assert list(found.to_dataframe().columns) == ["atom", "distance", "chance", "ratio", "can_be_named"]
    assert "2 of 3 atoms can be named" in repr(found)
    assert str(found).endswith("\n   2     1.020      2.000   0.51  no")
    assert "<pre" in found._repr_html_()
    assert found.to_json()["can_be_named"] == [True, True, False]


def test_same_seed_same_result_whatever_the_threads(small):
    model = fit(small)
    found = model.stability_
    assert model.stability_ is found
    again = fit(small, n_jobs=1).stability_
    assert again.distances.tolist() == found.distances.tolist()
    assert again.chance.tolist() == found.chance.tolist()
    assert again.between_halves == found.between_halves
    assert fit(small, random_state=1).stability_.chance.tolist() != found.chance.tolist()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_draws_of_a_fit_do_not_change(small, make):
    """The generator ends where it ended before, and the global state of NumPy is not touched."""
    generator, before = make(3), np.random.get_state()[1].tolist()  # noqa: NPY002
    model = fit(small, random_state=generator)
    following = generator.integers(100) if hasattr(generator, "integers") else generator.randint(100)
    _ = model.stability_
    other = make(3)
    fit(small, random_state=other)
    assert following == (other.integers(100) if hasattr(other, "integers") else other.randint(100))
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_nothing_is_computed_unasked(small, monkeypatch):
    def refuse(*_):
        raise AssertionError("computed")

    monkeypatch.setattr("shapelex.estimators.shape_dictionary.measure_stability", refuse)
    assert not hasattr(sx.ShapeDictionary(), "stability_")
    model = fit(small)
    assert "stability_" not in dir(model)
    assert "atoms_" in dir(model)
    model._repr_html_()
    repr(model)
    clone(model)


def test_copies_and_files_of_a_model(small, tmp_path):
    model = fit(small)
    later = pickle.loads(pickle.dumps(model)).stability_
    with pytest.raises(AttributeError, match="saved before stability_ was computed"):
        _ = sx.load(model.save(tmp_path / "before.npz")).stability_
    found = model.stability_
    assert later.to_json() == found.to_json()
    assert "stability_" in dir(model)
    for copy in (pickle.loads(pickle.dumps(model)), sx.load(model.save(tmp_path / "after.npz"))):
        assert copy.stability_.to_json() == found.to_json()
    assert not hasattr(clone(model), "stability_")
    # More batches change the dictionary.
    model.partial_fit(small[:20])
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = model.stability_


@pytest.mark.parametrize(("n_distinct", "n_copies", "n_missing"), [(7, 1, 0), (3, 20, 0), (30, 1, 29)])
def test_too_few_distinct_shapes(small, tmp_path, n_distinct, n_copies, n_missing):
    Z = np.repeat(small[:n_distinct] @ [1, 1j], n_copies, axis=0)
    Z[:n_missing, 3] = np.nan  # a landmark of one shape alone is missing in one of the halves
    model = fit(sx.ShapeSet(Z, missing="allow"))
    found = model.stability_
    assert np.isnan(found.distances).all()
    assert not found.can_be_named.any()
    assert all("too few" in text for text in (str(found), repr(found)))
    assert found.to_json()["distances"] is None
    loaded = sx.load(model.save(tmp_path / "few.npz")).stability_
    assert (loaded.is_known, loaded.n_shapes) == (False, n_distinct * n_copies)


def with_holes(Z):
    holes = Z.copy()
    holes[::5, 2] = np.nan
    return sx.ShapeSet(holes, missing="allow")


@pytest.mark.parametrize(
    ("make", "options", "n_shapes"),
    [
        (lambda Z: lambda: iter([Z[:25], Z[25:]]), {}, 60),
        (lambda Z: pytest.importorskip("dask.array").from_array(Z, chunks=(30, -1)), {}, 60),
        (with_holes, {}, 60),
        (lambda Z: Z, {"batch_size": 15, "max_iter": 3}, 60),
        (lambda Z: Z, {"init": [0, 1, 2, 3]}, 60),
        (lambda Z: Z, {"sample_weight": np.arange(60) % 3}, 40),
    ],
)
def test_kinds_of_input(small, make, options, n_shapes):
    Z, options = small @ [1, 1j], dict(options)
    weights = options.pop("sample_weight", None)
    if "init" in options:
        options["init"] = Z[options["init"]]
    model = sx.ShapeDictionary(4, 2, **{"random_state": 0, "tol": 1e-2, "n_swaps": 5} | options)
    X = make(Z)
    found = model.fit(X, sample_weight=weights).stability_
    assert found.n_shapes == n_shapes
    assert np.isfinite(found.distances).all()
    if not options and weights is None and not isinstance(X, sx.ShapeSet):
        expected = fit(Z, tol=1e-2, n_swaps=5).stability_.distances
        np.testing.assert_allclose(found.distances, expected, rtol=1e-3, atol=1e-3)


def test_an_interruption_keeps_the_sample(small, monkeypatch):
    model, expected = fit(small), fit(small).stability_

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shapelex.learning.descent.Learner.passes", interrupt)
        with pytest.raises(KeyboardInterrupt):
            _ = model.stability_
    assert model.stability_.distances.tolist() == expected.distances.tolist()
