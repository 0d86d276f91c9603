"""Numbers beside landmarks: each is placed where it covers no other number, no landmark and little of the curve."""

from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.plotting.axes import size_in_inches
from shapelex.plotting.style import text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS_PER_INCH = 72.0
_TURNS = np.exp(1j * np.pi * np.array([0, 0.25, -0.25, 0.5, -0.5, 0.75, -0.75, 1]))
_DISTANCES = (1.0, 1.6, 2.4)
_SHARE = 0.8  # of the size of other text


def write_numbers(ax: "Axes", marks: ComplexArray, curve: ComplexArray, scale: float | None) -> None:
    """Write the numbers of landmarks, from 1, beside them; `curve` is what else is drawn near them."""
    size = _SHARE * text_size()
    # Positions in points on paper; without a known scale, the shape is assumed to fill the axes.
    to_points = _POINTS_PER_INCH * (scale or _fitting_scale(ax, np.concatenate([marks, curve])))
    texts = [str(number) for number in range(1, len(marks) + 1)]
    offsets = _offsets(marks * to_points, curve * to_points, texts, size)
    for text, mark, offset in zip(texts, marks, offsets, strict=True):
        ax.annotate(
            text,
            (mark.real, mark.imag),
            xytext=(offset.real, offset.imag),
            textcoords="offset points",
            ha="center",
            va="center_baseline",
            fontsize=size,
            color="black",
            zorder=5,
            gid="landmark",
        )


def _offsets(marks: ComplexArray, curve: ComplexArray, texts: list[str], size: float) -> ComplexArray:
    """Return where the middle of each number goes, relative to its landmark, in points."""
    half_height = 0.42 * size
    centroid = marks.mean()
    boxes: list[tuple[complex, float]] = []
    offsets = np.zeros(len(marks), dtype=complex)
    for place, (mark, text) in enumerate(zip(marks, texts, strict=True)):
        half_width = 0.33 * size * len(text)
        outwards = mark - centroid
        outwards = outwards / abs(outwards) if outwards else 1.0
        best = np.inf
        for rank, (distance, turn) in enumerate((d, t) for d in _DISTANCES for t in _TURNS):
            way = turn * outwards
            # The box of the number starts just beside the mark, in any direction.
            reach = 3.0 + abs(way.real) * half_width + abs(way.imag) * half_height
            middle = mark + distance * reach * way
            covered = [
                abs(middle.real - box.real) < half_width + width and abs(middle.imag - box.imag) < 2 * half_height
                for box, width in boxes
            ]
            others = _inside(np.delete(marks, place), middle, half_width + 1.5, half_height + 1.5)
            on_curve = min(_inside(curve, middle, half_width, half_height), 3)
            cost = 10 * sum(covered) + 4 * others + on_curve + 0.05 * rank
            if cost < best:
                best, offsets[place] = cost, middle - mark
        boxes.append((mark + offsets[place], half_width))
    return offsets


def _inside(points: ComplexArray, middle: complex, half_width: float, half_height: float) -> int:
    away = points - middle
    return int(np.sum((np.abs(away.real) < half_width) & (np.abs(away.imag) < half_height)))


def _fitting_scale(ax: "Axes", drawn: ComplexArray) -> float:
    extent: FloatArray = np.array([np.ptp(drawn.real), np.ptp(drawn.imag)])
    sizes = np.array(size_in_inches(ax))
    return float(np.min(0.9 * sizes[extent > 0] / extent[extent > 0], initial=np.inf)) if extent.any() else 1.0
