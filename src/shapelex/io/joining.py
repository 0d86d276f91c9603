"""Join the rows of a sheet of metadata to shapes, by a column that names the shapes."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shapelex._messages import parameter
from shapelex._validation import is_data_frame
from shapelex.exceptions import ShapeInputError
from shapelex.files.tables import CellKind, as_text, as_value, open_table
from shapelex.io.names import Names, id_in_full, tell_apart, without_numbers
from shapelex.shapes.columns import FILE, column_from_values
from shapelex.shapes.identity import GIVEN_ID

if TYPE_CHECKING:
    from shapelex.shapes.set import ShapeSet

_NAMED = 5
_MOST_COUNTED = 100_000
_OWN_NAMES = ("id", "sequence", "closed")
# Titles are looked for in so many rows.
_MOST_TITLES = 20


class _Told(NamedTuple):
    """What a shape is called: for the user, in full first to look it up, and what else it may not share a row with."""

    name: str
    lookups: tuple[str, ...]
    owner: str | None


class Sheet:
    """Rows of a data frame by their keys, and which of them have been used.

    Parameters
    ----------
    source : DataFrame or path
        The sheet, one row per key: a data frame, or a file with text, ``.xlsx`` or ``.parquet``.
    on : str, optional
        What shapes are found by: a column of both, or ``"SHAPES=SHEET"``. By default their ids, then their files, in
        a column ``id`` or ``file`` of the sheet, then in its first column.
    """

    def __init__(self, source: Any, on: str | None) -> None:
        if not is_data_frame(source):
            source = Path(source).expanduser()
            if not source.is_file():
                raise FileNotFoundError(f"There is no file {source} to join.")
        table = open_table(source, header=True, count_titles=lambda rows: _find_names(rows[:_MOST_TITLES], on))
        self.name = str(source) if isinstance(source, Path) else "the data frame"
        columns, blocks = table.names or list(map(str, range(len(table.first)))), list(table.sound_blocks())
        twice = [column for column, count in Counter(columns).items() if count > 1]
        if twice:
            raise ShapeInputError(f"{self.name} has several columns {twice[0]!r}: rename or remove all but one.")
        self.all_columns = columns
        # The cells as they are written, which tells more of keys than their values: 007.
        self._texts = {
            name: list(chain.from_iterable(block.values(place) for block in blocks))
            for place, name in enumerate(columns)
        }
        self._cells = dict(self._texts)
        for name, cells in self._texts.items() if table.n_characters else ():
            kind = CellKind(table.decimal)
            kind.see(set(cells))
            self._cells[name] = list(map(kind.converter(), cells))
        above = ", ".join(map(repr, table.titles))
        self._remarks = [f"left out above the names of the columns of {self.name}: {above}"] if above else []
        self._ways = self._ways_to_join(on)
        self._names: Names | None = None
        self._owners: dict[int, str | None] = {}
        self._alone: dict[str, None] = {}
        self._n_alone = 0
        if len(self._ways) == 1:
            self._open(self._ways[0])
        else:
            self.kind, self.key = self._ways[0]

    @property
    def on(self) -> str:
        """The columns that are compared, as users name them."""
        return self.kind if self.kind == self.key else f"{self.kind}={self.key}"

    @property
    def columns(self) -> list[str]:
        """The columns that are joined."""
        return [name for name in self.all_columns if name not in (self.key, "")]

    def join(self, shapes: "ShapeSet", files: Sequence[Path] | None = None) -> "ShapeSet":
        """Return a set with the columns of the sheet; `files` are those that are being read, one for each shape.

        Refused are columns that shapes have, or that only files may say.
        """
        if self._names is None:
            fitting = (way for way in self._ways if self._fits(way, shapes, files))
            self._open(next(fitting, self._ways[0]))
        assert self._names is not None
        told = _names_of(shapes, files, self.kind)
        if told is None:
            raise ShapeInputError(
                f"{parameter('on', self.on)}: {self.kind!r} is not a column of the shapes, which have "
                f"{', '.join(['id', *shapes.metadata])}."
            )
        taken = [name for name in self.columns if name in (*shapes.metadata, *_OWN_NAMES)]
        if taken:
            why = "the shapes have too" if taken[0] in shapes.metadata else "means something else in tables of shapes"
            raise ShapeInputError(f"{self.name} has a column {taken[0]!r}, which {why}: rename it in the sheet.")
        # What is written in full comes first, and is not meant by its end, too.
        keys = set(self._names.names)
        found = {one: self._row(one) for one in sorted(dict.fromkeys(told), key=lambda one: one.name not in keys)}
        rows = [found[one] for one in told]
        self._n_alone += rows.count(None)
        joined = {
            name: column_from_values([None if row is None else self._cells[name][row] for row in rows])
            for name in self.columns
        }
        return shapes.replace(metadata={**shapes.metadata, **joined})

    def notes(self) -> list[str]:
        """Return remarks on what was joined and what has no counterpart; refuse a sheet of which nothing fits."""
        keys = self._keys(self.key)
        if not self._owners:
            example = parameter("on", f"{self.kind}={self.all_columns[-1]}")
            raise ShapeInputError(
                f"no row of {self.name} fits a shape: its column {self.key!r} has "
                f"{_name_some(list(filter(None, keys)))}, the shapes have {_name_some(self._alone)}; name what to "
                f"compare, as in {example}."
            )
        is_guess = len(self._ways) > 1 and self.key.strip().lower() not in ("id", FILE)
        if is_guess and self._n_alone:
            raise ShapeInputError(
                f"{parameter('on=')} was not given, and the first column {self.key!r} of {self.name} fits some of the "
                f"shapes, but not {_name_some(self._alone)}: if it names them, say {parameter('on', self.on)}."
            )
        rows = f"{len(self._owners)} row{'' if len(self._owners) == 1 else 's'}"
        found = f", which was found to fit (on={self.on!r}, --on {self.on})" if len(self._ways) > 1 else ""
        notes = [*self._remarks, f"joined {', '.join(self.columns)} from {self.name} by {self.on}{found}, {rows}"]
        if self._n_alone:
            alone = _name_some(self._alone)
            subject = "1 shape has" if self._n_alone == 1 else f"{self._n_alone} shapes have"
            notes.append(f"{subject} no row in {self.name}: {alone}")
        unused = [key for row, key in enumerate(keys) if key and row not in self._owners]
        if unused:
            subject = f"1 row of {self.name} fits" if len(unused) == 1 else f"{len(unused)} rows of {self.name} fit"
            notes.append(f"{subject} no shape: {_name_some(unused)}")
        return notes

    def _ways_to_join(self, on: str | None) -> list[tuple[str, str]]:
        """Return the columns of the shapes and of the sheet that may be compared, those preferred first."""
        if on is None:
            usual = [name for kind in ("id", FILE) for name in self.all_columns if name.strip().lower() == kind]
            keys = dict.fromkeys([*usual, *self.all_columns[:1]])
            return [(kind, key) for key in keys for kind in ("id", FILE)]
        kind, _, key = (on, "", on) if on in self.all_columns else on.partition("=")
        if (key or kind) not in self.all_columns:
            raise ShapeInputError(
                f"{self.name} has no column {key or kind!r} to find shapes by, only {', '.join(self.all_columns)}: "
                f"name one of them with {parameter('on=')}, as in {parameter('on', f'{kind}={self.all_columns[0]}')}."
            )
        return [(kind, key or kind)]

    def _keys(self, column: str) -> list[str]:
        return [as_text(cell) for cell in self._texts[column]]

    def _fits(self, way: tuple[str, str], shapes: "ShapeSet", files: Sequence[Path] | None) -> bool:
        """Tell whether some shape has a row if these columns are compared."""
        names, told = Names(self._keys(way[1]), way[0]), _names_of(shapes, files, way[0])
        return told is not None and any(_find(names, one) is not None for one in told)

    def _open(self, way: tuple[str, str]) -> None:
        """Compare these columns: read the keys and the cells of the sheet."""
        self.kind, self.key = way
        keys = self._keys(self.key)
        if twice := [key for key, count in Counter(filter(None, keys)).items() if count > 1]:
            folders = f"; name every file with its folder, as in 'control/{twice[0]}'" if self.kind == FILE else ""
            raise ShapeInputError(
                f"{self.name} has several rows with {self.key}={twice[0]!r}: keep one of them, or name shapes so that "
                f"they differ{folders}."
            )
        self._names = Names(keys, self.kind)
        for name in self.columns:
            values = _as_values(self._cells[name])
            texts = {value for value in values if isinstance(value, str)}
            cleaned = {text: " ".join(text.split()) for text in texts}
            if merged := sorted(text for text in texts if cleaned[text] != text and cleaned[text] in texts):
                self._remarks.append(f"column {name!r} of {self.name}: blanks were removed from {_name_some(merged)}")
            self._remarks += spelling_notes(cleaned.values(), f"column {name!r} of {self.name}")
            self._cells[name] = [cleaned[value] if isinstance(value, str) else value for value in values]

    def _row(self, told: _Told) -> int | None:
        """Return the number of the row of a shape, None where there is none; refuse one that several files may mean."""
        assert self._names is not None
        row = _find(self._names, told)
        if row is None:
            if len(self._alone) < _MOST_COUNTED:
                self._alone[told.name] = None
            return None
        first, key = self._owners.setdefault(row, told.owner), self._names.names[row]
        if told.owner is None or first is None or first == told.owner:
            return row
        if first == key != told.name:
            return None
        apart = tell_apart([Path(first), Path(told.owner)])[Path(first)]
        one_specimen = f", or {parameter('on', f'{GIVEN_ID}={self.key}')} if they are one" * (self.kind == "id")
        raise ShapeInputError(
            f"{key!r} in {self.name} may be {first!r} or {told.owner!r}: write which, as in {apart!r}{one_specimen}."
        )


def _find_names(rows: Sequence[Sequence[str]], on: str | None) -> int:
    """Return the number of the row that names the columns: that with the key, or the first one that is mostly full."""
    for keys in [("id", "file")] if on is None else [(on,), (on.rpartition("=")[2].strip(),)]:
        named = (place for place, row in enumerate(rows) if not {*keys}.isdisjoint(map(str.strip, row)))
        if (place := next(named, None)) is not None:
            return place
    n_cells = [sum(map(bool, map(str.strip, row))) for row in rows]
    return next((place for place, n in enumerate(n_cells) if 2 * n > max(n_cells)), 0)


def label_by(shapes: "ShapeSet", name: str) -> "ShapeSet":
    """Return a set with a column of its metadata as its labels, too."""
    metadata = dict(shapes.metadata)
    if name not in metadata:
        raise ShapeInputError(
            f"{parameter('label', name)} is not a column of the shapes, which have {', '.join(metadata) or 'none'}."
        )
    labels = [as_text(value) for value in metadata[name].tolist()]
    if name == "label":
        del metadata[name]
    return shapes.replace(labels=labels, metadata=metadata)


def spelling_notes(values: Iterable[str], where: str) -> list[str]:
    """Return remarks on texts that differ only by blanks or by case."""
    spellings: dict[str, set[str]] = {}
    for value in values:
        spellings.setdefault(" ".join(value.split()).casefold(), set()).add(value)
    several = sorted(map(sorted, (same for same in spellings.values() if len(same) > 1)))
    return [
        f"{where}: {' and '.join(map(repr, same))} differ only in case or blanks, and stay different groups; "
        "correct them if they are one"
        for same in several[:_NAMED]
    ]


def _names_of(shapes: "ShapeSet", files: Sequence[Path] | None, kind: str) -> list[_Told] | None:
    """Return what shapes are called in a column; None where they do not have it."""
    if kind == "id":
        whole = ids = shapes.ids.tolist()
        if files is not None:
            # Ids become unique once all files are read; until then, a file and an id say which shape is meant.
            paths = {file: file.absolute() for file in dict.fromkeys(files)}
            whole = [id_in_full(name, paths[file]) for name, file in zip(ids, files, strict=True)]
        # A row may be that of all shapes that were given one id, or of all objects in a file.
        pairs = [(name, full, without_numbers(full)) for name, full in zip(ids, whole, strict=True)]
        return [_Told(name, (full, name, one) if "/" in name else (full, one), one) for name, full, one in pairs]
    known = shapes.metadata
    if kind == FILE and files is not None:
        typed = {str(file): str(file.absolute()) for file in dict.fromkeys(files)}
        own = known[FILE].tolist() if FILE in known else list(map(str, files))
        return [_Told(name, (typed.get(name, name),), name) for name in own]
    if kind not in known and kind != GIVEN_ID:
        return None
    texts = map(as_text, known.get(kind, shapes.ids).tolist())
    return [_Told(text, (text,), text if kind == FILE else None) for text in texts]


def _find(names: Names, told: _Told) -> int | None:
    return next((row for one in told.lookups if (row := names.find(one)) is not None), None)


def _as_values(cells: Sequence[Any]) -> list[Any]:
    """Return the cells of a column, as text where they are not all of one kind; None where one is missing."""
    values = [as_value(cell) for cell in cells]
    is_text = column_from_values(values).dtype.kind == "U"
    return [None if value is None else str(value) for value in values] if is_text else values


def _name_some(keys: Collection[str]) -> str:
    n_more = len(keys) - _NAMED
    return ", ".join(map(repr, islice(keys, _NAMED))) + (f" and {n_more} more" if n_more > 0 else "")
