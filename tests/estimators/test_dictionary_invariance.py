"""Fits do not depend on position, size and rotation of the shapes, nor on the number of threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.coding import cpu
from shapelex.learning import one_pass
from tests import strategies
from tests.conftest import custom_space
from tests.shapes.test_stored import KINDS

SPACES = [sx.Landmarks(8), sx.BSpline(8), sx.HermiteSpline(4, closed=True), custom_space(8)]
PAPER = {"coder": "ormp", "n_swaps": 0, "init": "random"}


def move_each(X, space, rng, farthest):
    """Return the same shapes, each shifted, scaled and rotated on its own."""
    factors = 10 ** rng.uniform(-3, 3, size=(len(X), 1)) * np.exp(1j * rng.uniform(0, 7, size=(len(X), 1)))
    offsets = farthest * (rng.normal(size=(len(X), 2)) @ [1, 1j])[:, None]
    return factors * (space.preshape(X) + offsets * space.shift / space.norm(space.shift + 0j))


@pytest.mark.parametrize(("space", "dtype"), [*zip(SPACES, [np.complex64, np.complex128] * 2, strict=True)], ids=repr)
@given(
    seed=strategies.seeds,
    options=st.sampled_from([{"n_swaps": 4}, {}, PAPER, {**PAPER, "batch_size": 25}, {"distance": "geodesic"}]),
    is_far=st.booleans(),
)
def test_a_fit_does_not_depend_on_position_size_and_rotation(space, dtype, seed, options, is_far):
    farthest = 1 if not is_far else 10 if dtype == np.complex64 else 1e4
    X, _ = strategies.scattered_shapes(space, seed)
    moved = move_each(X, space, np.random.default_rng(seed), farthest)
    models = [
        sx.ShapeDictionary(4, 2, space=space, max_iter=3, random_state=0, **options).fit(shapes.astype(dtype))
        for shapes in (X, moved)
    ]
    rounding = 256 * farthest * float(np.finfo(dtype).eps)
    # Of two dictionaries whose objectives are equal to rounding, either may be kept, and the objective is flat there.
    assert models[0].rmse_ == pytest.approx(models[1].rmse_, abs=rounding)
    if "n_swaps" in options and dtype == np.complex64:
        return  # a search may end at different dictionaries whose errors are equal to rounding
    assert sx.distance(models[0].atoms_, models[1].atoms_, space=space).max() < np.sqrt(rounding)
    np.testing.assert_allclose(models[0].usage_, models[1].usage_, rtol=1e-12)


@pytest.mark.parametrize("space", SPACES, ids=repr)
# The search by swaps ends after 45 passes, before it has settled to the last digits.
@pytest.mark.parametrize(
    ("options", "excess", "gap"), [({"n_swaps": 4}, 1e-6, 1e-3), (PAPER, 1e-9, 1e-5)], ids=["swaps", "paper"]
)
def test_with_all_atoms_a_dictionary_spans_what_complex_pca_spans(space, options, excess, gap):
    X, _ = strategies.scattered_shapes(space, 0)
    options = {**options, "max_iter": 1000, "tol": 0}
    for n_atoms in (1, 4):
        model = sx.ShapeDictionary(n_atoms, n_atoms, space=space, random_state=0, **options).fit(X)
        modes = sx.ComplexPCA(n_atoms, space=space, subtract_average=False).fit(X)
        assert model.rmse_ == pytest.approx(np.sqrt(modes.loss_ / len(X)), rel=excess)
        # Orthogonal projections in the product of the space.
        atoms, axes = (np.linalg.qr(space.whiten(rows).T)[0] for rows in (model.atoms_, modes.components_))
        np.testing.assert_allclose(atoms @ atoms.conj().T, axes @ axes.conj().T, atol=gap)


@pytest.fixture
def _many_threads(monkeypatch):
    """Let small problems use all threads that they may use."""
    monkeypatch.setattr(cpu, "_MIN_WORK_NS", 1e-3)
    monkeypatch.setattr(one_pass, "MAX_PART_ROWS", 7)


def results_of(X, space, n_jobs, options):
    model = sx.ShapeDictionary(4, 2, space=space, max_iter=2, random_state=0, n_jobs=n_jobs, **options).fit(X)
    codes = model.encode(X)
    return model.atoms_, model.usage_, model.loss_curve_, codes.support, codes.coefs, model.errors(X)


@pytest.mark.usefixtures("_many_threads")
@pytest.mark.parametrize(
    ("kind", "space"),
    [("array", SPACES[0]), ("array", SPACES[3]), ("function", SPACES[1])],
    ids=str,
)
def test_results_do_not_depend_on_the_number_of_threads(kind, space, tmp_path):
    # Several blocks of the coder, which have at least 128 rows.
    X = np.concatenate([strategies.scattered_shapes(space, seed, farthest=300)[0] for seed in range(5)])
    stored = X if kind == "array" else KINDS[kind](X, tmp_path)
    for options in ({"n_swaps": 1, "distance": "partial"}, {**PAPER, "batch_size": 70}):
        first, *others = (results_of(stored, space, n_jobs, options) for n_jobs in (1, 2, 3))
        for other in others:
            for found, expected in zip(other, first, strict=True):
                np.testing.assert_array_equal(found, expected)
