"""Whitening on a torch device, block by block.

In come configurations, in memory or stored outside it; out go their whitened pre-shapes as tensors on the device, a
block at a time. Beyond a few blocks, host memory does not grow with the number of shapes.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.shapes.collection import Shapes
from shapelex.spaces import Space

if TYPE_CHECKING:
    from torch import Tensor

    from shapelex.coding.device_coder import DeviceCoder

# Centered rows of fewer roundings of their distance from the origin are left to the checks of the CPU.
_LEAST_ROUNDINGS = 1e3


class DeviceWhitening:
    """Whitens the configurations of one space, where they are.

    Parameters
    ----------
    space : Space
        Space of the configurations.
    to_device : callable
        Copies an array to the device, in the precision to work in: :meth:`DeviceCoder.to_device`.
    name : str
        What to call the configurations in errors.

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
        self._shift_norm = float(space.norm(space.shift.astype(np.complex128)))

    def preshapes(self, sent: "Tensor", precision: "np.dtype[Any]", first_row: int = 0) -> "Tensor":
        """Whitened pre-shapes, as ``Space.whitened_preshapes`` gives them up to rounding.

        Parameters
        ----------
        sent : Tensor of complex, shape (n_shapes, n_coordinates)
            Configurations on the device; not changed.
        precision : dtype of complex
            The one that they were stored in, which says how small a shape is a rounding error.
        first_row : int, default 0
            Number of the first row in errors, where this is a block of a larger set.

        Returns
        -------
        Tensor of complex, shape (n_shapes, n_coordinates)
            Rows of norm 1.

        Raises
        ------
        NonFiniteError
            If a coordinate is NaN or infinite.
        CollapsedShapeError
            If all points of a shape coincide.
        """
        import torch

        # Far from the origin the position would drown the form: most of it goes before the product.
        centers = torch.linalg.vecdot(self._shift, sent) / torch.linalg.vecdot(self._shift, self._shift).real
        rows: Tensor = (sent - centers[:, None] * self._shift) @ self._matrix
        norms = torch.linalg.vector_norm(rows, dim=1)
        limits = _LEAST_ROUNDINGS * float(np.finfo(precision).eps) * self._shift_norm * centers.abs()
        if bool((torch.isfinite(norms) & (norms > limits)).all()):
            rows /= norms[:, None]
            return rows
        # The checks of the CPU tell what is wrong, and where; what is only very large or small, it can whiten.
        block = sent.cpu().numpy().astype(precision, copy=False)
        return self._to_device(self._space.whitened_preshapes(block, self._name, first_row=first_row))


def preshape_blocks(
    coder: "DeviceCoder", configurations: ComplexArray | Shapes, space: Space, name: str = "X"
) -> "Iterator[tuple[int, Tensor]]":
    """Bring a set to the device of a coder, block by block, and whiten it there.

    Parameters
    ----------
    coder : DeviceCoder
        What the rows are for; says the device, the precision and how many rows it takes at a time.
    configurations : ndarray of complex, shape (n_shapes, n_coordinates), or Shapes
        The set, with as many coordinates as the space.
    space : Space
        Its space.
    name : str
        What to call the set in errors.

    Yields
    ------
    start : int
        Number of the first row.
    rows : Tensor of complex, shape (n_rows, n_coordinates)
        Whitened pre-shapes.
    """
    whitening = DeviceWhitening(space, coder.to_device, name)
    for start, sent in coder.upload(configurations):
        yield start, whitening.preshapes(sent, configurations.dtype, start)
