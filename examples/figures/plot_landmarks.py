"""
Landmarks that are no curve
===========================

Anatomical landmarks have no line through them. Draw them as points with numbers, with a mean shape per group.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

# Simulated wings with nine landmarks: the second group is wider.
rng = np.random.default_rng(0)
wing = np.array([0, 1.5 + 0.6j, 3.2 + 0.9j, 5 + 0.7j, 6 - 0.2j, 4.6 - 0.9j, 2.9 - 0.8j, 1.4 - 0.4j, 2.6 + 0.1j])
groups = {}
for name, width in {"narrow": 1.0, "wide": 1.25}.items():
    noise = 0.07 * (rng.normal(size=(25, 9, 2)) @ [1, 1j])
    groups[name] = wing.real + 1j * width * wing.imag + noise

reference = sx.mean_shape(np.concatenate(list(groups.values())))
figure, ax = plt.subplots(figsize=(6.4, 3), layout="constrained")
for (name, specimens), color in zip(groups.items(), ("tab:blue", "tab:orange"), strict=True):
    aligned = sx.rotate_onto(specimens, reference)
    ax.plot(aligned.real, aligned.imag, ".", color=color, markersize=3, alpha=0.4)
    mean = sx.rotate_onto(sx.mean_shape(specimens), reference)
    ax.plot(mean.real, mean.imag, "o", color=color, markersize=6, label=name)
for number, point in enumerate(reference, start=1):
    ax.annotate(str(number), (point.real, point.imag), xytext=(6, 6), textcoords="offset points", fontsize=8)
ax.set_aspect("equal")
ax.set_axis_off()
ax.legend(frameon=False)
