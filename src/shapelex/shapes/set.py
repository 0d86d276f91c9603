"""A set of shapes: configurations in memory or elsewhere, their space, and what is known of each shape."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, BoolArray, ColumnLayout, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_choice, check_count, check_finite, check_names, is_data_frame
from shapelex.exceptions import EmptySetError, ShapeInputError
from shapelex.shapes.columns import METADATA, Column, Columns, join_columns, make_columns
from shapelex.shapes.identity import GIVEN_ID, unique_ids
from shapelex.shapes.opening import choose_space, open_storage
from shapelex.shapes.preparation import Preparation, join_preparations
from shapelex.shapes.storage import ArrayShapes, Shapes
from shapelex.shapes.study import Units, check_roles, find_units, join_roles, study_of
from shapelex.shapes.summary import Summary, html_text, html_with_thumbnails
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.base import read_only, row_norms

if TYPE_CHECKING:
    import pandas as pd


_NOT_PREPARED = Preparation()
_ARGUMENTS = ("configurations", "space", "ids", "labels", "sequence", "metadata",
              "missing", "notes", "provenance", "preparation", "roles")  # fmt: skip


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ShapeSet:
    """Configurations with their space, and the name, label and further data of each shape.

    A set is immutable: its arrays are read-only, and every method returns a new set. Functions and estimators take a
    set in place of configurations, and use its space when none is given.

    The shapes and columns need not be in memory: those of memory maps, Zarr arrays and HDF5 datasets stay in their
    files and are read block by block, or when they are asked for; :func:`~shapelex.open_shapes` opens a file in this
    way. Part of such a set, as in ``shapes[:100]``, is in memory.

    Parameters
    ----------
    configurations : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
        The shapes, one per row; also a memory map, a Zarr array, an HDF5 dataset, a list of arrays that each hold some
        of the shapes, or a function that returns an iterator over such arrays. A Dask array is kept and not computed.
    space : Space, optional
        Space of the configurations; open landmarks when not given.
    ids : array_like of str, shape (n_shapes,), optional
        Names of the shapes; row numbers when not given. Those given several times are numbered (``a``, ``a:2``), with
        a note; the column ``given_id`` of the metadata then has them as they were given.
    labels : array_like of str, shape (n_shapes,), optional
        Labels of the shapes, empty where unknown.
    sequence : array_like of int, shape (n_shapes,), optional
        Number of the time series of each shape, whose rows are in temporal order; −1 for none.
    metadata : mapping of str to array_like of shape (n_shapes,), optional
        Further columns, such as ``frame``, ``scale`` or ``image``. ``fps``, the number of frames per second, gives the
        frames of time series their times in seconds.
    missing : {"error", "allow"}, default "error"
        Whether NaN, which marks missing landmarks, is an error or allowed.
    notes : iterable of str, optional
        Remarks on how the set was made, such as records that were skipped.
    provenance : mapping, optional
        Origin of the set, as JSON values.
    preparation : Preparation, optional
        How the outlines were resampled and registered; by default they were not. Models check it, see "Start points
        and directions" in the guide. None stands for plain arrays, which are not checked.
    roles : mapping of str to str or None, optional
        Columns by their roles in the study, where these are not the usual ones of :attr:`study`: for example
        ``{"unit": "animal"}``, or ``{"unit": None}`` for shapes that are independent of each other.

    Attributes
    ----------
    configurations : ndarray of complex, shape (n_shapes, n_coordinates)
        The shapes. Where they are not in memory, an array that is read by slices; ``np.asarray`` reads it whole.
    columns : mapping of str to ndarray
        All columns: ``ids``, ``labels``, ``sequence``, and metadata with ``metadata:`` before their names. Columns in a
        file are read when asked for.

    Raises
    ------
    NonFiniteError
        If a coordinate is infinite, or NaN where that is not allowed.
    ShapeInputError
        If a column does not have one entry per shape, or the mean of the preparation has another number of coordinates.

    Examples
    --------
    >>> import shapelex as sx
    >>> shapes = sx.ShapeSet([[0, 1, 1j], [0, 2, 2j], [0, 1, 3j]], labels=["a", "a", "b"])
    >>> shapes
    ShapeSet(3 shapes, space=Landmarks(n_points=3, closed=False), 2 labels)
    >>> shapes[shapes.labels == "a"].ids.tolist()
    ['0', '1']
    """

    configurations: ComplexArray
    space: Space
    columns: Columns
    missing: str
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]
    preparation: Preparation | None
    roles: Mapping[str, str | None]

    def __init__(
        self,
        configurations: ArrayLike,
        space: Space | None = None,
        ids: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        sequence: ArrayLike | None = None,
        metadata: Mapping[str, ArrayLike] | None = None,
        *,
        missing: str = "error",
        notes: Iterable[str] = (),
        provenance: Mapping[str, Any] | None = None,
        preparation: Preparation | None = _NOT_PREPARED,
        roles: Mapping[str, str | None] | None = None,
    ) -> None:
        check_choice(missing, ("error", "allow"), "missing")
        given = choose_space(space, configurations)
        rows: Any = _as_rows(configurations, given, missing)
        used = Landmarks(rows.shape[1]) if given is None else given
        mean = None if preparation is None else preparation.mean
        if mean is not None and mean.shape != (used.n_coordinates,):
            raise ShapeInputError(
                f"preparation has a mean of shape {mean.shape}, but the shapes are in {used!r}: give the preparation "
                "of these shapes, or leave it out."
            )
        columns = make_columns(rows.shape[0], {"ids": ids, "labels": labels, "sequence": sequence}, metadata)
        self.__dict__.update(
            configurations=rows,
            space=used,
            columns=columns,
            roles=check_roles(roles, columns.described()),
            missing=missing,
            notes=(notes,) if isinstance(notes, str) else tuple(map(str, notes)),
            provenance={} if provenance is None else dict(provenance),
            preparation=preparation,
        )
        self.__dict__.update(self._with_unique_ids().__dict__)

    @property
    def ids(self) -> Column:
        """Names of the shapes; row numbers where none were given."""
        return self.columns["ids"]

    @property
    def labels(self) -> Column | None:
        """Labels of the shapes, empty where unknown; None where the set has none."""
        return self.columns.get("labels")

    @property
    def sequence(self) -> Column | None:
        """Number of the time series of each shape, −1 for none; None where the set has none."""
        return self.columns.get("sequence")

    @property
    def metadata(self) -> Mapping[str, Column]:
        """Further columns by their names."""
        return self.columns.metadata

    @property
    def study(self) -> dict[str, str]:
        """Columns by their roles: ``id``, ``group``, ``unit``, ``side``, ``time``, ``frame``, ``scale`` and ``file``.

        Shapes of one *unit*, such as the frames of a recording, are not independent of each other: tests, intervals
        and folds take them together. Time series are units, else the images (column ``image``) or files (``file``)
        that shapes are from, where there are several and one of them has several shapes. `roles` of the set say
        otherwise.
        """
        units = self.units()
        return study_of(self.columns.described(), None if units is None else units.column, self.roles)

    def units(self, unit: Any = "auto") -> Units | None:
        """Find out which shapes are independent of each other.

        Parameters
        ----------
        unit : "auto", str, array_like of shape (n_shapes,) or None
            Those of the :attr:`study` by default; a column, or values, of shapes that belong together; None for shapes
            that are independent.

        Returns
        -------
        Units or None
            Printed, it says what the units are; ``numbers`` has the unit of each shape, such as for the ``groups`` of a
            cross-validation. None where every shape is a unit.

        Examples
        --------
        >>> import shapelex as sx
        >>> shapes = sx.ShapeSet([[0, 1, 1j], [0, 2, 2j], [0, 1, 3j]], metadata={"image": ["a", "a", "b"]})
        >>> print(shapes.units())
        3 shapes from 2 images; images are the independent units
        """
        return find_units(self.columns.described(), unit, self.roles)

    @property
    def column_types(self) -> dict[str, np.dtype[Any]]:
        """Types of all columns, for which only text of no fixed length is read."""
        return {name: source.dtype for name, source in self.columns.sources.items()}

    @property
    def in_memory(self) -> bool:
        """Whether the shapes are in memory, and not in a file, a stream or a Dask array."""
        return isinstance(self.configurations, np.ndarray)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the shapes."""
        return self.configurations.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Number of shapes, and of coordinates of each."""
        return self.configurations.shape[0], self.configurations.shape[1]

    @property
    def closed(self) -> bool:
        """Whether the last point of a shape is connected to its first."""
        return self.space.closed

    @property
    def is_missing(self) -> BoolArray:
        """Which coordinates are missing, shape (n_shapes, n_coordinates)."""
        return np.concatenate([np.isnan(block.configurations) for block in self.blocks()])

    @property
    def centroid_size(self) -> FloatArray:
        """Centroid size of each shape, shape (n_shapes,).

        For landmarks it is the root of the sum of squared distances from their centroid, as in geometric morphometrics
        [1]_; it grows with the number of points, also for outlines that were resampled. For curves it is the root mean
        square distance of the curve from its centroid. Both are the norm ``|z − b u|`` in the product of the space.
        It is in the unit of the coordinates, and NaN where landmarks are missing.

        References
        ----------
        .. [1] F. L. Bookstein, Morphometric Tools for Landmark Data, Cambridge University Press, 1991.
        """
        sizes = [row_norms(self.space.whiten_rows(block.configurations)) for block in self.blocks()]
        return np.concatenate(sizes).astype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[ComplexArray]:
        return (row for block in self.blocks() for row in block.configurations)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.configurations, dtype=dtype, copy=copy)

    def __getitem__(self, key: Any) -> Any:
        # scikit-learn indexes folds by array[rows, ...].
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            return self.configurations[key] if self.in_memory else self[[key]].configurations[0]
        rows = key if isinstance(key, slice) else _as_rows_wanted(key, len(self))
        source: Any = self.configurations
        if not isinstance(source, Shapes):
            return self._with(configurations=read_only(source[rows]), columns=self.columns.take(rows))
        numbers = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else rows
        name, first = f"a selection of {source.name}", 0
        if len(numbers) and (np.diff(numbers) == 1).all():
            first, name = int(numbers[0]), source.name
            rows = slice(first, first + len(numbers))
        found = _check_rows(source[rows], self.missing, name, first)
        return self._with(configurations=found, columns=self.columns.take(rows))

    def blocks(self, n_rows: int | None = None) -> Iterator["ShapeSet"]:
        """Go through the set in order, reading what is not in memory.

        Parameters
        ----------
        n_rows : int, optional
            Shapes of a block. By default a set in memory is one block, and of others as many are read at once as is
            fast.

        Yields
        ------
        ShapeSet
            The next shapes, in memory.
        """
        if n_rows is not None:
            bounds = [*range(0, len(self), check_count(n_rows, 1, "n_rows")), len(self)]
        elif self.in_memory:
            bounds = [0, len(self)]
        else:
            bounds = open_storage(self.configurations, self.space, "configurations").stretches()
        for start, stop in pairwise(bounds):
            block = self[start:stop]
            # Part of a Dask array is one, too.
            yield block if block.in_memory else block.replace(configurations=np.asarray(block.configurations))

    def __add__(self, other: Any) -> "ShapeSet":
        if not isinstance(other, ShapeSet):
            # NumPy would add coordinates, where concatenation is meant.
            raise TypeError(f"+ concatenates two sets, got {type(other).__name__}: use ShapeSet(X, space).")
        return ShapeSet.concatenate([self, other])

    def __repr__(self) -> str:
        parts = [f"{len(self)} shape{'s' if len(self) != 1 else ''}", f"space={self.space!r}"]
        for name, none, noun in (("labels", "", "label"), ("sequence", -1, "time series")):
            column = self.columns.sources.get(name)
            if isinstance(column, np.ndarray):
                n_values = len(np.unique(column[column != none]))
                parts.append(f"{n_values} {noun}{'s' if n_values != 1 and noun == 'label' else ''}")
            elif column is not None:
                # To count them, the column would have to be read.
                parts.append("labels" if name == "labels" else noun)
        if self.metadata:
            parts.append(f"metadata: {', '.join(self.metadata)}")
        return f"ShapeSet({', '.join(parts)}{'' if self.in_memory else ', not in memory'})"

    def _repr_html_(self) -> str:
        """Return the set as notebooks show it: what ``repr`` says, the notes, and pictures of some shapes."""
        text = "\n".join([repr(self), *self.notes])
        if not self.in_memory:
            # They would have to be read or computed.
            return html_text(text)
        names = self.ids.tolist()
        if self.labels is not None:
            names = [f"{name} {label}" for name, label in zip(names, self.labels.tolist(), strict=True)]
        return html_with_thumbnails(text, self.configurations, self.space, names)

    def replace(self, **changes: Any) -> "ShapeSet":
        """Return a set with some parts changed.

        Parameters
        ----------
        **changes : object
            New parts, by the names of the parameters of the class. Another space ends the preparation, unless a new one
            is given.

        Returns
        -------
        ShapeSet
            The new set; parts not named are as they were.

        Raises
        ------
        TypeError
            If a name is not a part of a set.
        """
        check_names(changes, _ARGUMENTS, "ShapeSet.replace")
        if changes.get("space", self.space) != self.space:
            changes.setdefault("preparation", _NOT_PREPARED)
        kept = {name: self.__dict__.get(name, self.columns.sources.get(name)) for name in _ARGUMENTS}
        kept["metadata"] = self.columns.metadata.sources
        made = ShapeSet(**{**kept, **changes, "ids": changes.get("ids")})
        return made if "ids" in changes else made._with_any_ids(kept["ids"])

    def _with_any_ids(self, ids: Any) -> "ShapeSet":
        """Return the set with ids that may repeat, as those of files do until all files are read."""
        columns = make_columns(len(self), {"ids": ids}, None)
        return self._with(columns=Columns({**self.columns.sources, **columns.sources}))

    def _with_unique_ids(self) -> "ShapeSet":
        """Return the set with numbers after ids that repeat, and a column of those given; ids in files are not read."""
        source = self.columns.sources["ids"]
        given = source.tolist() if isinstance(source, np.ndarray) else []
        if len(set(given)) == len(given):
            return self
        unique, notes = unique_ids(given)
        sources = {**self.columns.sources, "ids": read_only(np.array(unique, dtype=np.str_))}
        sources.setdefault(f"{METADATA}{GIVEN_ID}", self.ids)
        return self._with(columns=Columns(sources), notes=tuple(dict.fromkeys([*self.notes, *notes])))

    def _with(self, **parts: Any) -> "ShapeSet":
        """Return a set with other parts, which are known to fit."""
        other = copy(self)
        other.__dict__.update(parts)
        return other

    def equals(self, other: object) -> bool:
        """Return whether another set has the same shapes with the same data.

        Parameters
        ----------
        other : object
            Usually a set. Notes, provenance and preparation are not compared.

        Returns
        -------
        bool
            True where all numbers and texts are equal; missing coordinates are equal to each other.
        """
        if not isinstance(other, ShapeSet) or self.space != other.space or list(self.columns) != list(other.columns):
            return False
        pairs = [(self.columns[name], other.columns[name]) for name in self.columns]
        pairs.append((np.asarray(self.configurations), np.asarray(other.configurations)))
        return all(
            mine.dtype.kind == theirs.dtype.kind and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind in "fc")
            for mine, theirs in pairs
        )

    @staticmethod
    def concatenate(sets: Iterable["ShapeSet"]) -> "ShapeSet":
        """Return one set with the shapes of several, in order.

        Time series stay separate: a series keeps its number, unless a series of an earlier set has it already. Ids that
        an earlier shape has get a number.
        Entries of columns that a set does not have are NaN or empty text, and −1 for ``frame``. Numbers and text in one
        column become text.

        Parameters
        ----------
        sets : iterable of ShapeSet
            Sets in the same space.

        Returns
        -------
        ShapeSet
            The shapes of all sets.

        Raises
        ------
        ShapeInputError
            If the spaces differ.
        PreparationError
            If some sets are registered and others are not, or not in the same way.
        EmptySetError
            If `sets` is empty.

        Examples
        --------
        >>> import shapelex as sx
        >>> one = sx.ShapeSet([[0, 1, 1j]], ids=["wing"])
        >>> sx.ShapeSet.concatenate([one, one]).ids.tolist()
        ['wing', 'wing:2']
        """
        return _join_sets([part[:] for part in sets], series_go_on=False)._with_unique_ids()

    @staticmethod
    def from_dataframe(
        df: "pd.DataFrame",
        *,
        space: Space | None = None,
        n_points: int | None = None,
        closed: bool | None = None,
        missing: str = "error",
        layout: str | None = None,
        id_column: str | int | None = None,
        label_column: str | int | None = None,
    ) -> "ShapeSet":
        """Return the shapes of a pandas data frame, one row per shape or one row per point.

        The names of the columns tell which: ``x1, y1, x2, y2, …`` in any order are the points of the shape of a row;
        columns ``x`` and ``y``, with ``id`` and ``landmark`` where present, are the points of a row each. ``id``,
        ``label``, ``sequence``, ``frame`` and ``closed`` are known by name, all other columns become metadata. An index
        that has a name or holds text is taken for a column.

        Parameters
        ----------
        df : DataFrame
            The table.
        space, n_points, closed, missing
            As in :func:`shapelex.read`.
        layout : {"blocks", "interleaved", "long"}, optional
            Order of the coordinates, needed where the names of the columns do not tell it.
        id_column, label_column : str or int, optional
            Columns of ids and labels, by name or number, where they have other names.

        Returns
        -------
        ShapeSet
            The shapes.

        Raises
        ------
        ShapeFileError
            If the columns can be read in several ways or in none, or a cell is not a coordinate, with its row.

        See Also
        --------
        ShapeSet.to_dataframe : The other way.

        Examples
        --------
        >>> import pandas as pd
        >>> import shapelex as sx
        >>> df = pd.DataFrame({"id": ["a", "b"], "x1": [0, 0], "y1": [0, 0], "x2": [1, 2], "y2": [0, 1]})
        >>> sx.ShapeSet.from_dataframe(df).ids.tolist()
        ['a', 'b']
        """
        # The readers of tables are above this folder: one of the few imports upwards.
        from shapelex.io import read

        options: dict[str, Any] = {"layout": layout, "id_column": id_column, "label_column": label_column}
        return read(df, space=space, n_points=n_points, closed=closed, missing=missing, **options)

    def to_dataframe(self, layout: ColumnLayout = "interleaved") -> "pd.DataFrame":
        """Return the set as a pandas table, one row per shape.

        Parameters
        ----------
        layout : {"interleaved", "blocks"}, default "interleaved"
            Order of the coordinates: ``x1, y1, x2, y2, …`` or ``x1, x2, …, y1, y2, …``.

        Returns
        -------
        pandas.DataFrame
            Columns ``id``, ``label`` and ``sequence`` where present, the metadata, and the coordinates. Names of
            metadata that a table would take for something else, such as ``x1`` or ``closed``, begin with ``meta``.

        See Also
        --------
        ShapeSet.from_dataframe : The other way.
        """
        from shapelex.io.formats.frames import wide_frame

        return wide_frame(self, layout)

    def join(self, df: "pd.DataFrame", on: str | None = None, label: str | None = None) -> "ShapeSet":
        """Return the set with the columns of a table of metadata, one row per key.

        Parameters
        ----------
        df : DataFrame
            Table of metadata. Its rows need no order; several shapes may share a row.
        on : str, optional
            Column by which shapes are found: ``"id"`` for their ids, ``"file"`` for their files, else a column of their
            metadata; ``"id=Specimen"`` where the column of the table has another name. By default ids are tried, then
            files, with a column ``id`` or ``file`` of the table, or its first one. Ids and files may leave out folders,
            and files their endings; what may mean several is refused.
        label : str, optional
            Column that becomes the label, too, of the table or of the metadata; by default ``label`` of the table, if
            any.

        Returns
        -------
        ShapeSet
            The set; entries of shapes without a row are missing (NaN, or empty text), and the notes name such shapes
            and rows that fit no shape.

        Raises
        ------
        ShapeInputError
            If there is no such column, a key occurs twice, the shapes have a column of the same name already, or no
            row fits.

        Examples
        --------
        >>> import pandas as pd
        >>> import shapelex as sx
        >>> shapes = sx.ShapeSet([[0, 1, 1j], [0, 2, 1j]], ids=["a", "b"])
        >>> sheet = pd.DataFrame({"id": ["b", "a"], "site": [3, 7], "species": ["elm", "oak"]})
        >>> joined = shapes.join(sheet, label="species")
        >>> joined.labels.tolist(), joined.metadata["site"].tolist()
        (['oak', 'elm'], [7, 3])
        """
        from shapelex.io.joining import Sheet, label_by

        sheet = Sheet(df, on)
        joined = sheet.join(self)
        joined = joined.replace(notes=(*joined.notes, *sheet.notes()))
        label = "label" if label is None and "label" in sheet.columns else label
        return joined if label is None else label_by(joined, label)

    def summary(self) -> str:
        """Describe the set in words; :func:`shapelex.check` tells what may be wrong with it.

        Returns
        -------
        str
            A few lines: the number of shapes, their space, labels, time series, missing landmarks, directions of
            outlines, and the notes.
        """
        return str(Summary(self))

    def plot(self, color: Any = None, *, overlay: bool = False, max_shapes: int | None = None, **options: Any) -> Any:
        """Draw the shapes side by side, or over each other, colored by a column.

        Parameters
        ----------
        color : str, color or array_like of shape (n_shapes,), optional
            Name of a column: ``"id"``, ``"label"``, ``"sequence"`` or one of the metadata; values, one per shape; or
            one color for all shapes. Categories have a legend, numbers a color bar.
        overlay : bool, default False
            Draw the shapes over each other instead of each in its own cell; ``pose="mean"`` then aligns them.
        max_shapes : int, optional
            Maximum number of shapes to draw, taken evenly; 60 side by side and 500 over each other when not given.
        **options
            Further options of :func:`shapelex.plotting.plot_shapes`, such as `pose`, `points`, `n_columns` and `ax`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> import shapelex as sx
        >>> shapes = sx.ShapeSet([[0, 1, 1j], [0, 2, 2j], [0, 1, 3j]], metadata={"treatment": ["heat", "none", "heat"]})
        >>> ax = shapes.plot(color="treatment", ax=Figure().subplots())
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['heat', 'none']
        """
        # Pictures are above this folder: one of the few imports upwards.
        from shapelex.plotting import plot_shapes

        most = (500 if overlay else 60) if max_shapes is None else max_shapes
        step = 1 if self.in_memory else max(1, -(-len(self) // check_count(most, 1, "max_shapes")))
        if step > 1 and color is not None and not isinstance(color, str | tuple):
            color = color[::step]
        return plot_shapes(self[::step], color=color, overlay=overlay, max_shapes=most, **options)


def as_set(X: Any, space: Space | None = None) -> ShapeSet:
    """Return shapes of any kind as a set; landmarks of arrays and data frames may be missing."""
    if is_data_frame(X):
        return ShapeSet.from_dataframe(X, space=space, missing="allow")
    if isinstance(X, ShapeSet):
        if space is not None:
            space.check_space_of(X, "X")
        return X
    return ShapeSet(X, space, missing="allow", preparation=None)


def _join_sets(parts: Sequence[ShapeSet], *, series_go_on: bool) -> ShapeSet:
    """Return one set with the shapes of several in the same space; time series go on, or are others in each set."""
    if not parts:
        raise EmptySetError("sets is empty: give at least one set.")
    first = parts[0]
    for number, part in enumerate(parts):
        if part.space != first.space:
            raise ShapeInputError(
                f"Sets must be in the same space, but set 0 is in {first.space!r} and set {number} in "
                f"{part.space!r}: read them with the same n_points or space."
            )
    has_one_origin = all(part.provenance == first.provenance for part in parts)
    return first._with(
        # Dask arrays make up one that is not computed.
        configurations=read_only(np.concatenate([part.configurations for part in parts])),
        columns=join_columns([part.columns for part in parts], list(map(len, parts)), series_go_on=series_go_on),
        missing="allow" if any(part.missing == "allow" for part in parts) else "error",
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        provenance=first.provenance if has_one_origin else {"parts": [dict(part.provenance) for part in parts]},
        preparation=join_preparations(part.preparation for part in parts),
        roles=join_roles(part.roles for part in parts),
    )


def join_blocks(blocks: Sequence[ShapeSet]) -> ShapeSet:
    """Return neighboring blocks of one set as one; unlike those of different sets, their time series go on."""
    return blocks[0] if len(blocks) == 1 else _join_sets(blocks, series_go_on=True)


def fold_groups(X: Any, groups: Any, classes: Any = None) -> Any:
    """Return what is held out together: `groups` where they are given, else the units of a set; None for all else.

    A set that is a single unit has no groups to hold out. With `classes`, sets in which a fold could not leave two
    classes to learn from are refused.
    """
    units = X.units() if groups is None and isinstance(X, ShapeSet) else None
    if units is None:
        return groups
    alone = f"{parameter('unit', None)} treats shapes as independent (in Python the roles of a set: {{'unit': None}})"
    n_unknown = sum(value != value or value == "" for value in units.values.tolist())
    if n_unknown:
        raise ShapeInputError(f"{n_unknown} of {len(X)} shapes have no value in {units.column}, which says what is "
                              f"independent: fill it in, or leave these shapes out. {alone}.")  # fmt: skip
    numbers = units.numbers
    if classes is None:
        return numbers if numbers.max() > 0 else None
    class_of_units = np.unique(np.stack([np.unique(classes, return_inverse=True)[1], numbers]), axis=1)[0]
    if np.count_nonzero(np.bincount(class_of_units) > 1) < 2:
        raise ShapeInputError(f"{units}. Fewer than two classes have several {units.noun}, of which one could be held "
                              f"out. {alone}.")  # fmt: skip
    return numbers


def _as_rows(configurations: Any, space: Space | None, missing: str) -> Any:
    """Return checked configurations in memory, or a storage outside it, whose rows are checked when they are read."""
    if isinstance(configurations, np.ndarray) and configurations.dtype.kind == "c" and configurations.size == 0:
        # A part of a set may be empty; functions that need shapes check that themselves.
        return read_only(np.ascontiguousarray(configurations))
    storage: Any = open_storage(configurations, space, "configurations")
    if isinstance(storage, ArrayShapes):
        return _check_rows(storage.configurations, missing)
    return storage.array if storage.is_remote else storage


def _check_rows(rows: ComplexArray, missing: str, name: str = "configurations", first_row: int = 0) -> ComplexArray:
    """Return read-only rows whose landmarks are finite, or NaN as a whole where they may be missing."""
    check_finite(rows, name, first_row, allows_missing=missing == "allow")
    if missing == "allow":
        is_half = np.isnan(rows.real) != np.isnan(rows.imag)
        if is_half.any():
            rows = np.where(is_half, complex(np.nan, np.nan), rows)
    return read_only(rows)


def _as_rows_wanted(key: Any, n_shapes: int) -> IntArray:
    """Return row numbers; refuse keys that NumPy would take for axes or names."""
    wanted = np.asarray(key)
    if wanted.size == 0:
        return np.empty(0, dtype=np.int64)
    if wanted.ndim != 1 or wanted.dtype.kind not in "iub":
        raise TypeError(f"A set is indexed by a row number, a slice, a mask or a list of row numbers, got {key!r}.")
    if wanted.dtype.kind == "b" and len(wanted) != n_shapes:
        raise IndexError(f"The mask has {len(wanted)} entries, but the set has {n_shapes} shapes.")
    return np.asarray(np.arange(n_shapes)[wanted])
