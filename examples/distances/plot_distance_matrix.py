"""
Distances between all pairs
===========================

Full Procrustes distances between leaves of four species, sorted by species.
"""

import matplotlib.pyplot as plt

import shapelex as sx

leaves = sx.datasets.make_leaves(15, 4, random_state=0)
distances = sx.pairwise_distances(leaves)

figure, ax = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
sx.plotting.plot_distances(distances, labels=leaves.labels, ax=ax)
