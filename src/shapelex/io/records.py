"""What a reader of one file format hands over, one shape at a time.

A reader takes a path and yields a :class:`Record` for each shape it finds, and a :class:`BadRecord` for each one that
it cannot read but can step over. A file that cannot be read any further raises
:class:`~shapelex.exceptions.ShapeFileError`. What becomes of bad records, and how records of different lengths become
one array, is decided above, the same way for all formats.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shapelex._typing import ComplexArray


@dataclass(frozen=True)
class Record:
    """One shape as its file has it: nothing resampled, turned, scaled or dropped.

    Parameters
    ----------
    points : ndarray of complex, shape (n_points,)
        Points in the order of the file, x + iy with y up; missing ones are NaN.
    id : str
        Name of the shape; readers make one up from the file's name and the record's number where there is none.
    label : str
        Class of the shape; empty where the file tells none.
    closed : bool or None
        Whether the last point joins the first (which is not repeated); None where the format does not say.
    sequence : int or None
        Time series that the shape belongs to.
    frame : int or None
        Its place in time.
    metadata : mapping of str to value
        Whatever else the record says: image, scale, view. Values are strings, numbers or booleans.
    where : str
        Place in the file, for messages: ``record 3, line 40``.
    spans_folder : bool
        Whether its time series goes on in the other files of the folder, as of tracked images with one frame each.
    """

    points: ComplexArray
    id: str
    label: str = ""
    closed: bool | None = None
    sequence: int | None = None
    frame: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    spans_folder: bool = False


@dataclass(frozen=True)
class BadRecord:
    """A record that cannot be read, while those after it can.

    Parameters
    ----------
    where : str
        Place in the file: ``record 3, line 40``.
    reason : str
        What is wrong with it, and what to do.
    """

    where: str
    reason: str


@dataclass(frozen=True)
class Remark:
    """Something that a reader left out as asked, or by its defaults: no error, but told in the notes of the set.

    Parameters
    ----------
    where : str
        Place in the file: ``page 3``.
    text : str
        What was left out, and why.
    """

    where: str
    text: str
