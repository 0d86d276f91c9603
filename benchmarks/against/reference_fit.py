"""Run the paper's own code on its own data, in a process of its own.

``python reference_fit.py FOLDER DATASET N_NONZERO N_ATOMS N_ITERATIONS SEED`` prints seconds and RMSE as JSON. FOLDER
is a checkout of the reference code. Its modules choose the data set by constants and draw as they are imported, so the
constants are set in its source before it runs, and drawing goes nowhere.
"""

import contextlib
import io
import json
import os
import random
import sys
import time
import types
from pathlib import Path

# (data_type, choice) of its settings.
CHOICES = {"hands": (0, 1), "6376_open_worms_6ctrlpts": (1, 0), "leaves_Bsplines": (3, 0)}


def main() -> None:
    folder, dataset = Path(sys.argv[1]).resolve(), sys.argv[2]
    n_nonzero, n_atoms, n_iterations, seed = map(int, sys.argv[3:7])
    os.environ["MPLBACKEND"] = "Agg"
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    import numpy as np

    data_type, choice = CHOICES[dataset]
    source = (folder / "settings.py").read_text()
    source = source.replace("data_type = 0 # CHANGE HERE", f"data_type = {data_type}")
    source = source.replace("choice = 0 # CHANGE HERE", f"choice = {choice}")
    settings = types.ModuleType("settings")
    sys.modules["settings"] = settings
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, "settings.py", "exec"), settings.__dict__)
        import KSD  # type: ignore[import-not-found]

        # Only learning is measured.
        KSD.drawMany = lambda *_, **__: None
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        start = time.perf_counter()
        _, _, loss = KSD.KSD_optimal_directions(settings.shapes, n_nonzero, n_atoms, Ntimes=n_iterations)
        seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "rmse": float(np.sqrt(loss / len(settings.shapes)))}))


if __name__ == "__main__":
    main()
