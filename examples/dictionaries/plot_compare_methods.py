"""
Comparing with other methods
============================

:func:`shapelex.compare` computes the error of several methods for each number of atoms or components per shape: on
the shapes that were learned from (training) and on held-out shapes.
"""

import matplotlib.pyplot as plt

import shapelex as sx

worms = sx.datasets.make_worms(60, 6, random_state=0)
table = sx.compare(
    worms, ["shape dictionary", "align-first", "tangent PCA"], [1, 2, 3, 4], n_atoms=8, cv=3, random_state=0
)
print(table)

frame = table.to_dataframe()
figure, axes = plt.subplots(1, 2, figsize=(6.4, 2.8), layout="constrained", sharey=True)
for ax, (split, title) in zip(axes, {"train": "training", "held out": "held out"}.items(), strict=True):
    sx.plotting.plot_rmse_curves(frame[frame["split"] == split], ax=ax)
    ax.set_title(title, fontsize=9)
