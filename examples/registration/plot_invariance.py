"""
What changes a distance, and what does not
==========================================

:func:`shapelex.invariance_report` rotates, scales, moves, reverses and mirrors the given shapes, changes their start
points, and measures the distance between each shape and its changed version. Outlines have to be registered;
rotation, scale and position never matter.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

leaves = sx.datasets.make_leaves(10, 4, random_state=0)
report = sx.invariance_report(leaves)
print(report)

names = [effect.change for effect in report.effects]
before = [effect.to_itself for effect in report.effects]
after = [effect.to_itself_registered for effect in report.effects]
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
places = np.arange(len(names))
ax.barh(places - 0.2, before, 0.4, label="as given")
ax.barh(places + 0.2, after, 0.4, label="registered")
ax.set_yticks(places, names)
ax.invert_yaxis()
ax.set(xlabel="median distance to the changed shape", xlim=(0, 1))
ax.legend(frameon=False)
