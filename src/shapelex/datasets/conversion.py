"""Files of public repositories to sets of shapes.

In come the paths of the files that the registry names for a set, in its order; out goes the set. Shapes keep the order
and the position that they have in their files.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.geometry.resampling import resample
from shapelex.io import read
from shapelex.shapes import ShapeSet
from shapelex.shapes.summary import signed_areas
from shapelex.spaces import Landmarks, Space

_N_MIDLINE_POINTS = 20
_N_CELL_POINTS = 100
_N_SEGMENT_SAMPLES = 40


def read_columns(paths: Sequence[Path], *, space: Space) -> ShapeSet:
    """Return the rows of a table without header, all x and then all y, as configurations in `space`."""
    (path,) = paths
    return ShapeSet(read(path, layout="blocks").configurations, space)


def read_splines_as_landmarks(paths: Sequence[Path], *, space: Space) -> ShapeSet:
    """Return points at equal steps along the open Hermite splines of a table."""
    splines = read_columns(paths, space=space)
    n_segments = space.n_coordinates // 2 - 1
    curves = space.sample(splines.configurations, space.parameters(_N_SEGMENT_SAMPLES * n_segments + 1))
    return ShapeSet(resample(curves, _N_MIDLINE_POINTS, closed=False))


def read_midlines(paths: Sequence[Path], **options: Any) -> ShapeSet:
    """Return the midlines of a recording at equal steps; frames without one are left out."""
    return read(paths, n_points=_N_MIDLINE_POINTS, **options).replace(ids=None)


def read_bee_wings(paths: Sequence[Path]) -> ShapeSet:
    """Return landmarks in pixels, with what the table of specimens says of each image."""
    landmarks, specimens = paths
    wings = read(landmarks)
    images = [Path(image).stem for image in wings.metadata["image"].tolist()]
    with specimens.open(newline="", encoding="utf-8") as stream:
        known = {row["catalogNumber"]: row for row in csv.DictReader(stream)}
    genera, families, species = (
        [known.get(image, {}).get(column, "") for image in images] for column in ("Genus", "Family", "Species")
    )
    metadata = {"family": families, "species": species, "image": images, "scale": wings.metadata["scale"]}
    return wings.replace(ids=None, labels=genera, metadata=metadata)


def read_cells(paths: Sequence[Path]) -> ShapeSet:
    """Return outlines at equal steps from their first point, counter-clockwise."""
    outlines, lines, treatments = (path.read_text(encoding="utf-8").strip() for path in paths)
    vertices = [np.array(block.split(), dtype=float).reshape(-1, 2) @ [1, 1j] for block in outlines.split("\n\n")]
    turned = [
        outline if signed_areas(outline[np.newaxis])[0] > 0 else np.roll(outline[::-1], 1) for outline in vertices
    ]
    line, treatment = lines.split(), treatments.split()
    return ShapeSet(
        resample(turned, _N_CELL_POINTS, closed=True),
        Landmarks(_N_CELL_POINTS, closed=True),
        labels=[f"{one}/{other}" for one, other in zip(line, treatment, strict=True)],
        metadata={"cell_line": line, "treatment": treatment, "n_raw": [len(outline) for outline in vertices]},
    )
