"""Sparse dictionaries of planar shapes, and the Kendall geometry they live in.

Public arrays are *configurations*: complex, one row per shape, in the basis of their space.
The names below load on first use, so that ``import shapelex`` costs next to nothing.
"""

import lazy_loader as _lazy

__version__ = "0.1.0"

_load, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)

_REMOVED = {
    "StoredShapes": "ShapeSet: open_shapes gives one whose shapes stay in the file",
    "distributed": "open_shapes(path, chunks=100_000), which gives a ShapeSet over a Dask array",
    "PieceCorrelations": "OutlineConvolutions for features of outlines, or ShapeClassifier to classify shapes",
}


def __getattr__(name: str) -> object:
    """Load a public name on first use; say what replaces one that is gone."""
    if name in _REMOVED:
        raise AttributeError(f"shapelex.{name} was removed: use {_REMOVED[name]}.")
    return _load(name)


del _lazy
