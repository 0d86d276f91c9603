"""
Atoms that differ
=================

:func:`shapelex.statistics.atom_tests` compares the use and the weight of each atom between groups. Filled marks are
significant at a false discovery rate of 5 %; lines are bootstrap intervals. On the right, the typical shape of each
group, rebuilt from the atoms that differ.
"""

import matplotlib.pyplot as plt

import shapelex as sx

leaves = sx.datasets.make_leaves(60, 3, 100, random_state=0)
two_kinds = leaves[leaves.labels != "lobed"]
model = sx.ShapeDictionary(n_atoms=6, n_nonzero=3, random_state=0).fit(two_kinds)

test = sx.statistics.atom_tests(model.encode(two_kinds), two_kinds.labels, model=model)
print(test)

figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained", width_ratios=[1.4, 1])
test.plot(axes[0])
test.plot_typical(axes[1])
