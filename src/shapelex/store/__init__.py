"""Files of our own: models, checkpoints, codes, and the record of what made them."""

from shapelex.store.code_files import read_codes

__all__ = ["read_codes"]
