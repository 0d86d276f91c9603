"""Shapes over time, as worm trackers store them: rows of points with frame numbers in, records with sequences out.

Frames without any point, in which the tracker lost the animal, are left out; frame numbers tell where. Each animal
is one sequence; with `max_gap`, a sequence ends where more than that many frames are missing, since head and tail
may be exchanged after a gap.
"""

import logging
from collections.abc import Iterator

import numpy as np

from shapelex._typing import ComplexArray, IntArray
from shapelex._validation import check_count
from shapelex.io.records import Record

_LOGGER = logging.getLogger(__name__)


def check_max_gap(max_gap: int | None) -> None:
    """Refuse a `max_gap` that is no number of frames."""
    if max_gap is not None:
        check_count(max_gap, 0, "max_gap")


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
    max_gap: int | None,
    closed: bool | None,
) -> Iterator[Record]:
    """Yield a record for each row ``(n, n_points)`` that has points, ordered by worm and frame.

    One worm, and frames in the order of the rows, is what None for `worms` and `frames` means.
    """
    n_rows = len(points)
    frames = np.arange(n_rows) if frames is None else frames
    order = np.lexsort((frames, np.zeros(n_rows, dtype=int) if worms is None else worms))
    order = order[~np.isnan(points[order]).all(axis=1)]
    if len(order) < n_rows:
        _LOGGER.info("%s: left out %d of %d frames without any point.", stem, n_rows - len(order), n_rows)
    animals = np.zeros(len(order), dtype=int) if worms is None else worms[order]
    sequences = number_sequences(animals, frames[order], max_gap)
    # A point that lacks x or y is missing; all rows at once, since recordings have hundreds of thousands.
    kept = points[order]
    kept[np.isnan(kept)] = complex(np.nan, np.nan)
    for line, frame, animal, sequence in zip(
        kept, frames[order].tolist(), animals.tolist(), sequences.tolist(), strict=True
    ):
        place = str(frame) if worms is None else f"{animal}:{frame}"
        yield Record(
            points=line,
            id=f"{stem}:{place}",
            closed=closed,
            sequence=sequence,
            frame=frame,
            metadata={} if worms is None else {"worm": animal},
            where=f"frame {frame}" if worms is None else f"worm {animal}, frame {frame}",
        )
