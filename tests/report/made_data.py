"""Made-up shapes under the names of the paper's datasets."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shapelex.datasets.public import REGISTRY
from shapelex.spaces import to_columns


def make_shapes(n_points: int, n_shapes: int = 30, seed: int = 0) -> np.ndarray:
    """Make closed outlines in random poses, smooth but for some noise: no few atoms rebuild them perfectly."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_points) / n_points
    waves = np.exp(1j * np.outer([1, -1, 2, -2, 3], angle))
    weights = np.array([1.5, 0.7, 0.4, 0.3, 0.2]) * rng.normal(size=(n_shapes, 5)) + [2, 0, 0, 0, 0]
    shapes = np.exp(2j * np.pi * rng.uniform(size=(n_shapes, 1))) * (weights @ waves)
    return shapes + 0.05 * (rng.normal(size=shapes.shape) + 1j * rng.normal(size=shapes.shape))


def make_table(n_points: int, n_shapes: int = 30) -> bytes:
    """Make such outlines as a file of the paper's repository: all x, then all y, no header."""
    rows = to_columns(make_shapes(n_points, n_shapes), layout="blocks").tolist()
    return "".join(",".join(map(repr, row)) + "\n" for row in rows).encode()


def write_shapes(
    folder: Path, name: str, n_points: int, n_shapes: int = 30, *, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Write such outlines as the file ``<name>.npz`` that the registry knows."""
    shapes = make_shapes(n_points, n_shapes)
    path = folder / f"{name}.npz"
    np.savez(path, points=np.stack([shapes.real, shapes.imag], axis=-1))
    content = path.read_bytes()
    entry = replace(REGISTRY[name], n_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(REGISTRY, name, entry)
    return path
