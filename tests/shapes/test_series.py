"""Time series of several sources stay apart under numbers that do not depend on how the sources are divided."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shapelex.shapes.series import SeriesNumbers

shapes = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-3, 4)), max_size=12)


def join(numbers, rows):
    sources, own = [source for source, _ in rows], [number for _, number in rows]
    return numbers.join(sources, np.array(own, dtype=np.int64)).tolist()


def slow_numbers(rows):
    """Return the number of each shape in the whole set, found from all shapes before it."""
    found = []
    for place, (source, own) in enumerate(rows):
        if own == -1 or (source, own) in rows[:place]:
            found.append(-1 if own == -1 else found[rows.index((source, own))])
        else:
            found.append(own if own not in found else max([-1, *found]) + 1)
    return found


@given(rows=shapes, n_first=st.integers(0, 12))
def test_parts_are_numbered_as_the_whole(rows, n_first):
    numbers = SeriesNumbers()
    found = join(numbers, rows[:n_first]) + join(numbers, rows[n_first:])
    assert found == slow_numbers(rows)
    kept = {row: number for row, number in zip(rows, found, strict=True) if row[1] != -1}
    assert len(set(kept.values())) == len(kept)


@given(kept=shapes, dropped=shapes, more=shapes)
def test_what_is_dropped_leaves_no_trace(kept, dropped, more):
    numbers = SeriesNumbers()
    join(numbers, kept)
    n_series = len(numbers)
    join(numbers, dropped)
    numbers.truncate(n_series)
    assert join(numbers, more) == slow_numbers([*kept, *more])[len(kept) :]
