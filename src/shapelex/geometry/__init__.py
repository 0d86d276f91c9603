"""Compute in Kendall's shape space: distances, alignment, geodesics, means and registration."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)

del _lazy
