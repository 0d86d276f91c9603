"""Codes that follow a motion: the sets of atoms of consecutive frames change only where that pays."""

from typing import Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_not_negative, removed_arguments
from shapelex.coding import SparseCodes
from shapelex.coding.coders import Coding
from shapelex.coding.paths import PathCoder, find_path
from shapelex.estimators.base import count_jobs
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.exceptions import EmptySetError, ParameterTypeError
from shapelex.sequences.result import SequenceCodes
from shapelex.sequences.switch_costs import CostChoice, choose_switch_cost
from shapelex.sequences.timing import find_timing
from shapelex.shapes.storage import BLOCK_ROWS, Shapes
from shapelex.shapes.time_order import TimeOrder


@removed_arguments(max_weight="weight_penalty keeps weights small")
def encode_sequence(
    X: ArrayLike,
    model: ShapeDictionary,
    *,
    frames: ArrayLike | None = None,
    sequence: ArrayLike | None = None,
    switch_cost: float | None = None,
    weight_penalty: float | None = None,
    fps: float | None = None,
) -> SequenceCodes:
    """Code the shapes of time series such that their sets of atoms change only where that pays.

    Coded one by one, similar frames often get different sets of atoms. Here the sets ``S_t`` of each series
    minimize

    ``Σ_t min_a |z_t − Σ_(j ∈ S_t) a_j d_j|² + Σ_t switch_cost (1 + m_t) / 2``, where the second sum is over the frames
    ``t`` at which the set changes, and ``m_t`` atoms are exchanged there.

    Exchanging one atom costs `switch_cost`, and each further one at the same frame half of it. The minimum over all
    paths is found by dynamic programming (Viterbi's algorithm [1]_).

    Parameters
    ----------
    X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2), or a set of shapes
        Configurations. Frames with missing coordinates (NaN) are not coded, and count as gaps. Files, memory maps and
        streams are read block by block, twice, or three times where the cost is chosen.
    model : ShapeDictionary
        Fitted dictionary.
    frames : array_like of int or float, shape (n_shapes,), optional
        Frame numbers, or times in seconds where they are not integers. By default the columns ``frame`` or ``time`` of
        a set; else the rows of a series are consecutive frames. Frames may be in any order, but not repeat in a series.
    sequence : array_like of int or str, shape (n_shapes,), optional
        Series of each shape, such as an animal or a track; −1 for none. By default that of a set; else all shapes
        are one series.
    switch_cost : float, optional
        Cost of a change, as a squared distance; 0 codes frame by frame. It is divided by the length of a gap: after
        ``g`` steps of time, a change costs ``1/g`` of it. By default it is that of the model; if that has none, it is
        chosen by held-out error: every second frame is left out and approximated with the atoms of its neighbors. The
        largest cost is taken whose held-out root mean squared error is at most 1 % above the least.
    weight_penalty : float, optional
        Price of large weights, see :func:`shapelex.encode`; by default that of the model.
    fps : float, optional
        Frames per second, where frames are numbers and not times.

    Returns
    -------
    SequenceCodes
        Codes, errors, flicker and phases.

    Raises
    ------
    ParameterError
        If frames repeat in a series or are not finite.
    SearchTooLargeError
        If ``comb(n_atoms, n_nonzero)`` is above 20,000.
    EmptySetError
        If every frame has missing coordinates.

    References
    ----------
    .. [1] A. J. Viterbi, "Error bounds for convolutional codes and an asymptotically optimum decoding algorithm", IEEE
       Transactions on Information Theory 13 (1967), 260-269.

    Examples
    --------
    >>> import shapelex as sx
    >>> worms = sx.datasets.make_worms(100, 2, noise=0.002, random_state=0)
    >>> model = sx.ShapeDictionary(6, 3, random_state=0).fit(worms)
    >>> plain = sx.sequences.encode_sequence(worms, model, switch_cost=0)
    >>> smooth = sx.sequences.encode_sequence(worms, model, switch_cost=0.001)
    >>> bool(smooth.flicker < plain.flicker), smooth.phases.shape
    (True, (200, 6))
    """
    if not isinstance(model, ShapeDictionary):
        raise ParameterTypeError(
            f"{parameter('model')} must be a fitted dictionary, such as a ShapeDictionary, got {type(model).__name__}."
        )
    if switch_cost is None:
        switch_cost = getattr(model, "switch_cost", None)
    if switch_cost is not None:
        check_not_negative(switch_cost, "switch_cost")
    shapes = model._open_new_input(X)
    timing = find_timing(X, len(shapes), frames, sequence, fps)
    is_incomplete = find_incomplete(shapes)
    if is_incomplete.all():
        raise EmptySetError("X has no frame without missing coordinates: impute them first, see shapelex.impute.")
    time = timing.time.without(is_incomplete)
    coder, n_threads = _path_coder(model, shapes, weight_penalty), count_jobs(model.n_jobs)
    choice = CostChoice(0.0 if switch_cost is None else float(switch_cost), {})
    if switch_cost is None:
        choice = choose_switch_cost(shapes, time, coder, n_threads)
    supports, is_exact = find_path(shapes, time, coder, choice.switch_cost, n_threads)
    coded = _code_path(shapes, time, coder, supports, n_threads)
    remarks = [*time.remarks, *_remarks(is_incomplete, choice, switch_cost is None)]
    if not is_exact:
        remarks.append("The path of atoms was found piece by piece, to save memory, and may not be the very best one.")
    support, coefs, errors, rotations = coded
    return SequenceCodes(
        SparseCodes._from_coder(support, coefs, coder.n_atoms),
        errors,
        rotations,
        timing.time.moments,
        timing.sequence,
        timing.times,
        timing.fps,
        choice.switch_cost,
        model.atoms_,
        model.space_,
        time,
        tuple(remarks),
        choice.table,
    )


def find_incomplete(shapes: Shapes) -> BoolArray:
    """Return which shapes have NaN coordinates."""
    return np.concatenate([np.isnan(block.configurations).any(axis=1) for block in shapes.blocks(BLOCK_ROWS)])


def _path_coder(model: ShapeDictionary, shapes: Shapes, weight_penalty: float | None) -> PathCoder:
    penalty = model.weight_penalty if weight_penalty is None else weight_penalty
    atom_rows = model._atom_rows()
    coding = Coding(atom_rows, model.n_nonzero, "ormp", weight_penalty=penalty)
    return PathCoder(coding, shapes.space, np.result_type(shapes.dtype, atom_rows.dtype))


def _code_path(
    shapes: Shapes, time: TimeOrder, coder: PathCoder, supports: IntArray, n_threads: int | None
) -> tuple[IntArray, ComplexArray, FloatArray, FloatArray]:
    """Return atoms, weights, errors and tracked rotations of all shapes over given supports."""
    n_shapes, start = len(shapes), 0
    support: IntArray = np.full((n_shapes, coder.n_nonzero), -1, dtype=np.int32)
    coefs: ComplexArray = np.zeros((n_shapes, coder.n_nonzero), dtype=coder.dtype)
    errors, turns = np.full(n_shapes, np.nan), np.zeros(len(time.order))
    last: Any = None
    for rows, block in time.blocks(shapes, BLOCK_ROWS):
        stop = start + len(block)
        coded = coder.code_given(block, supports[start:stop], n_threads)
        support[rows], coefs[rows] = coded.support, coded.coefs[:, 0]
        errors[rows] = coded.errors
        # Relative to the frame before: the angle of its product with this one.
        preshapes = shapes.space.whitened_preshapes(block.configurations, block.name, block.first_row)
        before = np.concatenate([preshapes[:1] if last is None else last, preshapes[:-1]])
        turns[start:stop] = np.angle(np.vecdot(before, preshapes))
        last, start = preshapes[-1:], stop
    rotations = np.full(n_shapes, np.nan)
    rotations[time.order] = _track(turns, time, coefs[time.order])
    return support, coefs, errors, rotations


def _track(turns: FloatArray, time: TimeOrder, coefs: ComplexArray) -> FloatArray:
    """Return the sums of the turns within each series, from 0 phase of the largest weight of its first frame."""
    starts = np.flatnonzero(time.steps == 0)
    total = np.cumsum(np.where(time.steps == 0, 0, turns))
    largest = np.abs(coefs[starts]).argmax(axis=1)
    first = np.angle(coefs[starts, largest])
    lengths = np.diff(np.append(starts, len(turns)))
    return np.asarray(total - np.repeat(total[starts] - first, lengths))


def _remarks(is_incomplete: BoolArray, choice: CostChoice, is_chosen: bool) -> list[str]:
    remarks = []
    if is_incomplete.any():
        remarks.append(
            f"{int(is_incomplete.sum())} of {len(is_incomplete)} frames have missing coordinates: they were not coded, "
            "and count as gaps."
        )
    if is_chosen and choice.table:
        least = float(choice.table["held_out_rmse"].min())
        remarks.append(
            f"switch_cost={choice.switch_cost:.3g} was chosen: the largest cost whose held-out error, over the atoms "
            f"of neighboring frames, is at most 1 % above the least one, {least:.4f}."
        )
    elif is_chosen:
        remarks.append("switch_cost=0 was chosen: no two frames follow each other.")
    return remarks
