"""Shapes that are no shapes are named by their number in the whole set, in every kind of input and by every function.

A model that refuses them stays as it was: not fitted, or fitted to other shapes.
"""

import copy

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import CollapsedShapeError, NonFiniteError
from shapelex.learning import one_pass
from shapelex.shapes import storage
from tests.devices import on_devices
from tests.test_matrix import CALLS, KINDS, N_SHAPES, SETS, SPACES, Cell, make_shapes

BAD = {"NaN": NonFiniteError, "Inf": NonFiniteError, "collapsed": CollapsedShapeError}
# What a space makes of a row does not depend on where the row comes from.
INPUTS = [*((kind, "landmarks") for kind in KINDS), ("array", "complex gram"), ("Dask", "complex gram")]
on_all_inputs = pytest.mark.parametrize(("kind", "space"), INPUTS)


def some_of(names):
    """Return each input with two of the names, and each name with several inputs."""
    names = list(names)
    return [
        (names[(place + more) % len(names)], *one) for place, one in enumerate(INPUTS) for more in (0, len(names) // 2)
    ]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Let all shapes outside memory be several blocks, and all passes several parts."""
    for module in (storage, one_pass):
        monkeypatch.setattr(module, "BLOCK_ROWS", 16)
    monkeypatch.setattr(one_pass, "MAX_PART_ROWS", 7)


def spoil(X, row, bad, space):
    """Return a copy with one row that is no shape."""
    spoiled = X.copy()
    if bad == "collapsed":
        spoiled[row] = (3 - 2j) * space.shift
    else:
        spoiled[row, row % X.shape[1]] = np.nan if bad == "NaN" else -np.inf
    return spoiled


def make_dictionary(space, **options):
    return sx.ShapeDictionary(3, 2, space=space, max_iter=2, random_state=0, **options)


def given_init(space):
    return make_dictionary(space, init=make_shapes(np.complex128)[[0, 20, 30]])


LEARNERS = {
    "fit": make_dictionary,
    "fit by the paper": lambda space: make_dictionary(space, coder="ormp", n_swaps=0, init="random"),
    "fit from given atoms": given_init,
    "fit in batches": lambda space: make_dictionary(space, batch_size=11),
    "fit in batches from given atoms": lambda space: given_init(space).set_params(batch_size=11),
}
CODED = ("encode", "encode over atoms", "transform", "reconstruct", "errors", "score")
FUNCTIONS = (*CODED, "realism", "mean_shape", "geodesic mean_shape", "align_to_mean")


def bad_inputs(kind, space, folder, seed, takes_missing=False):
    """Yield inputs with one bad row each, the error that must be raised, and the words that name the row.

    Functions that take missing landmarks get none that are missing in a set that allows it.
    """
    rng = np.random.default_rng(seed)
    for number, (bad, error) in enumerate(BAD.items()):
        if bad == "Inf" and kind in SETS:
            continue  # refused when the set is made
        if bad == "NaN" and kind in SETS and takes_missing and isinstance(space, sx.Landmarks):
            continue  # a set that allows missing landmarks is coded by those that are there
        row = int(rng.integers(N_SHAPES))
        inside = folder / str(number)
        inside.mkdir()
        yield KINDS[kind](spoil(make_shapes(np.complex128), row, bad, space), space, inside), error, rf"in row {row}\b"


@pytest.mark.parametrize(("learner", "kind", "space"), some_of(LEARNERS))
def test_learners_name_the_row_and_stay_unfitted(learner, kind, space, tmp_path):
    takes_missing = "batches" not in learner
    for X, error, words in bad_inputs(kind, SPACES[space], tmp_path, len(learner) + len(kind), takes_missing):
        model = LEARNERS[learner](SPACES[space])
        before = dict(vars(model))
        with pytest.raises(error, match=words):
            model.fit(X)
        assert vars(model) == before


@on_devices
@pytest.mark.parametrize(
    ("learner", "kind"), list(zip(LEARNERS, ["array", "Zarr", "Dask", "array", "Dask"], strict=True))
)
def test_learners_on_a_device_name_the_row(learner, kind, device, tmp_path):
    space = SPACES["complex gram"]
    for X, error, words in bad_inputs(kind, space, tmp_path, len(learner) + len(kind)):
        model = LEARNERS[learner](space).set_params(device=device)
        with pytest.raises(error, match=words):
            model.fit(X)
        assert not hasattr(model, "atoms_")


@on_all_inputs
@pytest.mark.parametrize("is_fitted", [False, True])
def test_partial_fit_names_the_row_and_changes_nothing(is_fitted, kind, space, tmp_path):
    for X, error, words in bad_inputs(kind, SPACES[space], tmp_path, len(kind)):
        model = make_dictionary(SPACES[space])
        if is_fitted:
            model.partial_fit(make_shapes(np.complex128)[:20])
        expected = copy.deepcopy(model).partial_fit(make_shapes(np.complex128))
        with pytest.raises(error, match=words):
            model.partial_fit(X)
        assert hasattr(model, "atoms_") == is_fitted
        model.partial_fit(make_shapes(np.complex128))
        np.testing.assert_array_equal(model.atoms_, expected.atoms_)
        assert model.rmse_ == expected.rmse_


@pytest.mark.parametrize(("function", "kind", "space"), some_of(FUNCTIONS))
def test_functions_name_the_row(function, kind, space, tmp_path):
    cell = Cell(space, SPACES[space], np.complex128, "geodesic" if "geodesic" in function else "full", "cpu")
    for X, error, words in bad_inputs(kind, SPACES[space], tmp_path, len(function) + len(kind), function in CODED):
        with pytest.raises(error, match=words):
            CALLS[function.removeprefix("geodesic ")](X, cell)
