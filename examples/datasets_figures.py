"""Draw shapes that come with shapelex, and outlines of a mask made in code.

``python examples/datasets_figures.py FOLDER`` writes both pictures.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import shapelex as sx
from made_shapes import STYLE


def figure_datasets(path: Path) -> Path:
    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    parts: Any = figure.subfigures(3, 1, height_ratios=[1.5, 1, 0.8])
    digits = sx.datasets.load_digits_outlines(space=sx.BSpline(24))
    chosen = [np.flatnonzero(digits.labels == str(label))[repeat] for repeat in range(2) for label in range(10)]
    leaves = sx.datasets.make_leaves(2, 6, random_state=0)[:6]
    worms = sx.datasets.make_worms(80, random_state=1)[::10]
    rows = [
        ("load_digits_outlines", digits[chosen], digits.labels[chosen], 10),
        ("make_leaves", leaves, leaves.labels, 6),
        ("make_worms, every tenth frame", worms, worms.metadata["frame"].astype(str), 8),
    ]
    for part, (title, shapes, labels, n_columns) in zip(parts, rows, strict=True):
        part.suptitle(title, fontsize=8.5)
        sx.plotting.plot_shapes(
            shapes.configurations, shapes.space, labels=list(labels), n_columns=n_columns, ax=part.subplots()
        )
    figure.savefig(path)
    return path


def mask_of_blobs(rng: np.random.Generator, height: int = 60, width: int = 110) -> np.ndarray[Any, Any]:
    """Return a label image with a hole, a fragment, and an object that is cut by the border."""
    rows, columns = np.mgrid[:height, :width]
    labels = np.zeros((height, width), dtype=int)
    for label, middle in enumerate([20 + 30j, 58 + 28j, 98 + 40j], start=1):
        rays = columns + 1j * rows - middle
        waves = 1 + sum(rng.normal(0, 0.25 / k) * np.cos(k * np.angle(rays) + rng.uniform(0, 6)) for k in (2, 3, 4))
        labels[np.abs(rays) < 15 * waves] = label
    labels[26:32, 16:24] = 0
    labels[4:9, 70:76] = 2
    return labels


def figure_outlines(path: Path) -> Path:
    figure = Figure(figsize=(5.6, 1.7), layout="constrained")
    labels = mask_of_blobs(np.random.default_rng(3))
    ways = {
        "whole contours": sx.outlines_from_mask(labels, which="labels"),
        "24 points": sx.outlines_from_mask(labels, 24, which="labels"),
        "BSpline(16)": sx.outlines_from_mask(labels, space=sx.BSpline(16), which="labels"),
    }
    for ax, (title, found) in zip(figure.subplots(1, 3), ways.items(), strict=True):
        ax.imshow(labels > 0, cmap="Greys", vmax=4, origin="upper", extent=(-0.5, 109.5, -0.5, 59.5))
        for outline in found.outlines:
            space = sx.Landmarks(len(outline), closed=True) if found.space is None else found.space
            sx.plotting.plot_shape(outline, space, points=len(outline) == 24, linewidth=1, ax=ax)
        # The same window for all: a fitted curve may leave the image.
        ax.set(xlim=(-2, 111), ylim=(-2, 61), title=title)
        ax.set_axis_off()
    figure.savefig(path)
    print(ways["24 points"].summary())
    return path


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "figures")
    folder.mkdir(parents=True, exist_ok=True)
    with sx.plotting.style(STYLE):
        print(f"wrote {figure_datasets(folder / 'datasets.png')}")
        print(f"wrote {figure_outlines(folder / 'outlines.png')}")


if __name__ == "__main__":
    main()
