"""
The most similar shapes
=======================

:func:`shapelex.retrieve` finds the shapes that are nearest to a query, whatever their position, size, rotation, start
point, direction and handedness. Each row shows a query, dark, and its six nearest leaves with their distances.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

leaves = sx.datasets.make_leaves(30, 6, random_state=0)
# The first leaf of each of four forms.
queries = np.unique(leaves.labels, return_index=True)[1][:4]
indices, distances = sx.retrieve(leaves[queries], leaves, k=7)

figure, axes = plt.subplots(4, 7, figsize=(7, 4.4), layout="constrained")
for row, (query, found, at) in enumerate(zip(queries, indices, distances, strict=True)):
    # Neighbors as they were compared: with the start point and handedness of the query, and turned onto it.
    close = sx.register(leaves[found], to=leaves.configurations[query], reflection=True).configurations
    close = sx.align_onto(close, leaves.configurations[query], space=leaves.space)
    for ax, shape, distance in zip(axes[row], close, at, strict=True):
        color = "black" if ax is axes[row, 0] else "#4477aa"
        sx.plotting.plot_shape(shape, leaves.space, color=color, ax=ax)
        ax.set_title("query" if ax is axes[row, 0] else f"{distance:.2f}", fontsize=8)
