"""
Large sets and GPUs
===================

The same estimator learns from forty shapes and from a hundred million. This tutorial goes from arrays in memory to
files, batches, clusters and GPUs, on a set that is small enough to run here.
"""

# %%
# A set in a file
# ---------------
#
# We write midlines of worms block by block to a ``.npy`` file, like a program that produces more shapes than fit into
# memory.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

folder = Path(tempfile.mkdtemp())
file = np.lib.format.open_memmap(folder / "worms.npy", mode="w+", dtype=np.complex64, shape=(40_000, 20))
for block, start in enumerate(range(0, len(file), 10_000)):
    file[start : start + 10_000] = sx.datasets.make_worms(10_000, random_state=block).configurations
file.flush()
print(f"{(folder / 'worms.npy').stat().st_size / 1e6:.0f} MB")

# %%
# Learning without loading
# ------------------------
#
# ``fit`` accepts a memory map like an array, and reads it block by block. The result is the same, bit for bit, as for
# the array in memory. ``coder="ormp", n_swaps=0`` selects the fastest settings. With
# ``checkpoint``, the same script resumes after an interruption.

shapes = np.load(folder / "worms.npy", mmap_mode="r")
fast = {"coder": "ormp", "n_swaps": 0, "random_state": 0, "tol": 1e-3}
model = sx.ShapeDictionary(8, 3, **fast, checkpoint=folder / "fit.checkpoint").fit(shapes)
print(f"training error {100 * model.rmse_:.2f} % after {model.n_iter_} iterations")

# %%
# Codes to a file
# ---------------
#
# ``encode_to`` writes codes and errors block by block. Zarr and Parquet files (``pip install ".[large]"``) take any
# number of shapes.

codes, errors = sx.read_codes(model.encode_to(shapes, folder / "codes.npz"))
figure, ax = plt.subplots(figsize=(4.6, 2.6), layout="constrained")
ax.hist(errors, bins=60, color="tab:blue")
ax.set(xlabel="full Procrustes distance to the approximation", ylabel="shapes")

# %%
# Batches
# -------
#
# ``batch_size`` updates the atoms after every batch instead of after every pass over the set, which needs fewer
# passes over large sets.

batches = sx.ShapeDictionary(8, 3, **fast, batch_size=2000, max_iter=3).fit(shapes)
print(f"{batches.n_iter_} passes in batches: error {100 * np.sqrt(np.mean(batches.errors(shapes) ** 2)):.2f} %")

# %%
# Clusters
# --------
#
# With ``pip install ".[dask]"``, ``fit`` takes Dask arrays. Every worker codes the chunks that it holds, and only
# sums are sent between the machines:
#
# .. code-block:: python
#
#    from dask.distributed import Client
#
#    with Client("tcp://scheduler:8786"):
#        model.fit(sx.open_shapes("shapes.zarr", chunks=100_000))
#
# A complete script is in the gallery: :ref:`sphx_glr_gallery_large_dask_cluster.py`.
#
# GPUs
# ----
#
# With ``pip install ".[gpu]"``, ``device="cuda"`` codes on a GPU. The results agree with those of the CPU up to
# rounding, and the model does not depend on the device:
#
# .. code-block:: python
#
#    model = sx.ShapeDictionary(230, 30, coder="ormp", n_swaps=0, device="cuda").fit(shapes)
#    model.set_params(device="cpu").encode(new_shapes)
#
# A complete script is in the gallery: :ref:`sphx_glr_gallery_large_gpu.py`. Measured times are in :doc:`/how-to/gpu`
# and :doc:`/how-to/scale`.
