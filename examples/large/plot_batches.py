"""
Learning from batches
=====================

``partial_fit`` updates a dictionary with one batch of shapes after the other, as they arrive. The error on shapes
that were not learned from approaches that of a fit to all shapes at once.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

worms = sx.datasets.make_worms(2000, 3, random_state=0)
rng = np.random.default_rng(0)
X = rng.permutation(worms.configurations)
train, test = X[:5000], X[5000:]
options = {"n_nonzero": 3, "coder": "ormp", "n_swaps": 0, "random_state": 0}

model = sx.ShapeDictionary(10, **options)
errors = []
for batch in np.array_split(train, 25):
    model.partial_fit(batch)
    errors.append(100 * np.sqrt(np.mean(model.errors(test) ** 2)))
whole = sx.ShapeDictionary(10, **options, tol=1e-4).fit(train)

figure, ax = plt.subplots(figsize=(4.8, 3), layout="constrained")
ax.plot(200 * np.arange(1, 26), errors, label="batches of 200")
ax.axhline(100 * np.sqrt(np.mean(whole.errors(test) ** 2)), color="0.5", linestyle="--", label="all shapes at once")
ax.set(xlabel="shapes seen", ylabel="RMSE in percent, held-out shapes", ylim=(0, None))
ax.legend(frameon=False)
