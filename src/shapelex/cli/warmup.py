"""``shapelex warmup``: precompile the numerical kernels, so that later commands start at once."""

import time
import warnings

from shapelex.cli.command import command
from shapelex.cli.run import Run

_CODERS = ("exact", "beam", "ormp", "omp")


@command()
def warmup(run: Run) -> dict[str, float]:
    """Precompile the numerical kernels and store them on disk; takes a minute or two, only once.

    Example: shapelex warmup
    """
    import numpy as np

    import shapelex as sx

    start, generator, space = time.perf_counter(), np.random.default_rng(0), sx.Landmarks(8, closed=True)
    drawn, many = (generator.normal(size=(40, 8)) + 1j * generator.normal(size=(40, 8)) for _ in range(2))
    steps = [(coder, dtype) for dtype in (np.complex128, np.complex64) for coder in (*_CODERS, "geometry")]
    with run.progress("compiling") as tell, warnings.catch_warnings():
        # Two updates do not converge, and need not.
        warnings.simplefilter("ignore", UserWarning)
        for n_done, (coder, dtype) in enumerate(steps):
            tell(n_done / len(steps), f"compiling {coder}, {np.dtype(dtype).name}")
            rows = drawn.astype(dtype)
            model = sx.ShapeDictionary(6, 2, max_iter=2, n_swaps=1, random_state=0)
            if coder != "geometry":
                model.set_params(coder=coder).fit(rows).errors(rows)
                continue
            sx.pairwise_distances(rows)
            sx.register(rows, space)
            sx.OutlineConvolutions(random_state=0).fit_transform(rows)
            sx.retrieve(rows, rows, 2, space, rerank="diffusion")
            # Dictionaries of many atoms have a kernel of their own.
            sx.encode(rows, many.astype(dtype), 2, "ormp", polish=True)
            # A search changes to double precision where errors are tiny.
            model.set_params(coder="exact").fit(np.tile(rows[:6], (5, 1)))
            sx.sequences.encode_sequence(rows, model, switch_cost=0.1)
            sx.sequences.register_sequence(rows, space)
    seconds = time.perf_counter() - start
    run.say(f"ready, after {seconds:.0f} s")
    return {"seconds": seconds}
