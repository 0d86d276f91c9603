"""GeoJSON as QuPath writes it: a file of features comes in, one record for each polygon or line goes out.

The file holds a FeatureCollection, one Feature, a bare geometry, or a list of features. Of a polygon with holes the
outer ring is read, of a multi-part geometry the largest part; both are noted in the metadata (``n_holes``,
``n_parts``). The label is the name of QuPath's classification, and other properties become metadata, but for lists and
objects. Coordinates are pixels with y down unless ``y_down=False`` says that the file is a map. Remarks count what was
left out.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import read_bytes
from shapelex.io.formats.regions import (
    GEOMETRIES,
    MAX_JSON,
    describe,
    parse_json,
    read_geometry,
    read_regions,
    text_of,
)
from shapelex.io.records import BadRecord, Record, Remark

# Values of properties that become metadata.
_KINDS: Final = {str: "text", bool: "true or false", int: "number", float: "number"}


def read_records(
    path: Path, *, y_down: bool = True, only: str | None = None, geometry: str = "geometry"
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each feature, and remarks on what was left out and on features of several kinds.

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
    document = parse_json(read_bytes(path, MAX_JSON), path)
    kind = document.get("type") if isinstance(document, dict) else None
    features = document["features"] if kind == "FeatureCollection" and "features" in document else document
    features = [document] if kind == "Feature" or kind in GEOMETRIES else features
    if not isinstance(features, list):
        raise ShapeFileError(
            f"{path} is no GeoJSON: expected a FeatureCollection with a list of features, a Feature, a geometry or a "
            f"list of features, got {describe(document)}{f' of type {text_of(kind)!r}' if kind else ''}."
        )
    kinds = {(key, _KINDS.get(type(value))) for each in features for key, value in _properties_of(each).items()}
    counts = Counter(key for key, kind in kinds if kind)
    # What is text in some features and a number in others is text in all.
    texts = {key for key, kind in kinds if kind == "text" or counts[key] > 1 or key in ("name", "objectType")}

    def read_feature(numbered: tuple[int, Any], where: str, found: Counter[str]) -> Record | None:
        number, feature = numbered
        if not isinstance(feature, dict):
            raise ValueError(f"a feature must be an object, got {describe(feature)}")
        is_bare = feature.get("type") in GEOMETRIES
        shape: Any = feature if is_bare else feature.get(geometry)
        if shape is None and geometry in feature:
            found["empty"] += 1
            return None
        if not isinstance(shape, dict):
            raise ValueError(f"its {geometry} must be an object, got {describe(shape)}")
        read = read_geometry(shape.get("type"), shape.get("coordinates"), y_down, found)
        if read is None:
            return None
        properties = _properties_of(feature)
        label: Any = properties.pop("classification", None)
        found["nested"] = any(isinstance(value, dict | list) for value in properties.values())
        told = {key: value for key, value in properties.items() if type(value) in _KINDS}
        if isinstance(label, dict):
            names = label.get("names")
            # QuPath writes a derived class such as "Tumor: Positive" as a list of names from 0.4 on.
            label = ": ".join(filter(None, map(text_of, names[:20]))) if isinstance(names, list) else label.get("name")
        return Record(
            read["points"],
            id=text_of(feature.get("id")) or f"{path.stem}:{number}",
            label=text_of(label),
            closed=read["closed"],
            metadata={key: str(told[key])[:500] if key in texts else told[key] for key in told} | read["metadata"],
            where=where,
        )

    items = ((f"feature {number}", (number, feature)) for number, feature in enumerate(features, start=1))
    yield from read_regions(items, read_feature, "features", only)


def _properties_of(feature: Any) -> dict[str, Any]:
    """Return a copy of the properties of a feature; a bare geometry, or what is no feature, has none."""
    told = feature.get("properties") if isinstance(feature, dict) else None
    return dict(told) if isinstance(told, dict) else {}
