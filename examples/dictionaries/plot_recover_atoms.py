"""
Finding the true atoms
======================

Shapes are simulated as sums of two of six known atoms, with noise. The learned atoms (orange) agree with the true
ones (gray).
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

sample = sx.datasets.make_from_dictionary(1000, n_atoms=6, n_nonzero=2, noise=0.02, random_state=0)
model = sx.ShapeDictionary(6, 2, tie=0, random_state=0, tol=1e-4).fit(sample.shapes)
space = model.space_
distances = sx.pairwise_distances(sample.atoms, model.atoms_, space=space)
partner = distances.argmin(axis=1)
print("distance from each true atom to the nearest learned one:", np.round(distances.min(axis=1), 4))

figure, axes = plt.subplots(1, 6, figsize=(6.4, 1.6), layout="constrained")
for ax, true, learned, distance in zip(axes, sample.atoms, model.atoms_[partner], distances.min(axis=1), strict=True):
    sx.plotting.plot_shape(true, space, color="0.8", linewidth=5, ax=ax)
    sx.plotting.plot_shape(sx.rotate_onto(learned, true, space), space, color="tab:orange", ax=ax)
    ax.set_title(f"{distance:.4f}", fontsize=8)
