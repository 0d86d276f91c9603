"""Shapes made in code, and the style of the figures that the examples draw of them."""

from typing import Any

import numpy as np

STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "figure.dpi": 200,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.05,
}


def worm_midlines(
    n_worms: int, rng: np.random.Generator, n_points: int = 400, bend: float = 0.5, wave: float = 0.35
) -> np.ndarray[Any, Any]:
    """Return undulating curves of random wave and bend, dense points (n_worms, n_points)."""
    s = np.linspace(0, 1, n_points)
    amplitude, phase = rng.uniform(0.7, 1.2, (n_worms, 1)), wave * rng.normal(size=(n_worms, 1))
    bends = bend * rng.normal(size=(n_worms, 1))
    direction = amplitude * np.sin(2 * np.pi * 1.2 * s + phase) + bends * (s - 0.5)
    pose = np.exp(1j * rng.uniform(0, 2 * np.pi, (n_worms, 1)))
    midlines: np.ndarray[Any, Any] = pose * np.cumsum(np.exp(1j * direction), axis=1) / n_points
    return midlines


def worm_outlines(n_worms: int, rng: np.random.Generator, n_points: int = 400) -> np.ndarray[Any, Any]:
    """Return closed outlines around worm midlines."""
    midlines = worm_midlines(n_worms, rng, n_points // 2)
    normals = 1j * np.gradient(midlines, axis=1)
    normals /= np.abs(normals)
    s = np.linspace(0, 1, n_points // 2)
    half_width = 0.055 * np.sqrt(np.sin(np.pi * np.clip(s, 0.004, 0.996)))
    return np.concatenate([midlines + half_width * normals, (midlines - half_width * normals)[:, ::-1]], axis=1)


def leaf_outlines(n_leaves: int, rng: np.random.Generator, n_points: int = 400) -> np.ndarray[Any, Any]:
    """Return slightly lobed leaves from the round base to the pointed tip and back."""
    angle = np.linspace(0, 2 * np.pi, n_points, endpoint=False)
    width = rng.uniform(0.38, 0.62, (n_leaves, 1))
    taper, lobes = rng.uniform(0.1, 0.5, (n_leaves, 1)), rng.normal(0, 0.06, (n_leaves, 1))
    curl = rng.normal(0, 0.12, (n_leaves, 1))
    x = -np.cos(angle)
    profile = (1 + x) ** 0.6 * (1 - x) ** (0.7 + taper)
    y = -width * np.sign(np.sin(angle)) * profile * (1 + lobes * np.cos(8 * angle))
    pose = np.exp(1j * rng.uniform(0, 2 * np.pi, (n_leaves, 1)))
    leaves: np.ndarray[Any, Any] = pose * (x + 1j * (y + curl * x**2))
    return leaves
