"""Files of shapes to a set that is in memory where it fits there, and on disk where not.

In come what :func:`shapelex.read` takes and a folder for what does not fit; out goes a
:class:`~shapelex.ShapeSet`, or a :class:`~shapelex.io.spool.ShapeSpool` that says the same block by block.
"""

import logging
from pathlib import Path
from typing import Any

from shapelex.exceptions import ShapeFileError
from shapelex.io import stored_shapes
from shapelex.io.assembly import Found, Wanted, choose_closed
from shapelex.io.reading import Gathering, Part, Progress, open_reading
from shapelex.io.spool import ShapeSpool
from shapelex.shapes import ShapeSet

logger = logging.getLogger(__name__)

# What a record takes in memory beside its points.
_RECORD_BYTES = 1 << 10
_FILES_NAMED = 100


class _Spilling:
    """Gathers parts in memory until they are too many, then on disk."""

    def __init__(self, folder: Path, wanted: Wanted, limit: int) -> None:
        self._folder, self._wanted, self._limit = folder, wanted, limit
        self.gathering = Gathering()
        self.spool: ShapeSpool | None = None
        self._paths: list[Path] = []
        self._n_bytes = 0

    def add(self, part: Part, path: Path) -> None:
        if self.spool is not None:
            self.spool.add(part, path)
            return
        self.gathering.add(part, path)
        self._paths.append(path)
        self._n_bytes += self._size_of(part)
        if self._n_bytes > self._limit:
            self._spill()

    def _size_of(self, part: Part) -> int:
        """Return the bytes that a part takes, or will take once it is brought into its form."""
        if isinstance(part, ShapeSet):
            return part.configurations.nbytes + _RECORD_BYTES * len(part)
        space = self._wanted.space
        n_wanted = (self._wanted.n_points or 0) if space is None else space.n_coordinates
        return max(part.record.points.nbytes, 16 * n_wanted) + _RECORD_BYTES

    def keep(self) -> None:
        (self.spool or self.gathering).keep()

    def drop(self) -> None:
        (self.spool or self.gathering).drop()
        del self._paths[len(self.gathering.parts) :]

    def _spill(self) -> None:
        logger.info("more than %d bytes of shapes: going on in %s", self._limit, self._folder)
        self._folder.mkdir()
        self.spool = ShapeSpool(self._folder, self._wanted)
        parts, self.gathering.parts = self.gathering.parts, []
        for place, (part, path) in enumerate(zip(parts, self._paths, strict=True)):
            if place == self.gathering.n_kept:
                self.spool.keep()
            self.spool.add(part, path)
        self._paths = []


def read_or_spool(
    paths: Any, folder: Path, *, limit: int | None = None, progress: Progress | None = None, **options: Any
) -> ShapeSet | ShapeSpool:
    """Read shapes from files; from a certain size on, into a folder.

    Parameters
    ----------
    paths : path, or iterable of paths
        As in :func:`shapelex.read`.
    folder : Path
        Where to put what does not fit; it is made when needed, and the caller removes it.
    limit : int, optional
        Bytes that the shapes may take in memory.
    progress : callable, optional
        Called with the number of files read and of all files, after each.
    **options : object
        As in :func:`shapelex.read`.

    Returns
    -------
    ShapeSet or ShapeSpool
        The shapes.

    Raises
    ------
    ShapeFileError, FileNotFoundError
        As :func:`shapelex.read`.
    """
    reading = open_reading(paths, **options)
    reading.in_blocks = True
    spilling = _Spilling(folder, reading.wanted, stored_shapes.LARGE_BYTES if limit is None else limit)
    reading.run(spilling, progress)
    if spilling.spool is None:
        return reading.finish(spilling.gathering.join(reading.wanted))
    spool = spilling.spool
    spool.close()
    reading.check_closed(spool.space)
    reading.warn()
    spool.notes = (*spool.notes, *reading.notes())
    spool.provenance = reading.provenance(spool.provenance, _FILES_NAMED)
    return spool


class _Closedness:
    """Keeps a closed record and another one, nothing else."""

    def __init__(self) -> None:
        self._found: dict[bool, Found] = {}
        self._kept: dict[bool, Found] = {}
        self.sets: set[bool] = set()

    def add(self, part: Part, path: Path) -> None:  # noqa: ARG002
        if isinstance(part, ShapeSet):
            self.sets.add(part.closed)
        else:
            self._found.setdefault(bool(part.record.closed), part)

    def keep(self) -> None:
        self._kept = dict(self._found)

    def drop(self) -> None:
        self._found = dict(self._kept)

    def choose(self, wanted: Wanted) -> bool:
        closed = self.sets | ({choose_closed(list(self._kept.values()), wanted)} if self._kept else set())
        if len(closed) > 1:
            raise ShapeFileError("Some files hold closed shapes, others open ones: say closed=True or closed=False.")
        return closed.pop()


def find_closed(paths: Any, progress: Progress | None = None, **options: Any) -> bool:
    """Tell whether the shapes in files are closed.

    Parameters
    ----------
    paths : path, or iterable of paths
        As in :func:`shapelex.read`.
    progress : callable, optional
        Called with the number of files read and of all files, after each.
    **options : object
        As in :func:`shapelex.read`.

    Returns
    -------
    bool
        True where the last point of each shape joins its first.

    Raises
    ------
    ShapeFileError
        If some are and others are not, or a file cannot be read.
    """
    reading = open_reading(paths, **options)
    reading.in_blocks = True
    closedness = _Closedness()
    reading.run(closedness, progress)
    return closedness.choose(reading.wanted)
