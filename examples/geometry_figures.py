"""Draw the geometry of planar shapes, from shapes made in code.

``python examples/geometry_figures.py FOLDER`` writes three figures: optimal rotation and alignment, a geodesic path,
and the mean shape of four kinds of configurations.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import shapelex as sx
from made_shapes import BLUE, GRAY, ORANGE, STYLE, clear_axes, draw, leaf_outlines, save, worm_midlines, worm_outlines


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


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        for make in (figure_alignment, figure_geodesic, figure_means):
            print(f"wrote {make(folder)}")


if __name__ == "__main__":
    main()
