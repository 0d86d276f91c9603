"""
A dictionary of worms
=====================

Eight atoms learned from the midlines of simulated worms, with the share of the worms that use each atom, and four
worms (gray) under their approximations by three atoms each.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

space = sx.HermiteSpline(6)
X = space.fit(sx.datasets.make_worms(500, 2, 60, random_state=0).configurations[::2])
model = sx.ShapeDictionary(n_atoms=8, n_nonzero=3, space=space, tol=1e-4, random_state=0).fit(X)
print(f"{len(X)} worms: RMSE {100 * model.rmse_:.2f} % on the shapes learned from, after {model.n_iter_} iterations")

figure = plt.figure(figsize=(6.4, 3.9), layout="constrained")
upper, lower = figure.subfigures(2, 1, height_ratios=[1.6, 1])
upper.suptitle("Atoms: number, and share of the worms that use it", fontsize=9)
sx.plotting.plot_atoms(model.atoms_, space, usage=model.usage_, n_columns=4, linewidth=1.6, ax=upper.subplots())
chosen = np.argsort(model.errors(X))[np.linspace(0, len(X) - 1, 4).astype(int)]
lower.suptitle(f"From the best to the worst of {len(X)} approximations, with their errors", fontsize=9)
sx.plotting.plot_reconstructions(X[chosen], model.reconstruct(X[chosen]), space, n_columns=4, ax=lower.subplots())
