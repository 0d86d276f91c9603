"""Follow the middle of long, thin objects that are given by their outlines in pixels."""

from typing import Any

import numpy as np
from scipy import ndimage, sparse

from shapelex._extras import load_library
from shapelex._typing import ComplexArray, FloatArray
from shapelex.io.contours import ObjectReport

# Holes of a larger part of the area are those of an object that closes a loop.
_LOOP = 0.02
# Steps to the eight neighbors of a pixel, of which a graph without directions needs half.
_STEPS = ((0, 1, 1.0), (1, 0, 1.0), (1, 1, 2**0.5), (1, -1, 2**0.5))
# How finely the line is extended to the edge of the object, in pixels.
_FINE = 0.1


def closes_a_loop(report: ObjectReport) -> bool:
    """Tell whether an object has a hole that is so large that it has no midline."""
    return report.hole_area > _LOOP * report.area


def remark_on_loops(n_loops: int) -> list[str]:
    """Return what is said of objects that have no midline, if there are any."""
    words = "1 object closes a loop and has" if n_loops == 1 else f"{n_loops} objects close a loop and have"
    return [f"{words} no midline: left out."] if n_loops else []


def midline_inside(outline: ComplexArray) -> ComplexArray:
    """Return the midline of an object, given by its outline in pixels, as points about a pixel apart."""
    draw = load_library("skimage.draw", "scikit-image", "Finding midlines")
    skeletonize = load_library("skimage.morphology", "scikit-image", "Finding midlines").skeletonize
    corner = complex(np.floor(outline.real.min()) - 1, np.floor(outline.imag.min()) - 1)
    moved = outline - corner
    shape = int(moved.imag.max()) + 3, int(moved.real.max()) + 3
    pixels = draw.polygon2mask(shape, np.column_stack([moved.imag, moved.real]))
    radii = ndimage.distance_transform_edt(pixels)
    y, x = np.nonzero(skeletonize(pixels))
    path = _longest_path(y, x, shape)
    width = radii[y[path], x[path]]
    # The last pixels bend into a corner of the end, or fork there.
    middle = np.arange(len(path))
    kept = path[(middle >= width[0]) & (middle < len(path) - width[-1])]
    points = x[kept if len(kept) > 1 else path] + 1j * y[kept if len(kept) > 1 else path]
    if len(points) == 1:
        # A disc has no direction: its midline is a diameter.
        points = np.array([points[0] - 0.5, points[0] + 0.5])
    smooth = ndimage.gaussian_filter1d(points, min(2.0, len(points) / 8), mode="nearest")
    reach = max(2, int(np.median(width)))
    first, last = _extension(smooth[::-1], reach, pixels), _extension(smooth, reach, pixels)
    line: ComplexArray = np.concatenate([first[::-1], smooth, last]) + corner
    return line


def _longest_path(y: Any, x: Any, shape: tuple[int, int]) -> Any:
    """Return the pixels of the longest of all shortest paths in a skeleton, in order."""
    numbers = np.full((shape[0] + 1, shape[1] + 2), -1)
    numbers[y, x] = np.arange(len(y))
    starts, ends, lengths = [], [], []
    for down, right, length in _STEPS:
        neighbors = numbers[y + down, x + right]
        starts.append(np.flatnonzero(neighbors >= 0))
        ends.append(neighbors[neighbors >= 0])
        lengths.append(np.full(len(ends[-1]), length))
    edges = np.concatenate(lengths), (np.concatenate(starts), np.concatenate(ends))
    graph = sparse.csr_array(edges, shape=(len(y), len(y)))
    one: FloatArray = sparse.csgraph.dijkstra(graph, directed=False, indices=0)
    start = int(np.where(np.isfinite(one), one, -1).argmax())
    distances, before = sparse.csgraph.dijkstra(graph, directed=False, indices=start, return_predecessors=True)
    place = int(np.where(np.isfinite(distances), distances, -1).argmax())
    path = [place]
    while place != start:
        place = int(before[place])
        path.append(place)
    return np.array(path)


def _extension(points: ComplexArray, reach: int, pixels: Any) -> ComplexArray:
    """Return the point where a line that goes straight on leaves the object."""
    direction = points[-1] - points[-1 - min(reach, len(points) - 1)]
    steps = np.arange(1, int(np.hypot(*pixels.shape) / _FINE)) * _FINE
    ahead = points[-1] + direction / np.abs(direction) * steps
    down = np.clip(ahead.imag.round().astype(int), 0, pixels.shape[0] - 1)
    right = np.clip(ahead.real.round().astype(int), 0, pixels.shape[1] - 1)
    n_inside = int(pixels[down, right].argmin())
    end: ComplexArray = ahead[n_inside - 1 : n_inside] if n_inside else ahead[:0]
    return end
