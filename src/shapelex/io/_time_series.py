"""Shapes over time, as worm trackers store them: rows of points with frame numbers in, records with sequences out.

A row with a missing point is left out (``missing="skip"``) or kept with NaN (``missing="allow"``). Each animal is one sequence; with
`max_gap`, a sequence ends where more than that many frames are missing, since head and tail may be exchanged after a gap.
"""

import logging
from collections.abc import Iterator

import numpy as np

from shapelex._typing import BoolArray, ComplexArray, IntArray
from shapelex._validation import check_choice
from shapelex.io.records import Record

_LOGGER = logging.getLogger(__name__)
MISSING_CHOICES = ("skip", "allow")


def check_series_options(missing: str, max_gap: int | None) -> None:
    """Refuse a `missing` or `max_gap` that means nothing."""
    check_choice(missing, MISSING_CHOICES, "missing")
    if max_gap is not None and (isinstance(max_gap, bool) or not isinstance(max_gap, int | np.integer) or max_gap < 0):
        raise ValueError(f"max_gap must be a whole number of frames from 0, or None for no limit, got {max_gap!r}.")


def rows_to_keep(points: ComplexArray, missing: str) -> BoolArray:
    """Return which rows ``(n, n_points)`` become shapes: those complete, or those with any point at all."""
    present = np.isfinite(points)
    kept: BoolArray = present.all(axis=1) if missing == "skip" else present.any(axis=1)
    return kept


def number_sequences(animals: IntArray, frames: IntArray, max_gap: int | None) -> IntArray:
    """Return the sequence of each row; rows are ordered by animal, then by frame.

    Sequences count from 0. A new one begins with each animal, and after a gap of more than `max_gap` missing frames.
    """
    if len(animals) == 0:
        return np.zeros(0, dtype=np.int64)
    begins = np.diff(animals) != 0
    if max_gap is not None:
        begins |= np.diff(frames) > max_gap + 1
    return np.concatenate([[0], np.cumsum(begins)]).astype(np.int64)


def series_records(
    points: ComplexArray,
    worms: IntArray | None,
    frames: IntArray | None,
    stem: str,
    *,
    missing: str,
    max_gap: int | None,
    closed: bool,
) -> Iterator[Record]:
    """Yield a record for each row ``(n, n_points)`` that is kept, ordered by worm and frame.

    One worm, and frames in the order of the rows, is what None for `worms` and `frames` means.
    """
    n_rows = len(points)
    frames = np.arange(n_rows) if frames is None else frames
    order = np.lexsort((frames, np.zeros(n_rows, dtype=int) if worms is None else worms))
    order = order[rows_to_keep(points[order], missing)]
    if len(order) < n_rows:
        _LOGGER.info("%s: left out %d of %d frames with missing points.", stem, n_rows - len(order), n_rows)
    animals = np.zeros(len(order), dtype=int) if worms is None else worms[order]
    sequences = number_sequences(animals, frames[order], max_gap)
    for row, animal, sequence in zip(order, animals, sequences, strict=True):
        frame = int(frames[row])
        name = f"{stem}:{frame}" if worms is None else f"{stem}:{animal}:{frame}"
        yield Record(
            points=np.where(np.isfinite(points[row]), points[row], complex(np.nan, np.nan)),
            id=name,
            closed=closed,
            sequence=int(sequence),
            frame=frame,
            metadata={} if worms is None else {"worm": int(animal)},
            where=f"frame {frame}" if worms is None else f"worm {animal}, frame {frame}",
        )
