"""Sparse dictionaries of planar shapes, and the Kendall geometry they live in.

Public arrays are *configurations*: complex, one row a shape, in the basis of their space.
The names below load on first use, so that ``import shapelex`` costs next to nothing.
"""

import lazy_loader as _lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)

del _lazy
