"""The paper's data sets and the sizes of its dictionaries."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import shapelex as sx
from shape_data import open_set
from shapelex.spaces import Space


@dataclass(frozen=True)
class PaperSet:
    """A set of shapes, the size of its dictionary, and the paper's error in percent."""

    file: str
    space: Space
    n_nonzero: int
    n_atoms: int
    paper_rmse: float


PAPER_SETS = {
    "Hermite worms": PaperSet("6376_open_worms_6ctrlpts", sx.HermiteSpline(6), 5, 10, 4.04),
    "hands": PaperSet("hands", sx.Landmarks(56), 3, 10, 2.48),
    "leaves, B-splines": PaperSet("leaves_Bsplines", sx.BSpline(40), 5, 20, 6.41),
}


def load(name: str, table: str) -> np.ndarray[Any, Any] | None:
    """Return the configurations of one of `PAPER_SETS`; None, with a line on why, without the data."""
    found = open_set(PAPER_SETS[name].file, f"{table}, {name}")
    return None if found is None else found.configurations
