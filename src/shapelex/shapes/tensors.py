"""Shapes in the memory of a GPU: a torch tensor that passes on the same device read without a copy to the host."""

from typing import TYPE_CHECKING

import numpy as np

from shapelex._arrays import to_numpy
from shapelex._typing import ComplexArray
from shapelex._validation import as_complex_rows
from shapelex.shapes.collection import Shapes
from shapelex.spaces import Space

if TYPE_CHECKING:
    from torch import Tensor


class TensorShapes(Shapes):
    """Configurations in a tensor, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)."""

    def __init__(self, tensor: "Tensor", space: Space | None, name: str) -> None:
        import torch

        # One row has the layout of all; its checks are those of ordinary arrays.
        first = as_complex_rows(to_numpy(tensor[:1]) if tensor.ndim > 1 else to_numpy(tensor), name=name)
        rows = tensor.detach().reshape(1, -1) if tensor.ndim == 1 else tensor.detach()
        if not rows.is_complex():
            rows = rows if rows.dtype in (torch.float32, torch.float64) else rows.to(torch.float64)
            rows = torch.view_as_complex(rows.contiguous())
        self.tensor: Tensor = rows.resolve_conj()
        super().__init__((len(rows), first.shape[1]), np.dtype(first.dtype), space, name)

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return some configurations in the memory of the host."""
        return to_numpy(self.tensor[start:stop]).astype(self.dtype, copy=False)
