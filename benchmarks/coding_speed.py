"""Speed of sparse coding against SPAMS and dictlearn, on the same arrays in the same run.

Run as ``python benchmarks/coding_speed.py``; needs ``spams-bin`` and ``dictlearn``. Peers code the real vectors of
length 2N with the same number of atoms and non-zeros, which is a quarter of the complex arithmetic. Every figure is
the median of alternating runs, in microseconds a shape.
"""

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from shapelex.coding import encode_rows

SIZES = [(12, 10, 5), (40, 20, 5), (200, 20, 5), (200, 230, 30)]
SEARCHES = [(12, 10, 5, "exact"), (56, 10, 3, "exact"), (40, 20, 5, "exact"), (40, 20, 5, "beam")]


def unit_rows(rng: np.random.Generator, n_rows: int, n_coordinates: int) -> np.ndarray:
    rows = rng.normal(size=(n_rows, n_coordinates)) + 1j * rng.normal(size=(n_rows, n_coordinates))
    rows -= rows.mean(axis=1, keepdims=True)
    unit: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def as_real(rows: np.ndarray) -> np.ndarray:
    return np.hstack([rows.real, rows.imag])


def alternate(runs: dict[str, Callable[[], object]], n_rounds: int) -> dict[str, float]:
    """Median seconds of each run; the runs take turns, so that a noisy machine disturbs all of them."""
    for run in runs.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(n_rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def peers(rows: np.ndarray, atoms: np.ndarray, n_nonzero: int) -> dict[str, Callable[[], object]]:
    """Give the runs of the peers that are installed."""
    runs: dict[str, Callable[[], object]] = {}
    real_rows, real_atoms = as_real(rows), as_real(atoms)
    try:
        import spams

        columns, dictionary = np.asfortranarray(real_rows.T), np.asfortranarray(real_atoms.T)
        runs["spams"] = lambda: spams.omp(columns, dictionary, L=n_nonzero, return_reg_path=False, numThreads=1)
    except ImportError:
        pass
    try:
        from dictlearn._coders._omp import batch_omp_gram

        runs["dictlearn"] = lambda: batch_omp_gram(
            real_atoms @ real_atoms.T, real_atoms @ real_rows.T, n_nonzero_coefs=n_nonzero
        )
    except ImportError:
        pass
    return runs


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    n_rounds = parser.parse_args().rounds
    packages = ("numpy", "numba", "spams-bin", "dictlearn")
    print(f"{processor()}, {os.cpu_count()} processors, Python {platform.python_version()}, ", end="")
    print(", ".join(f"{name} {installed(name)}" for name in packages))
    print("\nORMP, µs a shape, one thread except where two are named")
    header = ("N", "J", "n0", "c128", "c64", "c128 x2", "spams", "dictlearn", "peer/c128", "c128/c64", "x1/x2")
    print(" ".join(f"{name:>9}" for name in header))
    rng = np.random.default_rng(0)
    for n_coordinates, n_atoms, n_nonzero in SIZES:
        n_rows = 4000 if n_atoms > 100 else 8000
        rows, atoms = unit_rows(rng, n_rows, n_coordinates), unit_rows(rng, n_atoms, n_coordinates)
        single_rows, single_atoms = rows.astype(np.complex64), atoms.astype(np.complex64)
        runs: dict[str, Callable[[], object]] = {
            "c128": partial(encode_rows, rows, atoms, n_nonzero, method="ormp", n_threads=1),
            "c64": partial(encode_rows, single_rows, single_atoms, n_nonzero, method="ormp", n_threads=1),
            "c128 x2": partial(encode_rows, rows, atoms, n_nonzero, method="ormp", n_threads=2),
            **peers(rows, atoms, n_nonzero),
        }
        micros = {name: 1e6 * value / n_rows for name, value in alternate(runs, n_rounds).items()}
        fastest = min((micros[name] for name in ("spams", "dictlearn") if name in micros), default=np.nan)
        cells = [micros.get(name, np.nan) for name in header[3:8]]
        ratios = [fastest / micros["c128"], micros["c128"] / micros["c64"], micros["c128"] / micros["c128 x2"]]
        print(f"{n_coordinates:9d} {n_atoms:9d} {n_nonzero:9d} " + " ".join(f"{x:9.2f}" for x in cells + ratios))
    print("\nSearches, µs a shape, one thread")
    print(" ".join(f"{name:>9}" for name in ("N", "J", "n0", "method", "c128", "c64")))
    for n_coordinates, n_atoms, n_nonzero, method in SEARCHES:
        n_rows = 1584
        rows, atoms = unit_rows(rng, n_rows, n_coordinates), unit_rows(rng, n_atoms, n_coordinates)
        single_rows, single_atoms = rows.astype(np.complex64), atoms.astype(np.complex64)
        seconds = alternate(
            {
                "c128": partial(encode_rows, rows, atoms, n_nonzero, method=method, n_threads=1),
                "c64": partial(encode_rows, single_rows, single_atoms, n_nonzero, method=method, n_threads=1),
            },
            n_rounds,
        )
        cells = [1e6 * seconds[name] / n_rows for name in ("c128", "c64")]
        print(f"{n_coordinates:9d} {n_atoms:9d} {n_nonzero:9d} {method:>9} " + " ".join(f"{x:9.2f}" for x in cells))


def installed(package: str) -> str:
    try:
        return version(package)
    except ImportError:
        return "not installed"


if __name__ == "__main__":
    main()
