"""
Pieces of outlines
==================

:class:`shapelex.PieceCorrelations` learns small dictionaries of pieces of outlines. How often a piece occurs along an
outline is a feature for classifiers that can be drawn: here the pieces of leaves, of three lengths.
"""

import matplotlib.pyplot as plt

import shapelex as sx

leaves = sx.datasets.make_leaves(20, 6, random_state=0)
pieces = sx.PieceCorrelations(n_atoms=6, lengths=(1 / 12, 1 / 4, 1), space=leaves.space, random_state=0)
pieces.fit(leaves.configurations)

figure, axes = plt.subplots(3, 1, figsize=(6, 3.4), layout="constrained")
titles = ("a twelfth of the outline", "a quarter", "the whole outline, from any start point")
for ax, model, title in zip(axes, pieces.dictionaries_, titles, strict=True):
    sx.plotting.plot_atoms(model, n_columns=6, ax=ax)
    ax.set_title(title, fontsize=8)
