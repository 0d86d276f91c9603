"""``shapelex warmup``: precompile the numerical kernels, so that later commands start at once."""

import time
from typing import TYPE_CHECKING

from shapelex.cli.command import command
from shapelex.cli.run import Run
from shapelex.cli.terminal import Tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

_CODERS = ("exact", "beam", "ormp", "omp")


@command()
def warmup(run: Run) -> dict[str, float]:
    """Precompile the numerical kernels and store them on disk; takes a minute or two, only once.

    Example: shapelex warmup
    """
    import numpy as np

    start = time.perf_counter()
    with run.progress("compiling") as tell:
        precompile([np.complex128, np.complex64], tell)
    seconds = time.perf_counter() - start
    run.say(f"ready, after {seconds:.0f} s")
    return {"seconds": seconds}


def precompile(dtypes: "Sequence[type[np.complexfloating]]", tell: Tell = lambda done, text: None) -> None:  # noqa: ARG005
    """Call everything that is compiled once for every precision; `tell` is told the share that is done."""
    import warnings

    import numpy as np

    import shapelex as sx

    generator = np.random.default_rng(0)
    shapes = generator.normal(size=(40, 8)) + 1j * generator.normal(size=(40, 8))
    jobs = [(coder, dtype) for dtype in dtypes for coder in _CODERS]
    n_all = len(jobs) + len(dtypes)
    with warnings.catch_warnings():
        # Two updates do not converge, and need not.
        warnings.simplefilter("ignore", UserWarning)
        for n_done, (coder, dtype) in enumerate(jobs):
            tell(n_done / n_all, f"compiling {coder}, {np.dtype(dtype).name}")
            rows = shapes.astype(dtype)
            model = sx.ShapeDictionary(6, 2, coder=coder, max_iter=2, n_swaps=1, random_state=0).fit(rows)
            model.errors(rows)
        for n_done, dtype in enumerate(dtypes, len(jobs)):
            tell(n_done / n_all, f"compiling geometry, {np.dtype(dtype).name}")
            rows = shapes.astype(dtype)
            sx.pairwise_distances(rows)
            sx.register(rows, sx.Landmarks(8, closed=True))
            sx.OutlineConvolutions(random_state=0).fit_transform(rows)
            sx.retrieve(rows, rows, 2, sx.Landmarks(8, closed=True), rerank="diffusion")
            # Dictionaries of many atoms have a kernel of their own.
            many = generator.normal(size=(40, 8)) + 1j * generator.normal(size=(40, 8))
            sx.encode(rows, many.astype(dtype), 2, "ormp", polish=True)
            # A search changes to double precision where errors are tiny.
            model = sx.ShapeDictionary(6, 2, coder="exact", max_iter=2, n_swaps=1, random_state=0)
            model.fit(np.tile(rows[:6], (5, 1)))
            sx.sequences.encode_sequence(rows, model, switch_cost=0.1)
            sx.sequences.register_sequence(rows, sx.Landmarks(8, closed=True))
