"""
A figure for a paper
====================

All functions draw on the given axes, so panels are combined by matplotlib. The size of the figure is that of the
printed page, and text is then printed at the size it has in the figure.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import shapelex as sx

leaves = sx.datasets.make_leaves(30, 3, random_state=0)
model = sx.ShapeDictionary(6, 2, random_state=0, tol=1e-3).fit(leaves)

# 180 mm, two columns of many journals.
figure = plt.figure(figsize=(180 / 25.4, 80 / 25.4), layout="constrained")
panels = figure.subplot_mosaic("ABB;ACC")
sx.plotting.plot_mean(leaves.configurations[leaves.labels == "lobed"], leaves.space, ax=panels["A"])
sx.plotting.plot_atoms(model.atoms_, model.space_, usage=model.usage_, n_columns=6, ax=panels["B"])
examples = leaves[::15].configurations
sx.plotting.plot_reconstructions(examples, model.reconstruct(examples), model.space_, n_columns=6, ax=panels["C"])
for letter, ax in panels.items():
    ax.set_title(letter, loc="left", fontsize=11, fontweight="bold")

with tempfile.TemporaryDirectory() as folder:
    figure.savefig(Path(folder) / "figure.pdf")
