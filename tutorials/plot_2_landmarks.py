"""
Landmarks from a TPS file
=========================

From digitized landmarks to mean shapes, distances between groups, codes and missing landmarks. The specimens are
simulated heads of two species from two habitats; replace the file by one of your own.
"""

# %%
# The file
# --------
#
# A TPS file has one record per specimen: the number of landmarks, their coordinates, and an id. Two specimens are
# broken, and their landmarks that cannot be placed are ``NA``.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

rng = np.random.default_rng(1)
head = np.array([0, 2 + 1.2j, 4 + 1.8j, 6 + 1.7j, 8.5 + 0.4j, 8.2 - 0.6j, 5.5 - 1.4j, 3 - 1.5j, 1 - 0.9j, 3.6 + 0.5j])
records, columns = [], []
for number in range(60):
    species, habitat = "AB"[number % 2], ("stream", "pond")[number // 2 % 2]
    depth = 1 + 0.18 * (species == "B") + 0.05 * rng.normal()
    jaw = 0.5 * (habitat == "pond") + 0.15 * rng.normal()
    landmarks = head.real + 1j * depth * head.imag
    landmarks[[4, 5]] += jaw
    landmarks = landmarks + 0.08 * (rng.normal(size=(10, 2)) @ [1, 1j])
    landmarks = 100 * landmarks * np.exp(1j * rng.uniform(0, 6.28))  # specimens lie in any direction
    lines = [f"{z.real:.2f} {z.imag:.2f}" for z in landmarks]
    if number in (7, 30):
        lines[4] = lines[5] = "NA NA"
    records += ["LM=10", *lines, f"ID=head{number:02d}"]
    columns.append(f"head{number:02d},{species},{habitat}")

folder = Path(tempfile.mkdtemp())
(folder / "heads.tps").write_text("\n".join(records) + "\n")
(folder / "specimens.csv").write_text("id,species,habitat\n" + "\n".join(columns) + "\n")

# %%
# Reading
# -------
#
# ``missing="allow"`` keeps the broken specimens. ``join`` adds the columns of a sheet by the id of the specimens, and
# ``label`` makes one of its columns the label.

heads = sx.read(folder / "heads.tps", missing="allow", join=folder / "specimens.csv", on="id", label="species")
print(heads.summary())

# %%
# Missing landmarks
# -----------------
#
# A dictionary learned from the landmarks that each specimen has fills in the missing ones. ``hidden_error`` is the
# error on landmarks that were hidden on purpose, in units of the centroid size.

found = sx.impute(heads.configurations, sx.ShapeDictionary(4, 2, random_state=0, tol=1e-3))
print(found)
complete = sx.ShapeSet(
    found.configurations, heads.space, ids=heads.ids, labels=heads.labels, metadata=dict(heads.metadata)
)

# %%
# Means
# -----
#
# :func:`shapelex.mean_shape` removes position, size and rotation by itself.

means = {name: sx.mean_shape(complete[complete.labels == name]) for name in "AB"}
print(f"full Procrustes distance between the means: {sx.distance(means['A'], means['B']):.3f}")

figure, ax = plt.subplots(figsize=(5.4, 2.8), layout="constrained")
reference = complete.space.preshape(head)
for (name, mean), color in zip(means.items(), ("tab:blue", "tab:orange"), strict=True):
    aligned = sx.rotate_onto(complete[complete.labels == name], reference)
    ax.plot(aligned.real, aligned.imag, ".", color=color, markersize=3, alpha=0.4)
    mean = sx.rotate_onto(mean, reference)
    ax.plot(mean.real, mean.imag, "o", color=color, label=f"species {name}")
ax.set_aspect("equal")
ax.set_axis_off()
ax.legend(frameon=False)

# %%
# Is the difference larger than chance? A permutation test shuffles the species and computes the distance between the
# means again.

observed = sx.distance(means["A"], means["B"])
shuffled = []
for _ in range(500):
    labels = rng.permutation(complete.labels)
    first, second = (sx.mean_shape(complete.configurations[labels == name]) for name in "AB")
    shuffled.append(sx.distance(first, second))
p_value = (1 + np.sum(np.array(shuffled) >= observed)) / 501
print(f"p = {p_value:.3f}")

# %%
# Distances
# ---------

distances = sx.pairwise_distances(complete)
figure, ax = plt.subplots(figsize=(4.4, 3.6), layout="constrained")
groups = [f"{a} {b}" for a, b in zip(complete.labels, complete.metadata["habitat"], strict=True)]
sx.plotting.plot_distances(distances, labels=groups, ax=ax)

# %%
# Codes
# -----
#
# We learn four typical heads and use at most two of them for each specimen. The error is the full Procrustes
# distance between a specimen and its approximation.

model = sx.ShapeDictionary(n_atoms=4, n_nonzero=2, random_state=0, tol=1e-4).fit(complete)
codes = model.encode(complete)
print(f"training error {100 * model.rmse_:.2f} %")

moduli = np.abs(codes.toarray())
figure, axes = plt.subplots(1, 4, figsize=(6.4, 2.4), sharey=True, layout="constrained")
for atom, ax in enumerate(axes):
    ax.boxplot([moduli[np.array(groups) == name, atom] for name in sorted(set(groups))])
    ax.set_xticks(range(1, 5), sorted(set(groups)), rotation=60, fontsize=8)
    ax.set_title(f"atom {atom}", fontsize=9)
axes[0].set_ylabel("modulus of the weight")

# %%
# Results for others
# ------------------

sx.write(complete, folder / "heads.npz")
model.save(folder / "model.npz")
sx.report.write_report(model, complete, folder / "heads.html", joined=False, title="Heads")
print(sorted(path.name for path in folder.iterdir()))

# %%
# Next: :doc:`/how-to/missing-landmarks` and :doc:`/how-to/data-in`.
