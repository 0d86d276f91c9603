"""Every file under ``formats`` of the shared data reads, or is refused for the right reason."""

from typing import Any

import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError
from shapelex.io import parts
from shapelex.io.read import read_to
from shapelex.shapes.set import join_blocks

pytestmark = pytest.mark.realdata

# Shapes in each file, and the options it needs beside n_points.
READABLE: dict[str, tuple[int, dict[str, Any]]] = {
    "coco/boxes_as_polygons_coco.json": (5, {}),
    "coco/nuts_instances_coco.json": (165, {}),
    "csv/hands_reference_layout.csv.gz": (40, {"layout": "blocks", "closed": True}),
    "hdf5/wormpose_features.h5": (720, {}),
    "imagej_roi/RoiSet.zip": (6, {"only": "outlines"}),
    "imagej_roi/composite-brush-donut.roi": (1, {}),
    "imagej_roi/composite-two-ellipses.roi": (1, {}),
    "imagej_roi/freehand.roi": (1, {}),
    "imagej_roi/freeline.roi": (1, {}),
    "imagej_roi/multipoint.roi": (1, {}),
    "imagej_roi/oval.roi": (1, {}),
    "imagej_roi/polygon-left.roi": (1, {}),
    "imagej_roi/polygon.roi": (1, {}),
    "imagej_roi/polyline.roi": (1, {}),
    "masks/caulobacter_binary_MreB-01.png": (32, {}),
    "masks/caulobacter_binary_WildType04.png": (4, {}),
    "masks/kaggle_leaf_100.jpg": (1, {}),
    "masks/mpeg7_horse-1.png": (1, {}),
    "masks/mpeg7_rat-09_inverted.png": (1, {}),
    "masks/nuclei_label_mask.tif": (125, {}),
    "matlab/yemini_wt2_features_short.mat": (400, {}),
    "qupath/qupath05.geojson": (3, {}),
    "tps/bee_wings.TPS": (445, {}),
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
    # Four landmarks of its tenth record are missing.
    "tps/trilobite_cephala_landmarks_curves.tps": "record 10",
    # One worm has two spines at one time.
    "wcon/minimax.wcon": "other points at this time",
    "wcon/minimaxzipped.wcon.zip": "other points at this time",
}


def test_no_file_is_forgotten(data_folder):
    folder = data_folder / "formats"
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    # What other programs make of the regions; no files of shapes.
    found -= {name for name in found if name.endswith(".expected.json")}
    assert found == set(READABLE) | set(REFUSED)


@pytest.mark.parametrize("name", READABLE)
def test_file_reads_whole_and_piece_by_piece(data_folder, name, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "_BATCH_RECORDS", 7)
    (tmp_path / "parts").mkdir()
    path, options = data_folder / "formats" / name, {"n_points": 50, **READABLE[name][1]}
    expected = sx.read(path, **options)
    assert expected.shape == (READABLE[name][0], 50)
    found = read_to(path, tmp_path / "parts", limit=0, **options)
    assert isinstance(found, parts.AssembledShapes)
    assert join_blocks(list(found.blocks())).equals(expected)
    assert found.notes == expected.notes
    assert found.provenance == expected.provenance


@pytest.mark.parametrize("name", REFUSED)
def test_file_is_refused(data_folder, name):
    with pytest.raises(ShapeFileError, match=REFUSED[name]):
        sx.read(data_folder / "formats" / name, n_points=50)


def test_expected_readings_of_regions_are_no_shapes(data_folder):
    with pytest.raises(ShapeFileError, match="looks like none of"):
        sx.read(data_folder / "formats/imagej_roi/polygon.expected.json")
