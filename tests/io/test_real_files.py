"""The real files of the shared data, each read as a new user would, and compared with what is known of it."""

from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError, SkippedRecordsWarning

pytestmark = pytest.mark.realdata

# Shapes, points, closed, distinct labels: the table in the README of the data.
SETS = {
    "hands": (40, 56, True, 0),
    "horses": (328, 200, True, 0),
    "leaves_Bsplines": (1584, 40, True, 0),
    "6376_open_worms_6ctrlpts": (6376, 12, False, 0),
    "200_closed_worms_8ctrlpts": (200, 16, True, 0),
    "100_closed_worms_10ctrlpts": (100, 20, True, 0),
    "worms_open_from_hermite_20": (6376, 20, False, 0),
    "mpeg7_outlines_200": (1400, 200, True, 70),
    "leaves_kaggle_outlines_200": (1584, 200, True, 100),
    "celegans_wormpose_midlines_20": (720, 20, False, 0),
    "celegans_yemini_cb4853_midlines_20": (400, 20, False, 0),
    "apes_8": (167, 8, False, 6),
    "mice_vertebrae_6": (76, 6, False, 3),
    "mice_vertebrae_outlines_60": (76, 60, True, 3),
    "digit3_13": (30, 13, False, 0),
    "schizophrenia_13": (28, 13, False, 2),
    "sand_outlines_50": (49, 50, True, 2),
    "plethodon_12": (40, 12, False, 2),
    "plethspecies_11": (9, 11, False, 9),
    "hummingbirds_25": (44, 25, False, 0),
    "pupfish_56": (54, 56, False, 4),
    "lizards_28": (98, 28, False, 49),
    "mosquito_wings_asym_18": (40, 18, False, 10),
    "pleth_food_13": (69, 13, False, 0),
    "bottles_outlines_120": (40, 120, True, 2),
    "hearts_outlines_80": (240, 80, True, 8),
    "trilobite_cephala_outlines_64": (50, 64, True, 4),
    "mosquito_wing_outlines_100": (126, 100, True, 0),
    "molars_outlines_79": (360, 79, True, 4),
    "charring_grain_outlines_120": (324, 120, True, 2),
    "olive_stones_open_80": (210, 80, False, 4),
    "oak_leaves_11": (176, 11, False, 2),
    "mosquito_wings_18": (127, 18, False, 11),
    "bee_wings_9": (445, 9, False, 18),
    "cells_osteosarcoma_outlines_100": (650, 100, True, 6),
    "cells_u373_tracks_100": (1313, 100, True, 2),
}


@pytest.fixture
def data(data_folder) -> Path:
    return data_folder


@pytest.mark.parametrize("name", SETS)
def test_sets(data, name):
    n_shapes, n_points, closed, n_labels = SETS[name]
    shapes = sx.read(data / f"{name}.npz")
    assert shapes.shape == (n_shapes, n_points)
    assert shapes.closed == closed
    assert (0 if shapes.labels is None else len(np.unique(shapes.labels))) == n_labels
    assert not shapes.notes
    with np.load(data / f"{name}.npz") as file:
        np.testing.assert_array_equal(shapes.configurations, sx.from_points(file["points"]))
        for key in set(file.files) - {"points", "closed", "kind", "labels", "sequence", "ids", "names"}:
            np.testing.assert_array_equal(shapes.metadata[key], file[key])
    assert shapes.summary().startswith(f"{n_shapes} shapes in ")


def test_every_set_is_listed(data):
    assert {path.stem for path in data.glob("*.npz")} == set(SETS)


def test_time_series(data):
    shapes = sx.read(data / "celegans_wormpose_midlines_20.npz")
    assert np.bincount(shapes.sequence).tolist() == [35, 169, 414, 76, 26]
    assert (np.diff(shapes.metadata["frame"]) > 0).all()


def test_bee_wings(data):
    wings = sx.read(data / "formats" / "tps" / "bee_wings.TPS")
    known = sx.read(data / "bee_wings_9.npz")
    np.testing.assert_array_equal(wings.configurations, known.configurations)
    np.testing.assert_array_equal(wings.metadata["scale"], known.metadata["scale"])
    stems = [Path(image).stem.lower() for image in wings.metadata["image"]]
    assert stems == [Path(image).stem.lower() for image in known.metadata["image"]]
    with pytest.raises(ShapeFileError, match="scale=True needs a positive SCALE"):
        sx.read(data / "formats" / "tps" / "bee_wings.TPS", scale=True)


def test_trilobites(data):
    path = data / "formats" / "tps" / "trilobite_cephala_landmarks_curves.tps"
    with pytest.raises(ShapeFileError, match="record 10, line 865: 4 of its 16 landmarks are missing"):
        sx.read(path)
    with pytest.warns(SkippedRecordsWarning, match="Left out 15 records"):
        assert sx.read(path, on_error="skip").shape == (285, 16)
    shapes = sx.read(path, curves="append", missing="allow")
    assert shapes.shape == (300, 88)
    assert shapes.is_missing.sum() == 34
    assert np.isfinite(shapes.metadata["scale"]).sum() == 287
    # Half of the coordinates lie below zero: they are data, unless the caller says otherwise.
    assert shapes.configurations[0, 0] == 3.671741 - 0.849694j
    assert sx.read(path, curves="only").shape == (300, 72)


def test_reference_table(data):
    path = data / "formats" / "csv" / "hands_reference_layout.csv.gz"
    with pytest.raises(ShapeFileError, match='layout="blocks"'):
        sx.read(path)
    hands = sx.read(path, layout="blocks", closed=True)
    known = sx.read(data / "hands.npz")
    np.testing.assert_array_equal(hands.configurations, known.configurations)
    assert hands.space == known.space
