"""
Atoms that look like shapes
===========================

Without a penalty (``tie=0``), atoms may be combined with large opposite weights and need not look like shapes. The
penalty ``tie`` on the distance of each atom to its nearest shape costs little error and keeps the atoms realistic.
"""

import matplotlib.pyplot as plt

import shapelex as sx

leaves = sx.datasets.make_leaves(40, 4, random_state=0)
figure, axes = plt.subplots(3, 1, figsize=(6.4, 5), layout="constrained")
for ax, tie in zip(axes, (0, 0.5, 2), strict=True):
    model = sx.ShapeDictionary(8, 3, tie=tie, random_state=0, tol=1e-3).fit(leaves)
    sx.plotting.plot_atoms(model.atoms_, model.space_, usage=model.usage_, n_columns=8, ax=ax)
    ax.set_title(
        f"tie={tie}: training error {100 * model.rmse_:.1f} %, "
        f"mean distance of the atoms to the nearest leaf {model.realism(leaves).mean():.3f}",
        fontsize=9,
    )
