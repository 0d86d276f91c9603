"""Coding on a torch device: a GPU, or the CPU through torch."""

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray
from shapelex.coding.coders import Coding, DictionaryCoder
from shapelex.exceptions import DeviceError
from shapelex.kernels.triangle import Limits
from shapelex.shapes.storage import Shapes, TensorShapes
from shapelex.spaces import Space

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# Scratch memory of a block: on the CPU what stays near its caches. It fixes how rows are cut into blocks, and with that
# the order of sums: what else uses the memory of a GPU must not change the bits of a result.
_CPU_SCRATCH_BYTES = 1 << 28
_GPU_SCRATCH_BYTES = 1 << 31
_MOST_BLOCK_ROWS = 1 << 21
# Host memory of a block that travels: rows of stored sets are read so many at a time.
_TRAVEL_BYTES = 1 << 27

# Centered rows of fewer roundings of their distance from the origin are left to the checks of the CPU.
_LEAST_ROUNDINGS = 1e3

_FIRST_CALL = threading.Lock()


def open_device(name: str) -> "torch.device":
    """Device of a name: ``"torch"`` for torch on the CPU, or any torch device of this machine such as ``"cuda:1"``."""
    try:
        import torch
    except ImportError as error:
        raise DeviceError(
            f'{parameter("device", name)} needs torch: pip install "shapelex[gpu]", or use '
            f"{parameter('device', 'cpu')}."
        ) from error
    try:
        device = torch.device("cpu" if name == "torch" else name)
        # Threads that all make the first call of the device's linear algebra would fail: one makes it for them.
        with _FIRST_CALL:
            torch.linalg.inv(torch.eye(1, device=device))
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise DeviceError(
            f'{parameter("device")} must be "cpu", "torch" or a torch device of this machine, got {name!r}: {reason}'
        ) from error
    return device


def has_device(name: str) -> bool:
    """Tell whether this machine has a device; ``"cpu"`` is always there."""
    try:
        return name == "cpu" or open_device(name) is not None
    except DeviceError:
        return False


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


class DeviceCoder(DictionaryCoder):
    """Codes whitened rows over one dictionary, on the torch device that `coding` names, in the precision `dtype`."""

    def __init__(self, coding: Coding, dtype: np.dtype[np.complexfloating]) -> None:
        self.device = open_device(coding.device)
        from shapelex.kernels.torch.pursuit import Problem

        super().__init__(coding, "torch", dtype)
        gram = self.to_device(self.gram[:, 0, : self.n_atoms] + 1j * self.gram[:, 1, : self.n_atoms])
        self._factors = None if self.factors is None else self.to_device(self.factors.astype(self.dtype)).real
        self._atoms = self.to_device(self.unit_atoms)
        limits = Limits(*map(float, self.limits))
        search = self.search
        problem = Problem(self._atoms, gram, limits, self.n_nonzero, search.width, coding.path, search.polishes)
        self._coder = self.implementation(problem)

    def to_device(self, rows: ComplexArray) -> "Tensor":
        """Copy rows, atoms or any other array to the device, in the precision of the coder."""
        import torch

        array = np.ascontiguousarray(rows, dtype=self.dtype)
        # On the CPU a tensor shares the memory of its array, and torch warns of arrays that are closed to writing.
        return torch.from_numpy(array if array.flags.writeable else array.copy()).to(self.device)

    def upload(self, rows: ComplexArray | Shapes) -> Iterator[tuple[int, "Tensor"]]:
        """Yield rows on the device in blocks that :meth:`code` takes, each with the number of its first row.

        Blocks of host memory travel to a GPU while it computes with the block before.
        """
        travelling = max(1, _TRAVEL_BYTES // (self.n_coordinates * self.dtype.itemsize))
        is_there = self._is_there(rows)
        size = self.block_rows() if is_there else min(self.block_rows(), travelling)
        if is_there or self.device.type != "cuda":
            for start in range(0, len(rows), size):
                yield start, self.rows_on_device(rows, start, start + size)
            return
        import torch

        current = torch.cuda.current_stream(self.device)
        travel = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]

        def send(start: int) -> "Tensor":
            block = rows[start : start + size]
            # Only pinned memory travels while the GPU computes.
            staged = torch.empty(block.shape, dtype=self._atoms.dtype, pin_memory=True)
            staged.numpy()[:] = block
            with torch.cuda.stream(travel):
                return staged.to(self.device, non_blocking=True)

        following = send(0)
        for start in range(0, len(rows), size):
            block = following
            current.wait_stream(travel)
            block.record_stream(current)
            # Copied to pinned memory by the CPU while the last block still computes.
            if start + size < len(rows):
                following = send(start + size)
            yield start, block

    def rows_on_device(self, rows: ComplexArray | Shapes, start: int, stop: int) -> "Tensor":
        """Return some rows on the device, in the precision of the coder; those that are there are not copied."""
        if self._is_there(rows):
            there: Tensor = rows.tensor[start:stop].to(self._atoms.dtype)  # type: ignore[union-attr]
            return there
        return self.to_device(rows[start:stop])

    def _is_there(self, rows: ComplexArray | Shapes) -> bool:
        return isinstance(rows, TensorShapes) and rows.tensor.device == self._atoms.device

    def block_rows(self) -> int:
        """Rows whose coding fits in the scratch memory; the same for all devices of a kind."""
        n_values = 2 * self._atoms.shape[1] + 3 * self.n_atoms + 4 * self.n_nonzero + self._coder.values_per_row
        scratch = _GPU_SCRATCH_BYTES if self.device.type == "cuda" else _CPU_SCRATCH_BYTES
        return int(max(1, min(_MOST_BLOCK_ROWS, scratch // (n_values * self.dtype.itemsize))))

    def code(self, rows: "Tensor") -> tuple["Tensor", "Tensor"]:
        """Code rows that are on the device: contiguous, of the coder's precision, at most :meth:`block_rows`.

        Returns supports of int32, ``(n_rows, n_nonzero)``, padded with −1, and weights ``(n_rows, 1, n_nonzero)``, or
        ``(n_rows, n_nonzero, n_nonzero)`` for a path.
        """
        from torch.nn.functional import pad

        from shapelex.kernels.torch.pursuit import Block

        n_more = self._atoms.shape[1] - self.n_coordinates
        # With a price on weights, atoms have more coordinates, which are 0 here; without, a pad would only copy.
        rows = pad(rows, (0, n_more)) if n_more else rows
        support, coefs = self._coder.code(Block(rows, rows @ self._atoms.mH))
        if self._factors is not None:
            coefs = coefs * self._factors[support.clamp_min(0).long()][:, None, :]
        return support.int(), coefs
