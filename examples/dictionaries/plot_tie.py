"""
Atoms that look like shapes
===========================

Without a penalty (``tie=0``), atoms may be combined with large opposite weights and need not look like shapes. The
penalty ``tie`` on the distance of each atom to its nearest shape makes the error a little larger and the atoms more
realistic. The effect is strongest where the error at one number of atoms per shape alone is lowered
(``nested=False``), as here; atoms of nested dictionaries are more realistic from the start.
"""

import matplotlib.pyplot as plt

import shapelex as sx

worms = sx.datasets.make_worms(500, random_state=0)
figure, axes = plt.subplots(3, 1, figsize=(6.4, 3.6), layout="constrained")
for ax, tie in zip(axes, (0, 0.5, 2), strict=True):
    model = sx.ShapeDictionary(8, 3, nested=False, tie=tie, random_state=0, tol=1e-3).fit(worms)
    sx.plotting.plot_atoms(model.atoms_, model.space_, usage=model.usage_, n_columns=8, ax=ax)
    ax.set_title(
        f"tie={tie}: training error {100 * model.rmse_:.1f} %, "
        f"mean distance of the atoms to the nearest worm {model.realism(worms).mean():.3f}",
        fontsize=9,
    )
