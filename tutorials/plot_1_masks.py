r"""
Outlines from masks
===================

From images in which objects are marked to a dictionary of their outlines: extraction, registration, learning, codes.
The images are scans of simulated leaves of six species; masks of cells, nuclei or worms are treated in the same way.

The command line does the same without programming: see :doc:`/start/masks`.
"""

# %%
# The images
# ----------
#
# ``shapelex demo`` writes one black-and-white image per species. To have something to read, we draw similar images
# here: filled polygons on a white page, in arbitrary directions.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageDraw

import shapelex as sx

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
leaves = sx.datasets.make_leaves(12, 6, 200, random_state=0)
for species in dict.fromkeys(leaves.labels):
    page = Image.new("L", (1200, 400), "white")
    pen = ImageDraw.Draw(page)
    for place, leaf in enumerate(leaves.configurations[leaves.labels == species]):
        row, column = divmod(place, 6)
        size = rng.uniform(130, 170) / np.abs(leaf[100] - leaf[0])
        tilt = np.exp(1j * (rng.uniform(0, 2 * np.pi) - np.angle(leaf[100] - leaf[0])))
        points = size * tilt * (leaf - leaf.mean())
        x, y = points.real + 200 * column + 100, 200 * row + 100 - points.imag
        pen.polygon(list(zip(x.tolist(), y.tolist(), strict=True)), fill="black")
    page.save(folder / f"{species}.png")

plt.figure(figsize=(6.4, 2.3), layout="constrained")
plt.imshow(Image.open(folder / "lobed.png"), cmap="gray")
plt.axis("off")

# %%
# Reading
# -------
#
# :func:`shapelex.read` takes a file, a folder or a pattern. ``n_points=100`` puts 100 points at equal distances on
# every outline, and ``label_from`` takes the label of each outline from the name of its file.

shapes = sx.read(folder, n_points=100, label_from=r"(\w+)\.png")
print(shapes.summary().replace(f"{folder}/", ""))

# %%
# The set carries the columns that the reader found: the file, the area and the size of each object, and whether it
# touches the border.

print(shapes.to_dataframe().iloc[:4][["id", "label", "area", "touches_border"]])

# %%
# Registration
# ------------
#
# Points are compared one by one: point 17 of one outline with point 17 of another. An outline from an image starts at
# its topmost point, which is arbitrary. :class:`shapelex.OutlineRegistration` chooses for every outline the start
# point and the direction that bring it closest to the mean of the set.

registered = sx.OutlineRegistration().fit_transform(shapes)

figure, axes = plt.subplots(1, 2, figsize=(6.4, 2.8), layout="constrained")
for ax, (title, some) in zip(axes, {"before": shapes, "after": registered}.items(), strict=True):
    ovate = some[some.labels == "ovate"]
    for z in sx.align_to_mean(ovate):
        sx.plotting.plot_shape(z, ovate.space, color="tab:blue", linewidth=0.6, ax=ax)
        ax.plot(z[0].real, z[0].imag, "o", color="tab:orange", markersize=4, zorder=4)
    ax.set_title(f"start points {title} registration", fontsize=9)

# %%
# The set records its registration, and so does a model that is learned from it. New outlines are then registered in the
# same way before they are coded.
#
# The dictionary
# --------------
#
# We learn twelve atoms and use at most three of them for each leaf. ``random_state`` makes the result reproducible.

model = sx.ShapeDictionary(n_atoms=12, n_nonzero=3, random_state=0, tol=1e-4).fit(registered)
print(f"training error: {100 * model.rmse_:.2f} % (root mean square of the full Procrustes distances)")

figure, ax = plt.subplots(figsize=(6.4, 3), layout="constrained")
sx.plotting.plot_atoms(model.atoms_, model.space_, usage=model.usage_, n_columns=6, ax=ax)

# %%
# Under each atom are its number and the share of the leaves that use it. The training error is the error of the leaves
# that the dictionary was learned from. To estimate the error on new leaves, hold some out:

train, test = registered[::2], registered[1::2]
half = sx.ShapeDictionary(n_atoms=12, n_nonzero=3, random_state=0, tol=1e-4).fit(train)
print(f"training error {100 * half.rmse_:.2f} %, error of held-out leaves {-100 * half.score(test):.2f} %")

# %%
# Codes
# -----
#
# The code of a leaf lists its atoms and their complex weights. The modulus of a weight scales the atom, and its angle
# rotates the atom.

codes = model.encode(registered)
for atom, weight in zip(codes.support[0], codes.coefs[0], strict=True):
    print(f"leaf 0 uses atom {atom}: scaled by {abs(weight):.2f}, rotated by {np.degrees(np.angle(weight)):.0f}°")

worst = np.argsort(model.errors(registered))[-6:]
figure, ax = plt.subplots(figsize=(6.4, 1.7), layout="constrained")
examples = registered.configurations[worst]
sx.plotting.plot_reconstructions(examples, model.reconstruct(examples), model.space_, n_columns=6, ax=ax)
ax.set_title("the six worst approximations, with their errors", fontsize=9)

# %%
# Which atoms does each species use?

weights = np.abs(codes.toarray())
species = list(dict.fromkeys(registered.labels))
use = np.array([weights[registered.labels == name].mean(axis=0) for name in species])
figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
image = ax.imshow(use, cmap="Blues", aspect="auto")
ax.set(xlabel="atom", xticks=range(12), yticks=range(6), yticklabels=species, title="mean modulus of the weights")
figure.colorbar(image, ax=ax)

# %%
# Results for others
# ------------------
#
# ``encode_to`` writes the codes as a table, and :func:`shapelex.report.write_report` writes a web page with the
# atoms, a map of all leaves and their weights. The page is one file that opens in any browser.

model.save(folder / "model.npz")
model.encode_to(registered, folder / "codes.csv")
sx.report.write_report(model, registered, folder / "leaves.html", title="Leaves")
print(sorted(path.name for path in folder.iterdir() if path.suffix != ".png"))

# %%
# Next: :doc:`/how-to/registration` explains registration in detail, and :doc:`/how-to/choosing` how to choose the
# number of atoms.
