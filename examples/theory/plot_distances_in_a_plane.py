"""
The three distances in one plane
================================

The plane through two optimally rotated pre-shapes: the geodesic distance ρ is an arc, the partial distance its chord,
and the full distance is the perpendicular from *w* to the line through *z*.
"""

import matplotlib.pyplot as plt
import numpy as np

from shapelex.plotting.palette import BLUE, GRAY, GREEN, ORANGE

rho = 0.95
w = np.exp(1j * rho)
figure, axes = plt.subplots(figsize=(3.6, 3.0), layout="constrained")
arc = np.exp(1j * np.linspace(0, np.pi / 2 + 0.1, 200))
axes.plot(arc.real, arc.imag, color=GRAY, linewidth=1)
axes.plot([0, 1.22], [0, 0], color=GRAY, linewidth=0.8)
axes.plot([0, w.real], [0, w.imag], color=GRAY, linewidth=0.8)
part = np.exp(1j * np.linspace(0, rho, 100))
axes.plot(part.real, part.imag, color=BLUE, linewidth=2.2)
axes.plot([1, w.real], [0, w.imag], color=GREEN, linewidth=1.8)
axes.plot([w.real, w.real], [0, w.imag], color=ORANGE, linewidth=1.8)
small = 0.2 * np.exp(1j * np.linspace(0, rho, 50))
axes.plot(small.real, small.imag, color="black", linewidth=0.8)
axes.text(0.25 * np.cos(rho / 2), 0.25 * np.sin(rho / 2), r"$\rho$", va="center", fontsize=9)
middle = np.exp(1j * rho / 2)
axes.annotate(r"$\rho$ (arc)", (middle.real, middle.imag), (6, 3), textcoords="offset points", color=BLUE, fontsize=9)
axes.annotate(r"$d_P$", ((1 + w.real) / 2, w.imag / 2), (-9, -10), textcoords="offset points", color=GREEN, fontsize=9)
axes.annotate(r"$d_F$", (w.real, w.imag / 2), (-15, 0), textcoords="offset points", color=ORANGE, fontsize=9)
for point, name, shift, across in [
    (0, "0", (-7, -10), "center"),
    (1, "$z$ (optimally rotated)", (2, -12), "center"),
    (w, "$w$", (2, 6), "left"),
    (w.real, "$|p|\\,z$", (0, -13), "center"),
]:
    axes.plot(np.real(point), np.imag(point), "o", color="black", markersize=3.5)
    at = (float(np.real(point)), float(np.imag(point)))
    axes.annotate(name, at, shift, textcoords="offset points", ha=across, fontsize=9)
axes.set(xlim=(-0.15, 1.45), ylim=(-0.15, 1.1), aspect="equal")
axes.set_axis_off()
