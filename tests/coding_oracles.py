"""Slow, obvious sparse coding."""

from itertools import combinations

import numpy as np


def random_rows(rng: np.random.Generator, n_rows: int, n_coordinates: int) -> np.ndarray:
    rows = rng.normal(size=(n_rows, n_coordinates)) + 1j * rng.normal(size=(n_rows, n_coordinates))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def project(row: np.ndarray, atoms: np.ndarray) -> tuple[np.ndarray, float]:
    """Least-squares weights of a row over atoms (rank-revealing), and the norm of what is left."""
    if len(atoms) == 0:
        return np.zeros(0, complex), float(np.linalg.norm(row))
    weights = np.linalg.lstsq(atoms.T, row, rcond=1e-10)[0]
    return weights, float(np.linalg.norm(row - weights @ atoms))


def best_error(row: np.ndarray, atoms: np.ndarray, n_nonzero: int) -> float:
    """Least error over all supports of `n_nonzero` atoms (smaller ones are never better)."""
    return min(project(row, atoms[list(chosen)])[1] for chosen in combinations(range(len(atoms)), n_nonzero))


def ormp_support(row: np.ndarray, atoms: np.ndarray, n_nonzero: int) -> list[int]:
    """Atoms that lower the error most, one after another."""
    chosen: list[int] = []
    for _ in range(n_nonzero):
        error = project(row, atoms[chosen])[1]
        errors = [project(row, atoms[[*chosen, j]])[1] if j not in chosen else np.inf for j in range(len(atoms))]
        if error**2 - min(errors) ** 2 < 1e-20:
            break
        chosen.append(int(np.argmin(errors)))
    return chosen


def omp_support(row: np.ndarray, atoms: np.ndarray, n_nonzero: int) -> list[int]:
    """Atoms that correlate most with the residual, one after another."""
    chosen: list[int] = []
    for _ in range(n_nonzero):
        weights, error = project(row, atoms[chosen])
        if error < 1e-10:
            break
        residual = row - weights @ atoms[chosen] if chosen else row
        scores = np.abs(atoms.conj() @ residual) / np.linalg.norm(atoms, axis=1)
        scores[chosen] = -1
        chosen.append(int(np.argmax(scores)))
    return chosen


def best_exchange_error(row: np.ndarray, atoms: np.ndarray, support: list[int]) -> float:
    """Least error after one atom of the support is exchanged for another."""
    others = [j for j in range(len(atoms)) if j not in support]
    exchanged = ([*support[:p], j, *support[p + 1 :]] for p in range(len(support)) for j in others)
    return min((project(row, atoms[chosen])[1] for chosen in exchanged), default=np.inf)


def penalized(row: np.ndarray, atoms: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    """Weights of least squared error plus `penalty` times their squared norm, and this sum."""
    gram = atoms.conj() @ atoms.T + penalty * np.eye(len(atoms))
    weights = np.linalg.solve(gram, atoms.conj() @ row)
    return weights, float(np.linalg.norm(row - weights @ atoms) ** 2 + penalty * np.linalg.norm(weights) ** 2)


def best_penalized(row: np.ndarray, atoms: np.ndarray, n_nonzero: int, penalty: float) -> float:
    """Least sum of squared error and price over all supports."""
    return min(penalized(row, atoms[list(chosen)], penalty)[1] for chosen in combinations(range(len(atoms)), n_nonzero))
