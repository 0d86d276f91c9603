"""
Optimal rotation and alignment
==============================

Two pre-shapes (centered, of norm 1), the first rotated onto the second, and the first also scaled. The remaining
distances are the partial and the full Procrustes distance.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

worms = sx.datasets.make_worms(60, random_state=6)
circle = np.exp(2j * np.pi * np.linspace(0, 1, 400, endpoint=False))
cells = np.array([circle + 0.25 * circle**-2 + 0.1 * circle**3, 1.1j * (circle + 0.32 * circle**-2 - 0.12j / circle)])
hermite = sx.HermiteSpline(8, closed=True)
pairs = [
    ("20 landmarks", worms.space, worms.configurations[[3, 40]]),
    ("closed Hermite spline", hermite, hermite.fit(cells)),
]

figure, grid = plt.subplots(2, 3, figsize=(6.4, 4.2), layout="constrained")
for (name, space, (z, w)), axes in zip(pairs, grid, strict=True):
    angle = np.degrees(sx.optimal_rotation(z, w, space))
    panels = {
        f"pre-shapes\n({name})": space.preshape(z),
        f"rotated by {angle:.0f}°\n$d_P$ = {sx.distance(z, w, 'partial', space):.3f}": sx.rotate_onto(z, w, space),
        f"also scaled\n$d_F$ = {sx.distance(z, w, 'full', space):.3f}": sx.align_onto(z, w, space),
    }
    for ax, (title, moved) in zip(axes, panels.items(), strict=True):
        sx.plotting.plot_shape(space.preshape(w), space, points=True, color="tab:orange", label="w", ax=ax)
        sx.plotting.plot_shape(moved, space, points=True, color="tab:blue", label="z", ax=ax)
        ax.set_title(title, fontsize=9)
grid[0, 0].legend(frameon=False, fontsize=8)
