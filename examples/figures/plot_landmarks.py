"""
Landmarks that are no curve
===========================

A line through anatomical landmarks has no meaning: ``linestyle="none"`` draws only points, and ``points="numbers"``
numbers them. The fish are simulated, and become slender as they grow.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

rng = np.random.default_rng(0)
body = np.array([-1, -0.55 + 0.32j, 0.05 + 0.42j, 0.5 + 0.22j, 1 + 0.38j, 0.92, 1 - 0.38j, 0.5 - 0.2j, -0.1 - 0.36j])
body = np.append(body, [-0.72 + 0.1j, -0.45 - 0.02j])
length = np.sort(rng.uniform(40, 90, (80, 1)), axis=0)
depth = 1.25 - 0.006 * (length - 40)
noise = 0.025 * (rng.normal(size=(80, 11, 2)) @ [1, 1j])
fish = sx.ShapeSet(length / 2 * (body.real + 1j * depth * body.imag + noise))
model = sx.ShapeDictionary(4, 1, random_state=0).fit(fish)

figure, panels = plt.subplots(
    3, 1, figsize=sx.plotting.figure_size("single", 95), height_ratios=[1.6, 1, 1], layout="constrained"
)
sx.plotting.plot_mean(fish, points="numbers", linestyle="none", ax=panels[0])
model.plot(points=True, linestyle="none", n_columns=4, ax=panels[1])
sx.plotting.plot_reconstructions(model, fish, max_shapes=4, linestyle="none", n_columns=4, ax=panels[2])
sx.plotting.letter_panels(panels)
