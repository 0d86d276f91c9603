"""
Where outlines differ
=====================

:func:`shapelex.statistics.local_test` tests every point of registered outlines. Points at which the groups differ are
marked, and arrows lead from the mean of the first group to that of the second. The family-wise error is controlled: the
chance to mark any point where nothing differs is at most 5 %.

Positions are relative to the whole shape: the bulge on one side also moves the mean to which all leaves are aligned,
which shows at the base, where leaves hardly vary.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

leaves = sx.datasets.make_leaves(60, 3, 120, random_state=1)
ovate = leaves.configurations[leaves.labels == "ovate"]
# In half of the leaves, one side of the blade bulges: a smooth bump around the 40th of 120 points.
groups = np.repeat(["control", "treated"], 30)
bump = 0.07 * np.exp(-(((np.arange(120) - 40) / 8) ** 2))
grown = np.where((groups == "treated")[:, None], 1 + bump, 1)
shapes = sx.ShapeSet(leaves.space.centered(ovate) * grown, leaves.space, labels=groups, preparation=None)

test = sx.statistics.local_test(shapes, "label")
print(test)

figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
test.plot(ax)
