"""Dask: dictionaries of shapes that lie on many machines.

``ShapeDictionary`` takes Dask arrays as it takes others, and codes every chunk where it is: on the workers of a
``dask.distributed`` client, or without one on threads of this machine. Here are the codes that it returns, and files as
Dask arrays.
"""

from shapelex.coding.dask_codes import DaskCodes
from shapelex.distributed.files import DaskShapes, from_file

__all__ = ["DaskCodes", "DaskShapes", "from_file"]
