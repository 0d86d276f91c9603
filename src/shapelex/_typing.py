"""Names for the arrays that travel through the package."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

ComplexArray: TypeAlias = NDArray[np.complexfloating[Any, Any]]
FloatArray: TypeAlias = NDArray[np.floating[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.integer[Any]]

DistanceKind: TypeAlias = Literal["full", "partial", "geodesic"]
ColumnLayout: TypeAlias = Literal["blocks", "interleaved"]

__all__ = [
    "ArrayLike",
    "BoolArray",
    "ColumnLayout",
    "ComplexArray",
    "DistanceKind",
    "FloatArray",
    "IntArray",
]
