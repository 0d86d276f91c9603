"""Speed of sparse coding against SPAMS and dictlearn, on the same arrays in the same run.

The peers code real vectors of length 2N with as many atoms and non-zeros, which is a quarter of the complex arithmetic.
Every figure is the median of runs that take turns, in microseconds per shape.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import shapelex as sx
from measure import find_peer, median_times, print_table
from shapelex._blas import single_blas_thread
from shapelex.coding import encode_rows

Array = np.ndarray[Any, Any]
SIZES = [(12, 10, 5), (40, 20, 5), (200, 20, 5), (200, 230, 30)]
CODERS = [
    (40, 20, 5, "ormp"),
    (40, 20, 5, "omp"),
    (40, 20, 5, "beam"),
    (40, 20, 5, "exact"),
    (12, 10, 5, "exact"),
    (56, 10, 3, "exact"),
    (200, 230, 30, "beam"),
]


def main(n_rounds: int = 11) -> None:
    rng = np.random.default_rng(0)
    spams = find_peer("spams", "coding by SPAMS")
    dictlearn = find_peer("dictlearn._coders._omp", "coding by dictlearn")
    print_table(
        "README, Speed: coding by ORMP",
        ["coding by ORMP, µs per shape on one core", "complex128", "complex64", "2 threads", "SPAMS", "dictlearn"],
        [_pursuit_row(rng, *size, n_rounds, spams, dictlearn) for size in SIZES],
        "coding-speed",
    )
    print_table(
        "README, Speed, text: exact coding; docs/how-to/dictionaries.md, How shapes are coded, where costs are rounded",
        ["µs per shape on one core", "`coder`", "complex128", "complex64"],
        [_coder_row(rng, *case, n_rounds) for case in CODERS],
    )


def _name_size(n_coordinates: int, n_atoms: int, n_nonzero: int) -> str:
    return f"N = {n_coordinates}, {n_nonzero} of {n_atoms} atoms"


def _pursuit_row(
    rng: np.random.Generator,
    n_coordinates: int,
    n_atoms: int,
    n_nonzero: int,
    n_rounds: int,
    spams: Any | None,
    dictlearn: Any | None,
) -> list[str]:
    n_rows = 4000 if n_atoms > 100 else 8000
    # Ours takes configurations as they come, of any size and position; the peers get them centered and scaled.
    Z = 2 * _unit_rows(rng, n_rows, n_coordinates) + (1 - 0.5j) / np.sqrt(n_coordinates)
    rows, atoms = (sx.Landmarks(n_coordinates).preshape(part) for part in (Z, _unit_rows(rng, n_atoms, n_coordinates)))
    calls: dict[str, Callable[[], Any]] = {
        "complex128": partial(sx.encode, Z, atoms, n_nonzero, "ormp", n_threads=1),
        "complex64": partial(sx.encode, _single(Z), _single(atoms), n_nonzero, "ormp", n_threads=1),
        "2 threads": partial(sx.encode, Z, atoms, n_nonzero, "ormp", n_threads=2),
        **_peers(rows, atoms, n_nonzero, spams, dictlearn),
    }
    # dictlearn's products would use every core otherwise.
    with single_blas_thread():
        micros = {name: 1e6 * value / n_rows for name, value in median_times(calls, n_rounds).items()}
    names = ("complex128", "complex64", "2 threads", "SPAMS", "dictlearn")
    cells = [_format(micros[name]) if name in micros else "not installed" for name in names]
    return [_name_size(n_coordinates, n_atoms, n_nonzero), *cells]


def _format(micros: float) -> str:
    return f"{micros:.2f}" if micros < 10 else f"{micros:.1f}"


def _coder_row(
    rng: np.random.Generator, n_coordinates: int, n_atoms: int, n_nonzero: int, method: str, n_rounds: int
) -> list[str]:
    n_rows = 100 if n_atoms > 100 else 1584
    rows, atoms = _unit_rows(rng, n_rows, n_coordinates), _unit_rows(rng, n_atoms, n_coordinates)
    calls = {
        "complex128": partial(encode_rows, rows, atoms, n_nonzero, method=method, n_threads=1),
        "complex64": partial(encode_rows, _single(rows), _single(atoms), n_nonzero, method=method, n_threads=1),
    }
    seconds = median_times(calls, n_rounds)
    cells = [_format(1e6 * seconds[name] / n_rows) for name in calls]
    return [_name_size(n_coordinates, n_atoms, n_nonzero), f'`"{method}"`', *cells]


def _peers(
    rows: Array, atoms: Array, n_nonzero: int, spams: Any | None, dictlearn: Any | None
) -> dict[str, Callable[[], Any]]:
    calls: dict[str, Callable[[], Any]] = {}
    real_rows, real_atoms = (np.hstack([array.real, array.imag]) for array in (rows, atoms))
    if spams is not None:
        columns, dictionary = np.asfortranarray(real_rows.T), np.asfortranarray(real_atoms.T)
        calls["SPAMS"] = lambda: spams.omp(columns, dictionary, L=n_nonzero, return_reg_path=False, numThreads=1)
    if dictlearn is not None:
        calls["dictlearn"] = lambda: dictlearn.batch_omp_gram(
            real_atoms @ real_atoms.T, real_atoms @ real_rows.T, n_nonzero_coefs=n_nonzero
        )
    return calls


def _unit_rows(rng: np.random.Generator, n_rows: int, n_coordinates: int) -> Array:
    rows = rng.normal(size=(n_rows, n_coordinates)) + 1j * rng.normal(size=(n_rows, n_coordinates))
    rows -= rows.mean(axis=1, keepdims=True)
    unit: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _single(array: Array) -> Array:
    return array.astype(np.complex64)
