"""Registration of outlines: its time, and what it does for dictionaries of leaves.

RMSE of dictionaries of 20 atoms, 5 a shape, on the 1,584 leaf outlines of 200 points, as they come and registered.
"""

import os
import time
import warnings
from pathlib import Path

import numpy as np

import shapelex as sx
from measure import print_table


def main(n_seeds: int = 3) -> None:
    path = Path(os.environ.get("SHAPELEX_DATA", "")) / "leaves_kaggle_outlines_200.npz"
    if not path.is_file():
        print("\nregistration: no data; set SHAPELEX_DATA")
        return
    with np.load(path, allow_pickle=False) as file:
        X = sx.from_points(file["points"])
    space = sx.Landmarks(X.shape[1], closed=True)
    settings = {"registered": {}, "with fractions": {"subsample": True}, "with mirror images": {"reflection": True}}
    sets, seconds = {"as they come": X}, {"as they come": 0.0}
    for name, options in settings.items():
        start = time.perf_counter()
        sets[name] = sx.register(X, space, **options).configurations
        seconds[name] = time.perf_counter() - start
    rows = []
    for name, outlines in sets.items():
        cells = []
        for coder in ("ormp", "beam"):
            scores = [_rmse(outlines, coder, seed) for seed in range(n_seeds)]
            cells.append(f"{min(scores):.2f} to {max(scores):.2f}")
        rows.append([name, f"{seconds[name]:.2f}", *cells])
    print_table("Registration of 1,584 leaves", ["outlines", "s", "RMSE % (ormp)", "RMSE % (beam 16)"], rows)


def _rmse(X: np.ndarray, coder: str, seed: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sx.ShapeDictionary(20, 5, coder=coder, max_iter=60, random_state=seed).fit(X)
    return -100 * model.score(X)


if __name__ == "__main__":
    main()
