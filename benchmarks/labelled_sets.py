"""Sets of shapes with classes, and which of their shapes belong together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import shapelex as sx
from shape_data import open_set

MIN_CLASS_SIZE = 5

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class LabelledSet:
    """A file, the part of it to use, and what ties shapes together so that they stay in one fold."""

    file: str
    is_outline: bool = True
    view: str | None = None
    groups: Callable[[sx.ShapeSet], Array] | None = None
    registers: bool = False


@dataclass(frozen=True)
class LabelledShapes:
    """Configurations, their classes, and the number of the group that each belongs to."""

    X: Array
    y: Array
    groups: Array | None
    is_outline: bool
    registers: bool = False


def specimens(wings: sx.ShapeSet) -> Array:
    """Return the specimen of each wing: its image without the side and what follows."""
    images = wings.metadata["image"].tolist()
    return np.array([image.split("_L")[0].split("_R")[0].split("_dup")[0] for image in images])


def trees(leaves: sx.ShapeSet) -> Array:
    """Return locality and tree: the same codes of trees occur in both localities."""
    return np.char.add(np.asarray(leaves.labels), leaves.metadata["tree"].astype(str))


# The three views of a grain are three problems, whose accuracies are averaged; within a view grains are independent.
SETS = {
    "hearts": [LabelledSet("hearts_outlines_80")],
    "mpeg7": [LabelledSet("mpeg7_outlines_200")],
    "bee wings": [LabelledSet("bee_wings_9", is_outline=False, groups=specimens)],
    "plethodon": [LabelledSet("plethodon_12", is_outline=False)],
    "cells": [LabelledSet("cells_osteosarcoma_outlines_100")],
    "grains": [LabelledSet("charring_grain_outlines_120", view=view) for view in "dlp"],
}

# Outlines that start anywhere, given common start points, directions and sides of their mirror.
REGISTERED_SETS = {
    "cells": [LabelledSet("cells_osteosarcoma_outlines_100", registers=True)],
    "mpeg7": [LabelledSet("mpeg7_outlines_200", registers=True)],
}

# No choice of a method, a default or a grid was made on these.
CHECK_SETS = {
    "apes": [LabelledSet("apes_8", is_outline=False)],
    "mice": [LabelledSet("mice_vertebrae_outlines_60")],
    "molars": [LabelledSet("molars_outlines_79", groups=lambda molars: molars.metadata["individual"])],
    "trilobites": [LabelledSet("trilobite_cephala_outlines_64")],
    "oak leaves": [LabelledSet("oak_leaves_11", is_outline=False, groups=trees)],
    "olive stones": [LabelledSet("olive_stones_open_80", is_outline=False, view=view) for view in ("VD", "VL")],
}


def load(labelled_set: LabelledSet, rows: str) -> LabelledShapes | None:
    """Return shapes of classes with `MIN_CLASS_SIZE` members or more; None, with a line on why, without the data."""
    found = open_set(labelled_set.file, rows)
    if found is None:
        return None
    labels = np.asarray(found.labels)
    is_used = labels != ""
    if labelled_set.view is not None:
        is_used &= found.metadata["view"] == labelled_set.view
    if "image" in found.metadata:
        is_used &= np.char.find(found.metadata["image"].astype(str), "Remove") < 0
    names, counts = np.unique(labels[is_used], return_counts=True)
    is_used &= np.isin(labels, names[counts >= MIN_CLASS_SIZE])
    groups = None
    if labelled_set.groups is not None:
        groups = np.unique(labelled_set.groups(found)[is_used], return_inverse=True)[1]
    X = found.configurations[is_used]
    return LabelledShapes(X, labels[is_used], groups, labelled_set.is_outline, labelled_set.registers)
