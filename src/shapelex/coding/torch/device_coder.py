"""Coding on a torch device: a GPU, or the CPU through torch.

In come whitened rows, as tensors that are on the device; out go the codes of
:class:`~shapelex.coding.row_coder.RowCoder`, up to rounding: supports are the same except where two are equally good to
rounding.
"""

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray
from shapelex.coding.settings import Coding, DictionaryCoder
from shapelex.exceptions import DeviceError
from shapelex.shapes.collection import Shapes
from shapelex.shapes.tensors import TensorShapes

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


class DeviceCoder(DictionaryCoder):
    """Codes whitened rows over one dictionary, on the torch device that `coding` names, in the precision `dtype`."""

    def __init__(self, coding: Coding, dtype: np.dtype[np.complexfloating]) -> None:
        self.device = open_device(coding.device)
        from shapelex.kernels.torch.weights import Limits, Problem

        super().__init__(coding, "torch", dtype)
        gram = self.prepared.gram[:, 0, : self.n_atoms] + 1j * self.prepared.gram[:, 1, : self.n_atoms]
        self._factors = None if self.factors is None else self.to_device(self.factors.astype(self.dtype)).real
        self._atoms = self.to_device(self.prepared.atoms.view(self.dtype))
        limits = Limits(*self.limits.tolist())
        search = self.search
        problem = Problem(
            self._atoms, self.to_device(gram), limits, self.n_nonzero, search.width, coding.path, search.polishes
        )
        self._coder = self.implementation(problem)

    def to_device(self, rows: ComplexArray) -> "Tensor":
        """Copy rows, atoms or any other array to the device, in the precision of the coder."""
        import torch

        array = np.ascontiguousarray(rows, dtype=self.dtype)
        # On the CPU a tensor shares the memory of its array, and torch warns of arrays that are closed to writing.
        return torch.from_numpy(array if array.flags.writeable else array.copy()).to(self.device)

    def upload(self, rows: ComplexArray | Shapes) -> Iterator[tuple[int, "Tensor"]]:
        """Yield rows on the device in blocks that :meth:`code` takes, each with the number of its first row."""
        travelling = max(1, _TRAVEL_BYTES // (self.n_coordinates * self.dtype.itemsize))
        is_there = self._is_there(rows)
        size = self.block_rows() if is_there else min(self.block_rows(), travelling)
        if self.device.type == "cuda" and not is_there:
            from shapelex.coding.torch.upload import upload_ahead

            return upload_ahead(rows, size, self._atoms.dtype, self.device)
        return ((start, self.rows_on_device(rows, start, start + size)) for start in range(0, len(rows), size))

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
        n_values = 2 * self.n_coordinates + 3 * self.n_atoms + 4 * self.n_nonzero + self._coder.values_per_row
        scratch = _GPU_SCRATCH_BYTES if self.device.type == "cuda" else _CPU_SCRATCH_BYTES
        return int(max(1, min(_MOST_BLOCK_ROWS, scratch // (n_values * self.dtype.itemsize))))

    def code(self, rows: "Tensor") -> tuple["Tensor", "Tensor"]:
        """Code rows that are on the device: contiguous, of the coder's precision, at most :meth:`block_rows`.

        Returns supports of int32, ``(n_rows, n_nonzero)``, padded with −1, and weights ``(n_rows, 1, n_nonzero)``, or
        ``(n_rows, n_nonzero, n_nonzero)`` for a path.
        """
        from shapelex.kernels.torch.weights import Block

        support, coefs = self._coder.code(Block(rows, rows @ self._atoms.mH))
        if self._factors is not None:
            coefs = coefs * self._factors[support.clamp_min(0).long()][:, None, :]
        return support.int(), coefs
