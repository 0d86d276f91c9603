"""Sets of shapes that dictionaries are evaluated on, and how they are divided."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

import shapelex as sx
from labelled_sets import specimens, trees
from measure import skip
from shape_data import open_set

Array = np.ndarray[Any, Any]

# Consecutive shapes of a recording are nearly copies: a recording is divided into this many blocks.
N_BLOCKS = 20


def _blocks(recording: sx.ShapeSet) -> Array:
    return np.arange(len(recording)) * N_BLOCKS // len(recording)


@dataclass(frozen=True)
class EvaluationSet:
    """A file, the size of the dictionary, and what ties shapes together so that they stay on one side of a split."""

    file: str
    n_atoms: int
    n_nonzero: int
    groups: Callable[[sx.ShapeSet], Array] | None = None
    view: str | None = None


@dataclass(frozen=True)
class EvaluationShapes:
    """Shapes in their space, and the number of the group that each belongs to."""

    X: sx.ShapeSet
    groups: Array

    def split(self, n_folds: int, seed: int) -> list[tuple[Array, Array]]:
        """Return the rows to learn from and the rows to hold out; groups are held out as a whole."""
        folds = GroupKFold(n_folds, shuffle=True, random_state=seed)
        return list(folds.split(np.empty((len(self.X), 0)), groups=self.groups))


# Outlines are taken as they come, without registration. Six atoms for fewer than 180 shapes, except where the paper or
# the space says otherwise; three atoms per shape where the shapes have few landmarks or are few.
SETS = {
    "worms": EvaluationSet("6376_open_worms_6ctrlpts", 10, 5, _blocks),
    "digits": EvaluationSet("digits", 12, 5),
    "leaves": EvaluationSet("leaves_Bsplines", 12, 5),
    "mpeg7": EvaluationSet("mpeg7_outlines_200", 12, 5),
    "glioblastoma cells": EvaluationSet("cells_u373_tracks_100", 12, 5, lambda found: np.asarray(found.sequence)),
    "C. elegans, WormPose": EvaluationSet("celegans_wormpose_midlines_20", 10, 5, _blocks),
    "osteosarcoma cells": EvaluationSet("cells_osteosarcoma_outlines_100", 12, 5),
    "bee wings": EvaluationSet("bee_wings_9", 6, 3, specimens),
    "C. elegans, CB4853": EvaluationSet("celegans_yemini_cb4853_midlines_20", 10, 5, _blocks),
    "molars": EvaluationSet("molars_outlines_79", 10, 5, lambda found: found.metadata["individual"]),
    "horses": EvaluationSet("horses", 10, 5),
    "hearts": EvaluationSet("hearts_outlines_80", 10, 5),
    "closed worms, 8 points": EvaluationSet("200_closed_worms_8ctrlpts", 10, 5),
    "oak leaves": EvaluationSet("oak_leaves_11", 6, 3, trees),
    "apes": EvaluationSet("apes_8", 6, 3),
    "mosquito wings": EvaluationSet("mosquito_wings_18", 6, 3),
    "mosquito wings, outlines": EvaluationSet("mosquito_wing_outlines_100", 6, 3),
    "grains": EvaluationSet("charring_grain_outlines_120", 6, 3, view="d"),
    "olive stones": EvaluationSet("olive_stones_open_80", 6, 3, view="VD"),
    "closed worms, 10 points": EvaluationSet("100_closed_worms_10ctrlpts", 6, 3),
    "lizards": EvaluationSet("lizards_28", 6, 3, lambda found: np.asarray(found.labels)),
    "mice": EvaluationSet("mice_vertebrae_outlines_60", 6, 3),
    "salamanders, food": EvaluationSet("pleth_food_13", 6, 3),
    "pupfish": EvaluationSet("pupfish_56", 6, 3),
    "trilobites": EvaluationSet("trilobite_cephala_outlines_64", 6, 3),
    "sand": EvaluationSet("sand_outlines_50", 6, 3),
    "hummingbirds": EvaluationSet("hummingbirds_25", 6, 3),
    "hands": EvaluationSet("hands", 10, 3),
    "*Plethodon*": EvaluationSet("plethodon_12", 6, 3),
    "bottles": EvaluationSet("bottles_outlines_120", 6, 3),
}


def load(chosen: EvaluationSet, rows: str) -> EvaluationShapes | None:
    """Return the shapes of a set; None, with a line on why, without the data."""
    found = _digits(rows) if chosen.file == "digits" else open_set(chosen.file, rows)
    if found is None:
        return None
    if chosen.view is not None:
        found = found[found.metadata["view"] == chosen.view]
    keys = np.arange(len(found)) if chosen.groups is None else chosen.groups(found)
    return EvaluationShapes(found, np.unique(keys, return_inverse=True)[1])


def _digits(rows: str) -> sx.ShapeSet | None:
    try:
        digits: sx.ShapeSet = sx.datasets.load_digits_outlines()
    except ImportError as error:
        skip(rows, error)
        return None
    return digits
