"""
A shape as a sum of atoms
=========================

The complex weights of one worm (left), and its atoms, scaled and rotated by these weights, which add up to the worm
(right).
"""

import matplotlib.pyplot as plt

import shapelex as sx

space = sx.HermiteSpline(6)
X = space.fit(sx.datasets.make_worms(500, 2, 60, random_state=0).configurations[::2])
model = sx.ShapeDictionary(n_atoms=8, n_nonzero=3, space=space, tol=1e-4, random_state=0).fit(X)
worm = X[30]
code = model.encode(worm[None])

figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 2), width_ratios=[1, 2.6], layout="constrained")
sx.plotting.plot_code(code, ax=left)
left.set_title("complex weights", fontsize=9)
sx.plotting.plot_combination(code, model.atoms_, space, original=worm, ax=right)
right.set_title("scaled and rotated atoms add up to the worm", fontsize=9)
