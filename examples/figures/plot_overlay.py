"""
A set of shapes on top of each other
====================================

``overlay=True`` draws all shapes in one place, here aligned to their mean, in one panel per species.
"""

import matplotlib.pyplot as plt

import shapelex as sx

leaves = sx.datasets.make_leaves(30, 4, random_state=0)
figure, axes = plt.subplots(1, 4, figsize=(6.4, 2.4), layout="constrained")
for ax, species in zip(axes, dict.fromkeys(leaves.labels), strict=True):
    chosen = leaves[leaves.labels == species]
    aligned = sx.align_to_mean(chosen)
    sx.plotting.plot_shapes(aligned, chosen.space, overlay=True, linewidth=0.6, alpha=0.5, ax=ax)
    ax.set_title(species, fontsize=9)
