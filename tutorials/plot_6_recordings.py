"""
Recordings of crawling worms
============================

From midlines over time to codes that follow the motion, the rhythm of crawling, and states of behavior. The worms are
simulated; replace them by a file of your own, such as a WCON file or a table with the columns ``sequence`` and
``frame``.
"""

# %%
# The recording
# -------------
#
# Three worms of 240 frames each. A set of shapes knows which series every shape belongs to, and its frame. We hide some
# frames, as a tracker does, and swap head and tail in a few.

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

worms = sx.datasets.make_worms(240, 3, noise=0.004, random_state=1)
midlines = np.array(worms.configurations)
midlines[100:106] = midlines[100:106, ::-1]
kept = np.setdiff1d(np.arange(len(worms)), np.arange(40, 52))
recording = worms.replace(configurations=midlines)[kept]
print(recording.summary())

# %%
# Heads and tails
# ---------------
#
# Frames whose ends were swapped are found by their distance to the frame before, and reversed.

registered = sx.sequences.register_sequence(recording)
print(registered.remarks[0])
recording = recording.replace(configurations=registered.configurations)

# %%
# Codes that follow the motion
# ----------------------------
#
# Coded frame by frame, the sets of atoms of similar frames often differ. ``encode_sequence`` adds a cost for changes,
# chosen by held-out error, and reports flicker next to the error.

model = sx.ShapeDictionary(n_atoms=8, n_nonzero=3, random_state=0).fit(recording)
plain = sx.sequences.encode_sequence(recording, model, switch_cost=0, fps=30)
result = sx.sequences.encode_sequence(recording, model, fps=30)
print(plain)
print(result)

fig, axes = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
for ax, codes, title in zip(axes, (plain, result), ("frame by frame", "with a cost of changes"), strict=True):
    worm = codes.sequence == 1
    moduli = np.where(codes.weights != 0, np.abs(codes.weights), np.nan)[worm]
    mesh = ax.pcolormesh(codes.times[worm], np.arange(8), moduli.T, shading="nearest")
    ax.set(title=title, ylabel="atom", yticks=range(8))
axes[-1].set_xlabel("time in s")
fig.colorbar(mesh, ax=axes, label="modulus of the weight")
plt.show()

# %%
# The rhythm of crawling
# ----------------------
#
# Postures go around in the plane of two atoms. The phase velocity is positive where bends run from head to tail: the
# worm crawls forward. A kymograph of the curvature shows the same bends as slanted stripes.

velocity = sx.sequences.phase_velocity(result)
bends = sx.sequences.curvature(recording)
worm = result.sequence == 1
fig, axes = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
axes[0].pcolormesh(
    result.times[worm], np.arange(bends.shape[1]), bends[worm].T, cmap="RdBu", vmin=-12, vmax=12, shading="nearest"
)
axes[0].set(ylabel="point, head first", title="curvature")
axes[1].plot(result.times[worm], velocity[worm] / (2 * np.pi))
axes[1].axhline(0, color="0.7", linewidth=1)
axes[1].set(xlabel="time in s", ylabel="cycles per second", title="phase velocity")
plt.show()

# %%
# States of behavior
# ------------------
#
# Here the states are the directions of crawling. Bouts shorter than a third of a second are joined to their neighbors.

direction = np.where(velocity > 0, "forward", "backward")
direction[np.isnan(velocity)] = ""
bouts = sx.sequences.bouts(result, direction, min_duration=10)
print(bouts.head())
print(sx.sequences.dwell(result, direction, min_duration=10).round(2))

# %%
# One row per animal
# ------------------
#
# Tests between groups compare animals, not frames. This table has one row for each of them.

print(sx.sequences.series_summary(result, direction, min_duration=10).round(3).T)
