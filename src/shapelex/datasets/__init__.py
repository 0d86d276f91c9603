"""Shapes to try things on: real ones to load, and made ones whose truth is known.

Sets come as :class:`~shapelex.ShapeSet`. The names below load on first use.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "behavior": ["make_behavior"],
        "deformation": ["deform"],
        "digits": ["load_digits_outlines"],
        "known_dictionary": ["DictionarySample", "make_from_dictionary"],
        "leaves": ["make_leaves"],
        "load": ["fetch", "list_datasets"],
        "worms": ["make_worms", "worm_postures"],
    },
)

del _lazy
