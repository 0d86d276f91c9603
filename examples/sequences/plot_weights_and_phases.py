"""
Weights along time: amplitude and phase
=======================================

The complex weights of a crawling worm. In the upper picture, the height of a row is the modulus of the weight, and its
color is the phase: the rotation of the atom in a pose that is tracked from frame to frame. Below are the same phases as
curves.
"""

import matplotlib.pyplot as plt

import shapelex as sx

worm = sx.datasets.make_worms(300, 1, random_state=2)
model = sx.ShapeDictionary(n_atoms=5, n_nonzero=3, tol=1e-3, random_state=0).fit(worm)
result = sx.sequences.encode_sequence(worm, model, switch_cost=0.002, fps=20)

figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 4.4), height_ratios=[1.4, 1], layout="constrained")
result.plot("weights", ax=above)
result.plot("phases", ax=below)
