"""Kendall's shape space: distances, alignment, geodesics and means of configurations.

The names load on first use: means and registration need SciPy, resampling does not.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)

del _lazy
