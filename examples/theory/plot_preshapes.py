"""
From configurations to a shape
==============================

The panels show configurations of one shape in several poses, the centered pre-shape of norm 1, its rotations, and two
orbits on the sphere of pre-shapes.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx
from shapelex.plotting import plot_shape
from shapelex.plotting.palette import BLUE, GRAY, ORANGE


def finish(axes, title, extent):
    axes.set(xlim=(-extent, extent), ylim=(-extent, extent), aspect="equal")
    axes.set_axis_off()
    axes.set_title(title, fontsize=9)


def draw_sphere(axes):
    """Draw the pre-shape sphere and two orbits on it, as circles of latitude seen from above the equator."""
    around = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(around), np.sin(around), color=GRAY, linewidth=1)
    tilt = 0.32
    for height, color, name in [(0.45, BLUE, "$[z]$"), (-0.25, ORANGE, "$[w]$")]:
        radius = np.sqrt(1 - height**2)
        x, y = radius * np.cos(around), height * np.sqrt(1 - tilt**2) + tilt * radius * np.sin(around)
        front = np.sin(around) <= 0
        axes.plot(np.where(front, x, np.nan), np.where(front, y, np.nan), color=color, linewidth=1.6)
        axes.plot(np.where(front, np.nan, x), np.where(front, np.nan, y), color=color, linewidth=0.8, linestyle=":")
        axes.annotate(name, (radius, y[0]), (6, 0), textcoords="offset points", color=color, va="center", fontsize=9)
        at = 1.38 * np.pi
        point = radius * np.cos(at), height * np.sqrt(1 - tilt**2) + tilt * radius * np.sin(at)
        axes.plot(*point, "o", color=color, markersize=4)
        label = name.strip("$[]")
        axes.annotate(f"${label}$", point, (0, 4), textcoords="offset points", color=color, ha="center", fontsize=9)
    finish(axes, "orbits on the\npre-shape sphere", 1.35)


space = sx.Landmarks(400, closed=True)
leaf = space.preshape(sx.datasets.make_leaves(1, 3, 400, random_state=5).configurations[-1:])[0]
poses = [(0.75, 0.3, -0.9 + 0.9j), (0.45, 2.3, 1.0 + 0.8j), (0.9, 4.4, 0.3 - 0.75j)]
figure, panels = plt.subplots(1, 4, figsize=(7.2, 2.2), width_ratios=[1.25, 1, 1, 1.1], layout="constrained")

unit = 15.0 * leaf
for scale, angle, place in poses:
    plot_shape(scale * np.exp(1j * angle) * unit + place, space, ax=panels[0], color=BLUE)
finish(panels[0], "configurations\nof one shape", 1.75)

plot_shape(unit * np.exp(1j * poses[0][1]), space, ax=panels[1], color=BLUE)
panels[1].plot(0, 0, "+", color="black", markersize=6)
finish(panels[1], "pre-shape:\ncentered, norm 1", 1.75)

for angle in np.linspace(0, 2 * np.pi, 9)[1:-1]:
    plot_shape(unit * np.exp(1j * (poses[0][1] + angle)), space, ax=panels[2], color=GRAY, linewidth=0.7)
plot_shape(unit * np.exp(1j * poses[0][1]), space, ax=panels[2], color=BLUE)
panels[2].plot(0, 0, "+", color="black", markersize=6)
finish(panels[2], "shape: all rotations\nof the pre-shape", 1.75)

draw_sphere(panels[3])
