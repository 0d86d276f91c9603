"""Draw the geometry of planar shapes, from shapes made in code.

``python examples/geometry_figures.py FOLDER`` writes three figures: optimal rotation and alignment, a geodesic path,
and the mean shape of four kinds of configurations.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import shapelex as sx
from made_shapes import STYLE, leaf_outlines, worm_midlines, worm_outlines
from shapelex.plotting import plot_geodesic, plot_mean, plot_shape
from shapelex.plotting.palette import BLUE, ORANGE


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
            plot_shape(space.preshape(w), space, points=True, color=ORANGE, label="w", ax=axes)
            plot_shape(first, space, points=True, color=BLUE, label="z", ax=axes)
            axes.set_title(title)
            axes.set_anchor("N")
    grid[0, 0].legend(loc="upper left", frameon=False, handlelength=1.2, borderaxespad=0, reverse=True)
    path = folder / "alignment.png"
    figure.savefig(path)
    return path


def figure_geodesic(folder: Path) -> Path:
    rng = np.random.default_rng(21)
    space = sx.HermiteSpline(6)
    start, end = space.fit(worm_midlines(2, rng, bend=2.5))
    figure = Figure(figsize=(5.6, 1.9), layout="constrained")
    plot_geodesic(start, end, space, points=True, linewidth=1.8, ax=figure.subplots())
    rho = sx.distance(start, end, "geodesic", space)
    figure.suptitle(f"Geodesic between two open Hermite splines, ρ = {rho:.2f}", fontsize=8.5)
    path = folder / "geodesic.png"
    figure.savefig(path)
    return path


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
        plot_mean(Z, space, points=True, ax=axes)
        spread = np.sqrt(np.mean(sx.distance(Z, sx.mean_shape(Z, space=space), space=space) ** 2))
        axes.set_title(f"{name}\nRMS distance to the mean {spread:.2f}")
        axes.set_anchor("N")
    path = folder / "means.png"
    figure.savefig(path)
    return path


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "figures")
    folder.mkdir(parents=True, exist_ok=True)
    with sx.plotting.style(STYLE):
        for make in (figure_alignment, figure_geodesic, figure_means):
            print(f"wrote {make(folder)}")


if __name__ == "__main__":
    main()
