"""
Ethogram: coded frame by frame, and along time
==============================================

Simulated bodies change between four known states. Coded frame by frame, similar frames often get different sets of
atoms. :func:`shapelex.sequences.encode_sequence` changes the set only where that pays, and the bouts that it finds are
close to the truth.
"""

import matplotlib.pyplot as plt

import shapelex as sx

recording = sx.datasets.make_behavior(400, 2, n_states=4, noise=0.02, random_state=1)
model = sx.ShapeDictionary(n_atoms=6, n_nonzero=2, tol=1e-3, random_state=0).fit(recording)
plain = sx.sequences.encode_sequence(recording, model, switch_cost=0)
smooth = sx.sequences.encode_sequence(recording, model, switch_cost=0.02)

figure, axes = plt.subplots(3, 1, figsize=(6.4, 5.4), layout="constrained")
for ax, result, name in zip(axes, (plain, smooth), ("frame by frame", "along time"), strict=False):
    result.plot("ethogram", max_states=6, ax=ax)
    ax.set_title(f"{name}: flicker {100 * result.flicker:.0f} %, error {100 * result.rmse:.1f} %", fontsize=9)
truth = recording.metadata["state"]
sx.plotting.plot_ethogram(truth, recording.metadata["frame"], recording.sequence, fps=30, ax=axes[2])
axes[2].set_title("true states", fontsize=9)
