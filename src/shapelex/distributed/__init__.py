"""Dask: dictionaries of shapes that lie on many machines.

``ShapeDictionary`` takes Dask arrays as it takes others; this room makes its passes where the chunks are. With a
``dask.distributed`` client they run on its workers, without one on threads of this machine.
"""

from shapelex.distributed.codes import DaskCodes
from shapelex.distributed.files import DaskShapes, from_file

__all__ = ["DaskCodes", "DaskShapes", "from_file"]
