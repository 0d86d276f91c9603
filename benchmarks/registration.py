"""Registration of outlines: its time, and what it does for dictionaries of leaves.

RMSE of dictionaries of 20 atoms, 5 per shape, on the 1,584 leaf outlines of 200 points, as they come and registered.
"""

import time
import warnings
from typing import Any

import numpy as np

import shapelex as sx
from measure import print_table, print_title
from shape_data import open_set
from shapelex._blas import single_blas_thread

SETTINGS: dict[str, dict[str, Any]] = {
    "registered": {},
    "registered, by fractions of a point": {"subsample": True},
    "registered, mirror images too": {"reflection": True},
}


def main(n_seeds: int = 3) -> None:
    leaves = open_set("leaves_kaggle_outlines_200", "registration of leaves")
    if leaves is None:
        return
    sets, seconds = {"as they come": leaves.configurations}, {"as they come": ""}
    for name, options in SETTINGS.items():
        sx.register(leaves[:20], **options)  # compiles, or reads the cache
        with single_blas_thread():
            start = time.perf_counter()
            sets[name] = sx.register(leaves, **options).configurations
            seconds[name] = f"{time.perf_counter() - start:.1f}"
    rows = []
    for name, outlines in sets.items():
        cells = []
        for coder in ("ormp", "beam"):
            scores = [_rmse(outlines, coder, seed) for seed in range(n_seeds)]
            cells.append(f"{min(scores):.2f} to {max(scores):.2f}")
        rows.append([name, *cells, seconds[name]])
    print_table(
        "docs/how-to/registration.md, Effect on the error",
        ["outlines", "ormp", "beam 16", "registering, s on one core"],
        rows,
        "registration",
    )
    print_title("docs/how-to/registration.md, What else changes the result: 100 leaves")
    print(sx.invariance_report(leaves.configurations[:100], leaves.space))


def _rmse(X: np.ndarray[Any, Any], coder: str, seed: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain: dict[str, Any] = {"tie": 0, "n_swaps": 0} if coder == "ormp" else {}
        model = sx.ShapeDictionary(20, 5, coder=coder, **plain, max_iter=60, random_state=seed).fit(X)
    return -100 * model.score(X)
