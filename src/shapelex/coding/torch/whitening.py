"""Whitening on a torch device, block by block.

In come configurations that are on the device; out go their whitened pre-shapes.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.spaces import Space

if TYPE_CHECKING:
    from torch import Tensor

# Centered rows of fewer roundings of their distance from the origin are left to the checks of the CPU.
_LEAST_ROUNDINGS = 1e3


class DeviceWhitening:
    """Whitens the configurations of one space, copied to the device by `to_device`; errors call them `name`.

    Examples
    --------
    >>> import numpy as np
    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> from shapelex.spaces import Landmarks
    >>> whitening = DeviceWhitening(Landmarks(2), torch.from_numpy)
    >>> rows = whitening.preshapes(torch.from_numpy(np.array([[1.0, 3 + 0j]])), np.dtype(complex))
    >>> np.round(rows.numpy(), 3)
    array([[-0.707+0.j,  0.707+0.j]])
    """

    def __init__(self, space: Space, to_device: "Callable[[ComplexArray], Tensor]", name: str = "X") -> None:
        self._space, self._to_device, self._name = space, to_device, name
        # Centering and whitening are one matrix, that of the whitened unit configurations.
        self._matrix = to_device(space.whiten(np.eye(space.n_coordinates, dtype=np.complex128)))
        self._shift = to_device(np.asarray(space.shift, dtype=np.complex128))
        # The shift of rows that are not to be centered is 0.
        self._shift_square = float(np.vdot(space.shift, space.shift).real) or 1.0
        self._shift_norm = float(space.norm(space.shift.astype(np.complex128)))

    def preshapes(self, sent: "Tensor", precision: "np.dtype[Any]", first_row: int = 0) -> "Tensor":
        """Whitened pre-shapes of configurations on the device: ``Space.whitened_preshapes``, up to rounding.

        `precision` is the one that they were stored in: it says how small a shape is a rounding error. Errors count
        rows from `first_row`.
        """
        import torch

        # Far from the origin the position would drown the form: most of it goes before the product.
        centers = torch.linalg.vecdot(self._shift, sent) / self._shift_square
        rows: Tensor = (sent - centers[:, None] * self._shift) @ self._matrix
        norms = torch.linalg.vector_norm(rows, dim=1)
        limits = _LEAST_ROUNDINGS * float(np.finfo(precision).eps) * self._shift_norm * centers.abs()
        if bool((torch.isfinite(norms) & (norms > limits)).all()):
            rows /= norms[:, None]
            return rows
        # The checks of the CPU tell what is wrong, and where; what is only very large or small, it can whiten.
        block = sent.cpu().numpy().astype(precision, copy=False)
        return self._to_device(self._space.whitened_preshapes(block, self._name, first_row=first_row))
