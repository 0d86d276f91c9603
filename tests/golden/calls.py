"""Public calls that do not learn, on shapes made by formulas.

Shapes come from formulas and not from random generators, whose streams change between versions of NumPy. Their codes
and registrations have no ties: small changes of the shapes do not change supports, start points or neighbors.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import shapelex as sx

FILES = Path(__file__).parent
FILES_0_1_0 = FILES.parent / "files_0_1_0"
N_SHAPES, N_COORDINATES = 12, 8
Results = dict[str, np.ndarray]


def scatter(*shape: int, seed: int) -> np.ndarray:
    """Return numbers spread over the complex square of side 2: the fractional parts of ``n² √seed``."""
    n = np.arange(1, 2 * np.prod(shape) + 1, dtype=float)
    values = 2 * np.mod(np.sqrt(seed) * n * n, 1) - 1
    return (values[::2] + 1j * values[1::2]).reshape(shape)


def harmonics(t: np.ndarray) -> np.ndarray:
    return np.exp(2j * np.pi * np.multiply.outer(t, np.arange(N_COORDINATES) - 3))


def custom_space() -> sx.CustomSpace:
    half = scatter(N_COORDINATES, N_COORDINATES, seed=2)
    return sx.CustomSpace(half.conj().T @ half + np.eye(N_COORDINATES), scatter(N_COORDINATES, seed=3))


SPACES = {
    "landmarks": sx.Landmarks(N_COORDINATES),
    "closed landmarks": sx.Landmarks(N_COORDINATES, closed=True),
    "spline": sx.BSpline(N_COORDINATES),
    "open spline": sx.BSpline(N_COORDINATES, closed=False),
    "hermite": sx.HermiteSpline(N_COORDINATES // 2),
    "closed hermite": sx.HermiteSpline(N_COORDINATES // 2, closed=True),
    "fourier": sx.BasisSpace([lambda t, k=k: harmonics(t)[:, k] for k in range(N_COORDINATES)], closed=True),
    "custom": custom_space(),
}
CLOSED = ("closed landmarks", "spline", "closed hermite")


@cache
def make_atoms(n_atoms: int = 6, n_coordinates: int = N_COORDINATES) -> np.ndarray:
    return scatter(n_atoms, n_coordinates, seed=5)


@cache
def make_shapes(n_shapes: int = N_SHAPES, n_atoms: int = 6, n_coordinates: int = N_COORDINATES) -> np.ndarray:
    """Return sums of two atoms with some noise, each with its own place, size and angle."""
    atoms = make_atoms(n_atoms, n_coordinates)
    rows = np.arange(n_shapes)
    weights = np.zeros((n_shapes, n_atoms), dtype=complex)
    weights[rows, rows % n_atoms] = 1
    weights[rows, (rows + 1 + rows // n_atoms % (n_atoms - 1)) % n_atoms] = 0.6 * np.exp(1j * rows)
    shapes = weights @ atoms + 0.15 * scatter(n_shapes, n_coordinates, seed=7)
    return scatter(n_shapes, 1, seed=11) * shapes + 3 * scatter(n_shapes, 1, seed=13)


@cache
def make_outlines(n_shapes: int = N_SHAPES, n_coordinates: int = N_COORDINATES) -> np.ndarray:
    """Return a lopsided outline, varied a little, with start points and directions that differ."""
    t = 2 * np.pi * np.arange(n_coordinates) / n_coordinates
    outline = np.exp(1j * t) * (2 + np.cos(t) + 0.7 * np.sin(2 * t + 0.4))
    outlines = outline + 0.1 * scatter(n_shapes, n_coordinates, seed=17)
    for row in range(n_shapes):
        outlines[row] = np.roll(outlines[row][:: -1 if row % 3 == 1 else 1], 5 * row)
    return scatter(n_shapes, 1, seed=19) * outlines + scatter(n_shapes, 1, seed=23)


def make_incomplete() -> np.ndarray:
    incomplete = sx.read(FILES_0_1_0 / "shapes.npz").configurations[:N_SHAPES].copy()
    incomplete[np.arange(0, N_SHAPES, 2), np.arange(0, N_SHAPES, 2) % N_COORDINATES] = np.nan
    incomplete[1, 3:6] = np.nan
    return incomplete


class Given(NamedTuple):
    """What a call is given beside the shapes."""

    space: Any
    name: str


def of_codes(codes: Any, method: str = "auto") -> Results:
    """Return supports and weights, sorted for a beam: rounding decides in which order it finds a support."""
    support, coefs = codes.support, codes.coefs
    if "beam" in method:
        order = np.argsort(support, axis=1)
        support, coefs = np.take_along_axis(support, order, axis=1), np.take_along_axis(coefs, order, axis=1)
    return {"support": support, "coefs": coefs}


def of_path(path: Any) -> Results:
    return {"support": path.support, "coefs": path.coefs, "first": path[1].coefs}


def encoder(n_nonzero: int | None, method: str = "auto", **options: Any) -> Callable[[Any, Given], Results]:
    settings = {"method": method, **options}
    return lambda X, given: of_codes(sx.encode(X, make_atoms(), n_nonzero, space=given.space, **settings), method)


def encode_path(X: Any, given: Given) -> Results:
    return {
        f"{method} {name}": value
        for method in ("ormp", "omp")
        for name, value in of_path(sx.encode(X, make_atoms(), 3, method, path=True, space=given.space)).items()
    }


def decode(X: Any, given: Given) -> Results:
    codes = sx.encode(X, make_atoms(), 2, space=given.space)
    return {"configurations": sx.decode(codes, make_atoms()), "dense": codes.toarray()}


def distances(X: Any, given: Given) -> Results:
    found = {}
    for kind in ("full", "partial", "geodesic"):
        found[kind] = sx.pairwise_distances(X, kind=kind, space=given.space)
        found[f"{kind} to atoms"] = sx.pairwise_distances(X, make_atoms(), kind=kind, space=given.space)
    return found


def row_distances(X: np.ndarray, given: Given) -> Results:
    found = {kind: sx.distance(X, X[::-1], kind, given.space) for kind in ("full", "partial", "geodesic")}
    return found | {"to one": sx.distance(X[1:], X[0], space=given.space)}


def mean_shape(X: Any, given: Given) -> Results:
    return {kind: sx.mean_shape(X, kind, space=given.space) for kind in ("full", "partial", "geodesic")}


def align_to_mean(X: Any, given: Given) -> Results:
    weights = 1 + np.arange(N_SHAPES) % 3
    return {
        "aligned": sx.align_to_mean(X, space=given.space),
        "weighted": sx.align_to_mean(X, "partial", weights, given.space),
    }


def rotations(X: np.ndarray, given: Given) -> Results:
    return {
        function.__name__: function(X[1:], X[0], given.space)
        for function in (sx.align_onto, sx.rotate_onto, sx.optimal_rotation)
    }


def geodesics(X: np.ndarray, given: Given) -> Results:
    space = given.space
    z, w = space.preshape(X[0]), space.preshape(X[1])
    v = sx.log(z, w, space)
    return {
        "log": v,
        "exp": sx.exp(z, 0.3 * v, space),
        "geodesic": sx.geodesic(z, w, [0.2, 0.7], space),
        "horizontal": sx.horizontal_projection(z, X[2], space),
        "transported": sx.parallel_transport(z, w, v, space),
    }


def space_methods(X: np.ndarray, given: Given) -> Results:
    space = given.space
    found = {
        "gram": space.gram,
        "shift": space.shift,
        "center": space.center(X),
        "norm": space.norm(X),
        "inner": space.inner(X, X[::-1]),
        "preshape": space.preshape(X),
        "real gram": sx.real_gram(space.gram),
    }
    if given.name != "custom":
        found["sample"] = space.sample(X, space.parameters(5))
    if given.name not in ("custom", "fourier"):
        found["reverse"] = space.reverse(X)
    if given.name in CLOSED:
        found["roll"] = space.roll(X, np.arange(N_SHAPES) % 4)
    if given.name not in ("custom", "landmarks", "closed landmarks"):
        found["fit"] = space.fit(space.sample(X, space.parameters(30)))
    return found


def register(X: Any, given: Given, **options: Any) -> Results:
    found = sx.register(X, given.space, **options)
    names = ("configurations", "target", "shift", "is_reversed", "is_mirrored", "rotation", "distance_after")
    return {name: getattr(found, name) for name in names}


def register_in_other_ways(X: Any, given: Given) -> Results:
    ways = {"to one": {"to": make_outlines()[0]}, "mirrored": {"reflection": True}, "shift only": {"direction": False}}
    if given.name == "closed landmarks":
        ways["subsample"] = {"subsample": True}
    return {f"{way} {name}": v for way, options in ways.items() for name, v in register(X, given, **options).items()}


def retrieve(X: Any, given: Given) -> Results:
    found = {}
    for rerank in (None, "diffusion", "reciprocal"):
        mirror = given.name not in ("custom", "fourier")
        found[f"rows {rerank}"], found[f"distances {rerank}"] = sx.retrieve(
            make_outlines()[:3], X, 4, given.space, mirror=mirror, rerank=rerank
        )
    return found


def model_of(given: Given) -> Any:
    return sx.load(FILES_0_1_0 / "ShapeDictionary.npz" if given.name == "closed landmarks" else FILES / "spline.npz")


def model(X: Any, given: Given) -> Results:
    """Return what a stored dictionary makes of shapes."""
    model = model_of(given)
    found = {name: np.asarray(getattr(model, name)(X)) for name in ("transform", "reconstruct", "errors", "realism")}
    return found | of_codes(model.encode(X)) | {"score": np.float64(model.score(X))}


def encode_sequence(X: Any, given: Given) -> Results:
    found = sx.sequences.encode_sequence(X, model_of(given), switch_cost=0.05)
    return of_codes(found.codes)


def impute(X: Any, given: Given) -> Results:
    model, found = model_of(given), {}
    complete = sx.read(FILES_0_1_0 / "shapes.npz").configurations
    ways = {
        "posterior": {"noise": 0.01},
        "chosen noise": {},
        "reference": {"reference": complete},
        "sparse": {"method": "sparse"},
    }
    for way, options in ways.items():
        result = sx.impute(X, model, n_repeats=2, **options)
        found[f"{way} configurations"] = result.configurations
        found[f"{way} error"] = np.array([result.hidden_error, result.hidden_error_of_mean])
    return found


def missing(X: np.ndarray, given: Given) -> Results:
    """Return what shapes with missing landmarks give."""
    incomplete = make_incomplete()
    shapes = sx.ShapeSet(incomplete, given.space, missing="allow")
    mask = np.isfinite(incomplete)
    atoms = make_atoms()
    found = {
        "mean": sx.mean_shape(incomplete, space=given.space, missing="allow"),
        "aligned": sx.align_to_mean(incomplete, space=given.space, missing="allow"),
        "distances": sx.pairwise_distances(incomplete, space=given.space, missing="allow"),
        "errors": model_of(given).errors(shapes),
    }
    for method in ("ormp", "omp", "beam", "exact", "auto"):
        codes = sx.encode(incomplete, atoms, 2, method, mask=mask, space=given.space)
        found |= {f"{method} {name}": value for name, value in of_codes(codes, method).items()}
    return found


def many_atoms(X: np.ndarray, given: Given) -> Results:
    """Return codes over 60 atoms of 20 landmarks."""
    shapes, atoms = make_shapes(12, 60, 20), make_atoms(60, 20)
    found = {}
    for method in ("ormp", "omp", "beam", "polished beam"):
        options = {"polish": method == "polished beam"}
        codes = sx.encode(shapes, atoms, 4, method.removeprefix("polished "), **options)
        found |= {f"{method} {name}": value for name, value in of_codes(codes, method).items()}
    assert sx.encode(shapes, atoms, 4) == sx.encode(shapes, atoms, 4, "beam", width=8, polish=True)
    return found


def many_shapes(X: np.ndarray, given: Given) -> Results:
    """Return sums over more shapes than one block holds, and some of their codes."""
    shapes, atoms = make_shapes(9000), make_atoms()
    codes = sx.encode(shapes, atoms, 2, space=given.space)
    model = model_of(given)
    return {
        "support": codes.support[::1000],
        "coefs": codes.coefs[::1000],
        "usage": np.bincount(codes.support.ravel()),
        "sum": np.sqrt(np.sum(np.abs(codes.toarray()) ** 2, axis=0)),
        "errors": model.errors(shapes)[::1000],
        "mean": sx.mean_shape(shapes, space=given.space),
    }


def resample(X: np.ndarray, given: Given) -> Results:
    outlines = make_outlines()
    return {
        "closed": sx.resample(outlines, 11, closed=True),
        "open": sx.resample(outlines, 5, closed=False),
        "lists": sx.resample([outlines[0], outlines[1][:6]], 7, closed=True),
        "points": sx.to_points(outlines),
        "columns": sx.to_columns(outlines, "interleaved"),
    }


def other_models(X: Any, given: Given) -> Results:
    """Return what the models of other kinds that version 0.1.0 stored make of shapes."""
    methods = {
        "AlignFirstDictionary": ("transform", "reconstruct", "errors"),
        "ComplexPCA": ("transform", "reconstruct", "errors"),
        "TangentPCA": ("transform", "reconstruct", "errors"),
        "RiemannianDictionary": ("transform", "reconstruct", "errors"),
        "ProcrustesKernel": ("transform",),
        "ShapeDictionaryClassifier": ("class_errors", "predict", "predict_proba", "decision_function"),
    }
    models = {name: sx.load(FILES_0_1_0 / f"{name}.npz") for name in methods}
    return {
        f"{name} {method}": np.asarray(getattr(models[name], method)(X))
        for name in methods
        for method in methods[name]
        if hasattr(models[name], method)
    }


ENCODE: dict[str, Callable[[Any, Given], Results]] = {
    "encode": encoder(2),
    "encode ormp": encoder(3, "ormp"),
    "encode omp": encoder(3, "omp"),
    "encode beam": encoder(3, "beam", width=4),
    "encode exact": encoder(3, "exact"),
    "encode polish": encoder(2, "omp", polish=True),
    "encode tol": encoder(None, tol=0.2),
    "encode exact tol": encoder(3, "exact", tol=0.3),
    "encode path": encode_path,
    "decode": decode,
}
GEOMETRY: dict[str, Callable[[Any, Given], Results]] = {
    "distances": distances,
    "mean": mean_shape,
    "align to mean": align_to_mean,
}
ROWS: dict[str, Callable[[Any, Given], Results]] = {
    "row distances": row_distances,
    "rotations": rotations,
    "geodesics": geodesics,
    "space": space_methods,
}
MODELS: dict[str, Callable[[Any, Given], Results]] = {"model": model, "sequence": encode_sequence}
OUTLINES: dict[str, Callable[[Any, Given], Results]] = {"register": register, "retrieve": retrieve}
SINGLE_SPACE: dict[str, Callable[[Any, Given], Results]] = {
    "missing": missing,
    "many atoms": many_atoms,
    "many shapes": many_shapes,
    "resample": resample,
    "other models": other_models,
    "impute": impute,
}
CALLS = {
    **ENCODE,
    **GEOMETRY,
    **ROWS,
    **MODELS,
    **OUTLINES,
    **SINGLE_SPACE,
    "register in other ways": register_in_other_ways,
}


class Case(NamedTuple):
    call: str
    space: str

    def shapes(self) -> np.ndarray:
        if self.call == "impute":
            return make_incomplete()
        if self.call in ("other models", "model", "sequence") and self.space == "closed landmarks":
            return sx.read(FILES_0_1_0 / "shapes.npz").configurations[:N_SHAPES]
        return make_outlines() if self.call in OUTLINES or self.call.startswith("register") else make_shapes()

    def run(self) -> Results:
        return CALLS[self.call](self.shapes(), Given(SPACES[self.space], self.space))


def cases() -> list[Case]:
    """Return every case once; ``test_matrix.py`` compares other kinds of input, precisions and devices."""
    found = [Case(call, space) for call in ENCODE | GEOMETRY | ROWS for space in SPACES]
    found += [Case(call, space) for call in OUTLINES | {"register in other ways": 0} for space in CLOSED]
    found += [Case("retrieve", "landmarks"), Case("retrieve", "open spline")]
    found += [Case(call, "closed landmarks") for call in MODELS | SINGLE_SPACE]
    return [*found, Case("model", "spline"), Case("sequence", "spline")]
