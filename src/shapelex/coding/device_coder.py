"""Coding on a torch device: a GPU, or the CPU through torch.

In come whitened rows, as NumPy arrays that stream through in blocks or as tensors that are on the device already; out
go the codes of :class:`~shapelex.coding.row_coder.RowCoder`, up to rounding: supports are the same except where two
are equally good to rounding.
"""

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ComplexArray
from shapelex._validation import check_count
from shapelex.coding.coders import choose_coder, implementation, make_limits
from shapelex.coding.codes import CodePath, SparseCodes
from shapelex.coding.prepared import prepare_atoms
from shapelex.coding.row_coder import as_rows, check_nested, check_nonzero
from shapelex.exceptions import CoordinateCountError, DeviceError
from shapelex.spaces.stored import StoredConfigurations

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
        raise DeviceError(f'device="{name}" needs torch: pip install "shapelex[gpu]", or use device="cpu".') from error
    try:
        device = torch.device("cpu" if name == "torch" else name)
        # Threads that all make the first call of the device's linear algebra would fail: one makes it for them.
        with _FIRST_CALL:
            torch.linalg.inv(torch.eye(1, device=device))
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise DeviceError(
            f'device must be "cpu", "torch" or a torch device of this machine, got {name!r}: {reason}'
        ) from error
    return device


def has_device(name: str) -> bool:
    """Tell whether this machine has a device; ``"cpu"`` is always there."""
    try:
        return name == "cpu" or open_device(name) is not None
    except DeviceError:
        return False


class DeviceCoder:
    """Codes whitened rows over one dictionary, on a torch device.

    Arguments and attributes are those of :class:`~shapelex.coding.row_coder.RowCoder`, with the device of
    :func:`open_device`.

    Examples
    --------
    >>> import numpy as np
    >>> import pytest
    >>> _ = pytest.importorskip("torch")
    >>> coder = DeviceCoder(np.eye(3, dtype=complex), 2, method="ormp", device="torch")
    >>> coder.encode(np.array([[0.8, 0.6j, 0]])).support
    array([[0, 1]], dtype=int32)
    """

    def __init__(
        self,
        atom_rows: ComplexArray,
        n_nonzero: int | None = None,
        *,
        method: str = "auto",
        width: int = 16,
        tol: float | None = None,
        path: bool = False,
        dtype: np.dtype[np.complexfloating] | None = None,
        device: str = "cuda",
    ) -> None:
        self.device = open_device(device)
        from shapelex.kernels.weights_torch import Limits, Problem

        atoms = as_rows(atom_rows, "atom_rows")
        self.dtype: np.dtype[np.complexfloating] = np.dtype(atoms.dtype if dtype is None else dtype)
        self.n_atoms, self.n_coordinates = atoms.shape
        self.n_nonzero = check_nonzero(n_nonzero, self.n_atoms, self.n_coordinates, tol)
        self._path = path
        width = check_count(width, 1, "width")
        if path:
            method = check_nested(method)
        coder = choose_coder(method, self.n_atoms, self.n_nonzero, width, tol is not None)
        prepare = implementation(coder, "torch")
        prepared = prepare_atoms(np.ascontiguousarray(atoms, dtype=self.dtype))
        gram = prepared.gram[:, 0, : self.n_atoms] + 1j * prepared.gram[:, 1, : self.n_atoms]
        # One factor per weight brings the weights back to the atoms as they were given.
        norms = prepared.norms
        scale = np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0)
        self._scale = self.to_device(scale).real if (scale != 1).any() else None
        self._atoms = self.to_device(prepared.atoms.view(self.dtype))
        limits = Limits(*make_limits(norms.dtype, tol).tolist())
        self._coder = prepare(Problem(self._atoms, self.to_device(gram), limits, self.n_nonzero, width, path))

    def to_device(self, rows: ComplexArray) -> "Tensor":
        """Copy rows, atoms or any other array to the device, in the precision of the coder."""
        import torch

        array = np.ascontiguousarray(rows, dtype=self.dtype)
        # On the CPU a tensor shares the memory of its array, and torch warns of arrays that are closed to writing.
        return torch.from_numpy(array if array.flags.writeable else array.copy()).to(self.device)

    def encode(self, rows: ComplexArray) -> SparseCodes | CodePath:
        """Code whitened rows of host memory, which must be finite (not checked), block by block."""
        checked = as_rows(rows, "rows")
        if checked.shape[1] != self.n_coordinates:
            raise CoordinateCountError(
                "rows and atom_rows must have the same number of coordinates, "
                f"got {checked.shape[1]} and {self.n_coordinates}."
            )
        return self.encode_blocks(len(checked), self.upload(checked))

    def encode_blocks(self, n_rows: int, blocks: Iterable[tuple[int, "Tensor"]]) -> SparseCodes | CodePath:
        """Code blocks of :meth:`upload`, `n_rows` in all, and bring the codes together in host memory."""
        n_levels = self.n_nonzero if self._path else 1
        support = np.empty((n_rows, self.n_nonzero), dtype=np.int32)
        coefs = np.empty((n_rows, n_levels, self.n_nonzero), dtype=self.dtype)
        for start, block in blocks:
            block_support, block_coefs = self.code(block)
            part = slice(start, start + len(block))
            support[part] = block_support.cpu().numpy()
            coefs[part] = block_coefs.cpu().numpy()
        if self._path:
            return CodePath(support, coefs, self.n_atoms)
        return SparseCodes._from_coder(support, coefs[:, 0], self.n_atoms)

    def upload(self, rows: ComplexArray | StoredConfigurations) -> Iterator[tuple[int, "Tensor"]]:
        """Yield rows on the device in blocks that :meth:`code` takes, each with the number of its first row."""
        travelling = max(1, _TRAVEL_BYTES // (self.n_coordinates * self.dtype.itemsize))
        size = min(self.block_rows(), travelling)
        if self.device.type == "cuda":
            from shapelex.coding.device_upload import upload_ahead

            return upload_ahead(rows, size, self._atoms.dtype, self.device)
        return ((start, self.to_device(rows[start : start + size])) for start in range(0, len(rows), size))

    def block_rows(self) -> int:
        """Rows whose coding fits in the scratch memory; the same for all devices of a kind."""
        n_values = 4 * self.n_coordinates + 6 * self.n_atoms + 4 * self.n_nonzero + self._coder.values_per_row
        scratch = _GPU_SCRATCH_BYTES if self.device.type == "cuda" else _CPU_SCRATCH_BYTES
        return int(max(1, min(_MOST_BLOCK_ROWS, scratch // (n_values * self.dtype.itemsize))))

    def code(self, rows: "Tensor") -> tuple["Tensor", "Tensor"]:
        """Code rows that are on the device: contiguous, of the coder's precision, at most :meth:`block_rows`.

        Returns supports of int32, ``(n_rows, n_nonzero)``, padded with −1, and weights ``(n_rows, 1, n_nonzero)``, or
        ``(n_rows, n_nonzero, n_nonzero)`` for a path.
        """
        from shapelex.kernels.weights_torch import Block

        support, coefs = self._coder.code(Block(rows, rows @ self._atoms.mH))
        if self._scale is not None:
            coefs = coefs * self._scale[support.clamp_min(0).long()][:, None, :]
        return support.int(), coefs

    def residual_norms(self, rows: "Tensor", atoms: "Tensor", support: "Tensor", coefs: "Tensor") -> "Tensor":
        """Norms of ``rows - sum_j alpha_j atoms_j``, on the device, for atoms as they were given."""
        from shapelex.kernels.weights_torch import squared_errors

        return squared_errors(rows, atoms, support, coefs).sqrt()
