"""Draw the schematic pictures of the theory pages, from shapes made in code.

``python examples/theory_figures.py FOLDER`` writes three figures: from configurations to a shape, the three distances,
and the products of an outline with a target for every start point.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import shapelex as sx
from made_shapes import STYLE, leaf_outlines
from shapelex.plotting import plot_shape
from shapelex.plotting.palette import BLUE, GRAY, GREEN, ORANGE


def figure_preshapes(folder: Path) -> Path:
    """Draw configurations in several poses, their common pre-shape up to rotation, and an orbit on the sphere."""
    space = sx.Landmarks(400, closed=True)
    leaf = space.preshape(leaf_outlines(1, np.random.default_rng(5)))[0]
    poses = [(0.75, 0.3, -0.9 + 0.9j), (0.45, 2.3, 1.0 + 0.8j), (0.9, 4.4, 0.3 - 0.75j)]
    figure = Figure(figsize=(7.2, 2.1), layout="constrained")
    panels = figure.subplots(1, 4, width_ratios=[1.25, 1, 1, 1.1])

    unit = 15.0 * leaf
    for scale, angle, place in poses:
        _outline(scale * np.exp(1j * angle) * unit + place, space, panels[0], color=BLUE)
    _finish(panels[0], "configurations\nof one shape", 1.75)

    _outline(unit * np.exp(1j * poses[0][1]), space, panels[1], color=BLUE)
    panels[1].plot(0, 0, "+", color="black", markersize=6)
    _finish(panels[1], "pre-shape:\ncentered, norm 1", 1.75)

    for angle in np.linspace(0, 2 * np.pi, 9)[1:-1]:
        _outline(unit * np.exp(1j * (poses[0][1] + angle)), space, panels[2], color=GRAY, linewidth=0.7)
    _outline(unit * np.exp(1j * poses[0][1]), space, panels[2], color=BLUE)
    panels[2].plot(0, 0, "+", color="black", markersize=6)
    _finish(panels[2], "shape: all rotations\nof the pre-shape", 1.75)

    _draw_sphere(panels[3])
    figure.savefig(folder / "theory_preshapes.png")
    return folder / "theory_preshapes.png"


def _outline(z: np.ndarray[Any, Any], space: sx.Landmarks, axes: Axes, **style: Any) -> None:
    plot_shape(z, space, ax=axes, **style)


def _finish(axes: Axes, title: str, extent: float) -> None:
    axes.set(xlim=(-extent, extent), ylim=(-extent, extent), aspect="equal")
    axes.set_axis_off()
    axes.set_title(title)


def _draw_sphere(axes: Axes) -> None:
    """Draw the pre-shape sphere and two orbits on it, as circles of latitude seen from above the equator."""
    around = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(around), np.sin(around), color=GRAY, linewidth=1)
    tilt = 0.32
    for height, color, name in [(0.45, BLUE, "$[z]$"), (-0.25, ORANGE, "$[w]$")]:
        radius = np.sqrt(1 - height**2)
        x, y = radius * np.cos(around), height * np.sqrt(1 - tilt**2) + tilt * radius * np.sin(around)
        front = np.sin(around) <= 0
        axes.plot(np.where(front, x, np.nan), np.where(front, y, np.nan), color=color, linewidth=1.6)
        axes.plot(np.where(front, np.nan, x), np.where(front, np.nan, y), color=color, linewidth=0.8, linestyle=":")
        axes.annotate(name, (radius, y[0]), (6, 0), textcoords="offset points", color=color, va="center", fontsize=9)
        at = 1.38 * np.pi
        point = radius * np.cos(at), height * np.sqrt(1 - tilt**2) + tilt * radius * np.sin(at)
        axes.plot(*point, "o", color=color, markersize=4)
        label = name.strip("$[]")
        axes.annotate(f"${label}$", point, (0, 4), textcoords="offset points", color=color, ha="center", fontsize=9)
    _finish(axes, "orbits on the\npre-shape sphere", 1.35)


def figure_distances(folder: Path) -> Path:
    """Draw the three distances in the plane of two optimally rotated pre-shapes."""
    rho = 0.95
    w = np.exp(1j * rho)
    figure = Figure(figsize=(3.6, 3.0), layout="constrained")
    axes = figure.subplots()
    arc = np.exp(1j * np.linspace(0, np.pi / 2 + 0.1, 200))
    axes.plot(arc.real, arc.imag, color=GRAY, linewidth=1)
    axes.plot([0, 1.22], [0, 0], color=GRAY, linewidth=0.8)
    axes.plot([0, w.real], [0, w.imag], color=GRAY, linewidth=0.8)
    part = np.exp(1j * np.linspace(0, rho, 100))
    axes.plot(part.real, part.imag, color=BLUE, linewidth=2.2)
    axes.plot([1, w.real], [0, w.imag], color=GREEN, linewidth=1.8)
    axes.plot([w.real, w.real], [0, w.imag], color=ORANGE, linewidth=1.8)
    small = 0.2 * np.exp(1j * np.linspace(0, rho, 50))
    axes.plot(small.real, small.imag, color="black", linewidth=0.8)
    axes.text(0.25 * np.cos(rho / 2), 0.25 * np.sin(rho / 2), r"$\rho$", va="center", fontsize=9)
    middle = np.exp(1j * rho / 2)
    axes.annotate(
        r"$\rho$ (arc)", (middle.real, middle.imag), (6, 3), textcoords="offset points", color=BLUE, fontsize=9
    )
    axes.annotate(
        r"$d_P$", ((1 + w.real) / 2, w.imag / 2), (-9, -10), textcoords="offset points", color=GREEN, fontsize=9
    )
    axes.annotate(r"$d_F$", (w.real, w.imag / 2), (-15, 0), textcoords="offset points", color=ORANGE, fontsize=9)
    for point, name, shift, across in [
        (0, "0", (-7, -10), "center"),
        (1, "$z$ (optimally rotated)", (2, -12), "center"),
        (w, "$w$", (2, 6), "left"),
        (w.real, "$|p|\\,z$", (0, -13), "center"),
    ]:
        axes.plot(np.real(point), np.imag(point), "o", color="black", markersize=3.5)
        at = (float(np.real(point)), float(np.imag(point)))
        axes.annotate(name, at, shift, textcoords="offset points", ha=across, fontsize=9)
    axes.set(xlim=(-0.15, 1.45), ylim=(-0.15, 1.1), aspect="equal")
    axes.set_axis_off()
    figure.savefig(folder / "theory_distances.png")
    return folder / "theory_distances.png"


def figure_shifts(folder: Path) -> Path:
    """Draw two outlines with their start points, and the products for all shifts and both directions."""
    space = sx.Landmarks(80, closed=True)
    target, leaf = space.preshape(leaf_outlines(2, np.random.default_rng(2))[:, ::5])
    outline = space.reverse(space.roll(leaf, 27))
    found = sx.register(outline[None], space, to=target)
    figure = Figure(figsize=(6.4, 2.2), layout="constrained")
    first, second, curves = figure.subplots(1, 3, width_ratios=[1, 1, 2.2])
    for axes, z, title, color in [(first, target, "target $m$", ORANGE), (second, outline, "outline $z$", BLUE)]:
        upright = z * np.exp(-1j * np.angle(target[40] - target[0])) if axes is first else z
        plot_shape(upright, space, color=color, ax=axes)
        axes.plot(upright[0].real, upright[0].imag, "o", color="black", markersize=4)
        ahead = upright[4] - upright[0]
        axes.annotate(
            "",
            (upright[4].real + ahead.real, upright[4].imag + ahead.imag),
            (upright[0].real, upright[0].imag),
            arrowprops={"arrowstyle": "->", "color": "black"},
        )
        axes.set_title(title)
    shifts = np.arange(80)
    for variant, name, color in [(outline, "as it comes", GRAY), (space.reverse(outline), "reversed", BLUE)]:
        products = np.abs(space.inner(target, space.roll(np.tile(variant, (80, 1)), shifts)))
        curves.plot(shifts, products, color=color, label=name)
    best = float(np.sqrt(1 - found.distance_after[0] ** 2))
    curves.plot(found.shift, [best], "o", color="black", markersize=4)
    curves.set_title(f"best change: reversed, shift {found.shift[0]}")
    curves.set(xlabel="shift $s$ of the start point", ylabel="$|m^*\\Phi\\,g(z)|$", xlim=(0, 79), ylim=(0, 1.05))
    curves.spines[["top", "right"]].set_visible(False)
    curves.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.34, 0))
    figure.savefig(folder / "theory_shifts.png")
    return folder / "theory_shifts.png"


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "figures")
    folder.mkdir(parents=True, exist_ok=True)
    with sx.plotting.style(STYLE):
        for make in (figure_preshapes, figure_distances, figure_shifts):
            print(f"wrote {make(folder)}")


if __name__ == "__main__":
    main()
