"""
Three ways to code
==================

For the same atoms, orthogonal matching pursuit, order recursive matching pursuit (the paper's) and exact search
differ in how well they choose the atoms of each shape.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

worms = sx.datasets.make_worms(500, 2, random_state=0)[::2]
model = sx.ShapeDictionary(n_atoms=10, n_nonzero=3, tol=1e-3, random_state=0).fit(worms)
curves = {}
for method, name in {"omp": "orthogonal pursuit", "ormp": "order recursive pursuit", "exact": "exact search"}.items():
    curves[name] = {}
    for n_nonzero in range(1, 6):
        codes = sx.encode(worms, model.atoms_, n_nonzero, method)
        errors = sx.distance(worms, sx.decode(codes, model.atoms_), space=worms.space)
        curves[name][n_nonzero] = np.sqrt(np.mean(errors**2))

figure, ax = plt.subplots(figsize=(4.6, 3), layout="constrained")
sx.plotting.plot_rmse_curves(curves, ax=ax)
ax.set_title("training error of three coders with the same atoms", fontsize=9)
