"""GeoJSON and QuPath: geometries, classes, and what is refused."""

import re
from typing import Any

import numpy as np
import pytest

from tests.io.conftest import check_refused, check_set, notes_of

FILE = "cells.geojson"
RING = [[0, 0], [4, 0], [4, 3], [0, 0]]
SMALL = [[0, 0], [1, 0], [1, 1], [0, 0]]


def feature(kind: str, coordinates: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}, "properties": properties}


TRIANGLE = feature("Polygon", [RING])


@pytest.mark.parametrize(
    "document",
    [{"type": "FeatureCollection", "features": [TRIANGLE]}, [TRIANGLE], TRIANGLE, TRIANGLE["geometry"]],
    ids=["collection", "list", "feature", "geometry"],
)
def test_polygon_in_every_wrapping(read, document):
    shapes = read(document)
    check_set(shapes, [[0, 4, 4 - 3j]], closed=True, ids=["cells:1"])


@pytest.mark.parametrize(
    ("kind", "coordinates", "expected", "closed", "facts"),
    [
        ("Polygon", [RING, SMALL], [0, 4, 4 - 3j], True, {"n_holes": 1}),
        ("MultiPolygon", [[SMALL], [RING, SMALL]], [0, 4, 4 - 3j], True, {"n_parts": 2, "n_holes": 1}),
        ("LineString", [[0, 1], [2, 3]], [-1j, 2 - 3j], False, {}),
        ("MultiLineString", [[[0, 0], [1, 0]], [[0, 0], [0, 5]]], [0, -5j], False, {"n_parts": 2}),
        ("MultiPoint", [[0, 1], [5, 2]], [-1j, 5 - 2j], False, {}),
    ],
)
def test_geometries(read, kind, coordinates, expected, closed, facts):
    shapes = read(feature(kind, coordinates))
    check_set(shapes, [expected], closed=closed)
    assert notes_of(shapes).count("1 of 1 features") == len(facts)
    assert facts.items() <= {name: column[0] for name, column in shapes.metadata.items()}.items()


@pytest.mark.parametrize(
    ("classification", "labels"),
    [
        ({"name": "Tumor", "color": [1, 2, 3]}, ["Tumor"]),
        ({"names": ["Tumor", "Positive"]}, ["Tumor: Positive"]),
        ("Stroma", ["Stroma"]),
        (None, None),
    ],
)
def test_class_becomes_label(read, classification, labels):
    shapes = read(feature("Polygon", [RING], classification=classification, name="roi 1"))
    assert (shapes.labels if labels is None else shapes.labels.tolist()) == labels
    assert shapes.metadata["name"].tolist() == ["roi 1"]


def test_nuclei_of_cells_on_request(read):
    cell = TRIANGLE | {"nucleusGeometry": {"type": "Polygon", "coordinates": [SMALL]}, "id": "c7"}
    shapes = read([cell], geometry="nucleusGeometry", y_down=False)
    check_set(shapes, [[0, 1, 1 + 1j]], ids=["c7"])


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
def test_bad_features(check_bad_record, bad, words):
    check_bad_record({"type": "FeatureCollection", "features": [bad, TRIANGLE]}, 1, f"feature 1: .*{words}")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"type": "Feature", "geometry": ' + "9" * 5000 + "}", "no valid JSON"),
        ('{"type": "Topology"}', "no GeoJSON"),
        ('{"type": "FeatureCollection", "features": 3}', "no GeoJSON: .* with a list of features"),
        ("{", "no valid JSON"),
        (b"\xff", "no GeoJSON|no valid JSON"),
    ],
)
def test_bad_documents_are_refused(read, text, words):
    check_refused(words, read, text)


def test_features_of_several_kinds_are_remarked(read):
    document = [TRIANGLE, feature("LineString", [[0, 0], [1, 0], [1, 2]])]
    check_refused("Some shapes are closed", read, document)
    assert "2 features: 1 outline and 1 line were" in notes_of(read(document, closed=True))
    assert "only=outlines" in notes_of(read(document, closed=True))
    lines = read(document, only="lines")
    assert (len(lines), lines.closed, lines.notes) == (1, False, ())


def test_empty_geometries_and_more_coordinates_are_counted(read):
    spatial = [[*point, 7] for point in RING]
    empty = [feature("Polygon", []), feature("MultiPoint", []), {"type": "Feature", "geometry": None}]
    shapes = read([*empty, TRIANGLE, feature("Polygon", [spatial]), feature("MultiPolygon", [[RING], [spatial]])])
    check_set(shapes, [[0, 4, 4 - 3j]] * 3, ids=["cells:4", "cells:5", "cells:6"])
    left_out, parts, more = shapes.notes
    assert "3 of 6 features: left out, since they are empty: they have no coordinates." in left_out
    assert "1 of 3 features" in parts
    assert re.search("2 of 3 features: .*such as z", more)
    check_refused("No shape could be read", read, empty)


def test_properties_become_metadata(read):
    told = [
        {"name": "a", "area": 3.5, "grade": 1, "barcode": 10**17, "isLocked": True, "measurements": {"x": 1}},
        {"name": 7, "area": 4, "grade": "bad", "barcode": 10**17 + 1, "isLocked": False, "color": [1, 2, 3]},
        {"name": "c", "area": None, "grade": True, "barcode": 2, "isLocked": False, "classification": {"name": "T"}},
    ]
    shapes = read([feature("Polygon", [RING], **properties) for properties in told])
    assert {name: column.tolist() for name, column in shapes.metadata.items() if name != "area"} == {
        "name": ["a", "7", "c"],
        "grade": ["1", "bad", "True"],
        "barcode": [10**17, 10**17 + 1, 2],
        "isLocked": [True, False, False],
        "geometry": ["Polygon"] * 3,
        "n_holes": [0] * 3,
    }
    np.testing.assert_array_equal(shapes.metadata["area"], [3.5, 4, np.nan])
    assert "2 of 3 features: have properties that are lists or objects" in notes_of(shapes)
