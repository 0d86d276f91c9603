"""What a picture shows, read back from its axes."""

import numpy as np
from matplotlib.axes import Axes


def drawn(ax: Axes) -> list[np.ndarray]:
    """Return the curves on the axes, as complex points; marks are left out."""
    return [
        np.asarray(line.get_xdata()) + 1j * np.asarray(line.get_ydata())
        for line in ax.lines
        if line.get_linestyle() != "None"
    ]


def marks(ax: Axes) -> list[np.ndarray]:
    return [
        np.asarray(line.get_xdata()) + 1j * np.asarray(line.get_ydata())
        for line in ax.lines
        if line.get_linestyle() == "None"
    ]


def labels(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_gid() != "number"]


def numbers(ax: Axes) -> list[int]:
    return [int(text.get_text()) for text in ax.texts if text.get_gid() == "number"]


def form(curve: np.ndarray) -> np.ndarray:
    """Return a curve moved so that its first point is 0: what is left once its cell is forgotten."""
    return curve - curve[0]


def check_text_is_apart(ax: Axes) -> None:
    """Fail where two texts touch, or a text lies on a curve of another cell."""
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    touching = [(k, j) for k, one in enumerate(boxes) for j in range(k) if one.overlaps(boxes[j])]
    assert touching == []
    for curve in drawn(ax):
        pixels = ax.transData.transform(np.column_stack([curve.real, curve.imag]))
        assert not any(box.contains(*point) for box in boxes for point in pixels)
