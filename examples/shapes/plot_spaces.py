"""
One outline in four spaces
==========================

A *space* defines what the coordinates of a configuration mean. The same dense outline of a leaf is represented by
points, by the control points of a cubic B-spline, by knots with tangents, and by Fourier coefficients.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx


def wave(frequency):
    """Return one complex Fourier function on [0, 1]."""
    return lambda t: np.exp(2j * np.pi * frequency * t)


leaf = sx.datasets.make_leaves(1, 1, 400, random_state=2).configurations[0]
spaces = {
    "Landmarks(30)": sx.Landmarks(30, closed=True),
    "BSpline(30)": sx.BSpline(30),
    "HermiteSpline(12)": sx.HermiteSpline(12, closed=True),
    "BasisSpace, 15 Fourier functions": sx.BasisSpace(
        [wave(k) for k in range(-7, 8)], np.linspace(0, 1, 9)[1:-1], closed=True
    ),
}

figure, axes = plt.subplots(1, 4, figsize=(6.4, 3), layout="constrained")
for ax, (name, space) in zip(axes, spaces.items(), strict=True):
    configuration = sx.resample(leaf, 30, closed=True) if isinstance(space, sx.Landmarks) else space.fit(leaf)
    ax.plot(leaf.real, leaf.imag, color="0.8", linewidth=3)
    has_points = not isinstance(space, sx.BasisSpace)
    sx.plotting.plot_shape(configuration, space, points=has_points, ax=ax)
    ax.set_title(f"{name}\n{space.n_coordinates} complex numbers".replace(", ", ",\n"), fontsize=8)
