"""Files of our own: models, checkpoints, codes, and the record of what made them.

The names below load on first use: codes need numba, the other files do not.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)

del _lazy
