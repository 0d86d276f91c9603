"""One pass over the shapes: code every block, add up what the next update needs, forget the codes.

The CPU, a torch device and Dask workers fill the same :class:`PassSums`, whose size does not depend on the number of
shapes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, DistanceKind, FloatArray, IntArray
from shapelex.coding.coders import CodedBlock, Coding
from shapelex.coding.cpu import MAX_PART_ROWS, RowCoder, count_threads, run_blocks
from shapelex.coding.masked import code_present
from shapelex.kernels.statistics import accumulate_batch
from shapelex.learning.sampling import IncompleteShapes
from shapelex.shapes.files import BLOCK_ROWS
from shapelex.shapes.storage import Block, Shapes
from shapelex.spaces.base import read_only

WORST_PER_ATOM = 4
"""Candidates for replacement, for each atom: enough that copies of one bad shape do not fill the list."""

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
    def mean_loss(self) -> float:
        """Mean squared distance."""
        return self.loss / self.weight

    @property
    def rmse(self) -> float:
        """Root mean squared distance."""
        return float(np.sqrt(self.mean_loss))

    def plus(self, later: "PassSums", kept: float = 1.0) -> "PassSums":
        """Return the sums with those of shapes that follow, and `kept` times the weights of these."""
        values = np.concatenate([self.worst_values, later.worst_values])
        rows = [one.worst_rows for one in (self, later) if len(one.worst_rows)]
        order = np.argsort(-values, kind="stable")[: WORST_PER_ATOM * len(self.gram)]
        return PassSums(
            kept * self.gram + later.gram,
            kept * self.products + later.products,
            kept * self.usage + later.usage,
            kept * self.weight + later.weight,
            kept * self.loss + later.loss,
            np.concatenate([self.values, later.values]),
            values[order],
            np.concatenate(rows)[order] if rows else later.worst_rows,
            later.atoms,
        )


def one_pass(shapes: Shapes, coding: Coding, distance: DistanceKind, *, keeps_values: bool = False) -> PassSums:
    """Code all shapes over a dictionary of whitened rows of norm 1, and sum up what the next update needs."""
    if shapes.is_remote:
        on_one_thread = replace(coding, n_threads=1)
        work = partial(one_pass, coding=on_one_thread, distance=distance, keeps_values=keeps_values)
        return shapes.reduce(work, merge)
    if isinstance(shapes, IncompleteShapes):
        return merge(_sum_incomplete(block, coding, distance, keeps_values) for block in shapes.blocks(BLOCK_ROWS))
    if coding.device != "cpu":
        from shapelex.learning.device_pass import is_small, sum_on_device

        if not is_small(shapes, coding):
            return sum_on_device(shapes, coding, distance, keeps_values)
    return _sum_on_cpu(shapes, coding, distance, keeps_values)


merge: Callable[[Iterable[PassSums]], PassSums] = partial(reduce, PassSums.plus)
"""Returns what a pass found in all parts of a collection; the parts stay as they are."""


def _sum_on_cpu(shapes: Shapes, coding: Coding, distance: DistanceKind, keeps_values: bool) -> PassSums:
    """Code shapes in parts, on several threads, and sum up what was found."""
    coder = RowCoder(coding, shapes.space, np.result_type(shapes.dtype, coding.atom_rows.dtype), for_learning=True)
    # Sums take about a nanosecond for each atom and coordinate.
    cost_ns = coder.cost_ns + 2 * coder.n_nonzero * coder.n_coordinates
    found: list[PassSums] = []
    for block in shapes.blocks(BLOCK_ROWS):
        n_rows = len(block)
        coded = coder.allocate(block.start, n_rows, with_squares=True)
        parts: dict[int, PassSums] = {}

        def sum_part(
            start: int, stop: int, block: Block = block, coded: CodedBlock = coded, parts: dict[int, PassSums] = parts
        ) -> None:
            rows, scales, _ = coder.code_part(block, coded, start, stop)
            part = slice(start, stop)
            coefs, squares = coded.coefs[part, 0], coded.squares[part]
            weights = block.weights[part]
            parts[start] = _sum_codes(coding, coded.support[part], coefs, rows, scales, weights, squares, distance)

        # Parts of about equal length, whatever the number of threads: the sums of parts are added in order.
        part_rows = -(-n_rows // -(-n_rows // MAX_PART_ROWS))
        run_blocks(sum_part, n_rows, part_rows, count_threads(coding.n_threads, cost_ns * n_rows))
        sums = merge(map(parts.__getitem__, sorted(parts)))
        found = [merge([*found, _with_worst(sums, block.configurations, block.weights, keeps_values)])]
    (total,) = found
    # The shapes were neither centered nor whitened, so what they add up to is.
    total.products = shapes.space.whiten_rows(total.products)
    if len(total.worst_rows):
        total.worst_rows = shapes.space.unit_rows(total.worst_rows)
    return total


def _sum_codes(
    coding: Coding,
    support: IntArray,
    coefs: ComplexArray,
    rows: ComplexArray,
    scales: FloatArray,
    weights: FloatArray,
    squares: FloatArray,
    distance: DistanceKind,
) -> PassSums:
    """Return the sums of the vectors `scales` times `rows`, in the coordinates of the rows, and their values."""
    n_atoms = len(coding.atom_rows)
    gram = np.zeros((n_atoms, n_atoms), dtype=np.complex128)
    products = np.zeros((n_atoms, rows.shape[1]), dtype=np.complex128)
    usage = np.zeros(n_atoms)
    values, slopes = objective(squares, distance)
    accumulate_batch(
        support,
        np.ascontiguousarray(coefs).view(coefs.real.dtype),
        # A view that is always read-only: the kernel would be compiled again for arrays of users that are.
        read_only(np.ascontiguousarray(rows).view(rows.real.dtype)),
        scales,
        np.ascontiguousarray(weights, dtype=np.float64),
        slopes,
        gram.view(np.float64),
        products.view(np.float64),
        usage,
    )
    weight, loss = float(weights.sum()), float(weights @ values)
    return PassSums(gram, products, usage, weight, loss, values, atoms=coding.atom_rows)


def _sum_incomplete(block: Block, coding: Coding, distance: DistanceKind, keeps_values: bool) -> PassSums:
    """Code shapes by the landmarks that they have, and sum up what was found, with the others from the reconstructions.

    An update for given codes minimizes the sum of squared residuals of these completed shapes. It is an upper bound of
    the squared residuals on the landmarks present, and equal to it for the current atoms, since the residuals of the
    other landmarks are 0 there: so the update lowers the error on the landmarks present.
    """
    coded, completed = code_present(block, ~np.isnan(block.configurations), coding, with_errors=True)
    coefs, squares = np.ascontiguousarray(coded.coefs[:, 0]), coded.squares.astype(np.float64)
    weights = np.ascontiguousarray(block.weights, dtype=np.float64)
    total = _sum_codes(coding, coded.support, coefs, completed, np.ones(len(block)), weights, squares, distance)
    total = _with_worst(total, completed, weights, keeps_values)
    total.worst_rows = total.worst_rows / np.linalg.norm(total.worst_rows, axis=1, keepdims=True)
    return total


def _with_worst(total: PassSums, rows: ComplexArray, weights: FloatArray, keeps_values: bool) -> PassSums:
    """Add the worst approximated of the rows that the sums are of, and drop their values unless they are kept."""
    places = np.flatnonzero(weights > 0)
    n_worst = WORST_PER_ATOM * len(total.gram)
    if len(places) > n_worst:
        places = places[np.argpartition(total.values[places], -n_worst)[-n_worst:]]
    worst = places[np.argsort(-total.values[places], kind="stable")]
    total.worst_values, total.worst_rows = total.values[worst], rows[worst]
    if not keeps_values:
        total.values = total.values[:0]
    return total


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
