"""
On a Dask cluster
=================

This script learns a dictionary on several processes or machines. It needs ``pip install "shapelex[dask]"``. Without an
argument, it starts two processes on this machine; ``python dask_cluster.py tcp://scheduler:8786`` uses a running
scheduler. The script is shown here without its output.
"""

import sys

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import shapelex as sx

N_SHAPES, CHUNK = 20_000, 2_500


def make_chunk(block_id: tuple[int, int]) -> np.ndarray:
    """Return shapes, made on the worker that needs them: sums of two of six outlines, and noise."""
    rng = np.random.default_rng(block_id[0])
    turn = np.exp(2j * np.pi * np.arange(20) / 20)
    outlines = np.stack([turn * (1 + 0.3 * (turn**lobes).real) for lobes in range(1, 7)])
    weights = rng.normal(size=(CHUNK, 2)) + 1j * rng.normal(size=(CHUNK, 2))
    chosen = rng.integers(0, 6, (CHUNK, 2))
    made: np.ndarray = (weights[:, :, None] * outlines[chosen]).sum(axis=1)
    return made + 0.05 * rng.normal(size=(CHUNK, 20, 2)).view(complex)[:, :, 0]


def learn() -> None:
    n_chunks = N_SHAPES // CHUNK
    shapes = da.map_blocks(
        make_chunk, chunks=((CHUNK,) * n_chunks, (20,)), dtype=complex, meta=np.empty((0, 0), complex)
    )
    # Kept in the memory of the workers; without it, chunks are made or read again in every iteration.
    shapes = shapes.persist()
    model = sx.ShapeDictionary(n_atoms=6, n_nonzero=2, random_state=0, tol=1e-3).fit(shapes)
    codes = model.transform(shapes)
    print(f"RMSE {100 * model.rmse_:.3f} %; codes, not computed: {codes}")
    print(f"mean modulus of the weights, computed on the cluster: {abs(codes).mean().compute():.4f}")


def main() -> None:
    if len(sys.argv) > 1:
        with Client(sys.argv[1]):
            learn()
        return
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        learn()


if __name__ == "__main__":
    main()
