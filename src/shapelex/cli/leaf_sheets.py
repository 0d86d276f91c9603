"""Images for ``shapelex demo``: the silhouettes of simulated leaves, one sheet per species, as if they were scanned."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from shapelex._typing import ComplexArray

N_COLUMNS = 6
_OUTLINE_POINTS = 400
# In pixels: the side of the square that a leaf has for itself, the mean length of a leaf, and the width of its stalk.
_CELL, _LEAF, _STALK = 240, 140, 5
# Standard deviation of the direction of a leaf, in radians: leaves lie roughly upright, as people lay them down.
_TILT = 0.35


def write_leaf_sheets(folder: Path, n_rows: int, seed: int) -> list[Path]:
    """Write one black-on-white image per species, with `n_rows` rows of leaves, and return their paths."""
    import numpy as np
    from PIL import Image, ImageDraw

    import shapelex as sx

    leaves = sx.datasets.make_leaves(n_rows * N_COLUMNS, 6, _OUTLINE_POINTS, random_state=seed)
    outlines = _lay_down(leaves.configurations, np.random.default_rng(seed))
    folder.mkdir(exist_ok=True)
    paths = []
    for species in dict.fromkeys(np.asarray(leaves.labels).tolist()):
        sheet = Image.new("L", (N_COLUMNS * _CELL, n_rows * _CELL), "white")
        pen = ImageDraw.Draw(sheet)
        for place, outline in enumerate(outlines[leaves.labels == species]):
            row, column = divmod(place, N_COLUMNS)
            x, y = outline.real + (column + 0.5) * _CELL, (row + 0.5) * _CELL - outline.imag
            points = list(zip(x.tolist(), y.tolist(), strict=True))
            # The stalk is the first stroke; the line around the leaf keeps thin tips in one piece.
            pen.line(points[:2], fill="black", width=_STALK)
            pen.polygon(points[1:], fill="black")
            pen.line(points[1:], fill="black", width=2)
        paths.append(folder / f"{species}.png")
        sheet.save(paths[-1])
    return paths


def _lay_down(leaves: "ComplexArray", generator: "np.random.Generator") -> "ComplexArray":
    """Return outlines in pixels, roughly upright around 0: first the end of the stalk, then the points of the leaf."""
    import numpy as np

    base, tip = leaves[:, :1], leaves[:, _OUTLINE_POINTS // 2, None]
    # The midrib leaves the base between points at equal distances on both sides.
    near = _OUTLINE_POINTS // 20
    midrib = (leaves[:, near, None] + leaves[:, -near, None]) / 2 - base
    length = np.abs(tip - base) * generator.uniform(0.2, 0.35, size=base.shape)
    stalk = base - length * midrib / np.abs(midrib)
    size, tilt = generator.uniform(0.8, 1.2, size=base.shape), generator.normal(0, _TILT, size=base.shape)
    outlines = np.hstack([stalk, leaves]) * _LEAF * size * np.exp(1j * tilt) * 1j / (tip - base)
    middle = np.hstack([(part.max(1, keepdims=True) + part.min(1, keepdims=True)) / 2
                        for part in (outlines.real, outlines.imag)])  # fmt: skip
    return np.asarray(outlines - middle @ np.array([[1], [1j]]))
