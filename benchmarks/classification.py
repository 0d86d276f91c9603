"""How well shapes are told apart: accuracy in five stratified folds, seeded, of methods with and without dictionaries.

What a method leaves open (number of modes, C of a machine, shrinkage, atoms) is chosen by three folds inside the
training part, never on the shapes that are judged. Shapes that belong together, such as the two wings of a bee, stay in
one fold. All methods see the same folds, and shapes as they come, but for the table of registered outlines: there they
are registered to the mean of the training part.
"""

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import shapelex as sx
from labelled_sets import CHECK_SETS, REGISTERED_SETS, SETS, Array, LabelledSet, LabelledShapes, load
from measure import find_peer, print_table

N_FOLDS = 5
N_INNER_FOLDS = 3
SEED = 0
N_HARMONICS = 20
COSTS = (1, 10, 100, 1000)
# Quick settings: finer dictionaries take longer, and classify no better.
QUICK: dict[str, Any] = {
    "coder": "ormp",
    "tie": 0,
    "n_swaps": 0,
    "max_iter": 30,
    "tol": 1e-3,
    "n_jobs": 1,
    "random_state": SEED,
}
VOTERS = ("CodeFeatures + SVM", "ShapeDictionaryClassifier")
VOTE = "vote of the last two"

Folds = list[tuple[Array, Array]]
Grid = Mapping[str, Sequence[Any]]


class EllipticFourier(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Normalized elliptic Fourier descriptors of closed outlines, by pyefd."""

    def fit(self, X: Array, y: Any = None) -> "EllipticFourier":  # noqa: ARG002
        """Learn nothing."""
        return self

    def transform(self, X: Array) -> Array:
        """Return four columns a harmonic, less the three that normalization makes the same for all."""
        from pyefd import elliptic_fourier_descriptors

        outlines = sx.to_points(np.concatenate([X, X[:, :1]], axis=1))
        described = [elliptic_fourier_descriptors(outline, order=N_HARMONICS, normalize=True) for outline in outlines]
        return np.stack(described).reshape(len(X), -1)[:, 3:]

    def __sklearn_is_fitted__(self) -> bool:
        return True


@dataclass(frozen=True)
class Method:
    """Steps of a pipeline, and what its inner folds choose from, given how many modes or atoms there can be."""

    steps: Callable[[], Sequence[BaseEstimator]]
    grid: Callable[[int, int], Grid | list[Grid] | None]
    outlines_only: bool = False


def _counts(most: int) -> list[int]:
    return [count for count in (5, 10, 20, 40) if count <= most]


def _code_features(kind: Any = "tangent") -> sx.CodeFeatures:
    return sx.CodeFeatures(kind, dictionary=sx.ShapeDictionary(nested=False, **QUICK))


def _dictionary_sizes(n_shapes: int, others: Grid) -> list[Grid]:
    sizes = [(20, 5)] + [(n_atoms, 10) for n_atoms in [min(n_shapes // 2, 150)] if n_atoms > 20]
    return [
        {"step0__dictionary__n_atoms": [n_atoms], "step0__dictionary__n_nonzero": [n_nonzero], **others}
        for n_atoms, n_nonzero in sizes
    ]


METHODS = {
    "tangent PCA + LDA": Method(
        lambda: [sx.TangentPCA(), LinearDiscriminantAnalysis()],
        lambda n_modes, _: {"step0__n_components": _counts(n_modes)},
    ),
    "tangent + shrunk LDA": Method(
        lambda: [sx.TangentPCA(), LinearDiscriminantAnalysis(solver="lsqr")],
        lambda *_: {"step1__shrinkage": [0.01, 0.03, 0.1, 0.3]},
    ),
    "tangent + SVM": Method(lambda: [sx.TangentPCA(), SVC()], lambda *_: {"step1__C": COSTS}),
    "elliptic Fourier + LDA": Method(
        lambda: [EllipticFourier(), PCA(), LinearDiscriminantAnalysis()],
        lambda _, n_shapes: {"step1__n_components": _counts(n_shapes - 1)},
        outlines_only=True,
    ),
    "Procrustes-kernel SVM": Method(
        lambda: [sx.ProcrustesKernel(), SVC(kernel="precomputed")], lambda *_: {"step1__C": COSTS}
    ),
    "CodeFeatures + logistic": Method(
        lambda: [_code_features(), StandardScaler(), LogisticRegression(max_iter=50, tol=1e-2)],
        # The largest dictionary alone: a logistic regression of 70 classes takes long.
        lambda _, n_shapes: _dictionary_sizes(n_shapes, {"step2__C": [0.01, 0.1, 1]})[-1],
    ),
    "CodeFeatures + SVM": Method(
        lambda: [_code_features(), SVC()], lambda _, n_shapes: _dictionary_sizes(n_shapes, {"step1__C": COSTS})
    ),
    # It chooses its shrinkage itself, by folds of the training part.
    "ShapeDictionaryClassifier": Method(
        lambda: [sx.ShapeDictionaryClassifier(cv=N_INNER_FOLDS, **QUICK)], lambda *_: None
    ),
}

KINDS = {
    kind: Method(
        lambda kind=kind: [_code_features(kind), StandardScaler(), SVC()],  # type: ignore[misc]
        lambda _, n_shapes: _dictionary_sizes(n_shapes, {"step2__C": COSTS}),
    )
    for kind in ("modulus", "phase", "similarity", "tangent")
}
KIND_SETS = ("hearts", "plethodon", "cells", "grains")


def _class_dictionaries(n_atoms: int, n_nonzero: int, cv: int | None = None) -> Method:
    model = sx.ShapeDictionaryClassifier(n_atoms, n_nonzero, shrinkage=0.1, cv=cv, **QUICK)
    return Method(lambda: [model], lambda *_: None)


# Class dictionaries of fixed sizes, without folds that choose anything.
SIZES = {
    f"n_atoms={n_atoms}, n_nonzero={n_nonzero}": _class_dictionaries(n_atoms, n_nonzero)
    for n_atoms, n_nonzero in ((1, 1), (8, 1), (8, 2), (8, 3))
}
SMALL_SETS = ("apes", "trilobites")
WITH_AND_WITHOUT_CV = {"cv=None": _class_dictionaries(8, 3), "cv=3": _class_dictionaries(8, 3, 3)}


def main() -> None:
    with_fourier = find_peer("pyefd", "elliptic Fourier descriptors") is not None
    methods = {name: method for name, method in METHODS.items() if with_fourier or not method.outlines_only}
    page = "docs/how-to/classification.md"
    _compare(f"{page}, Which method", SETS, methods, "sets")
    _compare(f"{page}, Which method: registered outlines", REGISTERED_SETS, methods, "registered")
    _compare(f"{page}, Which method: sets that no choice was made on", CHECK_SETS, methods, "other-sets")
    _compare(f"{page}, Which method: fewer atoms", {name: CHECK_SETS[name] for name in SMALL_SETS}, SIZES, "few-atoms")
    _compare(f"{page}, Which features", {name: SETS[name] for name in KIND_SETS}, KINDS, "features")
    _compare(f"{page}, What shrinkage and cv do", {"cells": SETS["cells"]}, WITH_AND_WITHOUT_CV, "cv")


def _compare(title: str, sets: Mapping[str, Sequence[LabelledSet]], methods: Mapping[str, Method], file: str) -> None:
    start = time.perf_counter()
    columns = {}
    for name, parts in sets.items():
        columns[name] = _accuracies(parts, methods, f"{title}, {name}")
        found = ", ".join(f"{method} {accuracy:.3f}" for method, accuracy in columns[name].items())
        print(f"{time.perf_counter() - start:.0f} s, {name}: {found}", file=sys.stderr, flush=True)
    known = {name: column for name, column in columns.items() if column}
    if known:
        names = [name for name in [*methods, VOTE] if any(name in column for column in known.values())]
        _print_accuracies(title, known, names, f"classification-{file}")


def _print_accuracies(title: str, columns: Mapping[str, Mapping[str, float]], names: Sequence[str], file: str) -> None:
    table = np.array([[column.get(name, np.nan) for column in columns.values()] for name in names])
    cells = [_bold_best([_format(value, 3) for value in column], max) for column in table.T]
    if len(columns) > 1:
        ranks = np.nanmean(rankdata(-table, axis=0, nan_policy="omit"), axis=1)
        cells.append(_bold_best([_format(value, 3) for value in table.mean(axis=1)], max))
        cells.append(_bold_best([_format(value, 1) for value in ranks], min))
    header = ["accuracy", *columns, *(["mean", "mean rank"] if len(columns) > 1 else [])]
    print_table(title, header, [list(row) for row in zip(names, *cells, strict=True)], file)


def _format(value: float, digits: int) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def _bold_best(cells: Sequence[str], best_of: Callable[[list[float]], float]) -> list[str]:
    best = best_of([float(cell) for cell in cells if cell])
    return [f"**{cell}**" if cell and float(cell) == best else cell for cell in cells]


def _accuracies(parts: Sequence[LabelledSet], methods: Mapping[str, Method], rows: str) -> dict[str, float]:
    """Return the accuracy of each method, averaged over folds and parts; nothing where there are no data."""
    jobs = []
    for part in parts:
        shapes = load(part, rows)
        if shapes is None:
            return {}
        jobs += [(shapes, fold) for fold in _split(shapes, N_FOLDS, SEED)]
    results = Parallel(n_jobs=min(os.cpu_count() or 1, N_FOLDS))(
        delayed(_judge)(shapes, train, test, methods) for shapes, (train, test) in jobs
    )
    return {name: float(np.mean([result[name] for result in results])) for name in results[0]}


def _split(shapes: LabelledShapes, n_folds: int, seed: int) -> Folds:
    splitter = StratifiedKFold if shapes.groups is None else StratifiedGroupKFold
    folds = splitter(n_folds, shuffle=True, random_state=seed)
    return list(folds.split(np.empty((len(shapes.y), 0)), shapes.y, shapes.groups))


def _judge(shapes: LabelledShapes, train: Array, test: Array, methods: Mapping[str, Method]) -> dict[str, float]:
    groups = None if shapes.groups is None else shapes.groups[train]
    known = LabelledShapes(shapes.X[train], shapes.y[train], groups, shapes.is_outline)
    X_test = shapes.X[test]
    if shapes.registers:
        registration = sx.OutlineRegistration(reflection=True).fit(known.X)
        known, X_test = replace(known, X=registration.transform(known.X)), registration.transform(X_test)
    inner = _split(known, N_INNER_FOLDS, SEED + 1)
    n_shapes = min(len(kept) for kept, _ in inner)
    n_modes = min(n_shapes - 1, 2 * shapes.X.shape[1] - 4)
    truth = shapes.y[test]
    accuracies = {}
    chances = []
    with tempfile.TemporaryDirectory() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in methods.items():
            if method.outlines_only and not shapes.is_outline:
                continue
            steps = [(f"step{number}", step) for number, step in enumerate(method.steps())]
            search = Pipeline(steps, memory=memory)
            grid = method.grid(n_modes, n_shapes)
            if grid is not None:
                search = GridSearchCV(search, grid, cv=inner)
            search.fit(known.X, known.y)
            accuracies[name] = float(search.score(X_test, truth))
            if name in VOTERS:
                chances.append(_chances(search, known, inner, X_test))
    if len(chances) == len(VOTERS):
        voted = np.unique(known.y)[np.argmax(np.sum(chances, axis=0), axis=1)]
        accuracies[VOTE] = float(np.mean(voted == truth))
    return accuracies


def _chances(search: Any, known: LabelledShapes, inner: Folds, X: Array) -> Array:
    """Return probabilities of the classes; a machine's decisions become such by its inner folds."""
    if hasattr(search, "predict_proba"):
        return np.asarray(search.predict_proba(X))
    calibrated = CalibratedClassifierCV(search.best_estimator_, ensemble=False, cv=inner)
    return np.asarray(calibrated.fit(known.X, known.y).predict_proba(X))
