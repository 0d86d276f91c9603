"""Rows of host memory, and of stored sets, to a GPU.

Rows are copied to pinned memory block by block, and from there to the GPU while it computes. Loaded only when a GPU is
used.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from shapelex._typing import ComplexArray
from shapelex.shapes.collection import Shapes


def upload_ahead(
    rows: ComplexArray | Shapes, block_rows: int, dtype: torch.dtype, device: torch.device
) -> Iterator[tuple[int, Tensor]]:
    """Yield blocks of rows on a GPU, each with the number of its first row; the next travels while one is in use."""
    # Only pinned memory travels while the GPU computes; two staging blocks take turns.
    shape = min(block_rows, len(rows)), rows.shape[1]
    staging = [torch.empty(shape, dtype=dtype, pin_memory=True) for _ in range(2)]
    has_arrived = [torch.cuda.Event(), torch.cuda.Event()]  # type: ignore[no-untyped-call]
    travel = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    current = torch.cuda.current_stream(device)

    def send(start: int) -> Tensor:
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
