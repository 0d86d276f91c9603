"""The paper's data sets and the sizes of its dictionaries; read from the folder that SHAPELEX_DATA names."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import shapelex as sx
from shapelex.spaces import Space


@dataclass(frozen=True)
class PaperSet:
    """A set of shapes, the size of its dictionary, the paper's error and what is to be reached, in percent."""

    file: str
    space: Space
    n_nonzero: int
    n_atoms: int
    paper_rmse: float
    rmse_target: float
    realism_target: float


PAPER_SETS = {
    "Hermite worms": PaperSet("6376_open_worms_6ctrlpts", sx.HermiteSpline(6), 5, 10, 4.04, 2.85, 0.055),
    "hands": PaperSet("hands", sx.Landmarks(56), 3, 10, 2.48, 2.45, 0.045),
    "leaves, B-spline": PaperSet("leaves_Bsplines", sx.BSpline(40), 5, 20, 6.41, 5.90, 0.10),
}


def load(paper_set: PaperSet) -> np.ndarray[Any, Any] | None:
    """Return the configurations, or None where the data are not there."""
    path = Path(os.environ.get("SHAPELEX_DATA", "")) / f"{paper_set.file}.npz"
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as file:
        return sx.from_points(file["points"])
