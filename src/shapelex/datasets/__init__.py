"""Shapes to try things on. The names below load on first use."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "deformation": ["deform"],
    },
)

del _lazy
