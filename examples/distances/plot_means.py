"""
Mean shapes
===========

:func:`shapelex.mean_shape` minimizes the sum of squared Procrustes distances. The mean (dark) is drawn over the
shapes aligned to it, in four spaces.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

leaves = sx.datasets.make_leaves(30, 3, 400, random_state=3)
ovate = leaves.configurations[leaves.labels == "ovate"]
lobed = leaves.configurations[leaves.labels == "lobed"]
midlines = sx.datasets.make_worms(300, 1, 60, random_state=1).configurations[::10]
sets = {
    "landmarks": (sx.Landmarks(25, closed=True), ovate[:, ::16]),
    "closed cubic B-spline": (sx.BSpline(32), sx.BSpline(32).fit(lobed)),
    "open Hermite spline": (sx.HermiteSpline(6), sx.HermiteSpline(6).fit(midlines)),
    "closed Hermite spline": (sx.HermiteSpline(12, closed=True), sx.HermiteSpline(12, closed=True).fit(ovate)),
}

figure, axes = plt.subplots(2, 2, figsize=(6.4, 4.2), layout="constrained")
for ax, (name, (space, Z)) in zip(axes.flat, sets.items(), strict=True):
    sx.plotting.plot_mean(Z, space, points=True, ax=ax)
    spread = np.sqrt(np.mean(sx.distance(Z, sx.mean_shape(Z, space=space), space=space) ** 2))
    ax.set_title(f"{name}\nRMS distance to the mean {spread:.2f}", fontsize=9)
