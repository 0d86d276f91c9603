"""Join the rows of a sheet of metadata to shapes, by a column that names the shapes."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from shapelex._messages import parameter
from shapelex.exceptions import ShapeInputError
from shapelex.shapes.columns import column_from_values

if TYPE_CHECKING:
    import pandas as pd

    from shapelex.shapes.set import ShapeSet

MASK_NAME = re.compile(r"(?i)(.+?)[-_ .](?:cp_)?(?:masks?|labels?|seg|segmentation)")
"""Ends of the names of masks, after the name of the image that was segmented."""

_NAMED = 5
_MOST_COUNTED = 100_000
_ENDINGS = re.compile(r"(?<=.)(\.[a-zA-Z]\w*)+$")


class Sheet:
    """Rows of a data frame by their keys, and which of them have been used.

    Parameters
    ----------
    df : DataFrame
        The sheet, one row per key.
    on : str
        Column of the keys; an index of this name is taken too.
    name : str
        What to call the sheet in messages.
    """

    def __init__(self, df: "pd.DataFrame", on: str, name: str) -> None:
        if on not in df.columns and on in df.index.names:
            df = df.reset_index()
        if on not in df.columns:
            raise ShapeInputError(
                f"{name} has no column {on!r} to find shapes by, only {', '.join(map(str, df.columns))}: name one of "
                f"them with {parameter('on=')}."
            )
        twice = [str(column) for column in df.columns[df.columns.duplicated()]]
        if twice:
            raise ShapeInputError(f"{name} has several columns {twice[0]!r}: rename or remove all but one.")
        self.name, self.on = name, on
        self.columns = [str(column) for column in df.columns if column != on]
        self._cells = {str(column): _as_values(df[column].tolist()) for column in df.columns if column != on}
        self._keys = {row: key for row, key in enumerate(map(as_text, df[on].tolist())) if key}
        self._rows = {key: row for row, key in self._keys.items()}
        if twice := [key for key, count in Counter(self._keys.values()).items() if count > 1]:
            raise ShapeInputError(f"{name} has several rows with {on}={twice[0]!r}: keep one of them.")
        # Names of files without endings, where they are of one row only; a folder says which file is meant.
        names = {row: key for row, key in self._keys.items() if PurePath(key).name == key}
        pairs = [(short, row) for row, key in names.items() for short in keys_of(key, on)[1:]]
        counts = Counter(short for short, _ in pairs)
        self._rows = {short: row for short, row in pairs if counts[short] == 1} | self._rows
        self._used: set[int] = set()
        self._alone: dict[str, None] = {}
        self._n_alone = 0

    def join(self, shapes: "ShapeSet") -> "ShapeSet":
        """Return a set with the columns of the sheet; refuse columns that shapes have, or that only files may say."""
        if self.on != "id" and self.on not in shapes.metadata:
            known = ", ".join(["id", *shapes.metadata])
            raise ShapeInputError(f"{parameter('on', self.on)} is not a column of the shapes, which have {known}.")
        taken = [name for name in self.columns if name in (*shapes.metadata, "id", "sequence", "closed")]
        if taken:
            why = "the shapes have too" if taken[0] in shapes.metadata else "means something else in tables of shapes"
            raise ShapeInputError(f"{self.name} has a column {taken[0]!r}, which {why}: rename it in the sheet.")
        keys = shapes.ids if self.on == "id" else shapes.metadata[self.on]
        rows = [self._row(keys_of(key, self.on)) for key in keys.tolist()]
        joined = {
            name: column_from_values([None if row is None else cells[row] for row in rows])
            for name, cells in self._cells.items()
        }
        return shapes.replace(metadata={**shapes.metadata, **joined})

    def notes(self) -> list[str]:
        """Return remarks on what was joined and what has no counterpart; refuse a sheet of which nothing fits."""
        if not self._used:
            raise ShapeInputError(
                f"no row of {self.name} fits a shape: its column {self.on!r} has {_name_some(self._keys.values())}, "
                f"the shapes have {_name_some(self._alone)}; name another column with {parameter('on=')}."
            )
        rows = f"{len(self._used)} row{'' if len(self._used) == 1 else 's'}"
        notes = [f"joined {', '.join(self.columns)} from {self.name} by {self.on}, {rows}"]
        if self._n_alone:
            alone = _name_some(self._alone)
            subject = "1 shape has" if self._n_alone == 1 else f"{self._n_alone} shapes have"
            notes.append(f"{subject} no row in {self.name}: {alone}")
        unused = [key for row, key in self._keys.items() if row not in self._used]
        if unused:
            subject = f"1 row of {self.name} fits" if len(unused) == 1 else f"{len(unused)} rows of {self.name} fit"
            notes.append(f"{subject} no shape: {_name_some(unused)}")
        return notes

    def _row(self, keys: Sequence[str]) -> int | None:
        """Return the number of the row of a shape, by the first of its keys that there is; None where there is none."""
        for key in keys:
            if key in self._rows:
                self._used.add(self._rows[key])
                return self._rows[key]
        self._n_alone += 1
        if len(self._alone) < _MOST_COUNTED:
            self._alone[keys[0]] = None
        return None


def label_by(shapes: "ShapeSet", name: str) -> "ShapeSet":
    """Return a set with a column of its metadata as its labels."""
    metadata = dict(shapes.metadata)
    if name not in metadata:
        raise ShapeInputError(
            f"{parameter('label', name)} is not a column of the shapes, which have {', '.join(metadata) or 'none'}."
        )
    return shapes.replace(labels=[as_text(value) for value in metadata.pop(name).tolist()], metadata=metadata)


def keys_of(key: Any, on: str) -> list[str]:
    """Return what a shape may be called in a sheet: its key; of a file also the name, and the name without endings."""
    text = as_text(key)
    if on != "file":
        return [text]
    name = PurePath(text).name
    # In plate.12.png, 12 is not an ending.
    names = [text, name, PurePath(name).stem, _ENDINGS.sub("", name)]
    if found := MASK_NAME.fullmatch(PurePath(name).stem):
        # The image that a mask was made of, which sheets name more often than the mask.
        names += [found[1] + PurePath(name).suffix, found[1]]
    return list(dict.fromkeys(names))


def as_text(cell: Any) -> str:
    """Return a cell as text; a missing one is empty, and whole numbers have no point."""
    value = as_value(cell)
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def as_value(cell: Any) -> Any:
    """Return a cell as text, number or boolean; None where it is missing."""
    import pandas as pd

    if cell is None or cell is pd.NaT or cell is pd.NA or cell != cell:
        return None
    return cell if isinstance(cell, bool | int | float | str) else str(cell)


def _as_values(cells: Sequence[Any]) -> list[Any]:
    """Return the cells of a column, as text where they are not all of one kind; None where one is missing."""
    values = [as_value(cell) for cell in cells]
    is_text = column_from_values(values).dtype.kind == "U"
    return [None if value is None else str(value) for value in values] if is_text else values


def _name_some(keys: Collection[str]) -> str:
    n_more = len(keys) - _NAMED
    return ", ".join(map(repr, islice(keys, _NAMED))) + (f" and {n_more} more" if n_more > 0 else "")
