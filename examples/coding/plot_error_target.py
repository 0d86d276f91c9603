"""
An error target instead of a number of atoms
============================================

With ``tol``, :func:`shapelex.encode` uses as many atoms as each shape needs to reach the target. Simple shapes get
short codes.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

worms = sx.datasets.make_worms(600, 1, random_state=0)
model = sx.ShapeDictionary(n_atoms=12, n_nonzero=4, tol=1e-3, random_state=0).fit(worms)

figure, axes = plt.subplots(1, 3, figsize=(6.4, 2.2), layout="constrained", sharey=True)
for ax, target in zip(axes, (0.2, 0.1, 0.05), strict=True):
    codes = sx.encode(worms, model.atoms_, tol=target, method="ormp")
    numbers = np.bincount(codes.counts(), minlength=13)
    ax.bar(np.arange(13), numbers / len(worms), color="tab:blue")
    ax.set(xlabel="atoms used", xlim=(0.3, 12.7))
    ax.set_title(f"error at most {target}", fontsize=9)
axes[0].set_ylabel("share of the worms")
