"""
Features that need no registration
==================================

:class:`shapelex.OutlineConvolutions` computes features of closed outlines that do not depend on the start point. Here
every leaf starts at a random point. Distances between the outlines as they come say little; the features separate the
species.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shapelex as sx

leaves = sx.datasets.make_leaves(25, 5, random_start=True, random_state=0)
maps = {
    "tangent coordinates": sx.TangentPCA(2, space=leaves.space),
    "convolutions": make_pipeline(sx.OutlineConvolutions(leaves.space, random_state=0), StandardScaler(), PCA(2)),
}
figure, axes = plt.subplots(1, 2, figsize=(6.4, 3), layout="constrained")
for ax, (name, transformer) in zip(axes, maps.items(), strict=True):
    places = transformer.fit_transform(leaves.configurations)
    for label in dict.fromkeys(leaves.labels):
        chosen = leaves.labels == label
        ax.scatter(*places[chosen].T, s=14, label=label)
    ax.set(title=name, xlabel="first component", ylabel="second component", xticks=[], yticks=[])
figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside right")
