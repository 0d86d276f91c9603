"""Sets of shapes with classes, and which of their shapes belong together, from the folder that SHAPELEX_DATA names."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import shapelex as sx

MIN_CLASS_SIZE = 5

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class LabelledSet:
    """A file, the part of it to use, and what ties shapes together so that they stay in one fold."""

    file: str
    is_outline: bool = True
    view: str | None = None
    groups: Callable[[Mapping[str, Array]], Array] | None = None
    registers: bool = False


@dataclass(frozen=True)
class LabelledShapes:
    """Configurations, their classes, and the number of the group that each belongs to."""

    X: Array
    y: Array
    groups: Array | None
    is_outline: bool
    registers: bool = False


def _specimens(file: Mapping[str, Array]) -> Array:
    """Return the specimen of each wing: its image without the side and what follows."""
    return np.array([image.split("_L")[0].split("_R")[0].split("_dup")[0] for image in file["image"].tolist()])


def _trees(file: Mapping[str, Array]) -> Array:
    """Return locality and tree: the same codes of trees occur in both localities."""
    return np.char.add(file["labels"].astype(str), file["tree"].astype(str))


# The three views of a grain are three problems, whose accuracies are averaged; within a view grains are independent.
SETS = {
    "hearts": [LabelledSet("hearts_outlines_80")],
    "bee wings": [LabelledSet("bee_wings_9", is_outline=False, groups=_specimens)],
    "plethodon": [LabelledSet("plethodon_12", is_outline=False)],
    "cells": [LabelledSet("cells_osteosarcoma_outlines_100")],
    "grains": [LabelledSet("charring_grain_outlines_120", view=view) for view in "dlp"],
    "mpeg7": [LabelledSet("mpeg7_outlines_200")],
}

# Outlines that start anywhere, given common start points, directions and sides of their mirror.
REGISTERED_SETS = {
    "mpeg7": [LabelledSet("mpeg7_outlines_200", registers=True)],
    "cells": [LabelledSet("cells_osteosarcoma_outlines_100", registers=True)],
}

# No choice of a method, a default or a grid was made on these.
CHECK_SETS = {
    "apes": [LabelledSet("apes_8", is_outline=False)],
    "mice": [LabelledSet("mice_vertebrae_outlines_60")],
    "molars": [LabelledSet("molars_outlines_79", groups=lambda file: file["individual"])],
    "trilobites": [LabelledSet("trilobite_cephala_outlines_64")],
    "oak leaves": [LabelledSet("oak_leaves_11", is_outline=False, groups=_trees)],
    "olive stones": [LabelledSet("olive_stones_open_80", is_outline=False, view=view) for view in ("VD", "VL")],
}


def load(labelled_set: LabelledSet) -> LabelledShapes | None:
    """Return shapes of classes with `MIN_CLASS_SIZE` members or more, or None where the data are not there."""
    path = Path(os.environ.get("SHAPELEX_DATA", "")) / f"{labelled_set.file}.npz"
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    labels = arrays["labels"].astype(str)
    is_used = labels != ""
    if labelled_set.view is not None:
        is_used &= arrays["view"] == labelled_set.view
    if "image" in arrays:
        is_used &= np.char.find(arrays["image"].astype(str), "Remove") < 0
    names, counts = np.unique(labels[is_used], return_counts=True)
    is_used &= np.isin(labels, names[counts >= MIN_CLASS_SIZE])
    groups = None
    if labelled_set.groups is not None:
        groups = np.unique(labelled_set.groups(arrays)[is_used], return_inverse=True)[1]
    X = sx.from_points(arrays["points"])[is_used]
    return LabelledShapes(X, labels[is_used], groups, labelled_set.is_outline, labelled_set.registers)
