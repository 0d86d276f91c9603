"""Shapes made in code, and what the figures that the examples draw of them add to the style of the package."""

from typing import Any

import numpy as np

STYLE: Any = {"savefig.dpi": 200, "savefig.bbox": "tight", "savefig.pad_inches": 0.05}


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


def fish_landmarks(n_fish: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return 11 landmarks of made fish that become slender as they grow, in mm; the larger ones come last."""
    mean = np.array(
        [-1, -0.55 + 0.32j, 0.05 + 0.42j, 0.5 + 0.22j, 1 + 0.38j, 0.92, 1 - 0.38j, 0.5 - 0.2j, -0.1 - 0.36j]
    )
    mean = np.append(mean, [-0.72 + 0.1j, -0.45 - 0.02j])
    length = np.sort(rng.uniform(40, 90, (n_fish, 1)), axis=0)
    slender = 1.25 - 0.006 * (length - 40)
    noise = 0.025 * (rng.normal(size=(n_fish, len(mean), 2)) @ [1, 1j])
    pose = np.exp(1j * rng.uniform(0, 2 * np.pi, (n_fish, 1)))
    fish: np.ndarray[Any, Any] = pose * length / 2 * (mean.real + 1j * slender * mean.imag + noise)
    return fish
