"""Coding on a torch device: a GPU, or the CPU through torch.

In come whitened rows, as NumPy arrays that stream through in blocks or as tensors that are on the device already; out
go the codes of :class:`~shapelex.coding.row_coder.RowCoder`, up to rounding: supports are the same except where two
are equally good to rounding.
"""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.coding.coders import choose_coder, count_supports
from shapelex.coding.codes import CodePath, SparseCodes
from shapelex.coding.prepared import prepare_atoms
from shapelex.coding.row_coder import TOLERANCES, as_rows, check_nested, check_nonzero
from shapelex.exceptions import CoordinateCountError, DeviceError
from shapelex.shapes.collection import Shapes

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
    """Device of a name.

    Parameters
    ----------
    name : str
        ``"torch"`` for torch on the CPU, or any torch device, such as ``"cuda"`` or ``"cuda:1"``.

    Returns
    -------
    torch.device
        The device; it is there.

    Raises
    ------
    DeviceError
        If torch is not installed, or has no such device.
    """
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

    Parameters
    ----------
    atom_rows, n_nonzero, method, width, tol, path, dtype
        As in :class:`~shapelex.coding.row_coder.RowCoder`.
    device : str
        As in :func:`open_device`.

    Attributes
    ----------
    n_atoms, n_nonzero : int
        Size of the codes.
    device : torch.device
        Where it computes.

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
        import torch

        from shapelex.kernels.exact_torch import prepare_supports
        from shapelex.kernels.pursuit_torch import Limits

        atoms = as_rows(atom_rows, "atom_rows")
        self.dtype: np.dtype[np.complexfloating] = np.dtype(atoms.dtype if dtype is None else dtype)
        self.n_atoms, self.n_coordinates = atoms.shape
        self.n_nonzero = check_nonzero(n_nonzero, self.n_atoms, self.n_coordinates, tol)
        self._path = path
        self._width = width
        if path:
            method = check_nested(method)
        self.method = choose_coder(method, self.n_atoms, self.n_nonzero, width, tol is not None)
        prepared = prepare_atoms(np.ascontiguousarray(atoms, dtype=self.dtype))
        gram = prepared.gram[:, 0, : self.n_atoms] + 1j * prepared.gram[:, 1, : self.n_atoms]
        self.torch_dtype = torch.complex64 if self.dtype == np.complex64 else torch.complex128
        self._atoms = self.to_device(prepared.atoms.view(self.dtype))
        self._gram = self.to_device(gram.astype(self.dtype))
        norms = prepared.norms
        scale = np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0).astype(norms.dtype)
        self._scale = torch.from_numpy(scale).to(self.device) if (scale != 1).any() else None
        independent, gain, refine = TOLERANCES[norms.dtype.char]
        self._has_target = tol is not None
        target = -1.0 if tol is None else float(tol) ** 2
        self._limits = Limits(independent, gain, target, refine, float(np.finfo(norms.dtype).eps))
        self._tables = prepare_supports(self._gram, self.n_nonzero, independent) if self.method == "exact" else []

    def to_device(self, rows: ComplexArray) -> "Tensor":
        """Copy rows to the device.

        Parameters
        ----------
        rows : ndarray of complex
            Rows, atoms or any other array of the coder's precision.

        Returns
        -------
        Tensor
            The same numbers.
        """
        import torch

        array = np.ascontiguousarray(rows, dtype=self.dtype)
        # On the CPU a tensor shares the memory of its array, and torch warns of arrays that are closed to writing.
        return torch.from_numpy(array if array.flags.writeable else array.copy()).to(self.device)

    def encode(self, rows: ComplexArray) -> SparseCodes | CodePath:
        """Code rows of host memory, block by block.

        Parameters
        ----------
        rows : ndarray of complex, shape (n_samples, n_coordinates)
            Whitened rows; finite, not checked.

        Returns
        -------
        SparseCodes or CodePath
            The codes; a path where one was asked for.

        Raises
        ------
        CoordinateCountError
            If the rows have another number of coordinates than the atoms.
        """
        checked = as_rows(rows, "rows")
        if checked.shape[1] != self.n_coordinates:
            raise CoordinateCountError(
                "rows and atom_rows must have the same number of coordinates, "
                f"got {checked.shape[1]} and {self.n_coordinates}."
            )
        return self.encode_blocks(len(checked), self.upload(checked))

    def encode_blocks(self, n_rows: int, blocks: Iterable[tuple[int, "Tensor"]]) -> SparseCodes | CodePath:
        """Code blocks of rows that are on the device, and bring the codes together in host memory.

        Parameters
        ----------
        n_rows : int
            Number of rows of all blocks.
        blocks : iterable of (int, Tensor)
            Number of the first row of each block, and its rows, as in :meth:`code`.

        Returns
        -------
        SparseCodes or CodePath
            The codes; a path where one was asked for.
        """
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

    def upload(self, rows: ComplexArray | Shapes) -> Iterator[tuple[int, "Tensor"]]:
        """Bring rows to the device in blocks; the next block travels while the caller works on this one.

        Parameters
        ----------
        rows : ndarray of complex, shape (n_samples, n_coordinates), or Shapes
            Rows of host memory, or stored ones, which are read in order.

        Yields
        ------
        start : int
            Number of the first row.
        block : Tensor of complex, shape (n_block, n_coordinates)
            The rows.
        """
        import torch

        travelling = max(1, _TRAVEL_BYTES // (self.n_coordinates * self.dtype.itemsize))
        size = min(self.block_rows(), travelling)
        if self.device.type != "cuda":
            for start in range(0, len(rows), size):
                yield start, self.to_device(rows[start : start + size])
            return
        # Only pinned memory travels while the GPU computes; two staging blocks take turns.
        staging = [
            torch.empty((min(size, len(rows)), self.n_coordinates), dtype=self.torch_dtype, pin_memory=True)
            for _ in range(2)
        ]
        travel = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        left = [torch.cuda.Event(), torch.cuda.Event()]  # type: ignore[no-untyped-call]

        def send(number: int) -> "Tensor":
            start = number * size
            block = rows[start : start + size]
            turn = number % 2
            left[turn].synchronize()
            staged = staging[turn][: len(block)]
            np.copyto(staged.numpy(), block, casting="same_kind")
            with torch.cuda.stream(travel):
                sent = staged.to(self.device, non_blocking=True)
                left[turn].record(travel)
            return sent

        n_blocks = -(-len(rows) // size)
        current = torch.cuda.current_stream(self.device)
        following = send(0) if n_blocks else None
        for number in range(n_blocks):
            assert following is not None
            block = following
            current.wait_event(left[number % 2])
            block.record_stream(current)
            # The copy into staging memory runs on the CPU while the caller's last block still computes.
            following = send(number + 1) if number + 1 < n_blocks else None
            yield number * size, block

    def block_rows(self) -> int:
        """Rows whose coding fits in the scratch memory; the same for all devices of a kind.

        Returns
        -------
        int
            At least 1.
        """
        scratch = _GPU_SCRATCH_BYTES if self.device.type == "cuda" else _CPU_SCRATCH_BYTES
        return int(max(1, min(_MOST_BLOCK_ROWS, scratch // self._bytes_per_row())))

    def _bytes_per_row(self) -> int:
        n_values = 4 * self.n_coordinates + 6 * self.n_atoms + 4 * self.n_nonzero
        if self.method == "exact":
            n_supports = count_supports(self.n_atoms, self.n_nonzero, has_target=False)
            n_before = count_supports(self.n_atoms, self.n_nonzero - 1, has_target=False)
            n_values += 4 * min(n_supports, 16384) + 2 * n_before + self.n_nonzero * self.n_atoms
        elif self.method == "beam":
            n_values += self._width * self.n_atoms * (2 * self.n_nonzero + 12)
        elif not self._is_fused():
            n_values += 2 * self.n_nonzero * self.n_atoms
        return int(n_values * self.dtype.itemsize)

    def _is_fused(self) -> bool:
        from shapelex.kernels.pursuit_cuda import applies

        real = self._gram.real.dtype
        return not (self._has_target or self._path) and applies(self.device, real, self.n_atoms, self.n_nonzero)

    def code(self, rows: "Tensor") -> tuple["Tensor", "Tensor"]:
        """Code rows that are on the device.

        Parameters
        ----------
        rows : Tensor of complex, shape (n_rows, n_coordinates)
            Whitened rows of the coder's precision, contiguous; finite, not checked. At most :meth:`block_rows`.

        Returns
        -------
        support : Tensor of int32, shape (n_rows, n_nonzero)
            Chosen atoms, padded with −1.
        coefs : Tensor of complex, shape (n_rows, 1 or n_nonzero, n_nonzero)
            Weights.
        """
        import torch

        from shapelex.kernels.pursuit_torch import squares

        correlations = rows @ self._atoms.mH
        if self._is_fused() and self.method in ("ormp", "omp"):
            coded = self._code_fused(rows, correlations)
            if coded is not None:
                return coded
        norms2 = squares(rows).sum(dim=1)
        if self.method in ("ormp", "omp"):
            support, coefs = self._code_pursuit(rows, correlations, norms2)
        elif self._has_target:
            support, coefs = self._code_to_target(rows, correlations, norms2)
        else:
            support, coefs = self._code_best(rows, correlations, norms2, self.n_nonzero)
        return support.to(torch.int32), self._scaled(support, coefs)

    def residual_norms(self, rows: "Tensor", atoms: "Tensor", support: "Tensor", coefs: "Tensor") -> "Tensor":
        """Norms of ``rows - sum_j alpha_j atoms_j``, on the device.

        Parameters
        ----------
        rows, atoms : Tensor of complex, shapes (n_rows, n_coordinates) and (n_atoms, n_coordinates)
            Whitened rows, and the atoms as they were given.
        support, coefs : Tensor, shape (n_rows, n_nonzero)
            Codes of the rows, one sparsity of :meth:`code`.

        Returns
        -------
        Tensor of float, shape (n_rows,)
            For rows of norm 1, full distances.
        """
        import torch

        from shapelex.kernels.weights_torch import residuals

        norms: Tensor = torch.linalg.vector_norm(residuals(rows, atoms, support, coefs), dim=1)
        return norms

    def _scaled(self, support: "Tensor", coefs: "Tensor") -> "Tensor":
        if self._scale is None:
            return coefs
        return coefs * self._scale[support.clamp_min(0).long()][:, None, :]

    def _code_fused(self, rows: "Tensor", correlations: "Tensor") -> "tuple[Tensor, Tensor] | None":
        import torch

        from shapelex.kernels.pursuit_cuda import pursue_fused
        from shapelex.kernels.weights_torch import refine

        found = pursue_fused(rows, correlations, self._gram, self._limits, self.n_nonzero, self.method == "omp")
        if found is None:
            return None
        support, coefs, lowest = found
        unsure = torch.nonzero(lowest < self._limits.refine)[:, 0]
        if len(unsure):
            coefs[unsure] = refine(rows[unsure], self._atoms, self._gram, support[unsure], coefs[unsure])
        return support, self._scaled(support, coefs[:, None])

    def _code_pursuit(
        self,
        rows: "Tensor",
        correlations: "Tensor",
        norms2: "Tensor",
        allowed: "Tensor | None" = None,
        n_nonzero: int | None = None,
    ) -> tuple["Tensor", "Tensor"]:
        import torch

        from shapelex.kernels.pursuit_torch import pursue, squares
        from shapelex.kernels.weights_torch import refine, residuals, solve_triangle

        def reached(chosen: "Tensor", support: "Tensor", coefs: "Tensor") -> "Tensor":
            remaining = residuals(rows[chosen], self._atoms, support, coefs)
            return squares(remaining).sum(dim=1) <= self._limits.target * norms2[chosen]

        n_most = self.n_nonzero if n_nonzero is None else n_nonzero
        is_greedy = self.method in ("ormp", "omp")
        found = pursue(
            correlations,
            norms2,
            self._gram,
            self._limits if is_greedy else replace(self._limits, target=-1.0),
            n_most,
            by_correlation=self.method == "omp",
            allowed=allowed,
            reached=reached,
        )
        unsure = torch.nonzero(found.lowest < self._limits.refine)[:, 0]
        levels = range(1, n_most + 1) if self._path else [n_most]
        coefs = torch.zeros((len(rows), len(levels), n_most), dtype=rows.dtype, device=rows.device)
        for place, n_chosen in enumerate(levels):
            solved = solve_triangle(found.triangle[:, :n_chosen, :n_chosen], found.targets[:, :n_chosen])
            support = found.support[:, :n_chosen]
            if len(unsure):
                solved[unsure] = refine(rows[unsure], self._atoms, self._gram, support[unsure], solved[unsure])
            coefs[:, place, :n_chosen] = solved
        return found.support, coefs

    def _code_best(
        self, rows: "Tensor", correlations: "Tensor", norms2: "Tensor", n_nonzero: int
    ) -> tuple["Tensor", "Tensor"]:
        """Code by the best support of exactly so many atoms that the search finds."""
        import torch

        from shapelex.kernels.beam_torch import search
        from shapelex.kernels.exact_torch import best_supports
        from shapelex.kernels.pursuit_torch import squares
        from shapelex.kernels.weights_torch import residuals, solve_support

        if self.method == "beam":
            support = search(correlations, norms2, self._gram, self._limits, n_nonzero, self._width)
            coefs = solve_support(rows, correlations, self._atoms, self._gram, support, self._limits.refine)
            return support, coefs[:, None]
        best, _ = best_supports(correlations, norms2, self._tables[:n_nonzero], self._limits.eps)
        allowed = torch.zeros(correlations.shape, dtype=torch.bool, device=rows.device).scatter_(1, best, True)
        support, coefs = self._code_pursuit(rows, correlations, norms2, allowed, n_nonzero)
        # Where hardly anything is left, gains tie to rounding: there the support must beat a plain pursuit.
        error = squares(residuals(rows, self._atoms, support, coefs[:, 0])).sum(dim=1)
        unsure = torch.nonzero(error <= 64 * self._limits.eps * norms2)[:, 0]
        if len(unsure):
            part = rows[unsure], correlations[unsure], norms2[unsure]
            other, other_coefs = self._code_pursuit(*part, n_nonzero=n_nonzero)
            other_error = squares(residuals(part[0], self._atoms, other, other_coefs[:, 0])).sum(dim=1)
            is_better = other_error <= error[unsure]
            support[unsure[is_better]] = other[is_better]
            coefs[unsure[is_better]] = other_coefs[is_better]
        return support, coefs

    def _code_to_target(self, rows: "Tensor", correlations: "Tensor", norms2: "Tensor") -> tuple["Tensor", "Tensor"]:
        """Code by the smallest supports that reach the target."""
        import torch

        from shapelex.kernels.pursuit_torch import squares
        from shapelex.kernels.weights_torch import residuals

        support = torch.full((len(rows), self.n_nonzero), -1, dtype=torch.int64, device=rows.device)
        coefs = torch.zeros((len(rows), 1, self.n_nonzero), dtype=rows.dtype, device=rows.device)
        stop = self._limits.target * norms2
        going = torch.nonzero(norms2 > stop)[:, 0]
        for size in range(1, self.n_nonzero + 1):
            if not len(going):
                break
            part = rows[going]
            found, found_coefs = self._code_best(part, correlations[going], norms2[going], size)
            support[going] = -1
            coefs[going] = 0
            support[going, :size] = found
            coefs[going, :, :size] = found_coefs
            error = squares(residuals(part, self._atoms, found, found_coefs[:, 0])).sum(dim=1)
            going = going[error > stop[going]]
        return support, coefs
