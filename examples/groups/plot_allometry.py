"""
Allometry
=========

:func:`shapelex.statistics.allometry` describes how shape changes with size: the regression score of each shape, and
the predicted shapes of small and large specimens. Here, large leaves are narrower than small ones.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

rng = np.random.default_rng(0)
leaves = sx.datasets.make_leaves(80, 1, 120, variation=0.08, random_state=0)
shapes = leaves.space.centered(leaves.configurations)
sizes = np.exp(rng.normal(1.0, 0.4, size=80))
# Turn the long axis of each leaf along x, and shrink its width.
flat = np.exp(-0.5j * np.angle(np.sum(shapes**2, axis=1)))[:, None] * shapes
narrow = flat.real + 1j * flat.imag * (sizes[:, None] ** -0.25)
grown = leaves.replace(configurations=sizes[:, None] * leaves.space.preshape(narrow), preparation=None)

found = sx.statistics.allometry(grown, permutations=199)
print(found)

figure, ax = plt.subplots(figsize=(5.0, 3.6), layout="constrained")
found.plot(ax=ax)
