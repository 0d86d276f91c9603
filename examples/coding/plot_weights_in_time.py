"""
Weights along time
==================

The picture shows the moduli of the weights of each atom while a worm crawls. The codes of a
recording are a time series that can be analyzed like any other.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

worm = sx.datasets.make_worms(300, 1, random_state=2)
model = sx.ShapeDictionary(n_atoms=6, n_nonzero=3, tol=1e-3, random_state=0).fit(worm)
moduli = np.abs(model.transform(worm))

figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 2.8), width_ratios=[1, 5], layout="constrained")
sx.plotting.plot_atoms(model.atoms_, model.space_, n_columns=1, ax=left)
image = right.imshow(moduli.T[np.argsort(-model.usage_)], aspect="auto", cmap="magma", interpolation="nearest")
right.set(xlabel="frame", yticks=[], title="modulus of the weight")
figure.colorbar(image, ax=right)
