"""Arrays of host memory, and stored sets, to a torch device."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.spaces.stored import StoredConfigurations

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def copy_to_device(rows: ComplexArray, dtype: "np.dtype[np.complexfloating]", device: "torch.device") -> "Tensor":
    """Copy an array to a device in a precision."""
    import torch

    array = np.ascontiguousarray(rows, dtype=dtype)
    # On the CPU a tensor shares the memory of its array, and torch warns of arrays that are closed to writing.
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)


def upload_blocks(
    rows: ComplexArray | StoredConfigurations,
    block_rows: int,
    dtype: "np.dtype[np.complexfloating]",
    device: "torch.device",
) -> "Iterator[tuple[int, Tensor]]":
    """Yield blocks of rows on a device, each with the number of its first row.

    On a GPU the next block travels while the caller works on this one.
    """
    if device.type == "cuda":
        yield from _upload_ahead(rows, block_rows, dtype, device)
        return
    for start in range(0, len(rows), block_rows):
        yield start, copy_to_device(rows[start : start + block_rows], dtype, device)


def _upload_ahead(
    rows: ComplexArray | StoredConfigurations,
    block_rows: int,
    dtype: "np.dtype[np.complexfloating]",
    device: "torch.device",
) -> "Iterator[tuple[int, Tensor]]":
    import torch

    # Only pinned memory travels while the GPU computes; two staging blocks take turns.
    empty = torch.from_numpy(np.empty((min(block_rows, len(rows)), rows.shape[1]), dtype=dtype))
    staging = [torch.empty_like(empty, pin_memory=True) for _ in range(2)]
    has_arrived = [torch.cuda.Event(), torch.cuda.Event()]  # type: ignore[no-untyped-call]
    travel = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    current = torch.cuda.current_stream(device)

    def send(start: int) -> "Tensor":
        turn = start // block_rows % 2
        block = rows[start : start + block_rows]
        has_arrived[turn].synchronize()
        staged = staging[turn][: len(block)]
        np.copyto(staged.numpy(), block, casting="same_kind")
        with torch.cuda.stream(travel):
            sent = staged.to(device, non_blocking=True)
            has_arrived[turn].record(travel)
        return sent

    following = send(0)
    for start in range(0, len(rows), block_rows):
        block = following
        current.wait_event(has_arrived[start // block_rows % 2])
        block.record_stream(current)
        # The copy into staging memory runs on the CPU while the caller's last block still computes.
        if start + block_rows < len(rows):
            following = send(start + block_rows)
        yield start, block
