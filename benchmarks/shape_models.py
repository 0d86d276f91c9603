"""Linear models of shape: seconds and memory with 1,000 permutations, and the level of tests with repeated images."""

import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import shapelex as sx
from measure import print_table
from shape_data import open_set
from shapelex._blas import single_blas_thread
from shapelex.statistics.models import fit_model

PERMUTATIONS = 999
N_ROUNDS = 40
N_SETS = 1500
# Images of each of ten animals, of which four and six get different treatments.
IMAGES = np.repeat(np.arange(10), [1, 2, 3, 4, 2, 5, 1, 3, 2, 2])
# RRPP's authors: about half a second for pupfish and 1,000 permutations.
RRPP_SECONDS = "about 0.5 (RRPP, published)"


def main() -> None:
    print_speed()
    print_table(
        "docs/how-to/statistics.md, Several images of an animal",
        ["test", "sets", "P ≤ 0.05 without an effect, %"],
        _level_rows(),
        "shape-model-levels",
    )


def print_speed() -> None:
    # One thread computes, so that CPU time is what one idle core takes; other work does not count.
    rows = []
    pupfish = open_set("pupfish_56", "linear models of pupfish")
    if pupfish is not None:
        rows += _pupfish_rows(pupfish)
    rows.append(_large_row())
    print_table(
        "docs/how-to/statistics.md, Speed",
        ["shapes", "model", "what", "s on one core", "peak memory", "beside"],
        rows,
        "shape-models",
    )


def _pupfish_rows(pupfish: sx.ShapeSet) -> list[list[str]]:
    population, sex = np.char.partition(np.asarray(pupfish.labels), "/")[:, [0, 2]].T
    data = {"Pop": population, "Sex": sex, "logSize": np.log(np.asarray(pupfish.metadata["centroid_size"]))}
    formula = "shape ~ logSize + Sex * Pop"

    def whole() -> Any:
        return sx.statistics.shape_lm(formula, pupfish, data, aligned=True, permutations=PERMUTATIONS)

    fit = whole()

    def without_parsing() -> Any:
        return fit_model(formula, fit.shapes, fit.design, fit.exchange, permutations=PERMUTATIONS)

    rows = []
    for name, call in {"without parsing of the formula": without_parsing, "with parsing": whole}.items():
        rows.append(["pupfish, 54 × 56 points", formula, name, f"{_fastest(call):.3f}", "", RRPP_SECONDS])
    return rows


def _fastest(call: Callable[[], Any]) -> float:
    """Return the smallest CPU time of several runs on one core."""
    seconds = []
    with single_blas_thread():
        for _ in range(N_ROUNDS):
            start = time.process_time()
            call()
            seconds.append(time.process_time() - start)
    return min(seconds)


def _large_row() -> list[str]:
    # In a process of its own, whose peak memory is that of this model alone.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, peak = pool.apply(_large_model)
    formula = "shape ~ log(size) + group * site"
    memory = f"{peak / 2**20:.2f} GiB"
    return ["simulated, 10,000 × 100 points", formula, "alignment included", f"{seconds:.1f}", memory, ""]


def _large_model() -> tuple[float, int]:
    rng = np.random.default_rng(0)
    circle = np.exp(2j * np.pi * np.arange(100) / 100)
    X = circle + 0.3 / circle**2 + 0.05 * (rng.normal(size=(10_000, 100, 2)) @ [1, 1j])
    data = {"group": rng.choice(list("abc"), 10_000), "site": rng.choice(list("xy"), 10_000)}
    start = time.process_time()
    sx.statistics.shape_lm("shape ~ log(size) + group * site", X, data, permutations=PERMUTATIONS)
    return time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _level_rows() -> list[list[str]]:
    """Return how often tests find an effect where there is none."""
    options: dict[str, dict[str, Any]] = {
        "means of animals, unit='animal'": {"unit": "animal"},
        "images permuted": {},
    }
    counts = dict.fromkeys([*options, "interaction in unequal groups, type 2"], 0)
    for seed in range(N_SETS):
        rng = np.random.default_rng(seed)
        X = _simulate(rng, len(IMAGES)) + 0.2 * (rng.normal(size=(10, 5, 2)) @ [1, 1j])[IMAGES]
        data = {"treatment": rng.permutation(list("aaaabbbbbb"))[IMAGES], "animal": IMAGES}
        for name, option in options.items():
            counts[name] += _is_found("treatment", "shape ~ treatment", X, data, seed, option)
        data = {"a": np.array(list("uuuuu" + 20 * "v")), "b": rng.permutation(np.array(list(10 * "x" + 15 * "y")))}
        X = _simulate(rng, 25)
        counts["interaction in unequal groups, type 2"] += _is_found("a:b", "shape ~ a * b", X, data, seed, {"type": 2})
    return [[name, f"{N_SETS:,}", f"{100 * count / N_SETS:.1f}"] for name, count in counts.items()]


def _simulate(rng: np.random.Generator, n_shapes: int) -> Any:
    mean = np.exp(2j * np.pi * np.arange(5) / 5) * (1 + 0.4 * (np.arange(5) % 2))
    return mean + 0.1 * (rng.normal(size=(n_shapes, 5, 2)) @ [1, 1j])


def _is_found(term: str, formula: str, X: Any, data: dict[str, Any], seed: int, options: dict[str, Any]) -> bool:
    fit = sx.statistics.shape_lm(formula, X, data, permutations=199, random_state=seed, **options)
    return bool(fit.table.loc[term, "P"] <= 0.05)
