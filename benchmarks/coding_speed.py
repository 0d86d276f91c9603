"""Speed of sparse coding against SPAMS and dictlearn, on the same arrays in the same run.

The peers code real vectors of length 2N with as many atoms and non-zeros, which is a quarter of the complex arithmetic.
Every figure is the median of runs that take turns, in microseconds a shape.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from measure import median_times, print_table
from shapelex.coding import encode_rows
from shapelex.coding.threads import single_blas_thread

Array = np.ndarray[Any, Any]
SIZES = [(12, 10, 5), (40, 20, 5), (200, 20, 5), (200, 230, 30)]
SEARCHES = [
    (12, 10, 5, "exact"),
    (56, 10, 3, "exact"),
    (40, 20, 5, "exact"),
    (40, 20, 5, "beam"),
    (200, 230, 30, "beam"),
]


def main(n_rounds: int = 11) -> None:
    rng = np.random.default_rng(0)
    print_table(
        "Order recursive matching pursuit, µs a shape on one core",
        ["N, J, n_nonzero", "complex128", "complex64", "2 threads", "SPAMS", "dictlearn", "faster peer / complex128"],
        [_pursuit_row(rng, *size, n_rounds) for size in SIZES],
    )
    print_table(
        "Searches, µs a shape on one core",
        ["N, J, n_nonzero", "method", "complex128", "complex64"],
        [_search_row(rng, *search, n_rounds) for search in SEARCHES],
    )


def _pursuit_row(
    rng: np.random.Generator, n_coordinates: int, n_atoms: int, n_nonzero: int, n_rounds: int
) -> list[str]:
    n_rows = 4000 if n_atoms > 100 else 8000
    rows, atoms = _unit_rows(rng, n_rows, n_coordinates), _unit_rows(rng, n_atoms, n_coordinates)
    calls: dict[str, Callable[[], Any]] = {
        "complex128": partial(encode_rows, rows, atoms, n_nonzero, method="ormp", n_threads=1),
        "complex64": partial(encode_rows, _single(rows), _single(atoms), n_nonzero, method="ormp", n_threads=1),
        "2 threads": partial(encode_rows, rows, atoms, n_nonzero, method="ormp", n_threads=2),
        **_peers(rows, atoms, n_nonzero),
    }
    # dictlearn's products would use every core otherwise.
    with single_blas_thread():
        micros = {name: 1e6 * value / n_rows for name, value in median_times(calls, n_rounds).items()}
    fastest = min((micros[name] for name in ("SPAMS", "dictlearn") if name in micros), default=np.nan)
    names = ("complex128", "complex64", "2 threads", "SPAMS", "dictlearn")
    cells = [f"{micros[name]:.2f}" if name in micros else "not installed" for name in names]
    return [f"{n_coordinates}, {n_atoms}, {n_nonzero}", *cells, f"{fastest / micros['complex128']:.2f}"]


def _search_row(
    rng: np.random.Generator, n_coordinates: int, n_atoms: int, n_nonzero: int, method: str, n_rounds: int
) -> list[str]:
    n_rows = 100 if n_atoms > 100 else 1584
    rows, atoms = _unit_rows(rng, n_rows, n_coordinates), _unit_rows(rng, n_atoms, n_coordinates)
    calls = {
        "complex128": partial(encode_rows, rows, atoms, n_nonzero, method=method, n_threads=1),
        "complex64": partial(encode_rows, _single(rows), _single(atoms), n_nonzero, method=method, n_threads=1),
    }
    seconds = median_times(calls, n_rounds)
    cells = [f"{1e6 * seconds[name] / n_rows:.2f}" for name in calls]
    return [f"{n_coordinates}, {n_atoms}, {n_nonzero}", method, *cells]


def _peers(rows: Array, atoms: Array, n_nonzero: int) -> dict[str, Callable[[], Any]]:
    calls: dict[str, Callable[[], Any]] = {}
    real_rows, real_atoms = (np.hstack([array.real, array.imag]) for array in (rows, atoms))
    try:
        import spams

        columns, dictionary = np.asfortranarray(real_rows.T), np.asfortranarray(real_atoms.T)
        calls["SPAMS"] = lambda: spams.omp(columns, dictionary, L=n_nonzero, return_reg_path=False, numThreads=1)
    except ImportError:
        pass
    try:
        from dictlearn._coders._omp import batch_omp_gram

        calls["dictlearn"] = lambda: batch_omp_gram(
            real_atoms @ real_atoms.T, real_atoms @ real_rows.T, n_nonzero_coefs=n_nonzero
        )
    except ImportError:
        pass
    return calls


def _unit_rows(rng: np.random.Generator, n_rows: int, n_coordinates: int) -> Array:
    rows = rng.normal(size=(n_rows, n_coordinates)) + 1j * rng.normal(size=(n_rows, n_coordinates))
    rows -= rows.mean(axis=1, keepdims=True)
    unit: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _single(array: Array) -> Array:
    return array.astype(np.complex64)


if __name__ == "__main__":
    main()
