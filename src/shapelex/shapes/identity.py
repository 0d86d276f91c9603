"""Who is who: ids that no two shapes share."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from shapelex._typing import IntArray

# Column of the metadata with the ids as they were given, where some were given to several shapes.
GIVEN_ID = "given_id"
_SHARED = f"ids that several files have begin with the name of the file; the column {GIVEN_ID} has them as they were"
_REPEATED = f"ids of several shapes are numbered, as in a, a:2; the column {GIVEN_ID} has them as they were"


def id_in_file(name: str, path: Path, told: str) -> str | None:
    """Return an id that a reader made of the name of the file, as in ``well1:3``, with what tells the file apart.

    None is returned for other ids.
    """
    rest = name.removeprefix(path.stem)
    return f"{told}{rest}" if name.startswith(path.stem) and not rest[:1].isalnum() else None


def hashes_of(ids: Iterable[str]) -> IntArray:
    """Return a number for each id, to find those that repeat in little memory."""
    return np.fromiter(map(hash, ids), dtype=np.int64)


class UniqueIds:
    """Makes ids unique, part after part: those that several files have get the name of the file, others numbers.

    Parameters
    ----------
    hashes : ndarray of int, shape (n_shapes,)
        A number for each id of all parts, see :func:`hashes_of`.
    sources : ndarray of int, shape (n_shapes,)
        Number of the file of each shape.
    files : sequence of (Path, str)
        These files, and what tells each apart from the others.

    Attributes
    ----------
    notes : dict of str
        What was done so far, as keys.
    """

    def __init__(self, hashes: IntArray, sources: IntArray, files: Sequence[tuple[Path, str]] = ()) -> None:
        self._files, self.notes = files, dict[str, None]()
        self._all = np.sort(hashes)
        repeated = np.unique(self._all[1:][self._all[1:] == self._all[:-1]])
        rows = np.flatnonzero(np.isin(hashes, repeated))
        rows = rows[np.lexsort((sources[rows], hashes[rows]))]
        same_id, same_file = hashes[rows][1:] == hashes[rows][:-1], sources[rows][1:] == sources[rows][:-1]
        self._shared = set(hashes[rows][1:][same_id & ~same_file].tolist())
        self._again = set(zip(*(one[rows][1:][same_id & same_file].tolist() for one in (hashes, sources)), strict=True))
        self._counts: Counter[tuple[str, int]] = Counter()

    def rename(self, ids: Sequence[str], sources: Sequence[int]) -> list[str]:
        """Return the ids of a part, whose files have these numbers."""
        return [self._rename(name, hash(name), source) for name, source in zip(ids, sources, strict=True)]

    def _rename(self, name: str, key: int, source: int) -> str:
        unique = name
        if key in self._shared:
            path, told = self._files[source]
            unique = id_in_file(name, path, told) or name
            unique = f"{told}/{name}" if unique == name else unique
            self.notes[_SHARED] = None
        if (key, source) not in self._again:
            return unique
        wanted = unique
        self._counts[wanted, source] += 1
        # The first one keeps its id.
        while (n_so_far := self._counts[wanted, source]) > 1 and self._is_given(unique := f"{wanted}:{n_so_far}"):
            self._counts[wanted, source] += 1
        self.notes[_REPEATED] = None
        return unique

    def _is_given(self, name: str) -> bool:
        place = np.searchsorted(self._all, hash(name))
        return bool(place < len(self._all) and self._all[place] == hash(name))


def unique_ids(ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the ids of a set with numbers after those that repeat, and what is told of it.

    Examples
    --------
    >>> unique_ids(["ant", "bee", "ant"])[0]
    ['ant', 'bee', 'ant:2']
    """
    sources = np.zeros(len(ids), dtype=np.int64)
    unique = UniqueIds(hashes_of(ids), sources)
    return unique.rename(ids, sources.tolist()), list(unique.notes)
