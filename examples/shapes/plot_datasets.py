"""
Shapes that come with shapelex
==============================

``shapelex.datasets`` offers outlines of handwritten digits, and simulated leaves and worms whose true parameters are
known.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

digits = sx.datasets.load_digits_outlines(space=sx.BSpline(24))
leaves = sx.datasets.make_leaves(2, 6, random_state=0)
worms = sx.datasets.make_worms(80, random_state=1)

first_of_each = [np.flatnonzero(digits.labels == str(label))[0] for label in range(10)]
rows = [
    ("load_digits_outlines", digits[first_of_each], digits.labels[first_of_each]),
    ("make_leaves", leaves[::2], leaves.labels[::2]),
    ("make_worms, every tenth frame", worms[::10], worms.metadata["frame"][::10].astype(str)),
]

figure = plt.figure(figsize=(6.4, 3.8), layout="constrained")
for part, (title, shapes, labels) in zip(figure.subfigures(3, 1), rows, strict=True):
    part.suptitle(title, fontsize=9)
    sx.plotting.plot_shapes(
        shapes.configurations, shapes.space, labels=list(labels), n_columns=len(shapes), ax=part.subplots()
    )
