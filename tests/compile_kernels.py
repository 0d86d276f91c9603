"""Compile the kernels that tests use, two at a time: processes that run tests side by side would compile each twice."""

import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import shapelex as sx

CODERS = ("exact", "beam", "omp", "ormp")
# The longest jobs come first, and those that run at the same time have different precisions: each would compile what
# both call.
JOBS = [(name, dtype) for name in (*CODERS, "sequences", "geometry") for dtype in ("complex128", "complex64")]


def run(job: tuple[str, str]) -> None:
    """Call what is compiled, with a few shapes."""
    name, dtype = job
    rng = np.random.default_rng(0)
    rows, many = (rng.normal(size=(40, 8, 2)) @ [1, 1j] for _ in range(2))
    rows, space = rows.astype(dtype), sx.Landmarks(8, closed=True)
    warnings.simplefilter("ignore")
    if name in CODERS:
        sx.ShapeDictionary(6, 2, coder=name, max_iter=2, random_state=0).fit(rows).errors(rows)
        # Dictionaries of many atoms have a kernel of their own.
        codes = sx.encode(rows, many.astype(dtype), 2, name, polish=name == "omp")
        sx.decode(codes, many.astype(dtype))
    elif name == "geometry":
        sx.pairwise_distances(rows)
        sx.register(rows, space)
        sx.OutlineConvolutions(random_state=0).fit_transform(rows)
        sx.retrieve(rows, rows, 2, space, rerank="diffusion")
    else:
        model = sx.ShapeDictionary(6, 2, coder="ormp", max_iter=1, random_state=0).fit(rows)
        sx.sequences.encode_sequence(rows, model, switch_cost=0.1)
        sx.sequences.register_sequence(rows, space)


def main() -> int:
    """Run all jobs in two processes."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(run, JOBS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
