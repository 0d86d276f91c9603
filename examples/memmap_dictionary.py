"""Learn from a file that is larger than the memory it takes: shapes in a ``.npy`` file, codes into a Zarr folder.

    python examples/memmap_dictionary.py [number of shapes, default 20000] [folder]

Nothing here changes for a file of a hundred million shapes. Stop it at any moment and start it again: it goes on.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import shapelex as sx

BLOCK = 5000


def write_leaf_like_shapes(path: Path, n_shapes: int) -> None:
    """Write outlines with two to five lobes, block by block."""
    rng = np.random.default_rng(0)
    turn = np.exp(2j * np.pi * np.arange(20) / 20)
    shapes = np.lib.format.open_memmap(path, mode="w+", dtype=np.complex64, shape=(n_shapes, 20))
    for start in range(0, n_shapes, BLOCK):
        size = min(BLOCK, n_shapes - start)
        lobes = rng.integers(2, 6, size)[:, None]
        depth = rng.uniform(0.1, 0.4, size)[:, None]
        outline = turn * (1 + depth * (turn**lobes).real)
        shapes[start : start + size] = outline * np.exp(2j * np.pi * rng.random(size))[:, None]
    shapes.flush()


def main(n_shapes: int, folder: Path) -> None:
    path = folder / "shapes.npy"
    write_leaf_like_shapes(path, n_shapes)
    shapes = np.load(path, mmap_mode="r")
    model = sx.ShapeDictionary(
        n_atoms=8,
        n_nonzero=2,
        coder="ormp",
        tie=0,
        n_swaps=0,
        tol=1e-4,
        random_state=0,
        checkpoint=folder / "fit.checkpoint",
    )
    model.fit(shapes)
    print(f"{n_shapes} shapes, {path.stat().st_size / 1e6:.1f} MB: RMSE {100 * model.rmse_:.2f} %")
    codes, errors = sx.read_codes(model.encode_to(shapes, folder / "codes.zarr"))
    print(f"codes of {len(codes)} shapes in {folder / 'codes.zarr'}, largest error {errors.max():.3f}")


if __name__ == "__main__":
    n_wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    if len(sys.argv) > 2:
        main(n_wanted, Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(n_wanted, Path(made))
