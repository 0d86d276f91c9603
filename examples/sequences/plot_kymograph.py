"""
The body wave: kymograph and phase portrait
===========================================

The curvature along the body of a crawling worm against time (left): a bend that travels from head to tail is a slanted
stripe, and the slant changes where the worm crawls backwards. In the plane of the two main atoms (right), each wave is
one turn around the origin.
"""

import matplotlib.pyplot as plt

import shapelex as sx

worm = sx.datasets.make_worms(300, 1, random_state=3)
model = sx.ShapeDictionary(n_atoms=6, n_nonzero=3, tol=1e-3, random_state=0).fit(worm)
result = sx.sequences.encode_sequence(worm, model, switch_cost=0.001, fps=20)

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.8), width_ratios=[2, 1.2], layout="constrained")
result.plot("kymograph", X=worm, ax=left)
result.plot("portrait", ax=right)
