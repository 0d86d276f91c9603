"""Errors and warnings that shapelex raises; each bad input has a class of its own.

Every input error is also a :class:`ValueError` (or :class:`TypeError`), so code that
catches the built-in classes keeps working. ``ConvergenceWarning`` is that of scikit-learn.
"""

from typing import TYPE_CHECKING, Any

from shapelex._messages import Message, marked_text, without_marks

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning as ConvergenceWarning


def __getattr__(name: str) -> Any:
    # Importing scikit-learn takes longer than all of this package; most commands never warn of convergence.
    if name == "ConvergenceWarning":
        from sklearn.exceptions import ConvergenceWarning

        return ConvergenceWarning
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _WithMessage:
    """Makes the text of an error or warning a message."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*(Message(one) if type(one) is str else one for one in args))


class ShapelexError(_WithMessage, Exception):
    """Base of all errors that are shapelex's own."""


class ParameterError(ShapelexError, ValueError):
    """A parameter has a value that is out of range, unknown, or does not go with those of other parameters."""


class ParameterTypeError(ShapelexError, TypeError):
    """The value of a parameter has a wrong type."""


class ShapeInputError(ShapelexError, ValueError):
    """The shapes handed in cannot be used as they are."""


class ArrayTypeError(ShapelexError, TypeError):
    """The array holds objects, text or booleans, or is no array at all."""


class RealLayoutError(ShapeInputError):
    """A real array whose axes do not say where x and y are."""


class CoordinateCountError(ShapeInputError):
    """The configurations have another number of coordinates than their space, or than each other."""


class EmptySetError(ShapeInputError):
    """The set holds no shape."""


class NonFiniteError(ShapeInputError):
    """Some coordinates are NaN, infinite or masked."""


class CollapsedShapeError(ShapeInputError):
    """All points of a shape coincide, so it has neither size nor shape."""


class PreparationError(ShapeInputError):
    """The outlines were resampled or registered differently from those that they are to be used with."""


class NotHorizontalError(ShapeInputError):
    """A vector that should be tangent to the shape space is not."""


class UndeterminedFitError(ShapeInputError):
    """The points given do not determine the curve to be fitted."""


class SpaceError(ShapelexError, ValueError):
    """A space was asked for with arguments that define none."""


class UnsupportedBySpaceError(ShapelexError, TypeError):
    """The operation has no meaning in this space, such as a change of start point on an open curve."""


class CodesError(ShapelexError, ValueError):
    """Arrays that do not make up a set of sparse codes, or codes over another dictionary."""


class SearchTooLargeError(ShapelexError, ValueError):
    """An exact search would visit more supports than it can in reasonable time."""


class DeviceError(ShapelexError, ValueError):
    """There is no such device to compute on, it lacks the memory, or the coder has no implementation for it."""


class ModelFileError(ShapelexError, ValueError):
    """A model file is damaged, of another kind or too new, or a model cannot be written as one."""


class CheckpointError(ShapelexError, ValueError):
    """A checkpoint is damaged, or belongs to other shapes or another fit."""


class ShapeFileError(ShapelexError, ValueError):
    """A file of shapes, or one record in it, is damaged, hostile, or holds what cannot be read as planar shapes."""


class DatasetUnavailableError(ShapelexError, FileNotFoundError):
    """A set of shapes is in none of the places looked in, and cannot be downloaded."""


class SkippedRecordsWarning(_WithMessage, UserWarning):
    """Some records of a file could not be read and were left out, as asked for."""


class CheckpointWarning(_WithMessage, UserWarning):
    """A checkpoint could not be written; the fit went on without."""


class RemovedParameterWarning(_WithMessage, UserWarning):
    """A model file carries parameters that its estimator no longer has; they were ignored."""


class PreparationWarning(_WithMessage, UserWarning):
    """A file does not record how its outlines were prepared, so that it cannot be checked."""


class NonUniqueMeanWarning(_WithMessage, UserWarning):
    """Several shapes are a mean of the set; one of them was returned."""


def reason_of(error: BaseException) -> str:
    r"""Return what an error says on one line without a full stop, to go into another message.

    Parameters
    ----------
    error : BaseException
        Any error, such as one of a library.

    Returns
    -------
    str
        Its message; parameters have their names in Python.

    Examples
    --------
    >>> reason_of(KeyError("no such\n  array."))
    'no such array'
    """
    return " ".join(without_marks(marked_text(error)).split()).rstrip(".")
