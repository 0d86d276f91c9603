"""The real files of the shared data, each read as a new user would, and compared with what is known of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import SkippedRecordsWarning
from shapelex.io import parts
from shapelex.io.read import read_to
from shapelex.shapes.set import join_blocks
from tests.io.conftest import check_refused, check_set

pytestmark = pytest.mark.realdata

REGIONS = [
    "composite-brush-donut", "composite-two-ellipses", "freehand", "freeline", "multipoint", "oval", "polygon-left",
    "polygon", "polyline",
]  # fmt: skip
# Shapes in each file under ``formats``, and the options it needs beside n_points.
READABLE: dict[str, tuple[int, dict[str, Any]]] = {
    **{f"imagej_roi/{name}.roi": (1, {}) for name in REGIONS},
    **{f"masks/{name}": (1, {}) for name in ("kaggle_leaf_100.jpg", "mpeg7_horse-1.png", "mpeg7_rat-09_inverted.png")},
    "coco/boxes_as_polygons_coco.json": (5, {}),
    "coco/nuts_instances_coco.json": (165, {}),
    "csv/hands_reference_layout.csv.gz": (40, {"layout": "blocks", "closed": True}),
    "hdf5/wormpose_features.h5": (720, {}),
    "imagej_roi/RoiSet.zip": (6, {"only": "outlines"}),
    "masks/caulobacter_binary_MreB-01.png": (32, {}),
    "masks/caulobacter_binary_WildType04.png": (4, {}),
    "masks/nuclei_label_mask.tif": (125, {}),
    "matlab/yemini_wt2_features_short.mat": (400, {}),
    "qupath/qupath05.geojson": (3, {}),
    "tps/bee_wings.TPS": (445, {"scale": "ignore"}),
    "tps/momocs_lm.tps": (2, {}),
    "tps/momocs_outlines.tps": (2, {}),
    "wcon/multiworm.wcon": (23, {}),
    "wcon/offset_and_centroid.wcon": (3, {}),
    "wcon/perimeter.wcon": (1, {"curve": "perimeter"}),
    "wcon/perimeter_points.wcon": (3, {"curve": "perimeter"}),
    "wkt/u373_cell7_track.wkt": (14, {}),
}
REFUSED = {
    "ctx/mpeg7_horse-1.ctx": "no longer read",
    "tps/trilobite_cephala_landmarks_curves.tps": "only 287 of its 300 records have a positive SCALE",
    # One worm has two spines at one time.
    "wcon/minimax.wcon": "other points at this time",
    "wcon/minimaxzipped.wcon.zip": "other points at this time",
    # What other programs make of the regions.
    "imagej_roi/polygon.expected.json": "looks like none of",
}


@pytest.fixture
def formats(data_folder):
    return data_folder / "formats"


def test_no_file_is_forgotten(formats):
    found = {path.relative_to(formats).as_posix() for path in formats.rglob("*") if path.is_file()}
    assert {name for name in found if not name.endswith(".expected.json")} <= {*READABLE, *REFUSED} <= found


@pytest.mark.parametrize("name", READABLE)
def test_file_reads_whole_and_piece_by_piece(formats, name, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "_BATCH_RECORDS", 7)
    n_shapes, options = READABLE[name]
    expected = sx.read(formats / name, n_points=50, **options)
    assert expected.shape == (n_shapes, 50)
    found = read_to(formats / name, tmp_path, limit=0, n_points=50, **options)
    assert not found.in_memory
    assert join_blocks(list(found.blocks())).equals(expected)
    assert (found.notes, found.provenance) == (expected.notes, expected.provenance)


@pytest.mark.parametrize("name", REFUSED)
def test_file_is_refused(formats, name):
    check_refused(REFUSED[name], sx.read, formats / name, n_points=50)


def test_sets_have_the_arrays_of_their_files(data_folder):
    for path in data_folder.glob("*.npz"):
        shapes = sx.read(path)
        assert not shapes.notes
        with np.load(path) as file:
            check_set(shapes, sx.from_points(file["points"]), closed=file["closed"])
            assert ("labels" in file) == (shapes.labels is not None)
            if "labels" in file:
                assert shapes.labels.tolist() == file["labels"].astype(str).tolist()
            for key in set(file.files) - {"points", "closed", "kind", "labels", "sequence", "ids", "names"}:
                np.testing.assert_array_equal(shapes.metadata[key], file[key])
        assert shapes.summary().startswith(f"{len(shapes)} shapes in ")
    worms = sx.read(data_folder / "celegans_wormpose_midlines_20.npz")
    assert np.bincount(worms.sequence).tolist() == [35, 169, 414, 76, 26]
    assert (np.diff(worms.metadata["frame"]) > 0).all()


def test_bee_wings(data_folder, formats):
    path = formats / "tps/bee_wings.TPS"
    wings, known = sx.read(path, scale="ignore"), sx.read(data_folder / "bee_wings_9.npz")
    np.testing.assert_array_equal(wings.configurations, known.configurations)
    np.testing.assert_array_equal(wings.metadata["scale"], known.metadata["scale"])
    stems = [[Path(image).stem.lower() for image in one.metadata["image"]] for one in (wings, known)]
    assert stems[0] == stems[1]
    check_refused("only 325 of its 445 records have a positive SCALE", sx.read, path)
    scaled, has_scale = sx.read(path, scale="drop"), np.isfinite(wings.metadata["scale"])
    assert len(scaled) == 325
    scales = wings.metadata["scale"][has_scale, None]
    np.testing.assert_array_equal(scaled.configurations, wings.configurations[has_scale] * scales)


def test_trilobites(formats):
    path = formats / "tps/trilobite_cephala_landmarks_curves.tps"
    check_refused("only 287 of its 300 records have a positive SCALE", sx.read, path)
    with pytest.warns(SkippedRecordsWarning, match="Left out 15 records"):
        assert sx.read(path, on_error="skip", scale="ignore").shape == (285, 16)
    words = "record 10, line 865: 4 of its 16 landmarks are missing"
    check_refused(words, sx.read, path, scale="ignore")
    assert sx.read(path, missing="allow", scale="drop").shape == (287, 16)
    shapes = sx.read(path, curves="append", missing="allow", scale="ignore")
    assert shapes.shape == (300, 88)
    assert shapes.is_missing.sum() == 34
    assert np.isfinite(shapes.metadata["scale"]).sum() == 287
    # Half of the coordinates lie below zero: they are data, unless the caller says otherwise.
    assert shapes.configurations[0, 0] == 3.671741 - 0.849694j
    assert sx.read(path, curves="only", scale="ignore").shape == (300, 72)


def test_reference_table(data_folder, formats):
    path = formats / "csv/hands_reference_layout.csv.gz"
    check_refused('layout="blocks"', sx.read, path)
    hands, known = sx.read(path, layout="blocks", closed=True), sx.read(data_folder / "hands.npz")
    check_set(hands, known.configurations, space=known.space)


@pytest.mark.parametrize(
    ("name", "known", "max_gap"),
    [
        # The set begins a sequence where five frames or more are missing.
        ("hdf5/wormpose_features.h5", "celegans_wormpose_midlines_20", 4),
        ("matlab/yemini_wt2_features_short.mat", "celegans_yemini_cb4853_midlines_20", None),
    ],
)
def test_skeletons(data_folder, formats, name, known, max_gap):
    shapes, expected = sx.read(formats / name, max_gap=max_gap, n_points=20), sx.read(data_folder / f"{known}.npz")
    np.testing.assert_array_equal(shapes.metadata["frame"], expected.metadata["frame"])
    np.testing.assert_array_equal(shapes.sequence, expected.sequence)
    np.testing.assert_allclose(shapes.configurations, expected.configurations, rtol=1e-10)
    assert max_gap is None or "max_gap=5" in sx.read(formats / name).notes[-1]
