"""Files of shapes to sets of shapes.

In come paths, a folder or a pattern; out goes one :class:`~shapelex.ShapeSet`, whatever the formats.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from shapelex.io.file_list import PathLike
from shapelex.io.reading import Gathering, Progress, open_reading
from shapelex.shapes import ShapeSet
from shapelex.spaces import Space

if TYPE_CHECKING:
    import pandas as pd


def read(
    paths: "PathLike | Iterable[PathLike] | pd.DataFrame",
    format: str | None = None,  # noqa: A002
    *,
    space: Space | None = None,
    n_points: int | None = None,
    closed: bool | None = None,
    missing: str = "error",
    on_error: str = "raise",
    label_from: str | None = None,
    join: "PathLike | pd.DataFrame | None" = None,
    on: str = "id",
    label: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> ShapeSet:
    r"""Read shapes from files, or from a data frame.

    Parameters
    ----------
    paths : path, iterable of paths, or DataFrame
        A file; a folder, whose files and subfolders are read in order of their names; a pattern such as
        ``"wings/*.tps"`` (``**`` for any depth); or a list of these. A pandas data frame is read like a table, see
        :meth:`ShapeSet.from_dataframe`.
    format : str, optional
        Name of the format; by default it follows from the end of a file's name, or from its content.
    space : Space, optional
        Space to bring the shapes into: curves such as ``BSpline(40)`` are fitted to the polygons through the points, by
        least squares; ``Landmarks(n)`` takes shapes of n points as they are and resamples others.
    n_points : int, optional
        Resample every shape to so many points, at equal steps of arc length.
    closed : bool, optional
        Whether the last point of a shape joins its first. By default what the file says, and open where it says
        nothing. A last point that repeats the first of a closed shape is dropped.
    missing : {"error", "allow", "negative"}, default "error"
        Whether a missing landmark is an error, or stays as NaN. ``"negative"`` also takes landmarks with a negative
        coordinate for missing, as some TPS files mean them; otherwise negative coordinates are coordinates.
    on_error : {"raise", "skip"}, default "raise"
        What to do with a record that cannot be read: raise, or leave it out and say so in a warning and in the notes of
        the set. A file that cannot be read at all raises too, unless there are others.
    label_from : str, optional
        Labels from the paths of the files: ``"parent"`` for the folder a file is in, or a regular expression whose
        first group is the label; it is looked for in the name of the file, or in its path where it has a ``/``.
    join : path or DataFrame, optional
        Sheet of metadata (``.csv``, ``.tsv``, ``.xlsx``, ``.parquet``), one row per key, whose columns are joined to
        the shapes; see :meth:`ShapeSet.join`.
    on : str, default "id"
        Column of the sheet by which shapes are found: ``"id"``, ``"file"``, or a column of their metadata.
    label : str, optional
        Column that becomes the label, of the sheet or of what the file says of its shapes.
    progress : callable, optional
        Called with the number of files read and of all files, after each.
    **options : object
        Options of the format, such as ``layout="blocks"`` of tables or ``curves="append"`` of TPS files: see "Your
        data" in the guide.

    Returns
    -------
    ShapeSet
        The shapes.

    Raises
    ------
    ShapeFileError
        If a file or record is damaged or cannot be read as planar shapes; the message names file, record and line.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    write : The other way.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import shapelex as sx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "wings.npz"
    ...     _ = sx.write(sx.ShapeSet([[0, 1, 1j], [0, 2, 1j]], ids=["left", "right"]), path)
    ...     shapes = sx.read(path)
    >>> shapes
    ShapeSet(2 shapes, space=Landmarks(n_points=3, closed=False))
    >>> shapes.ids.tolist()
    ['left', 'right']
    """
    reading = open_reading(
        paths,
        format,
        space=space,
        n_points=n_points,
        closed=closed,
        missing=missing,
        on_error=on_error,
        label_from=label_from,
        join=join,
        on=on,
        label=label,
        **options,
    )
    gathering = Gathering()
    reading.run(gathering, progress)
    return reading.finish(gathering.join(reading.wanted))
