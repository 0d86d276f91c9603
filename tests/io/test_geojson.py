"""GeoJSON and QuPath: geometries, classes, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.geojson import read_records
from shapelex.io.records import BadRecord, Record, Remark

RING = [[0, 0], [4, 0], [4, 3], [0, 0]]
SMALL = [[0, 0], [1, 0], [1, 1], [0, 0]]


def feature(kind: str, coordinates: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}, "properties": properties}


def read_document(folder: Path, document: Any, **options: Any) -> list[Record | BadRecord]:
    path = folder / "cells.geojson"
    path.write_text(json.dumps(document))
    return list(read_records(path, **options))


def wrap(document: dict[str, Any], how: str) -> Any:
    wrapped = {"collection": {"type": "FeatureCollection", "features": [document]}, "list": [document]}
    return wrapped.get(how, document["geometry"] if how == "geometry" else document)


@pytest.mark.parametrize("how", ["collection", "list", "feature", "geometry"])
def test_polygon_in_every_wrapping(tmp_path: Path, how: str) -> None:
    (record,) = read_document(tmp_path, wrap(feature("Polygon", [RING]), how))
    np.testing.assert_array_equal(record.points, [0, 4, 4 - 3j])
    assert record.closed
    assert record.id == "cells:1"


@pytest.mark.parametrize(
    ("kind", "coordinates", "expected", "closed", "facts"),
    [
        ("Polygon", [RING, SMALL], [0, 4, 4 - 3j], True, {"n_holes": 1}),
        ("MultiPolygon", [[SMALL], [RING, SMALL]], [0, 4, 4 - 3j], True, {"n_parts": 2, "n_holes": 1}),
        ("LineString", [[0, 1], [2, 3]], [-1j, 2 - 3j], False, {}),
        ("MultiLineString", [[[0, 0], [1, 0]], [[0, 0], [0, 5]]], [0, -5j], False, {"n_parts": 2}),
        ("MultiPoint", [[0, 1], [5, 2]], [-1j, 5 - 2j], None, {}),
    ],
)
def test_geometries(
    tmp_path: Path, kind: str, coordinates: Any, expected: list[complex], closed: bool | None, facts: dict[str, int]
) -> None:
    record, *remarks = read_document(tmp_path, feature(kind, coordinates))
    np.testing.assert_array_equal(record.points, expected)
    assert record.closed is closed
    assert [remark.where for remark in remarks] == ["1 of 1 features"] * len(facts)
    assert facts.items() <= record.metadata.items()


@pytest.mark.parametrize(
    ("classification", "label"),
    [
        ({"name": "Tumor", "color": [1, 2, 3]}, "Tumor"),
        ({"names": ["Tumor", "Positive"]}, "Tumor: Positive"),
        ("Stroma", "Stroma"),
        (None, ""),
    ],
)
def test_class_becomes_label(tmp_path: Path, classification: Any, label: str) -> None:
    (record,) = read_document(tmp_path, feature("Polygon", [RING], classification=classification, name="roi 1"))
    assert record.label == label
    assert record.metadata["name"] == "roi 1"


def test_nuclei_of_cells_on_request(tmp_path: Path) -> None:
    cell = feature("Polygon", [RING]) | {"nucleusGeometry": {"type": "Polygon", "coordinates": [SMALL]}, "id": "c7"}
    (record,) = read_document(tmp_path, [cell], geometry="nucleusGeometry", y_down=False)
    np.testing.assert_array_equal(record.points, [0, 1, 1 + 1j])
    assert record.id == "c7"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (feature("Point", [1, 2]), "'Point' is no outline"),
        (feature("MultiPolygon", [[]]), "not empty"),
        ({"type": "Feature"}, "null"),
        (feature("Polygon", [[[0, 0], [1, 1], [0, 0]]]), "at least 3 points, this one has 2"),
        (feature("Polygon", [[[0, "a"], [1, 1], [2, 0]]]), "the text 'a'"),
        (feature("Polygon", [[[0, True], [1, 1], [2, 0]]]), "true"),
        (feature("Polygon", [[[0, None], [1, 1], [2, 0]]]), "null"),
        (feature("Polygon", [[[0, float("nan")], [1, 1], [2, 0]]]), "not a number"),
        (feature("Polygon", [[[0, 10**400], [1, 1], [2, 0]]]), "too large"),
        (feature("Polygon", [[[0], [1, 1], [2, 0]]]), "fewer than two"),
        (feature("Polygon", {"x": 1}), "an object"),
        (17, "a number"),
    ],
)
def test_bad_feature_is_named_and_the_next_is_read(tmp_path: Path, bad: Any, words: str) -> None:
    found = read_document(tmp_path, {"type": "FeatureCollection", "features": [bad, feature("Polygon", [RING])]})
    assert isinstance(found[0], BadRecord)
    assert found[0].where == "feature 1"
    assert words in found[0].reason
    assert isinstance(found[1], Record)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"type": "Feature", "geometry": ' + "9" * 5000 + "}", "no valid JSON"),
        ('{"type": "Topology"}', "no GeoJSON"),
        ('{"type": "FeatureCollection", "features": 3}', "no GeoJSON: .* with a list of features"),
        ("{", "no valid JSON"),
        ("\xff", "no GeoJSON|no valid JSON"),
    ],
)
def test_bad_documents_are_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "cells.geojson"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ShapeFileError, match=words):
        sx.read(path)


@pytest.mark.realdata
def test_real_qupath_export(data_folder: Path) -> None:
    path = data_folder / "formats/qupath/qupath05.geojson"
    shapes = sx.read(path, n_points=100)
    document = json.loads(path.read_text())
    assert shapes.ids.tolist() == [one["id"] for one in document["features"]]
    assert shapes.metadata["name"].tolist() == ["UT", "I", "I"]
    first = np.array(document["features"][0]["geometry"]["coordinates"][0])[0]
    assert shapes[0][0] == first @ [1, -1j]
    assert shapes.closed


def test_features_of_several_kinds_are_remarked(tmp_path: Path) -> None:
    document = [feature("Polygon", [RING]), feature("LineString", [[0, 0], [1, 0], [1, 2]])]
    *records, remark = read_document(tmp_path, document)
    assert [record.closed for record in records] == [True, False]
    assert (remark.where, remark.text.split(" were")[0]) == ("2 features", "1 outline and 1 line")
    assert len(read_document(tmp_path, document, only="lines")) == 1
    assert "only=outlines" in " ".join(sx.read(tmp_path / "cells.geojson", closed=True).notes)


def test_more_coordinates_than_two_are_counted(tmp_path: Path) -> None:
    spatial = [[*point, 7] for point in RING]
    document = [feature("Polygon", [RING]), feature("Polygon", [spatial]), feature("MultiPolygon", [[RING], [spatial]])]
    *records, parts, more = read_document(tmp_path, document)
    assert [record.points.tolist() for record in records] == [[0, 4, 4 - 3j]] * 3
    assert (more.where, "such as z" in more.text) == ("2 of 3 features", True)
    assert parts.where == "1 of 3 features"


def test_empty_geometries_are_left_out_with_a_remark(tmp_path: Path) -> None:
    empty = [feature("Polygon", []), feature("MultiPoint", []), {"type": "Feature", "geometry": None}]
    record, remark = read_document(tmp_path, [*empty, feature("Polygon", [RING])])
    assert record.id == "cells:4"
    assert remark == Remark("3 of 4 features", "left out, since they are empty: they have no coordinates.")
    assert all(isinstance(found, Remark) for found in read_document(tmp_path, empty))
    with pytest.raises(ShapeFileError, match="No shape could be read"):
        sx.read(tmp_path / "cells.geojson")


def test_properties_become_metadata(tmp_path: Path) -> None:
    told = [
        {"name": "a", "area": 3.5, "grade": 1, "barcode": 10**17, "isLocked": True, "measurements": {"x": 1}},
        {"name": 7, "area": 4, "grade": "bad", "barcode": 10**17 + 1, "isLocked": False, "color": [1, 2, 3]},
        {"name": "c", "area": None, "grade": True, "barcode": 2, "isLocked": False, "classification": {"name": "T"}},
    ]
    path = tmp_path / "cells.geojson"
    path.write_text(json.dumps([feature("Polygon", [RING], **properties) for properties in told]))
    shapes = sx.read(path)
    assert {name: column.tolist() for name, column in shapes.metadata.items() if name != "area"} == {
        "name": ["a", "7", "c"],
        "grade": ["1", "bad", "True"],
        "barcode": [10**17, 10**17 + 1, 2],
        "isLocked": [True, False, False],
        "geometry": ["Polygon"] * 3,
        "n_holes": [0] * 3,
    }
    np.testing.assert_array_equal(shapes.metadata["area"], [3.5, 4, np.nan])
    (note,) = [note for note in shapes.notes if "properties" in note]
    assert "2 of 3 features: have properties that are lists or objects" in note
