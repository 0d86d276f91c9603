"""``shapelex warmup``: precompile the numerical kernels, so that later commands start at once."""

import time

from shapelex.cli.options import JsonOption, QuietOption
from shapelex.cli.screen import Screen

_CODERS = ("exact", "beam", "ormp", "omp")


def warmup(quiet: QuietOption = False, as_json: JsonOption = False) -> None:
    """Precompile the numerical kernels, and keep them on disk: a minute or two once, then seconds.

    Example: shapelex warmup
    """
    import warnings

    import numpy as np

    import shapelex as sx

    screen = Screen(quiet, as_json)
    start = time.perf_counter()
    generator = np.random.default_rng(0)
    shapes = generator.normal(size=(40, 8)) + 1j * generator.normal(size=(40, 8))
    with screen.progress("compiling") as tell, warnings.catch_warnings():
        # Two updates do not converge, and need not.
        warnings.simplefilter("ignore", UserWarning)
        jobs = [(coder, dtype) for dtype in (np.complex128, np.complex64) for coder in _CODERS]
        for n_done, (coder, dtype) in enumerate(jobs):
            tell(n_done / (len(jobs) + 2), f"compiling {coder}, {np.dtype(dtype).name}")
            rows = shapes.astype(dtype)
            model = sx.ShapeDictionary(6, 2, coder=coder, max_iter=2, random_state=0).fit(rows)
            model.errors(rows)
        tell(len(jobs) / (len(jobs) + 2), "compiling align-first")
        sx.AlignFirstDictionary(6, 2, max_iter=2, random_state=0).fit(shapes)
        tell((len(jobs) + 1) / (len(jobs) + 2), "compiling geometry")
        sx.pairwise_distances(shapes)
        sx.register(shapes, sx.Landmarks(8, closed=True))
    seconds = time.perf_counter() - start
    screen.say(f"ready, after {seconds:.0f} s")
    screen.show({"seconds": seconds})
