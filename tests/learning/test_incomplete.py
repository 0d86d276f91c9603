"""Dictionaries learned from shapes with missing landmarks, each by the landmarks that it has."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

import shapelex as sx
from shapelex.exceptions import NonFiniteError
from tests import strategies
from tests.devices import on_devices

N_POINTS = 12


def make_sets(seed, n_shapes=30, share=0.15, noise=0.02):
    """Return complete shapes at any place, size and angle, and the same as a set with missing landmarks."""
    rng = np.random.default_rng(seed)
    circle = np.exp(2j * np.pi * np.arange(N_POINTS) / N_POINTS)
    shapes = circle + 0.3 * rng.normal(size=(n_shapes, 3)) @ [circle**-1, circle**2, circle**-2]
    shapes = shapes + noise * rng.normal(size=(n_shapes, N_POINTS, 2)) @ [1, 1j]
    turns = np.exp(2j * np.pi * rng.random((n_shapes, 1))) * rng.uniform(1, 5, (n_shapes, 1))
    shapes = turns * shapes + 3 * rng.normal(size=(n_shapes, 1))
    hidden = rng.random(shapes.shape) < share
    return shapes, sx.ShapeSet(np.where(hidden, np.nan, shapes), missing="allow")


def make_dictionary(**options):
    return sx.ShapeDictionary(4, 2, coder="exact", random_state=0, **{"n_swaps": 0, **options})


def fit(X, **options):
    return make_dictionary(**options).fit(X)


def least_squares(z, atoms):
    """Return weights and the relative residual of a shape on its landmarks, with a free translation, by brute force."""
    present = ~np.isnan(z)
    size = np.linalg.norm(z[present] - z[present].mean())
    best = (np.inf, None, None)
    for support in combinations(range(len(atoms)), 2):
        matrix = np.column_stack([*atoms[list(support)][:, present], np.ones(present.sum())])
        solution = np.linalg.lstsq(matrix, z[present], rcond=None)[0]
        residual = np.linalg.norm(matrix @ solution - z[present]) / size
        best = min(best, (residual, support, solution[:-1] / size), key=lambda found: found[0])
    return best


@given(strategies.seeds)
def test_codes_are_the_least_squares_ones_on_the_landmarks_present(seed):
    _, incomplete = make_sets(seed, n_shapes=10)
    model = fit(incomplete, max_iter=2)
    errors, codes = model.errors(incomplete), model.transform(incomplete)
    rebuilt = model.reconstruct(incomplete)
    for z, error, code, whole in zip(incomplete.configurations, errors, codes, rebuilt, strict=True):
        residual, support, weights = least_squares(z, model.atoms_)
        assert error == pytest.approx(residual, abs=1e-9)
        # Weights are scaled by one number, so that the completed shape has size 1.
        scales = code[list(support)] / weights
        np.testing.assert_allclose(scales, scales[0].real, rtol=1e-6)
        present = ~np.isnan(z)
        size = np.linalg.norm(z[present] - z[present].mean()) / scales[0].real
        offset = (z - size * whole)[present].mean()
        completed = np.where(present, z, size * whole + offset)
        assert np.linalg.norm(completed - completed.mean()) == pytest.approx(size, rel=1e-6)


@given(strategies.seeds)
def test_updates_lower_the_error_on_the_landmarks_present(seed):
    _, incomplete = make_sets(seed, n_shapes=15)
    model = fit(incomplete, tie=0, max_iter=6)
    assert (np.diff(model.loss_curve_) <= 1e-12).all()
    residuals = [least_squares(z, model.atoms_)[0] for z in incomplete.configurations]
    assert model.rmse_ == pytest.approx(np.sqrt(np.mean(np.square(residuals))), rel=1e-9)
    np.testing.assert_allclose(model.errors(incomplete), residuals, atol=1e-9)
    assert model.score(incomplete) == pytest.approx(-model.rmse_)


def test_hidden_landmarks_are_found_where_shapes_are_sums_of_atoms():
    rng = np.random.default_rng(1)
    atoms = sx.Landmarks(N_POINTS).preshape(rng.normal(size=(3, N_POINTS, 2)) @ [1, 1j])
    weights = rng.normal(size=(80, 3, 2)) @ [1, 1j]
    weights[np.arange(80), np.arange(80) % 3] = 0
    shapes = weights @ atoms
    hidden = rng.random(shapes.shape) < 0.1
    incomplete = sx.ShapeSet(np.where(hidden, np.nan, shapes), missing="allow")
    model = sx.ShapeDictionary(3, 2, random_state=0, tol=1e-7, max_iter=300).fit(incomplete)
    assert model.rmse_ < 1e-3
    assert model.errors(shapes).max() < 0.02
    np.testing.assert_allclose(model.reconstruct(incomplete), sx.Landmarks(N_POINTS).preshape(shapes), atol=0.02)


def test_better_than_leaving_shapes_out():
    shapes, incomplete = make_sets(2, n_shapes=60, share=0.1)
    unseen, _ = make_sets(3, n_shapes=60)
    whole = ~incomplete.is_missing.any(axis=1)
    assert 4 < whole.sum() < 30
    assert fit(incomplete).errors(unseen).mean() < fit(shapes[whole]).errors(unseen).mean()


@pytest.mark.parametrize(
    ("distance", "dtype"), [("full", np.complex64), ("partial", np.complex64), ("geodesic", np.complex128)]
)
def test_every_distance_and_precision(distance, dtype):
    _, incomplete = make_sets(4)
    incomplete = incomplete.replace(configurations=incomplete.configurations.astype(dtype))
    model = fit(incomplete, distance=distance, max_iter=5)
    assert model.atoms_.dtype == dtype
    assert model.rmse_ < 0.3
    assert model.transform(incomplete).dtype == dtype


@on_devices
def test_devices_learn_and_code_the_same(device):
    _, incomplete = make_sets(4)
    expected, model = fit(incomplete, max_iter=3), fit(incomplete, max_iter=3, device=device)
    np.testing.assert_allclose(model.atoms_, expected.atoms_, atol=1e-6)
    np.testing.assert_allclose(model.errors(incomplete), expected.errors(incomplete), atol=1e-6)


def test_a_complete_set_is_learned_from_as_always():
    shapes, _ = make_sets(5)
    allowed = fit(sx.ShapeSet(shapes, missing="allow"), n_swaps=5)
    plain = fit(shapes, n_swaps=5)
    np.testing.assert_array_equal(allowed.atoms_, plain.atoms_)
    np.testing.assert_array_equal(allowed.transform(sx.ShapeSet(shapes, missing="allow")), plain.transform(shapes))


def test_stored_sets_are_learned_from_and_coded_alike(tmp_path):
    _, incomplete = make_sets(6)
    stored = sx.open_shapes(sx.write(incomplete, tmp_path / "set.npz"))
    expected, model = fit(incomplete), fit(stored)
    np.testing.assert_array_equal(model.atoms_, expected.atoms_)
    np.testing.assert_array_equal(model.transform(stored), expected.transform(incomplete))


def test_weights_count_as_copies():
    _, incomplete = make_sets(7, n_shapes=12)
    weights = np.arange(12) % 3
    copies = incomplete[np.repeat(np.arange(12), weights)]
    options = {"max_iter": 4, "tie": 0}
    weighted = make_dictionary(**options)
    weighted.fit(incomplete, sample_weight=weights)
    np.testing.assert_allclose(weighted.rmse_, fit(copies, **options).rmse_, rtol=1e-6)


def test_a_fit_resumes_from_its_checkpoint(tmp_path):
    _, incomplete = make_sets(8)
    options = {"init": "random", "tol": 0}
    first = fit(incomplete, max_iter=3, checkpoint=tmp_path / "fit", **options)
    assert first.n_iter_ == 3
    resumed = fit(incomplete, max_iter=6, checkpoint=tmp_path / "fit", **options)
    np.testing.assert_array_equal(resumed.atoms_, fit(incomplete, max_iter=6, **options).atoms_)


class TestErrors:
    shapes, incomplete = make_sets(10)

    def test_arrays_batches_and_curves_name_what_to_do(self):
        rows = self.incomplete.configurations
        for refused in (
            lambda: make_dictionary().fit(rows),
            lambda: make_dictionary(batch_size=10).fit(self.incomplete),
            lambda: make_dictionary().partial_fit(self.incomplete),
            lambda: fit(self.shapes).encode(rows),
            lambda: make_dictionary().fit(sx.ShapeSet(rows, sx.BSpline(N_POINTS), missing="allow")),
            lambda: sx.TangentPCA(2).fit(self.incomplete),
            lambda: sx.mean_shape(self.incomplete),
        ):
            with pytest.raises(NonFiniteError, match=r"has NaN in rows? .*sx\.impute"):
                refused()

    def test_infinite_coordinates_are_not_missing(self):
        rows = self.shapes.copy()
        rows[3, 2] = np.inf
        with pytest.raises(NonFiniteError, match="infinite coordinates in row 3: remove these shapes, or correct them"):
            make_dictionary().fit(rows)

    def test_too_few_landmarks(self):
        rows = self.incomplete.configurations.copy()
        rows[4, 2:] = np.nan
        spoiled = self.incomplete.replace(configurations=rows)
        with pytest.raises(NonFiniteError, match="fewer than three landmarks in row 4"):
            make_dictionary().fit(spoiled)
        with pytest.raises(NonFiniteError, match="fewer than three landmarks in row 4"):
            fit(self.shapes).encode(spoiled)

    def test_a_landmark_that_no_shape_has(self):
        rows = self.incomplete.configurations.copy()
        rows[:, 5] = np.nan
        with pytest.raises(NonFiniteError, match="X has NaN in every shape for landmark 5"):
            make_dictionary().fit(self.incomplete.replace(configurations=rows))
