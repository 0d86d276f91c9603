"""Time of learning against the paper's own code, on the same machine in the same run.

SHAPELEX_REFERENCE names a checkout of the reference code (ansonang3/2DKSD), which has no license to pass it on.
"""

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

import shapelex as sx
from measure import print_table, skip
from paper_sets import PAPER_SETS, load

N_ITERATIONS = 30


def main(n_rounds: int = 3) -> None:
    folder = os.environ.get("SHAPELEX_REFERENCE")
    if not folder:
        skip("learning beside the reference code", "set SHAPELEX_REFERENCE to a checkout of github.com/ansonang3/2DKSD")
        return
    rows: list[list[str]] = []
    for name, paper_set in PAPER_SETS.items():
        X = load(name, "learning")
        if X is None:
            continue
        size = (paper_set.n_atoms, paper_set.n_nonzero)
        plain = sx.ShapeDictionary(
            *size,
            space=paper_set.space,
            coder="ormp",
            n_swaps=0,
            init="random",
            max_iter=N_ITERATIONS,
            tol=0,
            random_state=0,
        )
        default = sx.ShapeDictionary(*size, space=paper_set.space, random_state=0)
        _fit(plain, X), _fit(default.set_params(max_iter=1), X)  # compiles, or reads the cache
        default.set_params(max_iter=100)
        runs: dict[str, list[float]] = {"reference": [], "plain": [], "default": []}
        for _ in range(n_rounds):
            reference = _run_reference(folder, paper_set.file, paper_set.n_nonzero, paper_set.n_atoms)
            runs["reference"].append(reference["seconds"])
            runs["plain"] += [_fit(plain, X) for _ in range(5)]
            runs["default"].append(_fit(default, X))
        seconds = {label: median(values) for label, values in runs.items()}
        rows.append(
            [
                f"{name}, {len(X)} shapes" if not rows else f"{name}, {len(X)}",
                f"{_format(seconds['reference'])}, {100 * reference['rmse']:.2f} %",
                f"{_format(seconds['plain'])}, {100 * plain.rmse_:.2f} %",
                f"{_format(seconds['default'])}, {100 * default.rmse_:.2f} %",
            ]
        )
    print_table(
        "README, Speed: learning",
        [
            "learning",
            f"reference code, {N_ITERATIONS} iterations",
            f'`coder="ormp", n_swaps=0, init="random"`, {N_ITERATIONS} iterations',
            "default",
        ],
        rows,
        "learning-speed",
    )


def _format(seconds: float) -> str:
    digits = 1 if seconds >= 10 else 2 if seconds >= 1 else 3
    return f"{seconds:.{digits}f} s"


def _fit(model: sx.ShapeDictionary, X: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(X)
        return time.perf_counter() - start


def _run_reference(folder: str, dataset: str, n_nonzero: int, n_atoms: int) -> dict[str, float]:
    script = Path(__file__).with_name("reference_fit.py")
    arguments = [folder, dataset, n_nonzero, n_atoms, N_ITERATIONS, 0]
    result = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), *map(str, arguments)], capture_output=True, text=True, check=True
    )
    measured: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return measured
