"""Find what may be wrong with a set of shapes, and mend it.

The names load on first use. No file has the name of a public function: importing the file would hide the function.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)

del _lazy
