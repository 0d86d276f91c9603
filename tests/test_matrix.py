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


def attributes(model):
    return [getattr(model, name) for name in ("atoms_", "usage_", "rmse_", "loss_curve_")]


def parts(codes):
    codes = codes.compute() if hasattr(codes, "compute") else codes
    return [codes.support, codes.coefs]


def encode(X, cell, *coder, **options):
    return parts(sx.encode(X, cell.fitted().atoms_, 2, *coder, space=cell.space, **options))


def pairwise_distances(X, cell):
    # Blocks are told from polygons of different lengths as a set alone.
    X = sx.ShapeSet(X, cell.space) if isinstance(X, list) or callable(X) else X
    return [sx.pairwise_distances(X, space=cell.space)]


def register(X, cell):
    found = sx.register(X, cell.space, n_starts=1)
    return [found.configurations, found.shift, found.distance_after]


def outline_registration(X, cell):
    model = sx.OutlineRegistration(space=cell.space, n_starts=1).fit(X)
    registered = model.transform(X)
    assert isinstance(registered, sx.ShapeSet) == isinstance(X, sx.ShapeSet)
    return [model.mean_, np.asarray(registered)]


def compare(X, cell):
    methods = {"dictionary": make_dictionary(None, cell.dtype), "modes": sx.ComplexPCA()}
    return [sx.compare(X, methods, [1], space=cell.space)["rmse"]]


def impute(X, cell):
    found = sx.impute(X, cell.fitted(), n_repeats=1)
    return [found.configurations, found.hidden_error]


def classifier(X, cell):
    # Swaps that are nearly equally good could be decided by rounding.
    options = {"coder": "ormp", "max_iter": 2, "n_swaps": 0, "random_state": 0}
    model = sx.ShapeDictionaryClassifier(2, 1, space=cell.space, **options).fit(X, LABELS)
    return [model.class_errors(X), model.predict_proba(X)]


def features(X, cell):
    dictionary = make_dictionary(cell.space, cell.dtype, device=cell.device)
    return [np.asarray(sx.CodeFeatures("similarity", dictionary=dictionary).fit(X).transform(X))]


def errors_of(model):
    return lambda X, cell: [model.set_params(space=cell.space).fit(X).errors(X)]


ALIGNED = sx.AlignFirstDictionary(3, 1, max_iter=2, n_swaps=0, random_state=0, coder="ormp")
FUNCTIONS = {
    "distance device": {
        "fit": lambda X, cell: attributes(cell.dictionary().fit(X)),
        "partial_fit": lambda X, cell: attributes(cell.dictionary().partial_fit(X).partial_fit(X)),
    },
    "distance": {"mean_shape": lambda X, cell: [sx.mean_shape(X, cell.distance, space=cell.space)]},
    "device": {
        "fit in batches": lambda X, cell: attributes(cell.dictionary().set_params(batch_size=16).fit(X)),
        "encode": lambda X, cell: parts(cell.fitted().encode(X)),
        "encode over atoms": lambda X, cell: encode(X, cell, device=cell.device),
        "transform": lambda X, cell: [np.asarray(cell.fitted().transform(X))],
        "reconstruct": lambda X, cell: [np.asarray(cell.fitted().reconstruct(X))],
        "errors": lambda X, cell: [np.asarray(cell.fitted().errors(X))],
        "score": lambda X, cell: [cell.fitted().score(X)],
        "features": features,
    },
    "": {
        "encode, polished": lambda X, cell: encode(X, cell, "omp", polish=True),
        "encode, penalized": lambda X, cell: encode(X, cell, weight_penalty=0.1),
        "encode, path": lambda X, cell: encode(X, cell, path=True),
        "pairwise_distances": pairwise_distances,
        "realism": lambda X, cell: [cell.fitted().realism(X)],
        "retrieve": lambda X, cell: list(sx.retrieve(make_shapes(cell.dtype)[:3], X, 4, cell.space, mirror=False)),
        "align_to_mean": lambda X, cell: [sx.align_to_mean(X, space=cell.space)],
        "register": register,
        "outline registration": outline_registration,
        "suggest": lambda X, cell: [
            sx.suggest(X, [2], [1], space=cell.space, cv=2, stability=False, random_state=0).surface["rmse"]
        ],
        "compare": compare,
        "impute": impute,
        "classifier": classifier,
        "complex PCA": errors_of(sx.ComplexPCA(2)),
        "tangent PCA": errors_of(sx.TangentPCA(2)),
        "align first": errors_of(ALIGNED),
        "kernel": lambda X, cell: [sx.ProcrustesKernel(space=cell.space).fit(X).transform(X)],
        "riemannian": errors_of(sx.RiemannianDictionary(3, max_iter=1, tol=1, random_state=0)),
    },
}
"""Functions by the axes that they have beside kind, space and precision."""
CALLS = {name: function for functions in FUNCTIONS.values() for name, function in functions.items()}


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
    return [pytest.param(*cell, id="-".join(cell)) for cell in chosen]


UNSUPPORTED = {
    *(("impute", space) for space in ("b-spline", "hermite", "complex gram")),
    *((function, "complex gram") for function in ("register", "outline registration")),
}
"""Functions that have no meaning in a space, whatever the kind of input."""


@cache
def expected(function, space, dtype, distance):
    """Return the result for an array of double precision, on the CPU, from the numbers of the precision at hand."""
    X = make_shapes(DTYPES[dtype], function == "impute").astype(np.complex128)
    return CALLS[function](X, Cell(space, SPACES[space], np.complex128, distance, "cpu"))


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
    X = stored(kind, space, dtype, function == "impute")
    # A set says its space itself; all others are told.
    cell = Cell(space, None if kind in SETS else SPACES[space], DTYPES[dtype], distance, device)
    if (function, space) in UNSUPPORTED:
        with pytest.raises(UnsupportedBySpaceError):
            CALLS[function](X, cell)
        return
    for found, value in zip(CALLS[function](X, cell), expected(function, space, dtype, distance), strict=True):
        assert_close(found, value, TOLERANCES[dtype])
        if np.asarray(value).dtype.kind == "c":
            assert found.dtype == DTYPES[dtype]
