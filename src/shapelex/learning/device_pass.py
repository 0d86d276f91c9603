"""One pass over the shapes on a torch device: the twin of the CPU's in :mod:`shapelex.learning.one_pass`.

Pre-shapes that fit in a part of the device's memory stay there from pass to pass; others are sent in blocks.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import DistanceKind
from shapelex.coding.coders import Coding, DictionaryCoder
from shapelex.coding.torch.device_coder import DeviceCoder, DeviceWhitening, open_device
from shapelex.learning.one_pass import WORST_PER_ATOM, PassSums, merge, objective
from shapelex.shapes.storage import Shapes, TensorShapes

if TYPE_CHECKING:
    from torch import Tensor

LEAST_PASS_NS = 10_000_000.0
"""A pass that takes less on one core of the CPU, by the estimate that decides on threads, is made there: 10 ms.

A pass on a GPU takes a few milliseconds even over few shapes.
"""

# Part of the free memory that resident rows may fill; blocks of codes need the rest. Rows that do not fit are sent
# again in each pass, in the same blocks, so results do not depend on it.
_RESIDENT_SHARE = 0.4
# Products are summed in the precision of the rows over so many rows, then in double precision.
_SUM_ROWS = 1 << 14
# Rows that are sent to the device in one go.
_TRAVEL_ROWS = 1 << 18


def is_small(shapes: Shapes, coding: Coding) -> bool:
    """Tell whether the compiled kernels of the CPU make a pass over these shapes in less time than a device."""
    # Whatever the coder, a shape takes a tenth of a microsecond.
    if isinstance(shapes, TensorShapes) or 100.0 * len(shapes) >= LEAST_PASS_NS:
        return False
    # Also refuses devices that are not there.
    open_device(coding.device)
    dtype = np.result_type(shapes.dtype, coding.atom_rows.dtype)
    return DictionaryCoder(coding, "numba", dtype).cost_ns * len(shapes) < LEAST_PASS_NS


def sum_on_device(shapes: Shapes, coding: Coding, distance: DistanceKind, keeps_values: bool) -> PassSums:
    """Code shapes on the torch device that `coding` names, and sum up what was found."""
    # Refuses devices that are not there, torch's among them.
    coder = DeviceCoder(coding, np.result_type(shapes.dtype, coding.atom_rows.dtype))
    import torch

    atom_rows = coder.to_device(coding.atom_rows)
    found: list[PassSums] = []
    for start, large in _resident_blocks(shapes, coder):
        for first in range(start, start + len(large), coder.block_rows()):
            rows = large[first - start : first - start + coder.block_rows()]
            given = shapes.weights_of(slice(first, first + len(rows)))
            weights = torch.tensor(given, dtype=torch.float64, device=coder.device)
            found = [merge([*found, _sum_block(coder, rows, weights, atom_rows, distance, keeps_values)])]
    return found[0]


def _resident_blocks(shapes: Shapes, coder: DeviceCoder) -> "Iterator[tuple[int, Tensor]]":
    """Yield the whitened pre-shapes in large blocks on the device, with their first numbers; keep them if they fit."""
    key = (str(coder.device), coder.dtype)
    if key in shapes.kept:
        yield from shapes.kept[key]
        return
    whitening = DeviceWhitening(shapes.space, coder.to_device, shapes.name)
    keeps = len(shapes) * shapes.shape[1] * coder.dtype.itemsize <= _room(coder)
    kept: list[tuple[int, Tensor]] = []
    for start in range(0, len(shapes), _TRAVEL_ROWS):
        block = coder.rows_on_device(shapes, start, start + _TRAVEL_ROWS)
        rows = whitening.preshapes(block, shapes.dtype, shapes.first_row + start)
        if keeps:
            kept.append((start, rows))
        yield start, rows
    if keeps:
        shapes.kept[key] = kept


def _room(coder: DeviceCoder) -> int:
    """Return the bytes that resident rows may fill."""
    import torch

    if coder.device.type != "cuda":
        return 1 << 30
    free, _ = torch.cuda.mem_get_info(coder.device)
    return int(_RESIDENT_SHARE * free)


def _sum_block(
    coder: DeviceCoder,
    rows: "Tensor",
    weights: "Tensor",
    atom_rows: "Tensor",
    distance: DistanceKind,
    keeps_values: bool,
) -> PassSums:
    """Code rows that are on the device; only sums and a few rows come back."""
    import torch

    from shapelex.kernels.torch.weights import densify, squares

    n_atoms, n_coordinates = atom_rows.shape
    support, coefs = coder.code(rows)
    dense = densify(support, coefs[:, 0], n_atoms)
    errors = squares(rows - dense @ atom_rows).sum(dim=1)
    values, sloped = errors.to(torch.float64).clamp(0, 1), weights
    if distance != "full":
        values, slopes = (torch.tensor(a, device=coder.device) for a in objective(errors.cpu().numpy(), distance))
        sloped = weights * slopes
    used = densify(support, torch.ones_like(coefs[:, 0].real), n_atoms)
    weighted = dense * sloped[:, None].to(errors.dtype)
    gram = torch.zeros((n_atoms, n_atoms), dtype=torch.complex128, device=coder.device)
    products = torch.zeros((n_atoms, n_coordinates), dtype=torch.complex128, device=coder.device)
    for start in range(0, len(rows), _SUM_ROWS):
        part = slice(start, start + _SUM_ROWS)
        gram += (weighted[part].mH @ dense[part]).to(torch.complex128)
        products += (weighted[part].mH @ rows[part]).to(torch.complex128)
    counted = torch.where(weights > 0, values, -1)
    worst_values, worst = counted.topk(min(WORST_PER_ATOM * n_atoms, int((weights > 0).sum())))
    return PassSums(
        gram.cpu().numpy(),
        products.cpu().numpy(),
        (used * weights[:, None]).sum(dim=0).cpu().numpy(),
        float(weights.sum()),
        float((weights * values).sum()),
        values.cpu().numpy() if keeps_values else np.empty(0),
        worst_values.cpu().numpy(),
        rows[worst].cpu().numpy(),
        coder.coding.atom_rows,
    )
