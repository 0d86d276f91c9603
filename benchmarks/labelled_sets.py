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
    """A file, the views in it that are problems of their own, and what ties shapes together in one fold.

    Files of landmarks say nothing of an order along a curve; those of outlines do.
    """

    file: str
    views: tuple[str, ...] = ()
    groups: Callable[[sx.ShapeSet], Array] | None = None
    chosen_on: bool = False


@dataclass(frozen=True)
class LabelledShapes:
    """Configurations of a space, their classes, the number of the group that each belongs to, and their rows."""

    X: Array
    y: Array
    groups: Array | None
    space: sx.spaces.Space
    rows: Array


def specimens(wings: sx.ShapeSet) -> Array:
    """Return the specimen of each wing: its image without the side and what follows."""
    images = wings.metadata["image"].tolist()
    return np.array([image.split("_L")[0].split("_R")[0].split("_dup")[0] for image in images])


def trees(leaves: sx.ShapeSet) -> Array:
    """Return locality and tree: the same codes of trees occur in both localities."""
    return np.char.add(np.asarray(leaves.labels), leaves.metadata["tree"].astype(str))


# Views of a grain or a stone are problems of their own, whose shapes are counted together. The methods and their grids
# were chosen on the first six sets, and on no other.
SETS = {
    "hearts": LabelledSet("hearts_outlines_80", chosen_on=True),
    "mpeg7": LabelledSet("mpeg7_outlines_200", chosen_on=True),
    "bee wings": LabelledSet("bee_wings_9", groups=specimens, chosen_on=True),
    "plethodon": LabelledSet("plethodon_12", chosen_on=True),
    "cells": LabelledSet("cells_osteosarcoma_outlines_100", chosen_on=True),
    "grains": LabelledSet("charring_grain_outlines_120", views=("d", "l", "p"), chosen_on=True),
    "apes": LabelledSet("apes_8"),
    "mice": LabelledSet("mice_vertebrae_6"),
    "trilobites": LabelledSet("trilobite_cephala_outlines_64"),
    "oak leaves": LabelledSet("oak_leaves_11", groups=trees),
    "molars": LabelledSet("molars_outlines_79", groups=lambda molars: molars.metadata["individual"]),
    "olive stones": LabelledSet("olive_stones_open_80", views=("VD", "VL")),
    "bottles": LabelledSet("bottles_outlines_120"),
    "mosquito wings": LabelledSet("mosquito_wings_18"),
    "sand": LabelledSet("sand_outlines_50"),
    "schizophrenia": LabelledSet("schizophrenia_13"),
}


def load(labelled_set: LabelledSet, rows: str) -> list[LabelledShapes]:
    """Return the shapes of each view, of classes with `MIN_CLASS_SIZE` members or more; none without the data."""
    found = open_set(labelled_set.file, rows)
    if found is None:
        return []
    return [_select(found, labelled_set, view) for view in labelled_set.views or (None,)]


def _select(found: sx.ShapeSet, labelled_set: LabelledSet, view: str | None) -> LabelledShapes:
    labels = np.asarray(found.labels)
    is_used = labels != ""
    if view is not None:
        is_used &= found.metadata["view"] == view
    if "image" in found.metadata:
        is_used &= np.char.find(found.metadata["image"].astype(str), "Remove") < 0
    names, counts = np.unique(labels[is_used], return_counts=True)
    is_used &= np.isin(labels, names[counts >= MIN_CLASS_SIZE])
    groups = None
    if labelled_set.groups is not None:
        groups = np.unique(labelled_set.groups(found)[is_used], return_inverse=True)[1]
    return LabelledShapes(found.configurations[is_used], labels[is_used], groups, found.space, np.flatnonzero(is_used))
