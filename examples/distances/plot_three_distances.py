"""
Three Procrustes distances
==========================

Full, partial and geodesic distance are functions of each other, so they order pairs of shapes in the same way. They
agree for similar shapes and differ for distant ones.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

worms = sx.datasets.make_worms(120, random_state=0)
pairs = np.triu_indices(len(worms), 1)
distances = {kind: sx.pairwise_distances(worms, kind=kind)[pairs] for kind in ("geodesic", "partial", "full")}

figure, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
for kind, values in distances.items():
    order = np.argsort(distances["geodesic"])
    ax.plot(distances["geodesic"][order], values[order], linewidth=2, label=kind)
ax.set(xlabel="geodesic distance ρ", ylabel="distance", title="all pairs of 120 worms")
ax.legend(frameon=False)
