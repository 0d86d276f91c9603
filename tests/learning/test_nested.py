"""Nested dictionaries: one descent on the losses of several sparsities, wherever the shapes are and however given."""

import dask.array as da
import numpy as np
import pytest

import shapelex as sx
from shapelex.coding import encode_rows, squared_residuals
from shapelex.geometry.atom_matching import match_atoms
from shapelex.learning import LearningOptions, passes, update_mod
from shapelex.learning.incomplete_shapes import IncompleteShapes
from shapelex.shapes.opening import as_shapes
from tests import strategies
from tests.devices import DEVICES
from tests.learning.samples import clustered, plain_shapes, random_rows
from tests.shapes.test_stored import as_memmap

SPACE = sx.Landmarks(9)


def hide_some(Z):
    hidden = np.random.default_rng(2).random(Z.shape) < 0.1
    return IncompleteShapes(np.where(hidden, np.nan, Z), SPACE)


INPUTS = {
    "array": lambda Z, folder: as_shapes(Z, SPACE),
    "memory map": lambda Z, folder: as_shapes(as_memmap(Z, folder), SPACE),
    "stream": lambda Z, folder: as_shapes(lambda: (Z[start : start + 11] for start in range(0, len(Z), 11)), SPACE),
    "Dask": lambda Z, folder: as_shapes(da.from_array(Z, chunks=(17, Z.shape[1])), SPACE),
    "incomplete": lambda Z, folder: hide_some(Z),
}


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("distance", ["full", "partial", "geodesic"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("device", ["cpu", *DEVICES])
def test_a_pass_adds_up_what_passes_of_one_sparsity_find(kind, distance, dtype, device, tmp_path):
    Z, atoms = (array.astype(dtype) for array in strategies.scattered_shapes(SPACE, 3))
    shapes = INPUTS[kind](Z, tmp_path)
    shared = {"coder": "exact", "distance": distance, "device": device, "tie": 0.4}
    options = LearningOptions(5, 3, nested=True, **shared)
    found = passes.survey(shapes, atoms, options, keeps_values=True)
    single = [passes.survey(shapes, atoms, LearningOptions(5, size, **shared), keeps_values=True) for size in (1, 2, 3)]
    rounding = 1e3 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(found.losses, [one.loss for one in single], rtol=rounding)
    assert found.losses[0] > found.losses[1] > found.losses[2] == found.loss
    combined = options.objective.combine([one.statistics for one in single], found.losses)
    scale = np.abs(combined.gram).max()
    np.testing.assert_allclose(found.combined.gram, combined.gram, atol=rounding * scale)
    np.testing.assert_allclose(found.combined.products, combined.products, atol=rounding * scale)
    # What is known of the codes is that of the highest sparsity.
    for name in ("gram", "products", "usage", "weight"):
        np.testing.assert_array_equal(getattr(found.statistics, name), getattr(single[-1].statistics, name))
    np.testing.assert_array_equal(found.values, single[-1].values)
    assert found.mean_nearest_distance2 == pytest.approx(single[-1].mean_nearest_distance2, abs=rounding)
    if kind != "incomplete":
        np.testing.assert_array_equal(found.worst, single[-1].worst)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_thread_count_does_not_change_a_bit(n_threads):
    source, atoms = plain_shapes(clustered(20_000, 12)), random_rows(8, 12)
    one, other = (
        passes.survey(source, atoms, LearningOptions(8, 3, nested=True, n_threads=number)) for number in (1, n_threads)
    )
    np.testing.assert_array_equal(one.losses, other.losses)
    np.testing.assert_array_equal(one.combined.gram, other.combined.gram)
    np.testing.assert_array_equal(one.combined.products, other.combined.products)


def test_batches_are_nested_too():
    Z, atoms = strategies.scattered_shapes(SPACE, 5)
    options = {"n_atoms": 5, "n_nonzero": 2, "init": SPACE.unwhiten(atoms), "space": SPACE, "coder": "exact"}
    model = sx.ShapeDictionary(**options).partial_fit(Z)
    found = passes.survey(as_shapes(Z, SPACE), atoms, LearningOptions(5, 2, nested=True, coder="exact", tie=0))
    expected = update_mod(found.combined, atoms)
    np.testing.assert_allclose(model.atoms_, SPACE.unwhiten(expected), atol=1e-10)
    plain = sx.ShapeDictionary(**options, nested=False).partial_fit(Z)
    assert sx.distance(model.atoms_, plain.atoms_).max() > 1e-3
    in_batches = sx.ShapeDictionary(**options, nested=True, batch_size=20, max_iter=3, random_state=0)
    again = sx.ShapeDictionary(**options, nested=False, batch_size=20, max_iter=3, random_state=0)
    assert sx.distance(in_batches.fit(Z).atoms_, again.fit(Z).atoms_).max() > 1e-4


def rmse_at(rows, atoms, n_nonzero):
    return np.sqrt(squared_residuals(rows, atoms, encode_rows(rows, atoms, n_nonzero)).mean())


@pytest.mark.realdata
def test_worms_have_better_codes_of_few_atoms_and_atoms_that_come_back(load_real):
    space = sx.HermiteSpline(6)
    # Every tenth frame to learn from, and others to measure.
    X = load_real("6376_open_worms_6ctrlpts")
    held_out = space.whitened_preshapes(X[5::10])
    atoms = {
        nested: [
            space.whitened_preshapes(
                sx.ShapeDictionary(10, 5, space=space, nested=nested, tol=1e-4, random_state=seed).fit(X[::10]).atoms_
            )
            for seed in (0, 1)
        ]
        for nested in (True, False)
    }
    ours, plain = (
        np.mean([[rmse_at(held_out, rows, size) for size in (1, 2, 3, 5)] for rows in atoms[nested]], axis=0)
        for nested in (True, False)
    )
    assert (ours[:2] < 0.9 * plain[:2]).all()
    assert ours[2] < plain[2]
    assert ours[3] < 1.1 * plain[3]
    ours, plain = (np.sqrt(match_atoms(*atoms[nested])[1]).mean() for nested in (True, False))
    assert ours < 0.7 * plain
