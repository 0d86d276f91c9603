"""How well shapes are told apart: one table of all sets and methods, by five stratified folds that are published.

What a method leaves open (cost, shrinkage, penalty, size of a dictionary, registration of closed outlines) is chosen by
folds inside the training part, never on the shapes that are judged. Shapes that belong together, such as the two wings
of a bee, stay in one fold, of the inner folds too. All methods see the same folds, and closed outlines in the
registration that the inner folds of ShapeClassifier choose; convolutions see them as they come.
"""

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import shapelex as sx
from labelled_sets import SETS, Array, LabelledShapes, load
from measure import RESULTS, keeps_results, print_table

N_FOLDS = 5
N_INNER_FOLDS = 3
SEED = 0
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
OURS = "ShapeClassifier"

Folds = list[tuple[Array, Array]]
Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Method:
    """Steps of a pipeline in a space, and what its inner folds choose from, given the number of shapes."""

    steps: Callable[[sx.spaces.Space], Sequence[BaseEstimator]]
    grid: Callable[[int], Grid | list[Grid] | None]
    registers: bool = True


@dataclass(frozen=True)
class Result:
    """Which held-out shapes a method got right, and the processor seconds that it took."""

    is_right: Array
    seconds: float


def _code_features(space: sx.spaces.Space) -> sx.CodeFeatures:
    return sx.CodeFeatures("tangent", dictionary=sx.ShapeDictionary(space=space, **QUICK))


def _dictionary_sizes(n_shapes: int, others: Grid) -> list[Grid]:
    sizes = [(min(20, n_shapes), 5)] + [(n_atoms, 10) for n_atoms in [min(n_shapes // 2, 150)] if n_atoms > 20]
    return [
        {"step0__dictionary__n_atoms": [n_atoms], "step0__dictionary__n_nonzero": [n_nonzero], **others}
        for n_atoms, n_nonzero in sizes
    ]


METHODS = {
    "tangent LDA": Method(
        lambda space: [sx.TangentPCA(space=space), LinearDiscriminantAnalysis(solver="lsqr")],
        lambda _: {"step1__shrinkage": [0.01, 0.03, 0.1, 0.3]},
    ),
    "tangent SVM": Method(lambda space: [sx.TangentPCA(space=space), SVC()], lambda _: {"step1__C": COSTS}),
    "Procrustes-kernel SVM": Method(
        lambda space: [sx.ProcrustesKernel(space=space), SVC(kernel="precomputed")], lambda _: {"step1__C": COSTS}
    ),
    "CodeFeatures + logistic": Method(
        lambda space: [_code_features(space), StandardScaler(), LogisticRegression(max_iter=50, tol=1e-2)],
        # The largest dictionary alone: a logistic regression of 70 classes takes long.
        lambda n_shapes: _dictionary_sizes(n_shapes, {"step2__C": [0.01, 0.1, 1]})[-1],
    ),
    "CodeFeatures + SVM": Method(
        lambda space: [_code_features(space), SVC()],
        lambda n_shapes: _dictionary_sizes(n_shapes, {"step1__C": COSTS}),
    ),
    # It chooses its shrinkage itself, by folds of the training part.
    "ShapeDictionaryClassifier": Method(
        lambda space: [sx.ShapeDictionaryClassifier(space=space, cv=N_INNER_FOLDS, **QUICK)], lambda _: None
    ),
    # It chooses its penalty itself, by leaving out one shape at a time.
    "OutlineConvolutions + ridge": Method(
        lambda space: [
            sx.OutlineConvolutions(space, random_state=SEED),
            StandardScaler(),
            RidgeClassifierCV(np.logspace(-1, 5, 13)),
        ],
        lambda _: None,
        registers=False,
    ),
}


def main() -> None:
    start = time.perf_counter()
    rows = []
    for name, labelled_set in SETS.items():
        parts = load(labelled_set, f"docs/how-to/classification.md, {name}")
        if not parts:
            continue
        rows.append(table_row(name, parts, [judge_part(part) for part in parts]))
        print(f"{time.perf_counter() - start:.0f} s, {' | '.join(rows[-1])}", file=sys.stderr, flush=True)
        if keeps_results():
            _keep_folds(name, parts)
    print_accuracies(rows)


def judge_part(shapes: LabelledShapes) -> dict[str, Result]:
    """Return what every method got right, in the order of the shapes."""
    folds = split(shapes.y, shapes.groups, N_FOLDS, SEED)
    jobs = [delayed(judge)(shapes, train, test) for train, test in folds]
    return merge(folds, Parallel(n_jobs=min(os.cpu_count() or 1, N_FOLDS))(jobs))


def split(y: Array, groups: Array | None, n_folds: int, seed: int) -> Folds:
    """Return folds that hold out a share of every class, and whole groups."""
    splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = splitter(n_folds, shuffle=True, random_state=seed)
    return list(folds.split(np.empty((len(y), 0)), y, groups))


def merge(folds: Folds, judged: Sequence[Mapping[str, Result]]) -> dict[str, Result]:
    """Return the results of all folds together."""
    merged = {}
    for name in judged[0]:
        is_right = np.zeros(sum(len(test) for _, test in folds), dtype=bool)
        for (_, test), results in zip(folds, judged, strict=True):
            is_right[test] = results[name].is_right
        merged[name] = Result(is_right, sum(results[name].seconds for results in judged))
    return merged


def judge(shapes: LabelledShapes, train: Array, test: Array) -> dict[str, Result]:
    """Return what every method gets right of the shapes of one fold."""
    X, y, space = shapes.X[train], shapes.y[train], shapes.space
    X_test, truth = shapes.X[test], shapes.y[test]
    groups = None if shapes.groups is None else shapes.groups[train]
    inner = split(y, groups, N_INNER_FOLDS, SEED + 1)
    results = {}
    with tempfile.TemporaryDirectory() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        ours = sx.ShapeClassifier(space, random_state=SEED).fit(X, y, groups)
        is_right = ours.predict(X_test) == truth
        results[OURS] = Result(is_right, time.process_time() - start)
        registered = (X, X_test)
        if ours.registration_ is not None:
            registered = (ours.registration_.transform(X), ours.registration_.transform(X_test))
        for name, method in METHODS.items():
            start = time.process_time()
            known, new = registered if method.registers else (X, X_test)
            steps = [(f"step{number}", step) for number, step in enumerate(method.steps(space))]
            search = Pipeline(steps, memory=memory)
            grid = method.grid(min(len(kept) for kept, _ in inner))
            if grid is not None:
                search = GridSearchCV(search, grid, cv=inner)
            is_right = search.fit(known, y).predict(new) == truth
            results[name] = Result(is_right, time.process_time() - start)
    return results


def table_row(name: str, parts: Sequence[LabelledShapes], judged: Sequence[Mapping[str, Result]]) -> list[str]:
    """Return the accuracies on a set, with the paired difference between ours and the best other row."""
    names = [*METHODS, OURS]
    right = {method: np.concatenate([results[method].is_right for results in judged]) for method in names}
    accuracies = {method: float(values.mean()) for method, values in right.items()}
    best = max(accuracies.values())
    rival = max(METHODS, key=lambda method: accuracies[method])
    difference = right[OURS].astype(float) - right[rival]
    groups = np.concatenate(_units(parts))
    seconds = sum(results[OURS].seconds for results in judged) / (N_FOLDS * len(judged))
    cells = [f"**{value:.3f}**" if value == best else f"{value:.3f}" for value in accuracies.values()]
    return [
        name,
        str(len(groups)),
        *cells,
        f"{_standard_error(right[OURS].astype(float), groups):.3f}",
        f"{difference.mean():+.3f} ± {_standard_error(difference, groups):.3f}",
        f"{seconds:.1f}",
    ]


def print_accuracies(rows: Sequence[Sequence[str]]) -> None:
    """Print the table; sets that nothing was chosen on come last, under a heading of their own."""
    header = ["accuracy", "shapes", *METHODS, OURS, "standard error", "ours − best other", "seconds per fit"]
    chosen = [row for row in rows if SETS[row[0]].chosen_on]
    others = [row for row in rows if not SETS[row[0]].chosen_on]
    heading = ["*sets that nothing was chosen on*"] + [""] * (len(header) - 1)
    table = [*chosen, *([heading] if others else []), *others]
    print_table("docs/how-to/classification.md", header, table, "classification")


def _units(parts: Sequence[LabelledShapes]) -> list[Array]:
    """Return the number of the group of each shape; a shape without one is a group of its own."""
    units, n_before = [], 0
    for part in parts:
        own = np.arange(len(part.y)) if part.groups is None else part.groups
        units.append(own + n_before)
        n_before += int(own.max()) + 1
    return units


def _standard_error(values: Array, groups: Array) -> float:
    """Return the standard error of a mean of values that are independent between groups only."""
    sums = np.bincount(groups, values - values.mean())
    return float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(values))


def _keep_folds(name: str, parts: Sequence[LabelledShapes]) -> None:
    """Write the rows of the file that each fold holds out, one line per view and fold."""
    target = RESULTS / "classification-folds.csv"
    lines = [] if not target.exists() else target.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line.split(",")[0] not in ("file", SETS[name].file)]
    for part, view in zip(parts, SETS[name].views or ("",), strict=True):
        for number, (_, test) in enumerate(split(part.y, part.groups, N_FOLDS, SEED)):
            held_out = " ".join(str(row) for row in part.rows[test])
            lines.append(f"{SETS[name].file},{view},{number},{held_out}")
    target.write_text("\n".join(["file,view,fold,held-out rows", *lines]) + "\n", encoding="utf-8")
