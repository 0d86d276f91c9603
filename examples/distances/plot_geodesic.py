"""
The geodesic between two shapes
===============================

:func:`shapelex.geodesic` returns shapes on the shortest path between two shapes, at constant speed.
"""

import matplotlib.pyplot as plt

import shapelex as sx

space = sx.HermiteSpline(6)
midlines = sx.datasets.make_worms(60, 1, 80, random_state=5).configurations
start, end = space.fit(midlines[[0, 44]])

figure, ax = plt.subplots(figsize=(6.4, 1.8), layout="constrained")
sx.plotting.plot_geodesic(start, end, space, points=True, linewidth=1.8, ax=ax)
ax.set_title(f"geodesic distance ρ = {sx.distance(start, end, 'geodesic', space):.2f}", fontsize=9)
