"""GeoJSON as QuPath writes it: a file of features comes in, one record for each polygon or line goes out.

The file holds a FeatureCollection, one Feature, a bare geometry, or a list of features. Of a polygon with holes the
outer ring is read, of a multi-part geometry the largest part; both are noted in the metadata (``n_holes``,
``n_parts``). The label is the name of QuPath's classification. Coordinates are pixels with y down unless
``y_down=False`` says that the file is a map.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import FloatArray
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.json import MAX_JSON, describe, parse_json, position_array, text_of
from shapelex.io.formats.region_kinds import select_kind
from shapelex.io.formats.rings import path_length, ring_area, to_complex
from shapelex.io.guards import read_bytes
from shapelex.io.records import BadRecord, Record, Remark

# A tuple, since what a file has there may be unhashable.
GEOMETRIES = ("Polygon", "MultiPolygon", "LineString", "MultiLineString", "MultiPoint", "Point", "GeometryCollection")


def read_records(
    path: Path, *, y_down: bool = True, only: str | None = None, geometry: str = "geometry"
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each feature, and a remark where they are of several kinds.

    Parameters
    ----------
    path : Path
        File to read.
    y_down : bool, default: True
        Whether y points down in the file, as in images; it is then negated.
    only : {"outlines", "lines", "points"}, optional
        Read these alone, from a file that has several kinds.
    geometry : str, default: "geometry"
        Member of a feature to read; ``"nucleusGeometry"`` reads the nuclei of QuPath's cells.
    """
    yield from select_kind(_all_records(path, y_down, geometry), only, "features")


def _all_records(path: Path, y_down: bool, geometry: str) -> Iterator[Record | BadRecord]:
    document = parse_json(read_bytes(path, MAX_JSON), path)
    for number, feature in enumerate(_features(document, path), start=1):
        where = f"feature {number}"
        try:
            record = _record_of(feature, geometry, y_down, f"{path.stem}:{number}", where)
        except ValueError as error:
            yield BadRecord(where, f"{error}.")
        else:
            yield record


def _features(document: Any, path: Path) -> list[Any]:
    if isinstance(document, list):
        return document
    kind = document.get("type") if isinstance(document, dict) else None
    if kind == "FeatureCollection":
        features = document.get("features")
        if not isinstance(features, list):
            raise ShapeFileError(f"{path} is no GeoJSON: its features must be a list, got {describe(features)}.")
        return features
    if kind == "Feature" or kind in GEOMETRIES:
        return [document]
    raise ShapeFileError(
        f"{path} is no GeoJSON: expected a FeatureCollection, a Feature, a geometry or a list of features, got "
        f"{describe(document)}{f' of type {text_of(kind)!r}' if kind else ''}."
    )


def _record_of(feature: Any, member: str, y_down: bool, fallback_id: str, where: str) -> Record:
    if not isinstance(feature, dict):
        raise ValueError(f"a feature must be an object, got {describe(feature)}")
    shape: Any
    told: Any
    if feature.get("type") in GEOMETRIES:
        shape, told = feature, None
    else:
        shape, told = feature.get(member), feature.get("properties")
    properties: dict[str, Any] = told if isinstance(told, dict) else {}
    if not isinstance(shape, dict):
        raise ValueError(f"its {member} must be an object, got {describe(shape)}")
    points, closed, found = geometry_points(shape)
    metadata = {key: text_of(properties[key]) for key in ("name", "objectType") if text_of(properties.get(key))}
    return Record(
        points=to_complex(points, closed=bool(closed), y_down=y_down),
        id=text_of(feature.get("id")) or fallback_id,
        label=_label(properties.get("classification")),
        closed=closed,
        metadata={**metadata, "geometry": shape["type"], **found},
        where=where,
    )


def geometry_points(shape: dict[str, Any]) -> tuple[FloatArray, bool | None, dict[str, int]]:
    """Return the points of the geometry, whether they are closed, and what was left out."""
    kind, coordinates = shape.get("type"), shape.get("coordinates")
    if kind not in ("Polygon", "MultiPolygon", "LineString", "MultiLineString", "MultiPoint"):
        raise ValueError(f"a geometry of type {text_of(kind)!r} is no outline, line or set of landmarks")
    if kind == "LineString":
        return position_array(coordinates, "its line"), False, {}
    if kind == "MultiPoint":
        return position_array(coordinates, "its points"), None, {}
    if not isinstance(coordinates, list) or not coordinates:
        raise ValueError(f"its coordinates must be a list that is not empty, got {describe(coordinates)}")
    if kind == "MultiLineString":
        lines = [position_array(line, "one of its lines") for line in coordinates]
        return max(lines, key=path_length), False, {"n_parts": len(lines)}
    polygons = [coordinates] if kind == "Polygon" else coordinates
    if not all(isinstance(rings, list) and rings for rings in polygons):
        raise ValueError("a polygon must be a list of rings that is not empty")
    outers = [position_array(rings[0], "the outer ring") for rings in polygons]
    chosen = int(np.argmax([ring_area(ring) for ring in outers]))
    found = {"n_holes": len(polygons[chosen]) - 1}
    if kind == "MultiPolygon":
        found["n_parts"] = len(polygons)
    return outers[chosen], True, found


def _label(classification: Any) -> str:
    if isinstance(classification, dict):
        names = classification.get("names")
        # QuPath writes a derived class such as "Tumor: Positive" as a list of names from 0.4 on.
        if isinstance(names, list):
            return ": ".join(filter(None, map(text_of, names[:20])))
        return text_of(classification.get("name"))
    return text_of(classification)
