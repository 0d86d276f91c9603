"""One pass over the shapes on a torch device: the twin of the CPU's in :mod:`shapelex.learning.passes`.

Pre-shapes that fit in a part of the device's memory stay there from pass to pass; others are sent in blocks.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.coding.settings import Coding
from shapelex.coding.torch.device_coder import DeviceCoder
from shapelex.coding.torch.whitening import DeviceWhitening
from shapelex.learning.objectives import objective_slopes, objective_values
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import WORST_PER_ATOM, PassSums, largest_values
from shapelex.learning.statistics import Statistics
from shapelex.shapes.collection import Shapes

if TYPE_CHECKING:
    from torch import Tensor

# Part of the free memory that resident rows may fill; blocks of codes need the rest. Rows that do not fit are sent
# again in each pass, in the same blocks, so results do not depend on it.
_RESIDENT_SHARE = 0.4
# Products are summed in the precision of the rows over so many rows, then in double precision.
_SUM_ROWS = 1 << 16
# Rows that are sent to the device in one go.
_TRAVEL_ROWS = 1 << 18


def sum_on_device(shapes: Shapes, atoms: ComplexArray, options: LearningOptions, keeps_values: bool) -> PassSums:
    """Code shapes on the torch device that the options name, and sum up what was found."""
    dtype = np.result_type(shapes.dtype, atoms.dtype)
    coders = [
        DeviceCoder(Coding(atoms, size, options.coder, max_weight=options.max_weight, device=options.device), dtype)
        for size in options.sparsities
    ]
    coder = coders[-1]
    atom_rows = coder.to_device(atoms)
    total: PassSums | None = None
    for start, large in _resident_blocks(shapes, coder):
        for first in range(start, start + len(large), coder.block_rows()):
            rows = large[first - start : first - start + coder.block_rows()]
            weights = shapes.weights_of(slice(first, first + len(rows)))
            found = _sum_block(coders, rows, weights, atom_rows, options, keeps_values)
            total = found if total is None else total.add(found)
    assert total is not None
    if len(total.worst_rows):
        total.worst_rows = shapes.space.unwhiten(total.worst_rows)
    return total


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
    coders: list[DeviceCoder],
    rows: "Tensor",
    weights: FloatArray,
    atom_rows: "Tensor",
    options: LearningOptions,
    keeps_values: bool,
) -> PassSums:
    """Code rows that are on the device; only sums and a few rows come back."""
    import torch

    from shapelex.kernels.torch.weights import squares

    device = coders[-1].device
    statistics, losses = [], []
    for coder in coders:
        found, values = _sum_codes(coder, rows, weights, atom_rows, options)
        statistics.append(found)
        losses.append((weights * values).sum())
    worst = largest_values(values, weights, WORST_PER_ATOM * len(atom_rows))
    nearest_atoms = atom_rows if options.tie > 0 else atom_rows[:0]
    counts = torch.tensor(weights > 0, device=device)
    closeness = torch.where(counts[:, None], squares(rows @ nearest_atoms.mH), -1)
    nearest_squares, nearest = closeness.max(dim=0)
    return PassSums(
        statistics=statistics,
        values=values if keeps_values else values[:0],
        losses=np.array(losses),
        worst_values=values[worst],
        worst_rows=rows[torch.from_numpy(worst).to(device)].cpu().numpy(),
        nearest_squares=nearest_squares.cpu().numpy().astype(np.float64),
        nearest_rows=rows[nearest].cpu().numpy(),
    )


def _sum_codes(
    coder: DeviceCoder, rows: "Tensor", weights: FloatArray, atom_rows: "Tensor", options: LearningOptions
) -> tuple[Statistics, FloatArray]:
    """Return the statistics of the codes of one sparsity, and the squared distances to the approximations."""
    import torch

    from shapelex.kernels.torch.weights import densify, squares

    n_atoms, n_coordinates = atom_rows.shape
    support, coefs = coder.code(rows)
    dense = densify(support, coefs[:, 0], n_atoms)
    errors = squares(rows - dense @ atom_rows).sum(dim=1).cpu().numpy()
    values = objective_values(errors, options.distance)
    slopes = objective_slopes(errors, options.distance)
    plain, sloped = (torch.tensor(part, device=coder.device) for part in (weights, weights * slopes))
    gram = torch.zeros((n_atoms, n_atoms), dtype=torch.complex128, device=coder.device)
    products = torch.zeros((n_atoms, n_coordinates), dtype=torch.complex128, device=coder.device)
    usage = torch.zeros(n_atoms, dtype=torch.float64, device=coder.device)
    used = densify(support, torch.ones_like(coefs[:, 0].real), n_atoms)
    for start in range(0, len(rows), _SUM_ROWS):
        part = slice(start, start + _SUM_ROWS)
        codes = dense[part]
        weighted = (codes * sloped[part, None].to(codes.real.dtype)).mH
        gram += weighted @ codes
        products += weighted @ rows[part]
        usage += plain[part] @ used[part].to(torch.float64)
    found = Statistics(gram.cpu().numpy(), products.cpu().numpy(), usage.cpu().numpy(), float(weights.sum()))
    return found, values
