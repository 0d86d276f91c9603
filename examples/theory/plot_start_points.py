"""
All start points and both directions
====================================

Registration compares an outline with a target for every start point and both directions. The one with the
largest product is chosen.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx
from shapelex.plotting import plot_shape
from shapelex.plotting.palette import BLUE, GRAY, ORANGE

space = sx.Landmarks(80, closed=True)
target, leaf = space.preshape(sx.datasets.make_leaves(2, 3, 80, variation=0.2, random_state=2).configurations[-2:])
outline = space.reverse(space.roll(leaf, 27))
found = sx.register(outline[None], space, to=target)
figure, (first, second, curves) = plt.subplots(1, 3, figsize=(6.4, 2.3), width_ratios=[1, 1, 2.2], layout="constrained")
for axes, z, title, color in [(first, target, "target $m$", ORANGE), (second, outline, "outline $z$", BLUE)]:
    upright = z * np.exp(-1j * np.angle(target[40] - target[0])) if axes is first else z
    plot_shape(upright, space, color=color, ax=axes)
    axes.plot(upright[0].real, upright[0].imag, "o", color="black", markersize=4)
    ahead = upright[4] - upright[0]
    axes.annotate(
        "",
        (upright[4].real + ahead.real, upright[4].imag + ahead.imag),
        (upright[0].real, upright[0].imag),
        arrowprops={"arrowstyle": "->", "color": "black"},
    )
    axes.set_title(title)
shifts = np.arange(80)
for variant, name, color in [(outline, "as it comes", GRAY), (space.reverse(outline), "reversed", BLUE)]:
    products = np.abs(space.inner(target, space.roll(np.tile(variant, (80, 1)), shifts)))
    curves.plot(shifts, products, color=color, label=name)
best = float(np.sqrt(1 - found.distance_after[0] ** 2))
curves.plot(found.shift, [best], "o", color="black", markersize=4)
curves.set_title(f"best change: reversed, shift {found.shift[0]}")
curves.set(xlabel="shift $s$ of the start point", ylabel="$|m^*\\Phi\\,g(z)|$", xlim=(0, 79), ylim=(0, 1.05))
curves.spines[["top", "right"]].set_visible(False)
curves.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.34, 0))
