"""Shapes to try things on: real ones to load, and made ones whose truth is known.

Sets come as :class:`~shapelex.ShapeSet`. The names below load on first use.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "digits": ["load_digits_outlines"],
        "public": ["fetch", "list_datasets"],
        "simulated": [
            "DictionarySample",
            "deform",
            "make_behavior",
            "make_from_dictionary",
            "make_leaves",
            "make_worms",
            "worm_postures",
        ],
    },
)

del _lazy
