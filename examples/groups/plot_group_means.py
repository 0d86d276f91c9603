"""
Predicted shapes with confidence ellipses
=========================================

:func:`shapelex.statistics.shape_lm` fits a linear model of shape. Its predictions for both sexes, at the same size,
have confidence regions by the bootstrap of residuals.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

rng = np.random.default_rng(1)
head = np.array([0, 2 + 1.2j, 4 + 1.8j, 6 + 1.7j, 8.5 + 0.4j, 8.2 - 0.6j, 5.5 - 1.4j, 3 - 1.5j, 1 - 0.9j, 3.6 + 0.5j])
sex, length = np.tile(["female", "male"], 20), np.exp(rng.normal(2.5, 0.2, size=40))
X = head + 0.2 * rng.normal(size=(40, 10, 2)) @ [1, 1j]
X[:, [2, 3]] += (0.5j * (sex == "male"))[:, None]
fish = sx.ShapeSet(length[:, None] * X, metadata={"sex": sex})

fit = sx.statistics.shape_lm("shape ~ log(size) + sex", fish)
print(fit)

figure, ax = plt.subplots(figsize=(5.4, 3.0), layout="constrained")
fit.predict({"size": fish.centroid_size.mean(), "sex": ["female", "male"]}).plot(ax=ax)
