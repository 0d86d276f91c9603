"""
Registration of outlines
========================

A closed outline has no natural first point. :func:`shapelex.register` gives all outlines a common start point (orange
dots) and direction, so that corresponding points are compared.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

leaves = sx.datasets.make_leaves(24, 3, 80, random_start=True, random_state=2)
leaves = leaves[leaves.labels == "ovate"]
registered = sx.OutlineRegistration().fit_transform(leaves)

figure, axes = plt.subplots(1, 2, figsize=(6.4, 2.6), layout="constrained")
for ax, (title, shapes) in zip(axes, {"as they come": leaves, "registered": registered}.items(), strict=True):
    for z in sx.align_to_mean(shapes):
        sx.plotting.plot_shape(z, shapes.space, color="tab:blue", linewidth=0.5, alpha=0.5, ax=ax)
        ax.plot(z[0].real, z[0].imag, "o", color="tab:orange", markersize=3.5, zorder=4)
    mean = sx.mean_shape(shapes)
    sx.plotting.plot_shape(mean, shapes.space, color="black", linewidth=1.4, ax=ax)
    spread = np.sqrt(np.mean(sx.distance(shapes, mean, space=shapes.space) ** 2))
    ax.set_title(f"24 leaves, {title}\nRMS distance to the mean {spread:.2f}", fontsize=9)
