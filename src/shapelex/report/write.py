"""The page as a file."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from shapelex._messages import Message, parameter
from shapelex._typing import ArrayLike
from shapelex._validation import check_count, check_flag, removed_arguments
from shapelex.checks import check
from shapelex.estimators import ShapeDictionary
from shapelex.exceptions import ParameterError, ParameterTypeError
from shapelex.files.atomic import real_path, write_atomically
from shapelex.report.document import make_document
from shapelex.report.payload import make_payload
from shapelex.report.shapes import read_shapes
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks

_log = logging.getLogger(__name__)


# Shapes of a stored set that are looked at, for each one that the page may hold.
_READ_PER_SHOWN = 10


@removed_arguments(within="unit= says what is independent")
def write_report(
    model: ShapeDictionary,
    X: Any,
    path: str | Path,
    *,
    ids: Sequence[Any] | ArrayLike | None = None,
    labels: Sequence[Any] | ArrayLike | None = None,
    sequence: Sequence[Any] | ArrayLike | None = None,
    frames: ArrayLike | None = None,
    fps: float | None = None,
    title: str | None = None,
    joined: bool = True,
    max_shapes: int = 5000,
    overwrite: bool = False,
    tested: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    by: str | None = None,
    unit: Any = "auto",
) -> Path:
    """Write one HTML page to explore a dictionary and the shapes it codes.

    The page shows the atoms with their use, a map and a table of the shapes, which can be colored, filtered and grouped
    by any column of the set, mean shapes of groups, each shape with its weights as arrows to drag, codes of every
    sparsity, geodesics between shapes, time series that can be played, and the errors. It is a single file
    without links: it opens from disk.

    Parameters
    ----------
    model : ShapeDictionary
        Fitted.
    X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2), or a set of shapes
        Configurations in the space of the model. A set of shapes, with the attributes ``configurations``, ``space``,
        ``ids``, ``labels``, ``sequence`` and ``metadata``, gives the columns below where they are not given; all
        columns of a :class:`~shapelex.ShapeSet` are on the page. Of a set that :func:`shapelex.open_shapes` opened,
        shapes spread evenly over it are looked at, ten for each that the page may hold.
    path : str or Path
        Where to; ``.html`` is added where there is no suffix.
    ids : sequence, optional
        Name of each shape; by default its row number.
    labels : sequence, optional
        Class of each shape; empty, None or NaN where it is not known.
    sequence : sequence, optional
        Time series of each shape, −1 or nothing for none; shapes of a series are in the order of time.
    frames : array_like of float, optional
        Time or frame number of each shape in its series, so that gaps show. A set of shapes that has series gives its
        metadata ``frame``, ``frames``, ``time`` or ``t``.
    fps : float, optional
        Frames per second of the series, for a time axis in seconds; by default the column ``fps`` of a set.
    title : str, optional
        Title of the page.
    joined : bool, default True
        Whether a line is drawn through the points. False for landmarks whose order means nothing, such as anatomical
        ones: they are drawn as points alone.
    max_shapes : int, default 5000
        Most shapes that the page holds; of more, a sample in proportion to labels, series or errors, and the page says
        so. Numbers and figures are of all. Fewer are held where they would make the file larger than 15 MB.
    overwrite : bool, default False
        Whether a file that is there may be replaced.
    tested : mapping or DataFrame, optional
        Result of a test of a classifier, such as the table of ``shapelex classify --tested``: columns ``id``, ``class``
        and ``predicted``, in any order of rows. The page then shows the confusion matrix and the misclassified shapes.
        A table whose classes are not those of a column of the set is refused: it is of other shapes.
    provenance : mapping, optional
        Where the page comes from, such as the command and the files: shown at its end.
    by : str, optional
        Column whose groups are compared: whether they differ in shape, and in the use and weight of each atom, as
        :func:`shapelex.statistics.atom_tests` tests it. By default labels are compared where there are 2 to 12, each of
        at least 5 shapes.
    unit : str, array_like or None, default "auto"
        Which shapes are not independent, such as those of one animal: means of units are compared, as in
        :func:`shapelex.statistics.shape_lm`.

    Returns
    -------
    Path
        Where it went.

    Raises
    ------
    FileExistsError
        If there is a file already, and `overwrite` is not set.
    ShapeInputError
        If the shapes are not of the model's space, a column has another length, there is no such column, or
        `tested` is the table of other shapes.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import shapelex as sx
    >>> X = np.random.default_rng(0).normal(size=(40, 6, 2))
    >>> model = sx.ShapeDictionary(n_atoms=3, n_nonzero=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = sx.report.write_report(model, X, f"{folder}/shapes", labels=["a", "b"] * 20)
    ...     page.name, page.read_text()[:15]
    ('shapes.html', '<!doctype html>')
    """
    if not isinstance(model, ShapeDictionary):
        raise ParameterTypeError(f"model must be a fitted ShapeDictionary, got {type(model).__name__}.")
    check_is_fitted(model)
    target = Path(path)
    if not target.suffix:
        target = target.with_suffix(".html")
    if target.exists() and not overwrite:
        raise FileExistsError(
            Message(
                f"{target} exists already: choose another path, or set {parameter('overwrite', True)} to replace it."
            )
        )
    if not real_path(target).parent.is_dir():
        # Said before the work, not after it.
        raise FileNotFoundError(f"There is no folder {real_path(target).parent} to write {target.name} to.")
    check_count(max_shapes, 1, "max_shapes")
    if not check_flag(joined, "joined") and not isinstance(model.space_, Landmarks):
        raise ParameterError(
            f"{parameter('joined', False)} draws landmarks as points, but {model.space_} is a space of curves: leave "
            "it out."
        )
    n_population, findings = None, []
    if isinstance(X, ShapeSet):
        if not X.in_memory and len(X) > _READ_PER_SHOWN * max_shapes:
            n_population = len(X)
            X = X[:: -(-len(X) // (_READ_PER_SHOWN * max_shapes))]
        X = X[:]
        X = model._prepare_set(X)
        findings = [finding.text for finding in check(X)]
    shapes = read_shapes(X, model.space_, ids=ids, labels=labels, sequence=sequence, frames=frames, fps=fps)
    payload = make_payload(
        model,
        shapes,
        title="Dictionary of shapes" if title is None else str(title),
        max_shapes=max_shapes,
        joined=joined,
        n_population=n_population,
        findings=findings,
        tested=tested,
        provenance=provenance,
        by=by,
        unit=unit,
    )
    for remark in payload.get("tested", {}).get("remarks", ()):
        _log.warning("note: %s", remark)
    page = make_document(payload).encode("utf-8")
    write_atomically(target, lambda stream: _write(stream, page))
    _log.info("wrote %s: %.1f MB, %d of %d shapes", target, len(page) / 1e6, len(payload["shapes"]["ids"]), len(shapes))
    return target


def _write(stream: Any, page: bytes) -> None:
    stream.write(page)
