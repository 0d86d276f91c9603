"""Functions take all kinds of input, in all spaces, precisions and on all devices, with one result.

Each cell is compared with the result for a complex128 array in memory, given the space explicitly, on the CPU. The
cells that are tested have every pair of values that two axes can have together.
"""

import copy
import random
from functools import cache
from itertools import combinations, product

import dask.array as da
import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import UnsupportedBySpaceError
from tests.conftest import custom_space
from tests.devices import DEVICES
from tests.rounding import assert_close
from tests.shapes.test_stored import as_hdf5, as_memmap, as_zarr

pytestmark = pytest.mark.filterwarnings("ignore:The dictionary still changed")

N_SHAPES, N_COORDINATES = 40, 8
SPACES = {
    "landmarks": sx.Landmarks(N_COORDINATES, closed=True),
    "b-spline": sx.BSpline(N_COORDINATES),
    "hermite": sx.HermiteSpline(N_COORDINATES // 2, closed=True),
    "complex gram": custom_space(N_COORDINATES),
}
DTYPES = {"complex128": np.complex128, "complex64": np.complex64}
TOLERANCES = {"complex128": 1e-9, "complex64": 2e-3}
LABELS = np.repeat(["first", "second"], N_SHAPES // 2)

KINDS = {
    "array": lambda X, space, folder: X,
    "points": lambda X, space, folder: sx.to_points(X),
    "set": lambda X, space, folder: sx.ShapeSet(X, space, missing="allow"),
    "mapped set": lambda X, space, folder: sx.ShapeSet(as_memmap(X, folder), space, missing="allow"),
    "opened set": lambda X, space, folder: sx.open_shapes(
        sx.write(sx.ShapeSet(X, space, missing="allow"), folder / "set.npz")
    ),
    "memory map": lambda X, space, folder: as_memmap(X, folder),
    "Zarr": lambda X, space, folder: as_zarr(X, folder),
    "HDF5": lambda X, space, folder: as_hdf5(X, folder),
    "blocks": lambda X, space, folder: [X[:15], X[15:]],
    "stream": lambda X, space, folder: lambda: (X[start : start + 11] for start in range(0, len(X), 11)),
    "Dask": lambda X, space, folder: da.from_array(X, chunks=(17, N_COORDINATES)),
}
SETS = ("set", "mapped set", "opened set")


@cache
def make_shapes(dtype, incomplete=False):
    """Return sums of two of four shapes, the two halves of the set of different ones, and some noise."""
    rng = np.random.default_rng(3)
    atoms, noise = (rng.normal(size=(rows, N_COORDINATES, 2)) @ [1, 1j] for rows in (4, N_SHAPES))
    weights = rng.normal(size=(N_SHAPES, 4)) * np.repeat([[1, 0.3, 0.5, 0], [0, 0.5, 0.3, 1]], N_SHAPES // 2, axis=0)
    shapes = weights @ atoms + 0.1 * noise
    if incomplete:
        shapes[rng.integers(N_SHAPES, size=9), np.arange(9) % N_COORDINATES] = np.nan
    return shapes.astype(dtype)


def make_dictionary(space, dtype, **changes):
    # Over atoms that are shapes of the set, rounding decides whether these shapes use a second atom.
    shapes = make_shapes(dtype)
    first = shapes[:4] + shapes[10:14] / 2
    return sx.ShapeDictionary(4, 2, space=space, init=first, max_iter=2, random_state=0, **changes)


@cache
def fit_dictionary(name):
    return make_dictionary(SPACES[name], np.complex128).fit(make_shapes(np.complex128))


class Cell:
    """What a function is given beside the shapes."""

    def __init__(self, name, space, dtype, distance, device):
        self.name, self.space, self.dtype, self.distance, self.device = name, space, dtype, distance, device

    def dictionary(self):
        """Return a dictionary that is not fitted."""
        return make_dictionary(self.space, self.dtype, distance=self.distance, device=self.device)

    def fitted(self):
        """Return a fitted dictionary: the same for all cells of a space, in their precision."""
        model = copy.copy(fit_dictionary(self.name)).set_params(device=self.device)
        model.atoms_ = model.atoms_.astype(self.dtype)
        return model


def fit(X, cell):
    return attributes(cell.dictionary().fit(X))


def fit_batches(X, cell):
    return attributes(cell.dictionary().set_params(batch_size=16).fit(X))


def partial_fit(X, cell):
    return attributes(cell.dictionary().partial_fit(X).partial_fit(X))


def attributes(model):
    return {name: getattr(model, name) for name in ("atoms_", "usage_", "rmse_", "loss_curve_")}


def encode(X, cell):
    codes = cell.fitted().encode(X)
    codes = codes.compute() if hasattr(codes, "compute") else codes
    return {"support": codes.support, "coefs": codes.coefs}


def encode_over_atoms(X, cell):
    codes = sx.encode(X, cell.fitted().atoms_, 2, space=cell.space, device=cell.device)
    return {"support": codes.support, "coefs": codes.coefs}


def encode_polished(X, cell):
    codes = sx.encode(X, cell.fitted().atoms_, 2, "omp", polish=True, space=cell.space)
    return {"support": codes.support, "coefs": codes.coefs}


def encode_penalized(X, cell):
    codes = sx.encode(X, cell.fitted().atoms_, 2, weight_penalty=0.1, space=cell.space)
    return {"support": codes.support, "coefs": codes.coefs}


def transform(X, cell):
    return {"codes": np.asarray(cell.fitted().transform(X))}


def reconstruct(X, cell):
    return {"configurations": np.asarray(cell.fitted().reconstruct(X))}


def errors(X, cell):
    return {"errors": np.asarray(cell.fitted().errors(X))}


def score(X, cell):
    return {"score": cell.fitted().score(X)}


def realism(X, cell):
    return {"distances": cell.fitted().realism(X)}


def mean_shape(X, cell):
    return {"mean": sx.mean_shape(X, cell.distance, space=cell.space)}


def align_to_mean(X, cell):
    return {"aligned": sx.align_to_mean(X, space=cell.space)}


def register(X, cell):
    found = sx.register(X, cell.space, n_starts=1)
    return {"configurations": found.configurations, "shift": found.shift, "distance": found.distance_after}


def outline_registration(X, cell):
    model = sx.OutlineRegistration(space=cell.space, n_starts=1).fit(X)
    registered = model.transform(X)
    assert isinstance(registered, sx.ShapeSet) == isinstance(X, sx.ShapeSet)
    return {"mean_": model.mean_, "configurations": np.asarray(registered)}


def suggest(X, cell):
    found = sx.suggest(X, [2], [1], space=cell.space, cv=2, stability=False, random_state=0)
    return {"rmse": found.surface["rmse"]}


def compare(X, cell):
    methods = {"dictionary": make_dictionary(None, cell.dtype), "modes": sx.ComplexPCA()}
    return {"rmse": sx.compare(X, methods, [1], space=cell.space)["rmse"]}


def impute(X, cell):
    found = sx.impute(X, cell.fitted(), n_repeats=1)
    return {"configurations": found.configurations, "hidden_error": found.hidden_error}


def classifier(X, cell):
    # Swaps that are nearly equally good could be decided by rounding.
    options = {"coder": "ormp", "max_iter": 2, "n_swaps": 0, "random_state": 0}
    model = sx.ShapeDictionaryClassifier(2, 1, space=cell.space, **options)
    return {"class_errors": model.fit(X, LABELS).class_errors(X), "probabilities": model.predict_proba(X)}


def features(X, cell):
    dictionary = make_dictionary(cell.space, cell.dtype, device=cell.device)
    model = sx.CodeFeatures("similarity", dictionary=dictionary).fit(X)
    return {"features": np.asarray(model.transform(X))}


def complex_pca(X, cell):
    return {"errors": sx.ComplexPCA(2, space=cell.space).fit(X).errors(X)}


def tangent_pca(X, cell):
    return {"errors": sx.TangentPCA(2, space=cell.space).fit(X).errors(X)}


def align_first(X, cell):
    model = sx.AlignFirstDictionary(3, 1, space=cell.space, max_iter=2, n_swaps=0, random_state=0, coder="ormp")
    return {"errors": model.fit(X).errors(X)}


def kernel(X, cell):
    return {"values": sx.ProcrustesKernel(space=cell.space).fit(X).transform(X)}


def riemannian(X, cell):
    model = sx.RiemannianDictionary(3, space=cell.space, max_iter=1, tol=1, random_state=0)
    return {"errors": model.fit(X).errors(X)}


FUNCTIONS = {
    "distance device": [fit, partial_fit],
    "distance": [mean_shape],
    "device": [fit_batches, encode, encode_over_atoms, transform, reconstruct, errors, score, features],
    "": [
        *(encode_polished, encode_penalized, realism, align_to_mean, register, outline_registration, suggest, compare),
        *(impute, classifier, complex_pca, tangent_pca, align_first, kernel, riemannian),
    ],
}
"""Functions by the axes that they have beside kind, space and precision."""


def all_cells():
    for axes, functions in FUNCTIONS.items():
        distances = ("full", "partial", "geodesic") if "distance" in axes else ("full",)
        devices = ("cpu", *DEVICES) if "device" in axes else ("cpu",)
        yield from product(functions, KINDS, SPACES, DTYPES, distances, devices)


def cells():
    """Return few cells that have every pair of values."""
    rows = [(cell, frozenset(combinations(enumerate(cell), 2))) for cell in all_cells()]
    random.Random(0).shuffle(rows)
    missing, chosen = set().union(*(pairs for _, pairs in rows)), []
    for n_new in range(len(rows[0][1]), 0, -1):
        for cell, pairs in rows:
            if len(pairs & missing) >= n_new:
                missing -= pairs
                chosen.append(cell)
    return [pytest.param(*cell, id="-".join([cell[0].__name__, *cell[1:]])) for cell in chosen]


UNSUPPORTED = {
    *((impute, space) for space in ("b-spline", "hermite", "complex gram")),
    *((function, "complex gram") for function in (register, outline_registration)),
}
"""Functions that have no meaning in a space, whatever the kind of input."""


@cache
def expected(function, space, dtype, distance):
    """Return the result for an array of double precision, on the CPU, from the numbers of the precision at hand."""
    X = make_shapes(DTYPES[dtype], function is impute).astype(np.complex128)
    return function(X, Cell(space, SPACES[space], np.complex128, distance, "cpu"))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return a function that gives the shapes as some kind of input, written once."""

    @cache
    def store(kind, space, dtype, incomplete):
        folder = tmp_path_factory.mktemp("matrix")
        return KINDS[kind](make_shapes(DTYPES[dtype], incomplete), SPACES[space], folder)

    return lambda kind, space, *given: store(kind, space if kind in SETS else "landmarks", *given)


@pytest.mark.parametrize(("function", "kind", "space", "dtype", "distance", "device"), cells())
def test_cell(function, kind, space, dtype, distance, device, stored):
    X = stored(kind, space, dtype, function is impute)
    # A set says its space itself; all others are told.
    cell = Cell(space, None if kind in SETS else SPACES[space], DTYPES[dtype], distance, device)
    if (function, space) in UNSUPPORTED:
        with pytest.raises(UnsupportedBySpaceError):
            function(X, cell)
        return
    found = function(X, cell)
    for name, value in expected(function, space, dtype, distance).items():
        assert_close(found[name], value, TOLERANCES[dtype])
        if np.asarray(value).dtype.kind == "c":
            assert found[name].dtype == DTYPES[dtype], name
