"""How well missing landmarks are filled in: a dictionary against the mean shape, PCA and regressions.

A tenth of the landmarks of every test shape is hidden, everything is fitted to the other specimens (five folds), and
the error is the RMS distance of the landmarks filled in to the true ones, in percent of the centroid size. PCA gets the
number of components that turns out best; the dictionary chooses its noise by the landmarks it sees.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

import shapelex as sx
from measure import print_table
from shape_data import open_set
from shapelex._blas import single_blas_thread

Array = np.ndarray[Any, Any]

# Name of the set, as published, and size of its dictionary.
SETS = {"hands": ("hands", (20, 5)), "plethodon_12": ("*Plethodon*", (10, 3))}
COMPONENTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
N_FOLDS = 5
COMPLEX_PCA = "iterative complex PCA, the best number of components"
ALIGNED_PCA = "iterative PCA of aligned coordinates, the best number"

# The method and its sizes were chosen on seeds 0 to 4; these are fresh.
FIRST_SEED = 5


def main(n_seeds: int = 5) -> None:
    columns: dict[str, dict[str, tuple[str, str]]] = {}
    for name, (title, size) in SETS.items():
        found = open_set(name, f"missing landmarks, {title}")
        if found is None:
            continue
        X = found.configurations
        # Thousands of small regressions: threads of BLAS would wait for each other most of the time.
        with single_blas_thread():
            runs = [_measure(X, size, seed) for seed in range(FIRST_SEED, FIRST_SEED + n_seeds)]
        errors = {method: np.array([run[method] for run in runs]) for method in runs[0]}
        columns[f"{title}: {X.shape[0]} × {X.shape[1]}"] = _cells(errors)
    if not columns:
        return
    rows = []
    for method in next(iter(columns.values())):
        chosen = [column[method] for column in columns.values()]
        numbers = "; ".join(count for count, _ in chosen if count)
        rows.append([f"{method} ({numbers})" if numbers else method, *(cell for _, cell in chosen)])
    seeds = f"seeds {FIRST_SEED} to {FIRST_SEED + n_seeds - 1}"
    print_table(
        f"docs/how-to/missing-landmarks.md, Accuracy: {seeds}",
        ["filled in by", *columns],
        rows,
        "imputation",
    )


def _cells(errors: dict[str, Array]) -> dict[str, tuple[str, str]]:
    """Return the number of components and the error of each method; PCA with the number that turns out best."""
    pooled = {method: float(np.sqrt(np.mean(values**2))) for method, values in errors.items()}
    cells: dict[str, tuple[str, str]] = {}
    best = min(pooled.values())
    for method in sorted(pooled, key=pooled.__getitem__):
        name, _, count = method.partition("|")
        mean = f"{pooled[method]:.2f}" if pooled[method] >= 1 else f"{pooled[method]:.3f}"
        low, high = (f"{value:.2f}" for value in (errors[method].min(), errors[method].max()))
        mark = "**" if pooled[method] == best else ""
        cells.setdefault(name, (count, f"{mark}{mean}{mark} ({low} to {high})"))
    order = dict.fromkeys(method.partition("|")[0] for method in errors)
    return {name: cells[name] for name in order}


def _measure(X: Array, size: tuple[int, int], seed: int) -> dict[str, float]:
    """Return the RMS error of every method over all folds; a size that is part of the method follows its name and |."""
    rng = np.random.default_rng(seed)
    present = _hide(X.shape, rng)
    order = rng.permutation(len(X))
    squares: dict[str, list[float]] = {}
    for fold in range(N_FOLDS):
        test = order[fold::N_FOLDS]
        train = X[np.setdiff1d(order, test)]
        incomplete = np.where(present[test], X[test], np.nan)
        sizes = np.linalg.norm(X[test] - X[test].mean(axis=1, keepdims=True), axis=1)
        for method, filled in _fill_by_all(train, incomplete, size):
            hidden = ~present[test]
            errors = np.abs(filled - X[test]) / sizes[:, None]
            squares.setdefault(method, []).extend(errors[hidden] ** 2)
    return {method: 100 * float(np.sqrt(np.mean(values))) for method, values in squares.items()}


def _hide(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    n_hidden = max(1, round(0.1 * shape[1]))
    ranks = np.argsort(np.argsort(rng.random(shape), axis=1), axis=1)
    return np.asarray(ranks >= n_hidden)


def _fill_by_all(train: Array, incomplete: Array, size: tuple[int, int]) -> Iterator[tuple[str, Array]]:
    mean = sx.mean_shape(train)
    yield "mean shape, laid over the known landmarks", _one_by_one(incomplete, partial(_lay_over, mean))
    modes = np.linalg.svd(sx.Landmarks(train.shape[1]).preshape(train), full_matrices=False)[2]
    aligned = _as_reals(sx.align_to_mean(train))
    average = aligned.mean(axis=0)
    directions = np.linalg.svd(aligned - average, full_matrices=False)[2]
    for count in COMPONENTS:
        if count < min(modes.shape):
            yield f"{COMPLEX_PCA}|{count}", _one_by_one(incomplete, partial(_fit_modes, modes[:count]))
        if count < min(directions.shape):
            guess = partial(_iterate_pca, average, directions[:count])
            yield f"{ALIGNED_PCA}|{count}", _one_by_one(incomplete, guess)
    yield (
        "regressions (scikit-learn's `IterativeImputer`), aligned coordinates",
        _impute_by_regressions(train, incomplete, mean),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sx.ShapeDictionary(*size, random_state=0).fit(train)
    yield (
        f"dictionary, sparse codes; atoms, atoms per shape|{size[0]}, {size[1]}",
        sx.impute(incomplete, model, method="sparse").configurations,
    )
    yield "dictionary, moments alone", sx.impute(incomplete, model).configurations
    yield (
        "dictionary, with the fitted shapes as reference",
        sx.impute(incomplete, model, reference=train).configurations,
    )


def _one_by_one(incomplete: Array, guess: Callable[[Array, Array], Array]) -> Array:
    rows = []
    for z in incomplete:
        known = ~np.isnan(z)
        rows.append(np.where(known, z, guess(z, known)))
    return np.array(rows)


def _lay_over(shape: Array, z: Array, known: Array) -> Array:
    """Move, turn and scale a shape to lie closest to the known landmarks."""
    base, goal = shape[known] - shape[known].mean(), z[known] - z[known].mean()
    factor = np.vdot(base, goal) / np.vdot(base, base)
    return np.asarray(factor * (shape - shape[known].mean()) + z[known].mean())


def _fit_modes(modes: Array, z: Array, known: Array) -> Array:
    """Least squares on the known landmarks: where projecting and filling in by turns ends."""
    part = modes[:, known] - modes[:, known].mean(axis=1, keepdims=True)
    weights = np.linalg.lstsq(part.T, z[known] - z[known].mean(), rcond=None)[0]
    shape = weights @ modes
    return np.asarray(shape - shape[known].mean() + z[known].mean())


def _iterate_pca(average: Array, directions: Array, z: Array, known: Array, n_iter: int = 200) -> Array:
    """Align to the average, project on real components, fill in, and again."""
    center = _as_complex(average)
    filled = np.where(known, z, _lay_over(center, z, known))
    for _ in range(n_iter):
        moved = filled - filled.mean()
        factor = np.vdot(moved, center) / np.vdot(moved, moved)
        row = _as_reals((factor * moved)[None])[0] - average
        projected = _as_complex(average + (row @ directions.T) @ directions) / factor + filled.mean()
        following = np.where(known, z, projected)
        if np.abs(following - filled).max() < 1e-9 * np.abs(moved).max():
            break
        filled = following
    return filled


def _impute_by_regressions(train: Array, incomplete: Array, mean: Array) -> Array:
    """Bayesian ridge regressions of every coordinate on all others, after alignment on the known landmarks."""
    center = sx.mean_shape(train)
    aligned = [*sx.rotate_onto(train, center)]
    poses = []
    for z in incomplete:
        known = ~np.isnan(z)
        base, goal = z[known] - z[known].mean(), mean[known] - mean[known].mean()
        factor = np.vdot(base, goal) / np.vdot(base, base)
        poses.append((factor, z[known].mean(), mean[known].mean()))
        aligned.append(factor * (z - z[known].mean()) + mean[known].mean())
    table = _as_reals(np.array(aligned))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        filled = _as_complex(IterativeImputer(random_state=0).fit_transform(table))[len(train) :]
    back = [(row - there) / factor + here for row, (factor, here, there) in zip(filled, poses, strict=True)]
    return np.where(np.isnan(incomplete), np.array(back), incomplete)


def _as_reals(rows: Array) -> Array:
    return np.concatenate([rows.real, rows.imag], axis=1)


def _as_complex(rows: Array) -> Array:
    half = rows.shape[-1] // 2
    return np.asarray(rows[..., :half] + 1j * rows[..., half:])
