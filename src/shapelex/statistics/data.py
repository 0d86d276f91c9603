"""Shapes as rows of real numbers, with a table of what is known of each shape.

Input: shapes of any kind, and columns from the set or from a table. Output: the shapes that can be used, aligned to
their mean and projected into its tangent space, with the columns that an analysis needs, and the rows that were left
out with the reasons.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_flag, did_you_mean, is_data_frame, name_rows
from shapelex.exceptions import ParameterTypeError, ShapeInputError, ShapelexError
from shapelex.geometry import mean_shape
from shapelex.geometry.alignment import remove_along, rotations_onto
from shapelex.shapes import ShapeSet
from shapelex.shapes.opening import as_shapes
from shapelex.shapes.study import Roles, Units, find_units
from shapelex.spaces import Space

if TYPE_CHECKING:
    import pandas as pd

# Beyond, squares and their sums overflow, or lose digits as they are no longer numbers of full precision.
_LEAST_MAGNITUDE, _MOST_MAGNITUDE = 1e-140, 1e140

SIZE = "size"
"""Name of the centroid size of the raw shapes among the columns."""

# Names of columns that readers of tables take for the label.
_READ_AS_LABEL = ("species", "group", "class")
UNIT, STRATUM = "unit", "stratum"


@dataclass(frozen=True, eq=False)
class AlignedShapes:
    """Shapes as real rows whose plain distances are those of the space, and the columns of an analysis.

    Attributes
    ----------
    coordinates : ndarray of float, shape (n_rows, 2 n_coordinates)
        Whitened coordinates, real and imaginary parts side by side: the mean pre-shape plus a tangent vector at it.
        There is a row for each unit where there are units, otherwise for each shape that is used.
    table : DataFrame
        Columns of the analysis; its index has the number of the shape of a row, of a unit that of its first one.
    rows : ndarray of int, shape (n_used,)
        Numbers of the shapes that are used, in the set that was given.
    dropped : dict of int to str
        Numbers of the other shapes, with the reason for each.
    space : Space
        Space of the shapes.
    mean : ndarray of complex, shape (n_coordinates,)
        Configuration at whose shape the tangent space is; the average of the rows where they were given aligned.
    remarks : tuple of str
        What a reader of the results should know.
    noun : str
        What a row is, in the plural.
    """

    coordinates: FloatArray
    table: "pd.DataFrame"
    rows: IntArray
    dropped: Mapping[int, str]
    space: Space
    mean: ComplexArray
    remarks: tuple[str, ...] = ()
    noun: str = "shapes"

    def averaged(self, units: Units | None) -> "AlignedShapes":
        """Return the means of units, which are those of the shapes that are used; refuse columns that vary within."""
        if units is None:
            return self
        table, numbers = between_units(self.table, units)
        remarks, coordinates = (*self.remarks, tell_choice(units)), unit_means(self.coordinates, numbers)
        return replace(self, coordinates=coordinates, table=table, remarks=remarks, noun=units.noun)

    def split_strata(self) -> IntArray | None:
        """Take the strata out of the table, and return the stratum of each row; None where there are none."""
        return as_groups(self.table.pop(STRATUM))[0] if STRATUM in self.table else None

    def to_configurations(self, coordinates: FloatArray) -> ComplexArray:
        """Return configurations of real rows such as `coordinates`, or of one row."""
        return self.space.unwhiten(as_complex(coordinates))


@dataclass(frozen=True, eq=False)
class Columns:
    """A table in which columns are found by name, or given as values.

    Attributes
    ----------
    columns : DataFrame
        One row per shape.
    roles : mapping of str to str or None
        Roles of the columns in the study of a set; None for plain arrays.
    """

    columns: "pd.DataFrame"
    roles: Roles | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.columns)

    def units(self, unit: Any) -> Units | None:
        """Return the units of the shapes, see :func:`find_units`."""
        units = find_units(self.columns, unit, self.roles)
        if units is None:
            return None
        column = self.column(units.values, UNIT)
        if column.dtype.kind not in "biuf":
            column = column.astype(str).mask(is_missing(column), "")
        return Units(units.column, column.to_numpy())

    def complete(
        self, needed: "Mapping[str, pd.Series]", unit: Any, reasons: Mapping[str, BoolArray] | None = None
    ) -> tuple[IntArray, dict[int, str], list[str], Units | None]:
        """Return the rows that miss nothing, the others with the reasons, a remark on these, and the units of the rows.

        `reasons` are reasons to leave out rows, other than missing entries.
        """
        units = self.units(unit)
        entries = {**needed, **({} if units is None else {UNIT: self.column(units.values, UNIT)})}
        bad = {**(reasons or {}), **{f"no {name}": is_missing(column) for name, column in entries.items()}}
        is_dropped = np.logical_or.reduce([np.zeros(len(self), dtype=bool), *bad.values()])
        rows, lost = np.flatnonzero(~is_dropped), np.flatnonzero(is_dropped).tolist()
        dropped = {row: ", ".join(reason for reason, is_bad in bad.items() if is_bad[row]) for row in lost}
        if not len(rows):
            raise ShapeInputError(
                f"all {len(self)} shapes miss something ({', '.join(sorted(set(dropped.values())))}): fill in missing "
                "landmarks by sx.impute, or leave out the columns that have missing entries."
            )
        told = "; ".join(f"{reason} in {name_rows(is_bad)}" for reason, is_bad in bad.items() if is_bad.any())
        remarks = [f"{len(dropped)} of {len(self)} shapes left out: {told}."] if dropped else []
        return rows, dropped, remarks, None if units is None else units.take(rows)

    def column(self, given: Any, name: str) -> "pd.Series":
        """Return a column by its name, or values with one entry per shape; `name` is the argument in errors."""
        import pandas as pd

        if isinstance(given, str):
            self.check_columns([given], name)
            return self.columns[given]
        # The order of rows counts, not the index; a categorical keeps the order of its categories.
        values = getattr(given, "array", given) if isinstance(given, pd.Series | pd.Index) else given
        values = values if isinstance(values, pd.api.extensions.ExtensionArray) else np.asarray(values)
        if values.ndim != 1 or len(values) != len(self):
            raise ShapeInputError(
                f"{parameter(name)} must be the name of a column, or one entry for each of the {len(self)} shapes, got "
                f"shape {values.shape}."
            )
        return pd.Series(values, name=getattr(given, "name", None) or name, index=self.columns.index)

    def combined(self, given: Any, name: str) -> "pd.Series":
        """Return a column, or the combinations of several columns that are named in a list, joined by points."""
        is_list = isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(one, str) for one in given)
        if not is_list or (len(given) == len(self) and not all(one in self.columns for one in given)):
            return self.column(given, name)
        self.check_columns(given, name)
        return join_columns([self.columns[one] for one in given])

    def check_columns(self, names: Sequence[str], where: str) -> None:
        """Refuse names that are not columns, and suggest the one that was probably meant."""
        for name in names:
            if name not in self.columns:
                # "labels" is another name of "label".
                known = [str(one) for one in self.columns if one != "labels" or "label" not in self.columns]
                meant = did_you_mean(name, known)
                if name.lower() in _READ_AS_LABEL and "label" in known:
                    meant = f" (when a table is read, its column {name} becomes the label: use label)"
                if not known:
                    raise ShapeInputError(
                        f"{where} names the column {name!r}, but no columns are known: give one value per shape, or a "
                        f"table with this column as {parameter('data=')}."
                    )
                raise ShapeInputError(
                    f"{where} names {name!r}, which is not a column{meant}: the columns are {', '.join(known)}. Give "
                    f"others with {parameter('data=')}."
                )


@dataclass(frozen=True, eq=False)
class ShapeInput(Columns):
    """Shapes in memory, as they were given, with all columns that are known of them.

    Attributes
    ----------
    columns : DataFrame
        Columns of the set and of the table, and the centroid sizes.
    configurations : ndarray of complex, shape (n_shapes, n_coordinates)
        The shapes; NaN marks missing landmarks.
    space : Space
        Their space.
    remarks : tuple of str
        What a reader of the results should know.
    has_given_sizes : bool
        Whether ``size`` is a column of the table, not the centroid size of the shapes.
    lacks_scale : bool
        Whether the shapes come from files that do not say what their lengths are.
    """

    configurations: ComplexArray
    space: Space
    remarks: tuple[str, ...] = field(default=())
    has_given_sizes: bool = False
    lacks_scale: bool = False

    def use(
        self, needed: "Mapping[str, pd.Series]", aligned: bool = False, unit: Any = None, strata: Any = None
    ) -> AlignedShapes:
        """Return the shapes without missing landmarks or missing entries in the `needed` columns, aligned.

        With `aligned`, the coordinates are taken as they are. Where there are units, their means are returned. The
        strata become the column :data:`STRATUM` of the table.
        """
        import pandas as pd

        check_flag(aligned, "aligned")
        if strata is not None:
            needed = {**needed, STRATUM: self.column(strata, "strata")}
        is_gone = {"missing landmarks": np.asarray(np.isnan(self.configurations).any(axis=1))}
        rows, dropped, remarks, units = self.complete(needed, unit, is_gone)
        chosen = self.configurations[rows]
        coordinates, mean = taken_as_they_are(chosen, self.space) if aligned else tangent_rows(chosen, self.space)
        table = pd.DataFrame({name: _used_values(column, rows) for name, column in needed.items()}, index=rows)
        told = (*self.remarks, *remarks)
        return AlignedShapes(coordinates, table, rows, dropped, self.space, mean, told).averaged(units)


def read_input(shapes: Any, data: Any = None, name: str = "shapes") -> ShapeInput:
    """Return shapes of any kind with their columns: those of the set, and those of `data`, which come first.

    `data` is a data frame or a mapping of names to values, one entry per shape in the order of the shapes. The column
    ``size`` is the centroid size of the shapes as they were given, unless `data` has a column of that name.
    """
    if isinstance(shapes, ShapeSet):
        shapes = shapes[:]
    if is_data_frame(shapes):
        shapes = ShapeSet.from_dataframe(shapes, missing="allow")
    opened = as_shapes(shapes, name=name)
    configurations = np.asarray(opened[:]).astype(np.complex128)
    is_infinite = np.isinf(configurations).any(axis=1)
    if is_infinite.any():
        raise ShapeInputError(f"{name} has infinite coordinates in {name_rows(is_infinite)}: remove these shapes.")
    own = dict(shapes.columns.described()) if isinstance(shapes, ShapeSet) else {}
    remarks = _remarks_of(shapes)
    given = as_columns(data, len(configurations))
    if SIZE in own:
        own["meta size"] = own.pop(SIZE)
        remarks.append('The column "size" of the set is called "meta size": "size" is the centroid size.')
    if SIZE in given:
        remarks.append('"size" is the column of data, not the centroid size of the shapes.')
    if "label" in own:
        own["labels"] = own["label"]
    sizes = _centroid_sizes(configurations, opened.space)
    import pandas as pd

    columns = pd.DataFrame({SIZE: sizes, **own, **given})
    roles = shapes.roles if isinstance(shapes, ShapeSet) else None
    lacks_scale = "files" in getattr(shapes, "provenance", {}) and not {"units", "applied_scale"} & set(columns)
    return ShapeInput(columns, configurations, opened.space, tuple(remarks), SIZE in given, lacks_scale, roles=roles)


def tangent_rows(configurations: ComplexArray, space: Space) -> tuple[FloatArray, ComplexArray]:
    """Return real rows in the tangent space at the partial Procrustes mean, and that mean as a configuration.

    Pre-shapes are rotated onto the mean and projected orthogonally: a row is the mean plus a tangent vector, as in
    generalized Procrustes analysis with orthogonal projection.
    """
    mean = mean_shape(configurations, "partial", space=space)
    base = space.whitened_preshapes(mean)
    rows = space.whitened_preshapes(configurations, "shapes")
    rows = rotations_onto(rows, base) * rows
    return as_real(base + remove_along(np.broadcast_to(base, rows.shape), rows)), mean


def taken_as_they_are(configurations: ComplexArray, space: Space) -> tuple[FloatArray, ComplexArray]:
    """Return real rows of configurations in the pose, place and size that they have, and their average."""
    check_magnitude(configurations, "shapes")
    # Rows of the identity fold to the transposed factor of the product; `whiten` would center the shapes.
    rows = configurations @ space.fold(np.eye(space.n_coordinates, dtype=np.complex128))
    return as_real(rows), configurations.mean(axis=0)


def check_magnitude(values: ComplexArray | FloatArray, name: str, error: type[ShapelexError] = ShapeInputError) -> None:
    """Refuse numbers whose squares overflow, or are rounded so much that sums of squares are wrong."""
    with np.errstate(over="ignore"):
        largest = float(np.abs(values).max(initial=0))
    if largest and not _LEAST_MAGNITUDE <= largest <= _MOST_MAGNITUDE:
        raise error(
            f"{name} must have a largest entry between {_LEAST_MAGNITUDE:g} and {_MOST_MAGNITUDE:g}, so that squares "
            f"can be computed, got {largest:.2g}: use another unit."
        )


def as_real(rows: ComplexArray) -> FloatArray:
    """Return complex rows as real rows of twice the length."""
    reals: FloatArray = np.ascontiguousarray(rows, dtype=np.complex128).view(np.float64)
    return reals


def as_complex(rows: FloatArray) -> ComplexArray:
    """Return real rows that :func:`as_real` made as complex rows."""
    complexes: ComplexArray = np.ascontiguousarray(rows, dtype=np.float64).view(np.complex128)
    return complexes


def is_missing(column: "pd.Series") -> BoolArray:
    """Return which entries of a column are missing: NaN, None, or empty text."""
    found: BoolArray = column.isna().to_numpy()
    if column.dtype.kind in "OUT" or str(column.dtype) in ("string", "str", "category"):
        found = found | (column.astype(object) == "").to_numpy()
    return found


def unit_means(values: Any, numbers: IntArray) -> Any:
    """Return averages over the rows of each unit; NaN entries do not count."""
    is_known = ~np.isnan(values)
    sums = np.zeros((int(numbers.max()) + 1, *values.shape[1:]), dtype=values.dtype)
    counts = np.zeros(sums.shape)
    np.add.at(sums, numbers, np.where(is_known, values, 0))
    np.add.at(counts, numbers, is_known)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def between_units(table: "pd.DataFrame", units: Units) -> "tuple[pd.DataFrame, IntArray]":
    """Return the rows of the first shapes of units, and the unit of each shape; refuse what differs within a unit."""
    numbers, own = units.numbers, f"{parameter('unit', None)} treats shapes as independent"
    if numbers.max() == 0:
        raise ShapeInputError(f"{units}: nothing can be tested. {own}, {parameter('unit=')} names another column.")
    for name in table.columns:
        n_values = table[name].groupby(numbers).nunique()
        if (n_values > 1).any():
            raise ShapeInputError(
                f"{name} varies within {int((n_values > 1).sum())} of {len(n_values)} {units.noun}, which are the "
                f"independent units. Effects within units cannot be tested yet; a later version will. {own}, "
                f"{parameter('unit=')} names another column."
            )
    return table.iloc[np.unique(numbers, return_index=True)[1]], numbers


def tell_choice(units: Units) -> str:
    """Return what the units are, as a remark that names the alternative."""
    return f"{units}; unit=None treats shapes as independent."


def _used_values(column: "pd.Series", rows: IntArray) -> Any:
    """Return the entries of some rows as numbers or text; a categorical keeps the order of categories that occur.

    Several types of pandas hold text and numbers, of which formulaic knows not all.
    """
    values = column.array[rows]
    kind = values.dtype.kind
    if str(values.dtype) == "category":
        return values.remove_unused_categories()
    if kind in "biuf":
        return values.to_numpy(dtype=np.float64 if kind == "f" else None)
    if kind in "OUT":
        return np.array([str(value) for value in values], dtype=object)
    raise ShapeInputError(
        f"the column {column.name!r} must be text or numbers, got {values.dtype}: convert dates to numbers of days."
    )


def join_columns(columns: "Sequence[pd.Series]") -> "pd.Series":
    """Return the combinations of columns, joined by points; missing where one of them is."""
    if len(columns) == 1:
        return columns[0]
    texts = [column.astype(str).mask(is_missing(column)) for column in columns]
    joined: pd.Series = texts[0].str.cat(texts[1:], sep=".")
    return joined.rename(".".join(str(column.name) for column in columns))


def as_groups(column: "pd.Series") -> tuple[IntArray, list[str]]:
    """Return the group of each row as a number, and the names of the groups in their natural order."""
    values = column.cat.remove_unused_categories() if str(column.dtype) == "category" else column
    if str(values.dtype) == "category":
        return values.cat.codes.to_numpy().astype(np.int64), [str(one) for one in values.cat.categories]
    kinds, codes = np.unique(values.to_numpy(), return_inverse=True)
    return codes.astype(np.int64), [str(int(k)) if isinstance(k, float) and k.is_integer() else str(k) for k in kinds]


def as_columns(data: Any, n_shapes: int) -> dict[str, Any]:
    """Return the columns of a data frame or a mapping; refuse those without one entry per shape."""
    if data is None:
        return {}
    if not (is_data_frame(data) or isinstance(data, Mapping)):
        raise ParameterTypeError(
            f"{parameter('data')} must be a data frame, or a dict of columns, got {type(data).__name__}."
        )
    columns = {}
    for name in data.keys():  # noqa: SIM118
        values = data[name]
        if np.ndim(values) != 1 or len(values) != n_shapes:
            raise ShapeInputError(
                f"{parameter('data')} must have one row for each of the {n_shapes} shapes, in their order, but its "
                f"column {name!r} has shape {np.shape(values)}. To join a table by a key, use ShapeSet.join."
            )
        # The order of rows counts, not the index of a data frame.
        columns[str(name)] = getattr(values, "array", values)
    return columns


def _centroid_sizes(configurations: ComplexArray, space: Space) -> FloatArray:
    sizes = np.full(len(configurations), np.nan)
    is_whole = ~np.isnan(configurations).any(axis=1)
    if is_whole.any():
        sizes[is_whole] = space.norm(space.centered(configurations[is_whole]))
    return sizes


def _remarks_of(shapes: Any) -> list[str]:
    preparation = getattr(shapes, "preparation", None)
    is_loose = preparation is not None and preparation.is_recorded and not preparation.is_registered
    if isinstance(shapes, ShapeSet) and shapes.closed and is_loose:
        return [
            "The outlines are not registered: differences of start points count as differences of shape; see "
            "sx.register."
        ]
    return []


def check_values(values: ArrayLike, n_rows: int, name: str) -> FloatArray:
    """Return a real table with one row per shape; refuse what is none."""
    table = np.asarray(values)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise ShapeInputError(f"{parameter(name)} must be shapes or a real table, got shape {np.shape(values)}.")
    if n_rows and len(table) != n_rows:
        raise ShapeInputError(f"{parameter(name)} must have {n_rows} rows, got {len(table)}.")
    return table.astype(np.float64)
