"""Shapes over time, as trackers store them: rows of points with frame numbers in, records with sequences out.

Frames without any point, in which the tracker lost the animal, are left out, as a remark says; frame numbers tell
where. Each animal is one sequence; with `max_gap`, a sequence ends where more than that many frames are missing, since
head and tail may be exchanged after a gap. A frame rate that is no positive number counts as not known, since files
have 0 and NaN where nobody measured it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from shapelex._messages import format_option
from shapelex._typing import ComplexArray, IntArray
from shapelex._validation import check_count
from shapelex.io.records import Record, Remark

_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}


def check_max_gap(max_gap: int | None) -> None:
    """Refuse a `max_gap` that is no number of frames."""
    if max_gap is not None:
        check_count(max_gap, 0, format_option("max_gap"))


def remark_gaps(n_left_out: int, n_frames: int) -> Iterator[Remark]:
    """Yield what to say of frames that were left out because they have no points; nothing where there are none."""
    if n_left_out:
        yield Remark(
            f"{n_left_out} of {n_frames} frames",
            "left out, since no point of the animal is known in them; frame numbers show where. The option max_gap=5 "
            "begins a new sequence where more than five frames are missing.",
        )


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
    points: ComplexArray, worms: IntArray | None, frames: IntArray | None, stem: str, **told: Any
) -> Iterator[Record | Remark]:
    """Yield a record for each row ``(n, n_points)`` that has points, ordered by worm and frame.

    One worm, and frames in the order of the rows, is what None for `worms` and `frames` means; the rest of what is
    `told` is that of :func:`block_records`.
    """
    order = series_order(len(points), worms, frames)
    return block_records([(order, points[order])], len(points), worms, frames, stem, **told)


def series_order(n_rows: int, worms: IntArray | None, frames: IntArray | None) -> IntArray:
    """Return the numbers of rows, ordered by worm and frame."""
    if worms is None and frames is None:
        return np.arange(n_rows)
    return np.lexsort((np.arange(n_rows) if frames is None else frames, np.zeros(n_rows) if worms is None else worms))


def block_records(
    blocks: Iterable[tuple[IntArray, ComplexArray]],
    n_rows: int,
    worms: IntArray | None,
    frames: IntArray | None,
    stem: str,
    *,
    max_gap: int | None,
    closed: bool | None,
    names: Sequence[str] | None = None,
    about: Mapping[str, Any] | None = None,
) -> Iterator[Record | Remark]:
    """Yield a record for each row that has points, from blocks of rows in the order of :func:`series_order`.

    A block has the numbers of its rows and their points, which are changed here. `worms` and `frames` are of all rows.
    `names` has the names that `worms` count, where the animals are not numbered worms. `about` is what else is known
    of every row, such as the frame rate.
    """
    n_kept = n_sequences = 0
    kind = "worm" if names is None else "individual"
    known = dict(about or {})
    # Animal and frame of the last row of the block before.
    last: tuple[int, int] | None = None
    for numbers, points in blocks:
        has_points = ~np.isnan(points).all(axis=1)
        order, kept = numbers[has_points], points[has_points]
        if not len(order):
            continue
        n_kept += len(order)
        # A point that lacks x or y is missing; all rows at once, since recordings have hundreds of thousands.
        kept[np.isnan(kept)] = complex(np.nan, np.nan)
        places = order if frames is None else frames[order]
        animals = np.zeros(len(order), dtype=int) if worms is None else worms[order]
        before = last or (int(animals[0]), int(places[0]))
        sequences = n_sequences + number_sequences(np.r_[before[0], animals], np.r_[before[1], places], max_gap)[1:]
        last, n_sequences = (int(animals[-1]), int(places[-1])), int(sequences[-1])
        rows = zip(kept, places.tolist(), animals.tolist(), sequences.tolist(), strict=True)
        for line, frame, animal, sequence in rows:
            name, where, metadata = str(frame), f"frame {frame}", known
            if worms is not None:
                animal = animal if names is None else names[animal]
                name, where, metadata = f"{animal}:{frame}", f"{kind} {animal}, frame {frame}", {kind: animal, **known}
            yield Record(line, f"{stem}:{name}", "", closed, sequence, frame, metadata, where)
    yield from remark_gaps(n_rows - n_kept, n_rows)


def as_rate(value: Any) -> float | None:
    """Return a rate that a file gives as a number, or as an array of one; None where it is none."""
    numbers = np.asarray(value)
    if numbers.size != 1 or numbers.dtype.kind not in "iuf":
        return None
    rate = float(numbers.item())
    return rate if 0 < rate < np.inf else None


def rate_of_step(step: Any, unit: object) -> float | None:
    """Return the frames per second of frames that are `step` units of time apart; None where the unit is none."""
    length = _SECONDS.get(unit.strip().lower()) if isinstance(unit, str) else None
    given = as_rate(step)
    # Times are decimal numbers, which leave rounding in 1 / (0.1 + 0.2 - 0.2).
    return None if length is None or given is None else float(f"{1 / (given * length):.9g}")
