"""Draw the geometry of planar shapes, from shapes made in code.

``python examples/geometry_figures.py FOLDER`` writes three figures: optimal rotation and alignment, a geodesic path,
and the mean shape of four kinds of configurations.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import shapelex as sx
from shapelex.spaces import Space

BLUE, ORANGE, GRAY = "#0072B2", "#D55E00", "#9A9A9A"  # safe for color-blind readers

STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "figure.dpi": 200,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.05,
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "round",
}


def worm_midlines(
    n_worms: int, rng: np.random.Generator, n_points: int = 400, bend: float = 0.5
) -> np.ndarray[Any, Any]:
    """Return undulating curves of random wave and bend, dense points (n_worms, n_points)."""
    s = np.linspace(0, 1, n_points)
    amplitude, phase = rng.uniform(0.7, 1.2, (n_worms, 1)), rng.normal(0, 0.35, (n_worms, 1))
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


def draw(axes: Axes, space: Space, configuration: np.ndarray[Any, Any], color: str, **line: Any) -> None:
    """Draw one configuration as the curve it stands for, with its points where it has few."""
    points = line.pop("points", False)
    curve = space.sample(configuration, np.linspace(0, 1, 600))
    axes.plot(curve.real, curve.imag, color=color, **line)
    if points:
        knots = configuration[: space.n_points] if isinstance(space, sx.HermiteSpline) else configuration
        axes.plot(knots.real, knots.imag, "o", color=color, ms=2.2, zorder=line.get("zorder", 2))


def clear_axes(axes: Axes, title: str = "") -> None:
    axes.set_aspect("equal")
    axes.set_anchor("N")
    axes.axis("off")
    axes.set_title(title)
    axes.margins(0.06)


def figure_alignment(folder: Path) -> Path:
    rng = np.random.default_rng(6)
    dense = worm_midlines(2, rng)
    landmarks = sx.Landmarks(20)
    hermite = sx.HermiteSpline(8, closed=True)
    t = np.linspace(0, 399, 20).astype(int)
    cells = np.exp(2j * np.pi * np.linspace(0, 1, 400, endpoint=False))
    blobs = np.array([cells + 0.25 * cells**-2 + 0.1 * cells**3, 1.1j * (cells + 0.32 * cells**-2 - 0.12j * cells**-1)])
    rows = [("20 landmarks", landmarks, dense[:, t]), ("closed Hermite spline, 8 knots", hermite, hermite.fit(blobs))]

    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    grid = figure.subplots(2, 3)
    for (name, space, (z, w)), axes_row in zip(rows, grid, strict=True):
        theta = f"{np.degrees(sx.optimal_rotation(z, w, space)):.0f}°".replace("-", "−")
        scale = space.norm(sx.align_onto(z, w, space))
        panels = [
            (space.preshape(z), f"pre-shapes\n({name})"),
            (
                sx.rotate_onto(z, w, space),
                f"z rotated by {theta}\n$d_P$ = {sx.distance(z, w, 'partial', space):.3f}",
            ),
            (
                sx.align_onto(z, w, space),
                f"z also scaled by {scale:.3f}\n$d_F$ = {sx.distance(z, w, 'full', space):.3f}",
            ),
        ]
        for axes, (first, title) in zip(axes_row, panels, strict=True):
            draw(axes, space, space.preshape(w), ORANGE, lw=1.4, points=True)
            draw(axes, space, first, BLUE, lw=1.4, points=True)
            clear_axes(axes, title)
        axes_row[0].plot([], [], color=BLUE, lw=1.4, label="z")
        axes_row[0].plot([], [], color=ORANGE, lw=1.4, label="w")
    grid[0, 0].legend(loc="upper left", frameon=False, handlelength=1.2, borderaxespad=0)
    return save(figure, folder / "alignment.png")


def figure_geodesic(folder: Path) -> Path:
    rng = np.random.default_rng(21)
    space = sx.HermiteSpline(6)
    start, end = space.fit(worm_midlines(2, rng, bend=2.5))
    times = np.linspace(0, 1, 7)
    path = sx.geodesic(start, end, times, space)
    rho = sx.distance(start, end, "geodesic", space)
    # One rotation for the whole path lays it flat: relative poses are part of the geodesic.
    values, axes_of_inertia = np.linalg.eigh(np.cov(np.stack([path.real.ravel(), path.imag.ravel()])))
    path = path * 1j / complex(*axes_of_inertia[:, np.argmax(values)])

    figure = Figure(figsize=(5.6, 1.9), layout="constrained")
    blend = mpl.colors.LinearSegmentedColormap.from_list("path", [BLUE, "#7B5EA7", ORANGE])
    for axes, t, shape in zip(figure.subplots(1, 7, sharex=True, sharey=True), times, path, strict=True):
        draw(axes, space, shape, mpl.colors.to_hex(blend(t)), lw=1.8, points=True)
        clear_axes(axes, f"$t$ = {t:.2f}" if t not in (0, 1) else f"$t$ = {t:.0f}")
    figure.suptitle(f"Geodesic between two open Hermite splines, ρ = {rho:.2f}", fontsize=8.5)
    return save(figure, folder / "geodesic.png")


def figure_means(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    t = np.linspace(0, 400, 24, endpoint=False).astype(int)
    leaves, spline, midline, outline = (
        sx.Landmarks(24, closed=True),
        sx.BSpline(24),
        sx.HermiteSpline(6),
        sx.HermiteSpline(16, closed=True),
    )
    sets = [
        ("landmarks", leaves, leaf_outlines(30, rng)[:, t]),
        ("closed cubic B-spline", spline, spline.fit(leaf_outlines(30, rng))),
        ("open Hermite spline", midline, midline.fit(worm_midlines(30, rng))),
        ("closed Hermite spline", outline, outline.fit(worm_outlines(30, rng))),
    ]
    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    for axes, (name, space, Z) in zip(figure.subplots(2, 2).ravel(), sets, strict=True):
        mean = sx.mean_shape(Z, space=space)
        upright = np.exp(-0.5j * np.angle(np.sum(space.sample(mean, space.parameters(200)) ** 2)))
        for shape in sx.align_to_mean(Z, space=space):
            draw(axes, space, upright * shape, GRAY, lw=0.5, alpha=0.55, zorder=1)
        draw(axes, space, upright * mean, BLUE, lw=1.8, points=True, zorder=3)
        spread = np.sqrt(np.mean(sx.distance(Z, mean, space=space) ** 2))
        clear_axes(axes, f"{name}\nRMS distance to the mean {spread:.2f}")
    return save(figure, folder / "means.png")


def save(figure: Figure, path: Path) -> Path:
    figure.savefig(path)
    return path


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        for make in (figure_alignment, figure_geodesic, figure_means):
            print(f"wrote {make(folder)}")


if __name__ == "__main__":
    main()
