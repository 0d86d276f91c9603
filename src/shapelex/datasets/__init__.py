"""Shapes to try things on: real ones to load, and made ones whose truth is known.

Sets come as :class:`~shapelex.ShapeSet`. The names load on first use.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)

del _lazy
