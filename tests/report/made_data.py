"""A folder of made-up shapes under the names of the paper's datasets."""

from pathlib import Path

import numpy as np


def write_shapes(folder: Path, file: str, n_points: int, n_shapes: int = 30, seed: int = 0) -> Path:
    """Write closed outlines in random poses, smooth but for some noise: no few atoms rebuild them perfectly."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_points) / n_points
    waves = np.exp(1j * np.outer([1, -1, 2, -2, 3], angle))
    weights = np.array([1.5, 0.7, 0.4, 0.3, 0.2]) * rng.normal(size=(n_shapes, 5)) + [2, 0, 0, 0, 0]
    shapes = np.exp(2j * np.pi * rng.uniform(size=(n_shapes, 1))) * (weights @ waves)
    shapes += 0.05 * (rng.normal(size=shapes.shape) + 1j * rng.normal(size=shapes.shape))
    path = folder / f"{file}.npz"
    np.savez(path, points=np.stack([shapes.real, shapes.imag], axis=-1))
    return path
