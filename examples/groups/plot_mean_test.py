"""
Two mean shapes
===============

:func:`shapelex.statistics.mean_test` compares the mean shapes of two groups by the tests of Goodall, Hotelling and
James and by the smallest eigenvalue test, each with P values of permutations and of the bootstrap. The same works for
curves, as here for splines through the midlines of worms.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

space = sx.HermiteSpline(4)
midlines = sx.datasets.make_worms(400, 1, 60, random_state=1).configurations
worms, others = midlines[::2], midlines[1::2]
# The heads of the second group are turned to one side, by up to 60 degrees.
steps = np.diff(others) * np.exp(1j * np.radians(60) * np.linspace(1, 0, 59) ** 4)
turned = np.concatenate([np.zeros((len(others), 1)), np.cumsum(steps, axis=1)], axis=1)
test = sx.statistics.mean_test(
    *(sx.ShapeSet(space.fit(group), space) for group in (worms, turned)), names=("worms", "heads turned")
)
print(test)

figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
test.plot(ax)
