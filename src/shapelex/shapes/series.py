"""Numbers of time series in a set that is made of several sets or files, and frame rates.

Input: the numbers that each source gives its series. Output: numbers under which the series of all sources stay apart.
The frame rate of each shape, in frames per second, is the column ``fps`` of the metadata, beside ``frame``.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice, repeat

import numpy as np

from shapelex._typing import FloatArray
from shapelex.exceptions import ShapeInputError
from shapelex.shapes.columns import Column

FPS = "fps"
"""Column of the metadata with the number of frames per second; NaN where it is not known."""


def frame_rates(metadata: Mapping[str, Column]) -> FloatArray | None:
    """Return the frames per second of each shape, NaN where not known; None where no shape has a rate."""
    column = metadata.get(FPS)
    if column is None:
        return None
    if column.dtype.kind not in "iuf":
        raise ShapeInputError(f"metadata[{FPS!r}] must hold frames per second as numbers, got {column.dtype}.")
    rates = column.astype(np.float64)
    is_wrong = ~np.isnan(rates) & ~((rates > 0) & (rates < np.inf))
    if is_wrong.any():
        raise ShapeInputError(
            f"metadata[{FPS!r}] must be positive, and NaN where the rate is not known, got {rates[is_wrong][0]:g} for "
            f"shape {int(np.argmax(is_wrong))}."
        )
    return None if np.isnan(rates).all() else rates


class SeriesNumbers:
    """Numbers the time series of several sources, one part after the other.

    A series keeps the number that its source gives it, unless a series of another source has it already: then it gets
    the number after the largest one in use. The number −1, for shapes of no series, stays.

    Examples
    --------
    >>> numbers = SeriesNumbers()
    >>> numbers.join("ab", np.array([0, 5])).tolist(), numbers.join("bb", np.array([0, 5])).tolist()
    ([0, 5], [6, 5])
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[Hashable, int], int] = {}
        self._taken: set[int] = set()
        self._next = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def join(self, sources: Iterable[Hashable], numbers: Column) -> Column:
        """Return the numbers of a further part in the whole set, given the source of each of its shapes."""
        keys = list(zip(sources, numbers.tolist(), strict=False))
        for key in dict.fromkeys(keys):
            if key[1] != -1 and key not in self._numbers:
                number = self._next if key[1] in self._taken else key[1]
                self._numbers[key] = number
                self._taken.add(number)
                self._next = max(self._next, number + 1)
        return np.array([self._numbers.get(key, -1) for key in keys], dtype=np.int64)

    def truncate(self, n_series: int) -> None:
        """Forget all but the first series."""
        self._numbers = dict(islice(self._numbers.items(), n_series))
        self._taken = set(self._numbers.values())
        self._next = max({-1} | self._taken) + 1


def join_series(series: Sequence[Column | None], sizes: Sequence[int]) -> Column | None:
    """Return the time series of several sets as one column; None where no set has any."""
    if all(numbers is None for numbers in series):
        return None
    joined = SeriesNumbers()
    return np.concatenate(
        [
            np.full(size, -1) if numbers is None else joined.join(repeat(place), numbers)
            for place, (numbers, size) in enumerate(zip(series, sizes, strict=True))
        ]
    )
