"""One pass over the shapes on a torch device: the twin of :func:`shapelex.learning.passes.survey`.

In come a source and a dictionary; out goes the same :class:`~shapelex.learning.passes.Survey`, up to rounding. Rows
that fit in a part of the device's memory stay there from pass to pass; others stream through in blocks.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.coding.device_coder import DeviceCoder, open_device
from shapelex.coding.device_whitening import DeviceWhitening
from shapelex.learning.objectives import objective_slopes, objective_values
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey, SurveySums
from shapelex.learning.sources import ConfigurationRows, RowBlocks
from shapelex.learning.statistics import Statistics

if TYPE_CHECKING:
    from torch import Tensor

# Part of the free memory that resident rows may fill; blocks of codes need the rest. Rows that do not fit are sent
# again in each pass, in the same blocks, so results do not depend on it.
_RESIDENT_SHARE = 0.4
# Products are summed in the precision of the rows over so many rows, then in double precision.
_SUM_ROWS = 1 << 16
# Rows that travel to the device in one go.
_TRAVEL_ROWS = 1 << 18


class DeviceRows:
    """Rows of a source, on a device."""

    def __init__(self, source: RowBlocks, device: str) -> None:
        self.source = source
        self._name = device
        self.device = open_device(device)
        self._resident: list[Tensor] | None = None

    def survey(self, atoms: ComplexArray, options: LearningOptions, *, keeps_values: bool = False) -> Survey:
        """Code all shapes over a dictionary, as :func:`shapelex.learning.passes.survey` does."""
        return self.sum_blocks(atoms, options, keeps_values=keeps_values).finish()

    def sum_blocks(self, atoms: ComplexArray, options: LearningOptions, *, keeps_values: bool = False) -> SurveySums:
        """Code all rows and add them up, as :func:`shapelex.learning.passes.sum_blocks` does."""
        coder = DeviceCoder(atoms, options.n_nonzero, method=options.coder, dtype=atoms.dtype, device=self._name)
        sums = _Sums(coder, SurveySums(atoms, options, keeps_values=keeps_values))
        for start, rows in self._blocks(coder):
            sums.add(rows, self.source.weights(start, start + len(rows)))
        return sums.finish()

    def _blocks(self, coder: DeviceCoder) -> "Iterator[tuple[int, Tensor]]":
        """All rows in order, in blocks that the coder's scratch memory has room for."""
        start = 0
        for large in self._large_blocks(coder):
            size = coder.block_rows()
            for offset in range(0, len(large), size):
                part = large[offset : offset + size]
                yield start + offset, part
            start += len(large)

    def _large_blocks(self, coder: DeviceCoder) -> "Iterator[Tensor]":
        if self._resident is not None:
            yield from self._resident
            return
        n_bytes = self.source.n_samples * self.source.n_coordinates * coder.dtype.itemsize
        kept: list[Tensor] | None = [] if n_bytes <= self._room() else None
        for start in range(0, self.source.n_samples, _TRAVEL_ROWS):
            block = self._read(start, min(start + _TRAVEL_ROWS, self.source.n_samples), coder)
            if kept is not None:
                kept.append(block)
            yield block
        self._resident = kept

    def _room(self) -> int:
        import torch

        if self.device.type != "cuda":
            # Tensors of the CPU may share the memory of the source, but must not double a mapped file.
            return 1 << 30
        free, _ = torch.cuda.mem_get_info(self.device)
        return int(_RESIDENT_SHARE * free)

    def _read(self, start: int, stop: int, coder: DeviceCoder) -> "Tensor":
        if not isinstance(self.source, ConfigurationRows) or self.device.type != "cuda":
            return coder.to_device(self.source.read(start, stop))
        block = np.asarray(self.source.configurations[start:stop])
        whitening = DeviceWhitening(self.source.space, coder.to_device)
        return whitening.preshapes(coder.to_device(block), block.dtype, self.source.first_row + start)


class _Sums:
    """What a pass adds up, block by block, on the device; it ends up in the accumulator of all passes."""

    def __init__(self, coder: DeviceCoder, sums: SurveySums) -> None:
        import torch

        n_atoms, n_coordinates = sums.atoms.shape
        self._coder, self._sums = coder, sums
        self._atom_rows = coder.to_device(sums.atoms)
        self._gram = torch.zeros((n_atoms, n_atoms), dtype=torch.complex128, device=coder.device)
        self._products = torch.zeros((n_atoms, n_coordinates), dtype=torch.complex128, device=coder.device)
        self._usage = torch.zeros(n_atoms, dtype=torch.float64, device=coder.device)
        self._nearest_squares = torch.full((n_atoms,), -1.0, dtype=torch.float64, device=coder.device)
        self._nearest_rows = torch.zeros_like(self._atom_rows)
        self._weight = 0.0

    def add(self, rows: "Tensor", weights: FloatArray) -> None:
        import torch

        from shapelex.kernels.weights_torch import densify, squares

        n_atoms, distance = len(self._atom_rows), self._sums.options.distance
        support, coefs = self._coder.code(rows)
        dense = densify(support, coefs[:, 0], n_atoms)
        errors = squares(rows - dense @ self._atom_rows).sum(dim=1).cpu().numpy()
        values = objective_values(errors, distance)
        self._sums.loss += float((weights * values).sum())
        self._weight += float(weights.sum())
        slope_weights = weights * objective_slopes(errors, distance)
        plain, sloped = (torch.from_numpy(part).to(self._coder.device) for part in (weights, slope_weights))
        used = densify(support, torch.ones_like(coefs[:, 0].real), n_atoms)
        for start in range(0, len(rows), _SUM_ROWS):
            part = slice(start, start + _SUM_ROWS)
            codes = dense[part]
            weighted = (codes * sloped[part, None].to(codes.real.dtype)).mH
            self._gram += weighted @ codes
            self._products += weighted @ rows[part]
            self._usage += plain[part] @ used[part].to(torch.float64)
        self._look_at_extremes(rows, values, weights)
        if self._sums.values is not None:
            self._sums.values.append(values)

    def _look_at_extremes(self, rows: "Tensor", values: FloatArray, weights: FloatArray) -> None:
        import torch

        from shapelex.kernels.weights_torch import squares

        counted = np.flatnonzero(weights > 0)
        if not len(counted):
            return
        worst = self._sums.worst
        n_kept = min(worst.n_kept, len(counted))
        chosen = counted[np.argpartition(values[counted], len(counted) - n_kept)[len(counted) - n_kept :]]
        worst.add(values[chosen], rows[torch.from_numpy(chosen).to(rows.device)].cpu().numpy())
        if self._sums.nearest is None:
            return
        if len(counted) < len(rows):
            rows = rows[torch.from_numpy(counted).to(rows.device)]
        closeness = squares(rows @ self._atom_rows.mH)
        best, places = closeness.max(dim=0)
        nearer = best.to(torch.float64) > self._nearest_squares
        self._nearest_squares = torch.where(nearer, best.to(torch.float64), self._nearest_squares)
        self._nearest_rows = torch.where(nearer[:, None], rows[places], self._nearest_rows)

    def finish(self) -> SurveySums:
        sums = self._sums
        gram, products, usage = (part.cpu().numpy() for part in (self._gram, self._products, self._usage))
        sums.statistics = Statistics(gram, products, usage, self._weight)
        if sums.nearest is not None:
            sums.nearest.squares = self._nearest_squares.cpu().numpy()
            sums.nearest.rows = self._nearest_rows.cpu().numpy()
        return sums
