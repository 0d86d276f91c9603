"""
Learning from a file
====================

A memory-mapped ``.npy`` file is read block by block, so it may be larger than memory, and a checkpoint lets an
interrupted fit resume. Here the file is small; the same code works for a hundred million shapes.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

BLOCK = 5000
rng = np.random.default_rng(0)
circle = np.exp(2j * np.pi * np.arange(20) / 20)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "shapes.npy"
    shapes = np.lib.format.open_memmap(path, mode="w+", dtype=np.complex64, shape=(20_000, 20))
    for start in range(0, len(shapes), BLOCK):
        lobes, depth = rng.integers(2, 6, (BLOCK, 1)), rng.uniform(0.1, 0.4, (BLOCK, 1))
        shapes[start : start + BLOCK] = circle * (1 + depth * (circle**lobes).real)
    shapes.flush()

    shapes = np.load(path, mmap_mode="r")
    model = sx.ShapeDictionary(
        8,
        2,
        space=sx.Landmarks(20, closed=True),
        coder="ormp",
        n_swaps=0,
        tol=1e-4,
        random_state=0,
        checkpoint=Path(folder) / "fit.checkpoint",
    ).fit(shapes)
    codes, errors = sx.read_codes(model.encode_to(shapes, Path(folder) / "codes.npz"))
    print(f"{len(shapes):,} shapes, {path.stat().st_size / 1e6:.1f} MB: training error {100 * model.rmse_:.2f} %")
    print(f"codes of {len(codes):,} shapes, largest error {errors.max():.3f}")

figure, ax = plt.subplots(figsize=(6.4, 1.4), layout="constrained")
sx.plotting.plot_atoms(model.atoms_, model.space_, usage=model.usage_, n_columns=8, ax=ax)
