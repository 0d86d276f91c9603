"""
Outlines of a label image
=========================

:func:`shapelex.outlines_from_mask` traces the outlines of the objects in a mask: as whole contours, as a fixed
number of points, or as curves. Holes and small fragments are reported.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

# Three objects: one has a hole, one a fragment, and one is cut off by the border.
rng = np.random.default_rng(3)
rows, columns = np.mgrid[:60, :110]
labels = np.zeros((60, 110), dtype=int)
for label, center in enumerate([20 + 30j, 58 + 28j, 98 + 40j], start=1):
    rays = columns + 1j * rows - center
    waves = 1 + sum(rng.normal(0, 0.25 / k) * np.cos(k * np.angle(rays) + rng.uniform(0, 6)) for k in (2, 3, 4))
    labels[np.abs(rays) < 15 * waves] = label
labels[26:32, 16:24] = 0
labels[4:9, 70:76] = 2

found = {
    "whole contours": sx.outlines_from_mask(labels, which="labels"),
    "24 points": sx.outlines_from_mask(labels, 24, which="labels"),
    "BSpline(16)": sx.outlines_from_mask(labels, space=sx.BSpline(16), which="labels"),
}
print(found["24 points"].summary())

figure, axes = plt.subplots(1, 3, figsize=(6.4, 1.8), layout="constrained")
for ax, (title, outlines) in zip(axes, found.items(), strict=True):
    ax.imshow(labels > 0, cmap="Greys", vmax=4, origin="upper", extent=(-0.5, 109.5, -0.5, 59.5))
    for outline in outlines.outlines:
        space = outlines.space or sx.Landmarks(len(outline), closed=True)
        sx.plotting.plot_shape(outline, space, points=len(outline) == 24, linewidth=1, ax=ax)
    ax.set(xlim=(-2, 111), ylim=(-2, 61), title=title)
    ax.set_axis_off()
