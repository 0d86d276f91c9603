"""Measure shapes: area, perimeter, diameters and how round, elongated, convex or bent they are."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.distance import pdist

from shapelex._typing import ComplexArray, FloatArray
from shapelex.shapes import ShapeSet
from shapelex.shapes.set import as_set
from shapelex.spaces import Landmarks, Space

if TYPE_CHECKING:
    import pandas as pd

_OPEN = ("length", "mean_curvature", "bending_energy")
_CLOSED = (
    "area", "perimeter", "circularity", "aspect_ratio", "eccentricity", "solidity", "convexity", "feret_max",
    "feret_min", *_OPEN[1:],
)  # fmt: skip
# By which power of the length of a unit each is multiplied; the others have no unit.
_POWERS = {"area": 2, "perimeter": 1, "length": 1, "feret_max": 1, "feret_min": 1,
           "mean_curvature": -1, "bending_energy": -1}  # fmt: skip
_LEAST_SAMPLES = 200
# Coordinates of points that are measured at a time: 16 MB.
_BLOCK_ENTRIES = 1 << 20


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def measure(X: Any, space: Space | None = None) -> "pd.DataFrame":
    r"""Measure each shape: its size, and how round, elongated, convex and bent it is.

    Landmarks are measured as the polygon through them, splines as curves. Of open curves, and of landmarks that were
    not read as closed outlines, only the length and the curvature are measured; of anatomical landmarks, whose order
    means nothing, these mean nothing either.

    Parameters
    ----------
    X : ShapeSet or array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
        The shapes; sets in files are read block by block.
    space : Space, optional
        Their space; by default that of the set, else open landmarks.

    Returns
    -------
    pandas.DataFrame
        One row per shape, with its id as index; NaN where landmarks are missing. Columns of closed outlines:

        - ``area`` :math:`A`, ``perimeter`` :math:`P`, and ``circularity`` :math:`4\pi A/P^2`, which is 1 for a disc;
        - ``aspect_ratio`` and ``eccentricity`` of the ellipse of the same second moments;
        - ``solidity``, the area over that of the convex hull, and ``convexity``, the perimeter of the hull over that
          of the outline;
        - ``feret_max`` and ``feret_min``, the greatest and the least distance between two parallel tangents;
        - ``mean_curvature``, the sum of the absolute turns over the length, and ``bending_energy``, the integral of the
          squared curvature.

        Those of open curves are ``length``, ``mean_curvature`` and ``bending_energy``. ``attrs["unit"]`` says in what
        unit lengths are, and ``attrs["remarks"]`` what to know about it.

    Notes
    -----
    Lengths are in the unit of the set: its column ``scale``, if any, is the length of one unit of its coordinates, as
    in TPS files; of images with a known size of pixels, lengths are in its unit. Else they are in the unit of the
    coordinates, and a remark says so.

    The perimeter of an outline along pixels is longer than that of the object: resample outlines to fewer points, or
    compare only those of the same resolution.

    Examples
    --------
    >>> import shapelex as sx
    >>> rectangle = sx.ShapeSet([[0, 4, 4 + 3j, 3j]], sx.Landmarks(4, closed=True), ids=["card"])
    >>> found = sx.measure(rectangle)
    >>> found.loc["card", ["area", "perimeter", "feret_max", "feret_min"]].tolist()
    [12.0, 14.0, 5.0, 3.0]
    """
    import pandas as pd

    shapes = as_set(X, space)
    names, parts = _CLOSED if shapes.closed else _OPEN, []
    n_points = shapes.space.n_coordinates
    if not isinstance(shapes.space, Landmarks):
        n_points = max(_LEAST_SAMPLES, 4 * n_points)
    for block in shapes.blocks(max(1, _BLOCK_ENTRIES // n_points)):
        points: ComplexArray = block.configurations.astype(np.complex128)
        if not isinstance(shapes.space, Landmarks):
            points = shapes.space.sample(points, shapes.space.parameters(n_points))
        found = np.full((len(points), len(names)), np.nan)
        is_whole = ~np.isnan(points).any(axis=1)
        if is_whole.any():
            measured = _measure_outlines if shapes.closed else _measure_curves
            found[is_whole] = measured(points[is_whole])
        parts.append(found)
    lengths, unit, remarks = unit_lengths(shapes)
    measures = np.concatenate(parts) * lengths[:, None] ** np.array([_POWERS.get(name, 0) for name in names])
    table = pd.DataFrame(measures, columns=list(names), index=pd.Index(shapes.ids, name="id"))
    table.attrs |= {"unit": unit, "remarks": remarks}
    return table


def unit_lengths(shapes: ShapeSet) -> tuple[FloatArray, str, list[str]]:
    """Return the length of one unit of the coordinates of each shape, the unit that it is in, and remarks."""
    metadata = shapes.metadata
    lengths = np.ones(len(shapes))
    if "units" in metadata:
        return lengths, ", ".join(dict.fromkeys(map(str, metadata["units"]))) or "unit of the pixel size", []
    if {"area", "physical_area"} <= set(metadata):
        lengths = np.sqrt(_numbers(metadata["physical_area"]) / _numbers(metadata["area"]))
        return _known(lengths, ", ".join(dict.fromkeys(map(str, metadata.get("unit", ["unit of the file"])))))
    if "applied_scale" in metadata:
        return lengths, "unit of the file", []
    if "scale" in metadata:
        return _known(_numbers(metadata["scale"]), "unit of the scale")
    return lengths, "coordinates", ["No scale is known: lengths are in the unit of the coordinates, such as pixels."]


def _known(lengths: FloatArray, unit: str) -> tuple[FloatArray, str, list[str]]:
    is_bad = ~(lengths > 0)
    remarks = [f"{int(is_bad.sum())} of {len(lengths)} shapes have no scale: their lengths and areas are unknown."]
    return np.where(is_bad, np.nan, lengths), unit, remarks if is_bad.any() else []


def _numbers(column: Any) -> FloatArray:
    """Return a column as numbers; one that holds none is unknown."""
    values = np.asarray(column)
    return values.astype(np.float64) if values.dtype.kind in "biuf" else np.full(len(values), np.nan)


def _measure_outlines(points: ComplexArray) -> FloatArray:
    """Return the columns of closed outlines, given by the corners of polygons."""
    points = points - points.mean(axis=1, keepdims=True)
    following = np.roll(points, -1, axis=1)
    perimeter, curvature, bending = _measure_bends(np.diff(points, axis=1, append=points[:, :1]), is_closed=True)
    # Twice the signed areas of triangles from the origin; the moments are sums over these.
    crossed = (points.conj() * following).imag
    signed = crossed.sum(axis=1) / 2
    area = np.abs(signed)
    hulls = np.array([_measure_hull(outline) for outline in points])
    center = (crossed * (points + following)).sum(axis=1) / (6 * signed)
    square = (crossed * (points**2 + points * following + following**2)).sum(axis=1) / (12 * signed) - center**2
    moduli = np.abs(points) ** 2 + (points.conj() * following).real + np.abs(following) ** 2
    spread = (crossed * moduli).sum(axis=1) / (12 * signed) - np.abs(center) ** 2
    long, short = spread + np.abs(square), np.maximum(spread - np.abs(square), 0)
    columns = (
        area,
        perimeter,
        4 * np.pi * area / perimeter**2,
        np.sqrt(long / short),
        np.sqrt(1 - short / long),
        area / hulls[:, 0],
        hulls[:, 1] / perimeter,
        *hulls[:, 2:].T,
        curvature,
        bending,
    )
    return np.column_stack(columns)


def _measure_hull(outline: ComplexArray) -> tuple[float, float, float, float]:
    """Return area and perimeter of the convex hull, and its largest and smallest width."""
    try:
        hull = ConvexHull(outline.view(np.float64).reshape(-1, 2))
    except (QhullError, ValueError):
        # Points on a line: the hull is the way from one end to the other, and back.
        end = outline[np.argmax(np.abs(outline - outline[0]))]
        length = float(np.abs(outline - end).max())
        return 0.0, 2 * length, length, 0.0
    corners = hull.points[hull.vertices]
    beyond = hull.equations[:, :2] @ corners.T + hull.equations[:, 2:]
    return hull.volume, hull.area, float(pdist(corners).max()), -float(beyond.min(axis=1).max())


def _measure_curves(points: ComplexArray) -> FloatArray:
    """Return the columns of open curves, given by the corners of polylines."""
    return np.column_stack(_measure_bends(np.diff(points, axis=1), is_closed=False))


def _measure_bends(steps: ComplexArray, is_closed: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return lengths, mean curvatures and bending energies of lines, given by their steps."""
    lengths = np.abs(steps)
    before, after = (np.roll(steps, 1, axis=1), steps) if is_closed else (steps[:, :-1], steps[:, 1:])
    turns = np.abs(np.angle(after * before.conj()))
    spans = (np.abs(before) + np.abs(after)) / 2
    total = lengths.sum(axis=1)
    bending = np.where(spans > 0, turns**2 / spans, 0).sum(axis=1)
    return total, turns.sum(axis=1) / total, bending
