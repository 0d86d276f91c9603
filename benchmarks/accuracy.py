"""Accuracy and realism of learned dictionaries at the paper's sizes: one command, one table.

Run ``SHAPELEX_DATA=... python benchmarks/accuracy.py``; ``--plain`` adds the paper's algorithm (ORMP, random start, 30
updates), ``--data`` and ``--seeds`` choose a part.
"""

import argparse
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np

import shapelex as sx
from shapelex.coding import encode_rows, squared_residuals
from shapelex.learning import learn, mutual_coherences
from shapelex.spaces import Space


@dataclass(frozen=True)
class Case:
    """A set of shapes, the size of its dictionary, and what is to be reached."""

    file: str
    space: Space
    n_nonzero: int
    n_atoms: int
    rmse_target: float
    realism_target: float


CASES = {
    "worms": Case("6376_open_worms_6ctrlpts", sx.HermiteSpline(6), 5, 10, 2.85, 0.055),
    "hands": Case("hands", sx.Landmarks(56), 3, 10, 2.45, 0.045),
    "leaves": Case("leaves_Bsplines", sx.BSpline(40), 5, 20, 5.90, 0.10),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "plain": {"coder": "ormp", "init": "random", "max_iter": 30},
}
COLUMNS = {
    "data": 7,
    "settings": 8,
    "seed": 4,
    "RMSE %": 7,
    "realism": 8,
    "coherence": 9,
    "max |a|": 8,
    "99 % |a|": 8,
    "n_iter": 6,
    "time s": 7,
}

HEADER = " ".join(f"{name:>{width}}" for name, width in COLUMNS.items())


def load(case: Case) -> Any:
    folder = os.environ.get("SHAPELEX_DATA")
    if not folder:
        raise SystemExit("Set SHAPELEX_DATA to the folder of the shape data.")
    with np.load(Path(folder) / f"{case.file}.npz", allow_pickle=False) as file:
        return sx.from_points(file["points"])


def measure(case: Case, settings: dict[str, Any], seed: int, n_threads: int | None) -> tuple[list[float], float]:
    configurations = load(case)
    rows = case.space.whitened_preshapes(configurations)
    start = time.perf_counter()
    found = learn(rows, case.n_atoms, case.n_nonzero, generator=seed, n_threads=n_threads, **settings)
    seconds = time.perf_counter() - start
    codes = encode_rows(rows, found.atoms, case.n_nonzero, method=settings.get("coder", "auto"))
    rmse = 100 * float(np.sqrt(squared_residuals(rows, found.atoms, codes).mean()))
    atoms = case.space.unwhiten(found.atoms)
    realism = float(np.median(sx.pairwise_distances(atoms, configurations, space=case.space).min(axis=1)))
    moduli = np.abs(codes.coefs[codes.support >= 0])
    coherence = float(mutual_coherences(found.atoms).max())
    row = [rmse, realism, coherence, float(moduli.max()), float(np.quantile(moduli, 0.99)), float(found.n_iter)]
    return row, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--plain", action="store_true", help="also the paper's algorithm")
    arguments = parser.parse_args()
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, numba {numba.__version__}"
    print(f"{versions}; {platform.machine()}, {os.cpu_count()} processors, threads: {arguments.threads or 'all'}")
    print(HEADER)
    for name in arguments.data:
        case = CASES[name]
        for label in ("default", "plain") if arguments.plain else ("default",):
            # The first call of all compiles, or reads the cache.
            learn(random_rows(case), case.n_atoms, case.n_nonzero, generator=0, **{**SETTINGS[label], "max_iter": 1})
            results = [measure(case, SETTINGS[label], seed, arguments.threads) for seed in range(arguments.seeds)]
            for seed, (row, seconds) in enumerate(results):
                print_row(name, label, str(seed), row, seconds)
            worst = np.max([row for row, _ in results], axis=0).tolist()
            print_row(name, label, "max", worst, max(seconds for _, seconds in results))
            if label == "default":
                print(f"{'':7} {'target':>8} {'':4} {case.rmse_target:7.3f} {case.realism_target:8.3f}")


def random_rows(case: Case) -> Any:
    rng = np.random.default_rng(0)
    shape = (50, case.space.n_coordinates)
    return case.space.whitened_preshapes(rng.normal(size=shape) + 1j * rng.normal(size=shape))


def print_row(name: str, label: str, seed: str, row: list[float], seconds: float) -> None:
    rmse, realism, coherence, largest, quantile, n_iter = row
    print(
        f"{name:>7} {label:>8} {seed:>4} {rmse:7.3f} {realism:8.4f} {coherence:9.4f} {largest:8.2f} {quantile:8.2f} "
        f"{n_iter:6.0f} {seconds:7.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
