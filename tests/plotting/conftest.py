"""Axes that belong to no window, shapes to draw on them, and what a picture shows, read back from its axes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import shapelex as sx
from shapelex.selection.suggestion import Suggestion
from shapelex.selection.tables import AtomStability, ErrorSurface

mpl.use("Agg")


@pytest.fixture
def ax() -> Axes:
    return Figure(figsize=(3.4, 2.4), layout="constrained").subplots()


TIDY = {
    "method": ["ours", "ours", "peer", "peer", "ours", "peer"],
    "n_nonzero": [2, 1, 1, 2, 2, 2],
    "rmse": [0.08, 0.2, 0.3, 0.1, 0.12, 0.2],
}


def make_suggestion(with_stability=True):
    rows = [
        {"n_atoms": J, "n_nonzero": s, "fold": f, "rmse": (0.4 / (J * s)) * (1 + 0.1 * f), "train_rmse": 0.1,
         "energy": 0.3, "seconds": 1.0}
        for J in (3, 5, 9) for s in (1, 2, 3) for f in (0, 1) if (J, s) != (9, 3)
    ]  # fmt: skip
    stable = [
        {"n_atoms": J, "n_nonzero": 2, "distance": 0.1, "chance": 0.2, "n_named": J, "stability": 0.1 * J}
        for J in (3, 5, 9)
    ]
    return Suggestion(5, 2, ErrorSurface(rows, 11), AtomStability(stable if with_stability else []))


def make_blobs() -> tuple[np.ndarray, sx.BSpline]:
    """Make nine closed outlines in random poses, and their space."""
    rng = np.random.default_rng(20)
    circle = np.exp(2j * np.pi * np.arange(200) / 200)
    a, b = 0.3 * rng.normal(size=(2, 9, 1))
    pose = np.exp(2j * np.pi * rng.uniform(size=(9, 1)))
    space = sx.BSpline(14)
    return space.fit(pose * (1.6 * circle + circle**-1 + a * circle**-2 + b * circle**2)), space


@pytest.fixture
def size_limit() -> Callable[[int], AbstractContextManager[None]]:
    """A context in which no file can grow beyond so many bytes, as on a disk that is full."""
    resource = pytest.importorskip("resource")

    @contextmanager
    def limit(n_bytes: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limit


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
