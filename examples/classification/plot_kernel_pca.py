"""
A map of shapes by a kernel
===========================

:class:`shapelex.ProcrustesKernel` computes a kernel from full Procrustes distances, for support vector machines or,
as here, for a map of all shapes by kernel principal component analysis.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import KernelPCA
from sklearn.pipeline import make_pipeline

import shapelex as sx

leaves = sx.datasets.make_leaves(30, 6, random_state=0)
pipeline = make_pipeline(sx.ProcrustesKernel(space=leaves.space), KernelPCA(2, kernel="precomputed"))
places = pipeline.fit_transform(leaves.configurations)

figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
for label in dict.fromkeys(leaves.labels):
    chosen = leaves.labels == label
    ax.scatter(*places[chosen].T, s=16, label=label)
ax.set(xlabel="first component", ylabel="second component")
ax.legend(frameon=False, fontsize=8)
