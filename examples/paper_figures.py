"""Draw figures for a paper: colors by columns, numbered landmarks, scale bars and panel letters.

``python examples/paper_figures.py FOLDER`` writes two figures, each as PNG for the documentation and as PDF, SVG, EPS
and TIFF for a journal.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import shapelex as sx
from made_shapes import fish_landmarks

FORMATS = ("png", "pdf", "svg", "eps", "tiff")


def figure_columns() -> Figure:
    """Leaves side by side, colored by size, and over each other, colored by form, as wide as two columns."""
    leaves = sx.datasets.make_leaves(8, 3, random_state=0)
    leaves = leaves.replace(metadata={"size": leaves.centroid_size, "units": ["cm"] * len(leaves)})
    figure = Figure(figsize=sx.plotting.figure_size("double", 72), layout="constrained")
    panels = figure.subplots(1, 2)
    leaves.plot(color="size", pose="mean", ax=panels[0])
    leaves.plot(color="label", overlay=True, pose="mean", ax=panels[1])
    sx.plotting.letter_panels(panels)
    return figure


def figure_landmarks() -> Figure:
    """Landmarks that follow no curve: the mean with numbers, and a dictionary, as wide as one column."""
    rng = np.random.default_rng(0)
    fish = sx.ShapeSet(fish_landmarks(80, rng))
    model = sx.ShapeDictionary(4, 1, random_state=0).fit(fish)
    figure = Figure(figsize=sx.plotting.figure_size("single", 95), layout="constrained")
    panels = figure.subplots(3, 1, height_ratios=[1.6, 1, 1])
    sx.plotting.plot_mean(fish, points="numbers", linestyle="none", ax=panels[0])
    model.plot(points=True, linestyle="none", n_columns=4, ax=panels[1])
    sx.plotting.plot_reconstructions(model, fish, max_shapes=4, linestyle="none", n_columns=4, ax=panels[2])
    sx.plotting.letter_panels(panels)
    return figure


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "figures")
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in {"columns": figure_columns, "landmarks": figure_landmarks}.items():
        figure = make()
        for ending in FORMATS:
            dpi = 150 if ending == "png" else None
            print(f"wrote {sx.plotting.save_figure(figure, folder / f'{name}.{ending}', dpi=dpi)}")


if __name__ == "__main__":
    main()
