"""Linear models of shape: seconds and memory of Procrustes ANOVA with 1,000 permutations."""

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
# RRPP's authors: about half a second for pupfish and 1,000 permutations.
RRPP_SECONDS = "about 0.5 (RRPP, published)"


def main() -> None:
    rows = []
    pupfish = open_set("pupfish_56", "linear models of pupfish")
    if pupfish is not None:
        rows += _pupfish_rows(pupfish)
    rows.append(_large_row())
    print_table(
        "docs/how-to/statistics.md, Speed",
        ["shapes", "model", "what", "s", "s of CPU", "peak memory", "beside"],
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
        return fit_model(formula, fit.shapes, fit.design, fit.exchanges, permutations=PERMUTATIONS)

    rows = []
    for name, call in {"without parsing of the formula": without_parsing, "with parsing": whole}.items():
        wall, cpu = _fastest(call)
        rows.append(["pupfish, 54 × 56 points", formula, name, f"{wall:.3f}", f"{cpu:.3f}", "", RRPP_SECONDS])
    return rows


def _fastest(call: Callable[[], Any]) -> tuple[float, float]:
    """Return the smallest wall time and the smallest CPU time of several runs on one core."""
    walls, cpus = [], []
    with single_blas_thread():
        for _ in range(N_ROUNDS):
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus)


def _large_row() -> list[str]:
    # In a process of its own, whose peak memory is that of this model alone.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        wall, cpu, peak = pool.apply(_large_model)
    formula = "shape ~ log(size) + group * site"
    memory = f"{peak / 2**20:.2f} GiB"
    return ["simulated, 10,000 × 100 points", formula, "alignment included", f"{wall:.1f}", f"{cpu:.1f}", memory, ""]


def _large_model() -> tuple[float, float, int]:
    rng = np.random.default_rng(0)
    circle = np.exp(2j * np.pi * np.arange(100) / 100)
    X = circle + 0.3 / circle**2 + 0.05 * (rng.normal(size=(10_000, 100, 2)) @ [1, 1j])
    data = {"group": rng.choice(list("abc"), 10_000), "site": rng.choice(list("xy"), 10_000)}
    wall, cpu = time.perf_counter(), time.process_time()
    sx.statistics.shape_lm("shape ~ log(size) + group * site", X, data, permutations=PERMUTATIONS)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    return *seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
