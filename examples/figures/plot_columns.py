"""
Colors by columns, scale bars and panel letters
===============================================

``shapes.plot(color=...)`` colors a set by any of its columns. The shapes are drawn side by side with a scale bar, or
over each other with a mean for each category.
"""

import matplotlib.pyplot as plt

import shapelex as sx

leaves = sx.datasets.make_leaves(8, 3, random_state=0)
leaves = leaves.replace(metadata={"size": leaves.centroid_size, "units": ["cm"] * len(leaves)})

figure, panels = plt.subplots(1, 2, figsize=sx.plotting.figure_size("double", 72), layout="constrained")
leaves.plot(color="size", pose="mean", ax=panels[0])
leaves.plot(color="label", overlay=True, pose="mean", ax=panels[1])
sx.plotting.letter_panels(panels)
