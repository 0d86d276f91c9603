"""Draw what registration and imputation do, from shapes made in code.

``python examples/registration_figures.py FOLDER`` writes two figures: leaves before and after registration, and
landmarks that were hidden and filled in.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import shapelex as sx
from made_shapes import STYLE, leaf_outlines, worm_midlines
from shapelex.plotting import plot_shape
from shapelex.plotting.palette import BLUE, ORANGE


def figure_registration(folder: Path) -> Path:
    rng = np.random.default_rng(2)
    space = sx.Landmarks(80, closed=True)
    leaves = leaf_outlines(24, rng)[:, ::5]
    given = space.roll(leaves, rng.integers(80, size=24))
    found = sx.register(given, space)
    figure = Figure(figsize=(5.6, 2.4), layout="constrained")
    for axes, (title, Z) in zip(
        figure.subplots(1, 2), [("as they come", given), ("registered", found.configurations)], strict=True
    ):
        _draw_starts(axes, Z, space)
        spread = np.sqrt(np.mean(sx.distance(Z, sx.mean_shape(Z, space=space), space=space) ** 2))
        axes.set_title(f"24 leaves, {title}\nRMS distance to the mean {spread:.2f}")
    path = folder / "registration.png"
    figure.savefig(path)
    return path


def _draw_starts(axes: Axes, Z: np.ndarray[Any, Any], space: sx.Landmarks) -> None:
    """Draw shapes in a common pose, their mean, and where each starts."""
    for z in sx.align_to_mean(Z, space=space):
        plot_shape(z, space, color=BLUE, linewidth=0.5, alpha=0.5, ax=axes)
        axes.plot(z[0].real, z[0].imag, "o", color=ORANGE, markersize=3.5, markeredgewidth=0, zorder=4)
    plot_shape(sx.mean_shape(Z, space=space), space, color="black", linewidth=1.4, ax=axes)


def figure_imputation(folder: Path) -> Path:
    rng = np.random.default_rng(4)
    X = worm_midlines(120, rng, bend=2.0)[:, np.linspace(0, 399, 24).astype(int)]
    X = X + 0.004 * (rng.normal(size=(*X.shape, 2)) @ [1, 1j])
    model = sx.ShapeDictionary(n_atoms=10, n_nonzero=3, random_state=0, tol=1e-3).fit(X[:100])
    ranks = np.argsort(np.argsort(rng.random((20, 24)), axis=1), axis=1)
    incomplete = np.where(ranks < 5, np.nan, X[100:])
    found = sx.impute(incomplete, model)
    figure = Figure(figsize=(5.6, 1.2), layout="constrained")
    for axes, true, filled, hidden in zip(
        figure.subplots(1, 4), X[100:], found.configurations, found.is_imputed, strict=False
    ):
        turn = np.exp(-1j * np.angle(true[-1] - true[0]))
        plot_shape(turn * true, color="0.75", linewidth=1.0, ax=axes)
        plot_shape((turn * true)[~hidden], color="black", points=True, linestyle="none", ax=axes)
        ring = (turn * true)[hidden]
        axes.plot(ring.real, ring.imag, "o", color="0.5", markersize=6, fillstyle="none", label="true")
        dots = (turn * filled)[hidden]
        axes.plot(dots.real, dots.imag, "o", color=ORANGE, markersize=3.2, label="filled in")
        axes.margins(0.08, 0.2)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", frameon=False, ncols=2)
    figure.suptitle(
        f"Landmarks filled in; RMS error {100 * found.hidden_error:.2f} % of the centroid size, "
        f"by the mean shape {100 * found.hidden_error_of_mean:.2f} %",
        fontsize=8.5,
    )
    path = folder / "imputation.png"
    figure.savefig(path)
    return path


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "figures")
    folder.mkdir(parents=True, exist_ok=True)
    with sx.plotting.style(STYLE):
        for make in (figure_registration, figure_imputation):
            print(f"wrote {make(folder)}")


if __name__ == "__main__":
    main()
