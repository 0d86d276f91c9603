"""What the caller says about the shapes: names, labels, times."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_positive, name_rows
from shapelex.coding.codes import shape_columns
from shapelex.exceptions import ShapeInputError
from shapelex.sequences.timing import moments_of
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import Column, column_from_values, frame_rates
from shapelex.shapes.identity import unique_ids
from shapelex.shapes.opening import read_configurations
from shapelex.shapes.study import Roles
from shapelex.spaces import Space


@dataclass(frozen=True)
class ReportedShapes:
    """Shapes with all that is known of each.

    Parameters
    ----------
    configurations : ndarray of complex, shape (n_shapes, n_coordinates)
        The shapes.
    ids : list of str
        A name for each.
    labels : list of str or None
        A class for each, ``""`` where it is not known.
    sequence : ndarray of int or None
        Number of the time series that each belongs to, in order of appearance; −1 for none.
    sequence_names : list of str
        Their names.
    frames : ndarray of float or None
        Time of each shape in its series.
    has_times : bool
        Whether these are times, as the column ``time`` of a set has them, and not numbers of frames.
    rates : ndarray of float or None
        Frames per second of the recording of each shape, NaN where not known.
    is_loose : bool
        Whether these are outlines that are known not to be registered.
    roles : mapping of str to str or None
        Roles of columns in the study.
    columns : dict of str to ndarray
        All that is known of the shapes, as in the table that ``shapelex encode`` writes.
    preparation : str, optional
        How the shapes were resampled and registered, in words; None where it is not known.
    notes : tuple of str
        Remarks on how the set was made, such as objects that were left out.
    """

    configurations: ComplexArray
    ids: list[str]
    labels: list[str] | None
    sequence: IntArray | None
    sequence_names: list[str]
    frames: FloatArray | None
    columns: dict[str, Column]
    preparation: str | None = None
    notes: tuple[str, ...] = ()
    has_times: bool = False
    rates: FloatArray | None = None
    is_loose: bool = False
    roles: Roles = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.configurations)


def read_shapes(
    X: Any,
    space: Space,
    *,
    ids: Sequence[Any] | ArrayLike | None,
    labels: Sequence[Any] | ArrayLike | None,
    sequence: Sequence[Any] | ArrayLike | None,
    frames: ArrayLike | None,
    fps: float | None = None,
) -> ReportedShapes:
    """Check shapes and their columns; a set of shapes gives the columns that are not given.

    Parameters
    ----------
    X : array_like, or an object with an attribute ``configurations``
        Configurations, or a set of shapes: ``configurations``, ``space``, ``ids``, ``labels``, ``sequence``,
        ``metadata``.
    space : Space
        The space of the model.
    ids, labels, sequence, frames
        Columns, or None.
    fps : float, optional
        Frames per second; by default the column ``fps`` of a set.

    Returns
    -------
    ReportedShapes
        Checked.

    Raises
    ------
    ShapeInputError
        If shapes are of another space, or a column has another length.
    """
    known: dict[str, Column] = {}
    preparation: str | None = None
    notes: tuple[str, ...] = ()
    has_times, rates, is_loose = False, None, False
    roles: Roles = {}
    if isinstance(X, ShapeSet):
        known, notes, roles = shape_columns(X), X.notes, X.roles
        preparation = None if X.preparation is None else str(X.preparation)
        made = X.preparation
        is_loose = X.closed and made is not None and made.is_recorded and not made.is_registered
    given = {"id": ids, "label": labels, "sequence": sequence, "frame": frames}
    if hasattr(X, "configurations"):
        ids = _first_given(ids, getattr(X, "ids", None))
        labels = _first_given(labels, getattr(X, "labels", None))
        sequence = _first_given(sequence, getattr(X, "sequence", None))
        if frames is None and sequence is not None:
            moments = moments_of(X, None, sequence)
            sequence, frames = moments.sequence, moments.frames
            has_times = moments.seconds is not None and np.asarray(frames).dtype.kind == "f"
            notes = (*notes, *moments.remarks)
        rates = frame_rates(X.metadata) if isinstance(X, ShapeSet) else None
        space.check_space_of(X, "X")
        X = X.configurations
    configurations, _ = read_configurations(X, space)
    n_shapes = len(configurations)
    texts = None if labels is None else _as_texts(labels, n_shapes, "labels")
    found = {"label": texts, "sequence": sequence, "frame": given["frame"]}
    if texts is not None and not any(texts):
        texts = None
    series, names = (None, []) if sequence is None else _as_series(sequence, n_shapes)
    if not names:
        series = None
    times = None if frames is None else _as_times(frames, n_shapes)
    if times is not None and series is None:
        series, names = np.zeros(n_shapes, dtype=np.int64), [""]
    names_of_shapes = [str(row) for row in range(n_shapes)] if ids is None else _as_texts(ids, n_shapes, "ids")
    if given["id"] is not None:
        # A list of excluded shapes names them by their ids.
        names_of_shapes = unique_ids(names_of_shapes)[0]
    for name, values in {"id": names_of_shapes, **found}.items():
        # What was given takes the place of what the set says.
        if values is not None and (name not in known or given[name] is not None):
            known[name] = column_from_values(_one_a_shape(values, n_shapes, name))
    if fps is not None:
        rates = np.full(n_shapes, check_positive(fps, "fps"))
    told = (preparation, notes, has_times, rates, is_loose, roles)
    return ReportedShapes(configurations, names_of_shapes, texts, series, names, times, known, *told)


def _first_given(first: Any, second: Any) -> Any:
    return second if first is None else first


def _as_texts(values: Any, n_shapes: int, name: str) -> list[str]:
    entries = _one_a_shape(values, n_shapes, name)
    return [_as_text(value) for value in entries]


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        # Missing entries of tables come as None, NaN, or an NA that is not even unequal to itself.
        is_missing = value is None or bool(value != value)
    except TypeError:
        is_missing = True
    return "" if is_missing else str(value)


def _as_series(values: Any, n_shapes: int) -> tuple[IntArray, list[str]]:
    entries = _as_texts(values, n_shapes, "sequence")
    # Shapes of no series: −1 in a set of shapes, nothing in a table.
    numbers = {"": -1, "-1": -1}
    series = np.array([numbers.setdefault(entry, len(numbers) - 2) for entry in entries], dtype=np.int64)
    return series, list(numbers)[2:]


def _as_times(values: Any, n_shapes: int) -> FloatArray:
    entries = _one_a_shape(values, n_shapes, "frames")
    try:
        times = np.array(entries, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeInputError("frames must be numbers, one per shape: the frame, or the time, of each.") from error
    if not np.isfinite(times).all():
        raise ShapeInputError(f"frames must be finite, but are not in {name_rows(~np.isfinite(times))}.")
    return times


def _one_a_shape(values: Any, n_shapes: int, name: str) -> list[Any]:
    entries = values.tolist() if hasattr(values, "tolist") else list(values)
    if isinstance(values, str) or not isinstance(entries, list) or len(entries) != n_shapes:
        found = "one text" if isinstance(values, str) else np.size(entries)
        raise ShapeInputError(f"{name} must have one entry for each of the {n_shapes} shapes, got {found}.")
    return entries
