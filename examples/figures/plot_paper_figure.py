"""
A figure for a paper
====================

A figure with the width of two columns of a journal, with panel letters, saved with TrueType fonts. All functions draw
on the given axes, so panels are combined by matplotlib.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import shapelex as sx

leaves = sx.datasets.make_leaves(30, 3, random_state=0)
model = sx.ShapeDictionary(6, 2, random_state=0, tol=1e-3).fit(leaves)

figure = plt.figure(figsize=sx.plotting.figure_size("double", 80), layout="constrained")
panels = figure.subplot_mosaic("ABB;ACC")
sx.plotting.plot_mean(leaves[leaves.labels == "lobed"], ax=panels["A"])
model.plot(n_columns=6, ax=panels["B"])
sx.plotting.plot_reconstructions(model, leaves, max_shapes=6, n_columns=6, ax=panels["C"])
sx.plotting.letter_panels(list(panels.values()))

with tempfile.TemporaryDirectory() as folder:
    saved = sx.plotting.save_figure(figure, Path(folder) / "figure.pdf")
    print(f"{saved.name}: {saved.stat().st_size / 1000:.0f} kB")
