"""
Main modes of variation
=======================

:class:`shapelex.TangentPCA` is a principal component analysis in the tangent space at the mean shape. Each row goes
from −2 to +2 standard deviations along one mode.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

leaves = sx.datasets.make_leaves(60, 3, random_state=1)
ovate = leaves[leaves.labels == "ovate"]
pca = sx.TangentPCA(3).fit(ovate)
scores = pca.transform(ovate)

steps = np.linspace(-2, 2, 7)
figure, axes = plt.subplots(3, 1, figsize=(6.4, 3.6), layout="constrained")
for mode, ax in enumerate(axes):
    along = np.zeros((len(steps), 3))
    along[:, mode] = steps * scores[:, mode].std()
    shapes = pca.inverse_transform(along)
    upright = shapes * np.exp(-1j * np.angle(shapes[:, 50] - shapes[:, 0]))[:, None]
    sx.plotting.plot_shapes(upright, ovate.space, labels=[f"{step:+.1f}" for step in steps], n_columns=7, ax=ax)
    ax.set_title(f"mode {mode + 1}", fontsize=9)
