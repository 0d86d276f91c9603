"""
Smooth random deformations
==========================

:func:`shapelex.datasets.deform` shears and bends shapes as a whole and keeps their details. The paper makes its
largest dataset in this way.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

leaf = sx.datasets.make_leaves(1, 1, random_state=0)
figure, axes = plt.subplots(3, 1, figsize=(6.4, 4.2), layout="constrained")
for ax, amplitude in zip(axes, (0.1, 0.2, 0.3), strict=True):
    copies = sx.datasets.deform(leaf.configurations, 7, amplitude=amplitude, random_state=0)
    every = np.concatenate([leaf.configurations, sx.rotate_onto(copies, leaf.configurations, leaf.space)])
    sx.plotting.plot_shapes(leaf.space.preshape(every), leaf.space, n_columns=8, ax=ax)
    ax.set_title(f"the leaf and seven copies, amplitude={amplitude}", fontsize=9)
