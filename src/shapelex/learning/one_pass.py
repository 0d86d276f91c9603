"""One pass over the shapes: code every block, add up what the next update needs, forget the codes.

The CPU, a torch device and Dask workers fill the same :class:`PassSums`, whose size does not depend on the number of
shapes.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray, DistanceKind, FloatArray
from shapelex.coding.coders import CodedBlock, Coding, DictionaryCoder
from shapelex.coding.cpu import MAX_PART_ROWS, RowCoder, count_threads, run_blocks
from shapelex.coding.encoding import code_present
from shapelex.coding.torch.device_coder import DeviceCoder, DeviceWhitening, open_device
from shapelex.kernels.statistics import accumulate_batch
from shapelex.learning.sampling import IncompleteShapes
from shapelex.shapes.storage import BLOCK_ROWS, Block, Shapes, TensorShapes
from shapelex.spaces.base import read_only

if TYPE_CHECKING:
    from torch import Tensor

# Candidates for replacement, for each atom: enough that copies of one bad shape do not fill the list.
WORST_PER_ATOM = 4

# A pass that takes less on one core of the CPU, by the estimate that decides on threads, is made there: 10 ms.
#
# A pass on a GPU takes a few milliseconds even over few shapes.
LEAST_PASS_NS = 10_000_000.0

# Part of the free memory that resident rows may fill; blocks of codes need the rest. Rows that do not fit are sent
# again in each pass, in the same blocks, so results do not depend on it.
_RESIDENT_SHARE = 0.4
# Products are summed in the precision of the rows over so many rows, then in double precision.
_SUM_ROWS = 1 << 14
# Rows that are sent to the device in one go.
_TRAVEL_ROWS = 1 << 18

# The slopes grow without bound where a shape is orthogonal to its reconstruction. The floor under cos² keeps
# one such shape from outweighing 100 others.
_LEAST_COSINE2 = 1e-4

_NO_ROWS: Callable[[], Any] = partial(np.empty, (0, 0), np.complex128)


@dataclass(eq=False)
class PassSums:
    """What a pass found in consecutive shapes ``k`` of weight ``w_k``, slope ``s_k``, row ``x_k`` and code ``a_k``.

    Parameters
    ----------
    gram : ndarray of complex128, shape (n_atoms, n_atoms)
        ``S = Σ w_k s_k conj(a_k) a_kᵀ``, the Hermitian matrix ``(A A*)ᵀ`` of the paper.
    products : ndarray of complex128, shape (n_atoms, n_coordinates)
        ``T = Σ w_k s_k conj(a_k) x_kᵀ``, so that the update solves ``S D = T`` for the rows of ``D``.
    usage : ndarray of float, shape (n_atoms,)
        Sum of the weights ``w_k`` of the shapes that use each atom.
    weight : float
        ``Σ w_k``.
    loss : float
        Weighted sum of the squared distances from the shapes to their approximations.
    values : ndarray of float, shape (n_shapes,)
        These squared distances; no entry where they are not kept.
    worst_values, worst_rows : ndarray
        The largest of them among the shapes of positive weight, and these shapes as whitened pre-shapes.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary.
    curve : list of float
        Mean losses of the passes that led to it, and of those that followed in the same stage.
    start : ndarray of complex, shape (n_atoms, n_coordinates), or None
        The dictionary that its atoms are held near.
    """

    gram: ComplexArray
    products: ComplexArray
    usage: FloatArray
    weight: float
    loss: float = 0.0
    values: FloatArray = field(default_factory=partial(np.empty, 0))
    worst_values: FloatArray = field(default_factory=partial(np.empty, 0))
    worst_rows: ComplexArray = field(default_factory=_NO_ROWS)
    atoms: ComplexArray = field(default_factory=_NO_ROWS)
    curve: list[float] = field(default_factory=list)
    start: ComplexArray | None = None

    @property
    def rmse(self) -> float:
        """Root mean squared distance."""
        return float(np.sqrt(self.loss / self.weight))

    def plus(self, later: "PassSums", kept: float = 1.0) -> "PassSums":
        """Return the sums with those of shapes that follow, and `kept` times the weights of these."""
        values = np.concatenate([self.worst_values, later.worst_values])
        order = np.argsort(-values, kind="stable")[: WORST_PER_ATOM * len(self.gram)]
        return PassSums(
            kept * self.gram + later.gram,
            kept * self.products + later.products,
            kept * self.usage + later.usage,
            kept * self.weight + later.weight,
            kept * self.loss + later.loss,
            np.concatenate([self.values, later.values]),
            values[order],
            np.concatenate([self.worst_rows, later.worst_rows])[order],
            later.atoms,
        )


# Returns what a pass found in all parts of a collection; the parts stay as they are.
merge: Callable[[Iterable[PassSums]], PassSums] = partial(reduce, PassSums.plus)


def one_pass(shapes: Shapes, coding: Coding, distance: DistanceKind, *, keeps_values: bool = False) -> PassSums:
    """Code all shapes over a dictionary of whitened rows of norm 1, and sum up what the next update needs."""
    if shapes.is_remote:
        on_one_thread = replace(coding, n_threads=1)
        work = partial(one_pass, coding=on_one_thread, distance=distance, keeps_values=keeps_values)
        return shapes.reduce(work, merge)
    sum_codes = partial(_sum_codes, distance=distance)
    if isinstance(shapes, IncompleteShapes):
        sum_block = partial(_sum_incomplete, coding, sum_codes)
    elif coding.device == "cpu" or _is_small(shapes, coding):
        dtype = np.result_type(shapes.dtype, coding.atom_rows.dtype)
        sum_block = partial(_sum_on_cpu, RowCoder(coding, shapes.space, dtype, for_learning=True), sum_codes)
    else:
        return _sum_on_device(shapes, coding, distance, keeps_values)
    n_worst = WORST_PER_ATOM * len(coding.atom_rows)
    found: list[PassSums] = []
    for block in shapes.blocks(BLOCK_ROWS):
        sums, rows = sum_block(block)
        places = np.flatnonzero(block.weights > 0)
        if len(places) > n_worst:
            places = places[np.argpartition(sums.values[places], -n_worst)[-n_worst:]]
        worst = places[np.argsort(-sums.values[places], kind="stable")]
        sums.worst_values, sums.worst_rows = sums.values[worst], rows[worst]
        sums.values = sums.values if keeps_values else sums.values[:0]
        found = [merge([*found, sums])]
    (total,) = found
    total.atoms = coding.atom_rows
    # The shapes were neither centered nor whitened, so what they add up to is.
    total.products = shapes.space.whiten_rows(total.products)
    total.worst_rows = shapes.space.unit_rows(total.worst_rows)
    return total


def _sum_on_cpu(coder: RowCoder, sum_codes: Callable[..., PassSums], block: Block) -> tuple[PassSums, ComplexArray]:
    """Code the shapes of a block in parts, on several threads; sum up what was found, and return the shapes, too."""
    n_rows = len(block.configurations)
    coded = coder.allocate(block.start, n_rows, with_squares=True)
    parts: dict[int, PassSums] = {}

    def sum_part(start: int, stop: int) -> None:
        rows, scales = coder.code_part(block, coded, start, stop)
        part = slice(start, stop)
        parts[start] = sum_codes(coded, part, rows, scales, block.weights[part])

    # Parts of about equal length, whatever the number of threads: the sums of parts are added in order.
    part_rows = -(-n_rows // -(-n_rows // MAX_PART_ROWS))
    # Sums take about a nanosecond for each atom and coordinate.
    cost_ns = coder.cost_ns + 2 * coder.n_nonzero * coder.n_coordinates
    run_blocks(sum_part, n_rows, part_rows, count_threads(coder.coding.n_threads, cost_ns * n_rows))
    return merge(map(parts.__getitem__, sorted(parts))), block.configurations


def _sum_incomplete(coding: Coding, sum_codes: Callable[..., PassSums], block: Block) -> tuple[PassSums, ComplexArray]:
    """Code shapes by the landmarks that they have; sum up what was found, and return the shapes, too.

    Their other landmarks are those of the reconstructions. An update for given codes minimizes the sum of squared
    residuals of these completed shapes. It is an upper bound of the squared residuals on the landmarks present, and
    equal to it for the current atoms, since the residuals of the other landmarks are 0 there: so the update lowers the
    error on the landmarks present.
    """
    coded, completed = code_present(block, ~np.isnan(block.configurations), coding, with_errors=True)
    return sum_codes(coded, slice(None), completed, np.ones(len(block)), block.weights), completed


def _sum_codes(
    coded: CodedBlock, part: slice, rows: ComplexArray, scales: FloatArray, weights: FloatArray, distance: DistanceKind
) -> PassSums:
    """Return the sums of the vectors `scales` times `rows`, in the coordinates of the rows, and their values."""
    gram = np.zeros((coded.n_atoms, coded.n_atoms), dtype=np.complex128)
    products = np.zeros((coded.n_atoms, rows.shape[1]), dtype=np.complex128)
    usage = np.zeros(coded.n_atoms)
    values, slopes = objective(coded.squares[part], distance)
    codes = np.ascontiguousarray(coded.coefs[part, 0]).view(coded.coefs.real.dtype)
    # A view that is always read-only: the kernel would be compiled again for arrays of users that are.
    vectors = read_only(np.ascontiguousarray(rows).view(rows.real.dtype))
    shares = np.ascontiguousarray(weights, dtype=np.float64)
    sums = gram.view(np.float64), products.view(np.float64), usage
    accumulate_batch(coded.support[part], codes, vectors, scales, shares, slopes, *sums)
    weight, loss = float(weights.sum()), float(weights @ values)
    return PassSums(gram, products, usage, weight, loss, values)


def _is_small(shapes: Shapes, coding: Coding) -> bool:
    """Tell whether the compiled kernels of the CPU make a pass over these shapes in less time than a device."""
    # Whatever the coder, a shape takes a tenth of a microsecond.
    if isinstance(shapes, TensorShapes) or 100.0 * len(shapes) >= LEAST_PASS_NS:
        return False
    # Also refuses devices that are not there.
    open_device(coding.device)
    dtype = np.result_type(shapes.dtype, coding.atom_rows.dtype)
    return DictionaryCoder(coding, "numba", dtype).cost_ns * len(shapes) < LEAST_PASS_NS


def _sum_on_device(shapes: Shapes, coding: Coding, distance: DistanceKind, keeps_values: bool) -> PassSums:
    """Code shapes on the torch device that `coding` names; only sums and a few rows come back."""
    # Refuses devices that are not there, torch's among them.
    coder = DeviceCoder(coding, np.result_type(shapes.dtype, coding.atom_rows.dtype))
    import torch

    from shapelex.kernels.torch.pursuit import densify, squares

    device, n_atoms = coder.device, coder.n_atoms
    atom_rows = coder.to_device(coding.atom_rows)

    def sum_block(start: int, rows: "Tensor") -> PassSums:
        support, coefs = coder.code(rows)
        dense = densify(support, coefs[:, 0], n_atoms)
        errors = squares(rows - dense @ atom_rows).sum(dim=1)
        weights = torch.tensor(shapes.weights_of(slice(start, start + len(rows))), device=device)
        values, sloped = errors.to(torch.float64).clamp(0, 1), weights
        if distance != "full":
            values, slopes = (torch.tensor(a, device=device) for a in objective(errors.cpu().numpy(), distance))
            sloped = weights * slopes
        used = densify(support, torch.ones_like(coefs[:, 0].real), n_atoms)
        weighted = dense * sloped[:, None].to(errors.dtype)
        gram = torch.zeros((n_atoms, n_atoms), dtype=torch.complex128, device=device)
        products = torch.zeros(atom_rows.shape, dtype=torch.complex128, device=device)
        for first in range(0, len(rows), _SUM_ROWS):
            part = slice(first, first + _SUM_ROWS)
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
            coding.atom_rows,
        )

    return merge(starmap(sum_block, _blocks_on_device(shapes, coder)))


def _blocks_on_device(shapes: Shapes, coder: DeviceCoder) -> "Iterator[tuple[int, Tensor]]":
    """Yield whitened pre-shapes on the device, with their first numbers; keep them there if they fit."""
    key = (str(coder.device), coder.dtype)
    large: Iterable[tuple[int, Tensor]] = shapes.kept.get(key, ())
    if key not in shapes.kept:
        whitening, room = DeviceWhitening(shapes.space, coder.to_device, shapes.name), 1 << 30

        def send(start: int) -> "tuple[int, Tensor]":
            sent = coder.rows_on_device(shapes, start, start + _TRAVEL_ROWS)
            return start, whitening.preshapes(sent, shapes.dtype, shapes.first_row + start)

        large = map(send, range(0, len(shapes), _TRAVEL_ROWS))
        if coder.device.type == "cuda":
            import torch

            room = int(_RESIDENT_SHARE * torch.cuda.mem_get_info(coder.device)[0])
        if len(shapes) * shapes.shape[1] * coder.dtype.itemsize <= room:
            large = shapes.kept[key] = list(large)
    for start, rows in large:
        for first in range(0, len(rows), coder.block_rows()):
            yield start + first, rows[first : first + coder.block_rows()]


def objective(squares: FloatArray, distance: DistanceKind) -> tuple[FloatArray, FloatArray]:
    """Return squared distances of one kind from squared full distances ``s``, and their derivatives by these.

    The distances are ``s``, ``2 s / (1 + sqrt(1 − s))`` or ``rho² = arcsin(sqrt(s))²`` (paper, section 4), their
    derivatives 1, ``1 / cos rho`` or ``rho / (sin rho cos rho)``. A coder minimizes the full distance, and with it the
    other two, which grow with it; only their sums over shapes differ.
    """
    s: FloatArray = np.clip(squares, 0, 1, dtype=np.float64)
    if distance == "full":
        return s, np.ones(len(s))
    slopes = 1 / np.sqrt(np.maximum(1 - s, _LEAST_COSINE2))
    if distance == "partial":
        return 2 * s / (1 + np.sqrt(1 - s)), slopes
    angles = np.arctan2(np.sqrt(s), np.sqrt(1 - s))
    return angles**2, slopes / np.sinc(angles / np.pi)
