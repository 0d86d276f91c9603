"""Read tables, whatever they come from: text, sheets of Excel, Parquet files, data frames.

A table is read in blocks of rows. The cells of text are text; those of the others are what they hold.
"""

import csv
import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from shapelex._extras import load_openpyxl, load_pyarrow
from shapelex._messages import format_option
from shapelex._typing import FloatArray
from shapelex._validation import check_choice, check_flag, is_data_frame
from shapelex.exceptions import ParameterError, ShapeFileError
from shapelex.files.guards import check_regular, check_swelling, refusing, zip_members
from shapelex.files.numbers import MISSING_WORDS, parse_number
from shapelex.files.text_file import TextFile, open_text

if TYPE_CHECKING:
    import pandas as pd

# What a sheet of Excel can hold.
MAX_ROWS = 1 << 20
# Sheets of so many cells, or of which one cell in so many holds something, are no accident.
_FREE_CELLS, _MOST_EMPTY = 10_000, 50
_PARQUET_ROWS = 1 << 12
_BLOCK_CELLS = 1 << 12

_DELIMITERS = ("\t", ";", "|", ",", " ")
_SAMPLE_ROWS = 100
_SAMPLE_CHARACTERS = 1 << 20
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")

# Spreadsheets skip blanks and control characters before a formula. Text that has an apostrophe already gets one more:
# what is read is then what was written.
_FORMULA = re.compile(r"'*(\s*[=+@-]|[\t\r\n])")

_BOOLEANS = {"True": True, "False": False}
# In a column of text, other words for missing numbers may have a meaning: no drug is none, a lost gene is -.
_MISSING_TEXTS = frozenset({"", "na", "nan", "n/a", "#n/a"})
_AS_THEY_ARE: dict[str, Any] = {
    "header": None, "dtype": object, "keep_default_na": False,
    "na_values": ["", "NA", "nan", "NaN", "N/A", "n/a", "#N/A"],
}  # fmt: skip
# 007 is a name, not a number.
_LEADING_ZERO = re.compile(r"\s*[-+]?0\d")
_LARGEST = 1 << 62

# Data frames that follow each other, each with what its rows are called in messages.
Frames: TypeAlias = Iterator[tuple["pd.DataFrame", Sequence[Any]]]
CountTitles: TypeAlias = Callable[[Sequence[Sequence[str]]], int]


@dataclass(frozen=True)
class Block:
    """Some rows of a table.

    Parameters
    ----------
    columns : list of tuple of str, or DataFrame
        Cells by the place of their column: text as it is written, or what a data frame holds.
    lines : sequence
        Line or row of the source that each row is on, for messages.
    faults : dict of int to str
        What is wrong with rows that cannot be used.
    """

    columns: Any
    lines: Sequence[Any]
    faults: dict[int, str] = field(default_factory=dict)

    def texts(self, place: int) -> list[str]:
        """Return the cells of a column as text."""
        cells = self.columns[place]
        return _read_texts(cells) if isinstance(cells, tuple) else list(map(as_text, cells.tolist()))

    def values(self, place: int) -> list[Any]:
        """Return the cells of a column as text, numbers or booleans, None where they are missing."""
        cells = self.columns[place]
        if isinstance(cells, tuple):
            return _read_texts(cells)
        is_whole = cells.dtype.kind in "biuf" and not cells.isna().any()
        return cells.tolist() if is_whole else list(map(as_value, cells.tolist()))

    def numbers(self, places: Sequence[int], decimal: str = ".") -> tuple[FloatArray, dict[int, str]]:
        """Return the numbers in some columns, and the faults of the rows with those that lack one."""
        values, faults = np.full((len(self.lines), len(places)), np.nan), dict(self.faults)
        if isinstance(self.columns, list):
            # Most blocks are numbers throughout; a row of a wide table may have thousands of columns.
            every = _plain_numbers(tuple(chain.from_iterable(self.columns[place] for place in places)), decimal)
            if every is not None:
                return every.reshape(len(places), -1).T, faults
        for column, place in enumerate(places):
            cells = self.columns[place]
            if (plain := _plain_numbers(cells, decimal)) is not None:
                values[:, column] = plain
                continue
            for row, cell in enumerate(cells):
                try:
                    text = with_formula(cell) if isinstance(cell, str) else as_text(cell)
                    values[row, column] = parse_number(text, decimal)
                except ValueError as error:
                    faults.setdefault(row, f"{error}, but a coordinate is expected.")
        return values, dict(sorted(faults.items()))


@dataclass(frozen=True)
class Table:
    """A table that has been opened.

    Parameters
    ----------
    name : str
        What to call it in messages.
    names : list of str, or None
        Names of its columns.
    first : list of str
        The first row of values, as text.
    blocks : callable
        Returns the blocks of its rows from the first.
    titles : list of str
        What stands above the names.
    decimal : {".", ","}
        Decimal mark.
    n_characters : int
        Length of a text; 0 for a table of values.
    """

    name: str
    names: list[str] | None
    first: list[str]
    blocks: Callable[[], Iterator[Block]]
    titles: list[str] = field(default_factory=list)
    decimal: str = "."
    n_characters: int = 0

    def sound_blocks(self) -> Iterator[Block]:
        """Yield the blocks of a table in which every row can be read."""
        for block in self.blocks():
            for row, fault in block.faults.items():
                raise ShapeFileError(f"{self.name}, line {block.lines[row]}: {fault}")
            yield block


def open_table(
    source: Any,
    kind: str | None = None,
    *,
    sheet: str | int | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    count_titles: CountTitles = lambda _: 0,
) -> Table:
    """Open a table, and find how it is written where the caller does not say it.

    Parameters
    ----------
    source : Path or DataFrame
        The table.
    kind : {"text", "excel", "parquet"}, optional
        What the file is; by default the end of its name tells.
    sheet : str or int, optional
        Sheet to read, by name or counted from 0; needed where there are several.
    header : bool, optional
        Whether the first row has names; None looks at it.
    columns : list of str, optional
        Names of the columns of a table that has none.
    delimiter, decimal : str, optional
        What separates two cells, and the decimal mark, of text; None finds them.
    count_titles : callable
        Tells how many of the first rows are above the names of the columns.
    """
    if is_data_frame(source):
        return _open_frames(lambda: iter([(source, source.index.tolist())]), "DataFrame")
    path = Path(source)
    if header is not None:
        check_flag(header, format_option("header"))
    if decimal is not None:
        check_choice(decimal, (".", ","), format_option("decimal"))
    kind = kind or {".xlsx": "excel", ".parquet": "parquet"}.get(path.suffix.lower(), "text")
    find_names = partial(_find_names, str(path), header, columns, count_titles)
    if kind == "parquet":
        return _open_frames(partial(_parquet_frames, path), str(path))
    if kind == "text":
        return _open_text_table(path, delimiter, decimal, find_names)
    load_openpyxl()
    with refusing(path, "an Excel workbook"):
        rows = read_rows(path, sheet)
        if not rows:
            raise ShapeFileError(f"{path}: it holds no values.")
        cells = rows_as_frame([row for _, row in rows], **_AS_THEY_ARE).set_axis([row for row, _ in rows])
        cells = cells.dropna(how="all")
    sample = [list(map(as_text, row)) for row in cells.iloc[:_SAMPLE_ROWS].to_numpy().tolist()]
    n_head, names, titles = find_names(sample, ".")
    body = cells.iloc[n_head:].apply(_without_words).infer_objects()
    if names is not None:
        body = body.set_axis(names, axis=1)
    table = _open_frames(lambda: iter([(body.reset_index(drop=True), list(map(int, body.index)))]), str(path))
    return replace(table, names=names, titles=titles)


def _without_words(column: "pd.Series") -> "pd.Series":
    """Return a column without words for missing numbers, if it holds numbers and no other text."""
    is_text = column.map(lambda cell: isinstance(cell, str))
    has_numbers = bool((~is_text & column.notna()).any())
    return (
        column.mask(is_text) if has_numbers and {*column[is_text].str.strip().str.lower()} <= MISSING_WORDS else column
    )


class TextRows:
    """The rows of text, one after the other, that are not empty."""

    def __init__(self, lines: Iterable[str], delimiter: str, path: Path) -> None:
        if len(delimiter) != 1:
            raise ParameterError(f"{format_option('delimiter')} must be one character, got {delimiter!r}.")
        if delimiter == " ":
            lines = (line.replace("\t", " ").strip(" ") for line in lines)
        self._reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t")
        self._path = path

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the next rows, one at a time."""
        return ([with_formula(cell) for cell in rows[0]] for rows, _ in self._batches(1))

    def blocks(self, n_columns: int) -> Iterator[Block]:
        """Yield the next rows in blocks of this many columns."""
        for rows, lines in self._batches(max(4, _BLOCK_CELLS // n_columns)):
            faults = {}
            if set(map(len, rows)) != {n_columns}:
                for place, row in enumerate(rows):
                    if len(row) != n_columns:
                        faults[place] = f"it has {len(row)} columns, the table has {n_columns}."
                        row[n_columns:] = [""] * (n_columns - len(row))
            yield Block(list(zip(*rows, strict=True)), lines, faults)

    def _batches(self, n_rows: int) -> Iterator[tuple[list[list[str]], Sequence[int]]]:
        """Yield up to so many rows together, with the number of the line each ends on."""
        while True:
            start = self._reader.line_num
            try:
                rows = list(islice(self._reader, n_rows))
            except csv.Error as error:
                message = f"{self._path}, line {self._reader.line_num}: it cannot be split into columns ({error})."
                raise ShapeFileError(message) from error
            if not rows:
                return
            lines: Sequence[int] = range(start + 1, start + 1 + len(rows))
            if lines[-1] != self._reader.line_num:
                lines = list(accumulate((1 + sum(map(_n_line_ends, row)) for row in rows), initial=start))[1:]
            if min(map(len, rows)) > 1:
                yield rows, lines
                continue
            kept = [place for place, row in enumerate(rows) if len(row) > 1 or (row and row[0].strip())]
            if kept:
                yield [rows[place] for place in kept], [lines[place] for place in kept]


def text_lines(text: TextFile) -> Iterator[str]:
    r"""Yield the lines of a text with their ends, which may be ``\n``, ``\r\n`` or ``\r``."""
    return chain.from_iterable(io.StringIO(block, newline="") for block in text.blocks(keeps_line_ends=True))


def _n_line_ends(cell: str) -> int:
    return cell.count("\n") + cell.count("\r") - cell.count("\r\n")


def _open_text_table(path: Path, delimiter: str | None, decimal: str | None, find_names: Callable[..., Any]) -> Table:
    text = open_text(path)
    lines, n_rows, n_characters = [], 0, 0
    for line in text_lines(text):
        lines.append(line)
        n_rows += bool(line.strip()) and line[0] != "#"
        n_characters += len(line)
        if n_rows >= _SAMPLE_ROWS or (n_rows > 1 and n_characters > _SAMPLE_CHARACTERS):
            break
    delimiter = delimiter or _find_delimiter(path, lines)
    sample = list(TextRows(lines, delimiter, path))
    n_remarks = next((place for place, row in enumerate(sample) if not _is_comment(row)), len(sample))
    start = sample[n_remarks:]
    # Between commas, "1,000" may be a thousand or one: unless the caller says which, it is no number.
    mark = decimal or ("." if delimiter == "," else _find_decimal(start))
    n_head, names, titles = find_names(start, mark)
    first = start[n_head]
    if names is not None:
        if len(first) == len(names) + 1:
            # R gives no name to the column of row names.
            names = ["", *names]
        first = first[: len(names)] + [""] * (len(names) - len(first))

    def blocks() -> Iterator[Block]:
        rows = TextRows(text_lines(text), delimiter, path)
        # Rows above the values.
        list(islice(rows, n_remarks + n_head))
        return rows.blocks(len(first))

    return Table(str(path), names, first, blocks, titles, mark, text.n_characters)


def _find_names(
    name: str,
    header: bool | None,
    columns: Sequence[str] | None,
    count_titles: CountTitles,
    rows: Sequence[list[str]],
    decimal: str,
) -> tuple[int, list[str] | None, list[str]]:
    """Return the number of rows above the values, the names of the columns, and the titles above these."""
    n_titles = count_titles(rows)
    titles, rows = [" ".join(filter(None, row)) for row in rows[:n_titles]], rows[n_titles:]
    if not rows:
        raise ShapeFileError(f"{name}: it holds no values.")
    if columns is not None and len(columns) != len(rows[0]):
        raise ShapeFileError(f"{name}: columns names {len(columns)} columns, but the table has {len(rows[0])}.")
    if header is None:
        header = columns is None and _looks_like_names(name, rows[0], rows[1] if len(rows) > 1 else None, decimal)
    if header and len(rows) == 1:
        raise ShapeFileError(f"{name}: there are names of columns, but no values.")
    names = list(columns) if columns is not None else rows[0] if header else None
    return n_titles + header, names, titles


def _find_delimiter(path: Path, lines: Sequence[str]) -> str:
    plain = [line for line in lines if line.strip() and line[0] != "#"]
    best, best_share = "", 0.0
    for delimiter in _DELIMITERS:
        try:
            widths = Counter(map(len, TextRows(plain, delimiter, path)))
        except ShapeFileError:
            # Without the right separator a line may be one cell too long for the parser.
            continue
        width, times = max(widths.items(), key=lambda item: item[1], default=(1, 0))
        share = times / max(1, sum(widths.values()))
        if width > 1 and share > best_share:
            best, best_share = delimiter, share
    if not best:
        raise ShapeFileError(
            f"{path} is no table: its lines have no common number of columns; give {format_option('delimiter=')}."
        )
    return best


def _find_decimal(rows: Sequence[list[str]]) -> str:
    cells = [cell.strip() for row in rows for cell in row]
    has_comma = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    return "," if has_comma and not any(_DECIMAL_POINT.fullmatch(cell) for cell in cells) else "."


def _is_comment(row: Sequence[str]) -> bool:
    """Tell a remark above the table from a row whose id starts like one."""
    return row[0].startswith("#") and not any(_DECIMAL_POINT.fullmatch(cell) or cell.isdigit() for cell in row[1:])


def _looks_like_names(name: str, first: Sequence[str], second: Sequence[str] | None, decimal: str) -> bool:
    """Tell whether the first row of a table names its columns: a column has a word above a number."""
    are_numbers = [is_number(cell, decimal) for cell in first]
    if second is None:
        return not any(are_numbers)
    for cell, below, is_digit in zip(first, second, are_numbers, strict=False):
        if not is_digit and cell.strip().lower() not in MISSING_WORDS and is_number(below, decimal):
            return True
    numbers = [cell.strip() for cell, is_digit in zip(first, are_numbers, strict=True) if is_digit and cell.strip()]
    if len(numbers) >= 4 and any(numbers == [str(start + place) for place in range(len(numbers))] for start in (0, 1)):
        raise ShapeFileError(
            f"{name}: the first row just counts, so it may be names or numbers: give "
            f"{format_option('header', True)} if it names the columns, else {format_option('header', False)}."
        )
    return False


def is_number(cell: str, decimal: str, place: int = 1) -> bool:
    """Tell a number; an empty cell counts as a missing one, but not in the first column, where ids are."""
    if not cell.strip():
        return place > 0
    try:
        parse_number(cell, decimal)
    except ValueError:
        return False
    return cell.strip().lower() not in MISSING_WORDS or place > 0


def _read_texts(cells: Sequence[str]) -> list[str]:
    """Return the cells of a text file as they were before they were made safe; equal ones take memory once."""
    known = {cell: with_formula(cell) for cell in set(cells)}
    return [known[cell] for cell in cells]


def _plain_numbers(cells: Any, decimal: str) -> FloatArray | None:
    """Return the numbers of a column; None where a cell is no number, or needs a closer look."""
    if not isinstance(cells, tuple):
        numbers: FloatArray | None = cells.to_numpy(np.float64, na_value=np.nan) if cells.dtype.kind in "fiu" else None
        return None if numbers is None or np.isinf(numbers).any() else numbers
    text = "".join(cells)
    # float also takes 1_000 and the digits of all scripts, which no file of numbers means.
    if "_" in text or not text.isascii():
        return None
    try:
        plain = cells if decimal == "." else (cell.replace(decimal, ".") for cell in cells)
        numbers = np.fromiter(map(float, plain), np.float64, len(cells))
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def read_rows(path: Path, sheet: str | int | None = None) -> list[tuple[int, list[Any]]]:
    """Return the rows of a sheet that are not empty, all of one length, with their numbers; empty cells are "".

    `sheet` is a name, or counted from 0; it is needed where there are several. Empty rows take no memory: a sheet may
    have a single cell in its last row. Libraries raise nearly anything on damaged workbooks.
    """
    openpyxl = load_openpyxl()
    check_regular(path)
    with zipfile.ZipFile(path) as archive:
        zip_members(archive, path)
    # openpyxl warns of what it leaves out, such as styles.
    with warnings.catch_warnings(action="ignore"), path.open("rb") as stream:
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        try:
            chosen = _choose_sheet(book, sheet, path)
            # What a file says of its extent may be wrong.
            chosen.reset_dimensions()
            rows, width = [], 0
            for number, cells in enumerate(chosen.iter_rows(), start=1):
                if number > MAX_ROWS:
                    raise ShapeFileError(f"{path}: a sheet has at most {MAX_ROWS} rows.")
                row = [_sheet_value(cell) for cell in cells]
                while row and row[-1] == "":
                    row.pop()
                if row:
                    width = max(width, len(row))
                    rows.append((number, row))
                    check_swelling(path.stat().st_size, 8 * width * len(rows), path)
        finally:
            book.close()
    n_cells = sum(len(row) - row.count("") for _, row in rows)
    if rows and width * len(rows) > max(_FREE_CELLS, _MOST_EMPTY * n_cells):
        last = f"{openpyxl.utils.get_column_letter(width)}{rows[-1][0]}"
        raise ShapeFileError(
            f"{path}: the sheet has cells up to {last}, but only {n_cells} hold something: remove the stray ones."
        )
    return [(number, row + [""] * (width - len(row))) for number, row in rows]


def rows_as_frame(rows: Sequence[Sequence[Any]], **options: Any) -> "pd.DataFrame":
    """Return rows of cells as a data frame, with the options of ``pandas.read_csv``."""
    from pandas.io.parsers import TextParser

    # A row of blanks is a row, too.
    frame: pd.DataFrame = TextParser(list(rows), skip_blank_lines=False, **options).read()
    return frame


def _choose_sheet(book: Any, sheet: str | int | None, path: Path) -> Any:
    sheets = {one.title: one for one in book.worksheets}
    known = list(sheets)
    chosen = known[0] if sheet is None and len(known) == 1 else sheet
    if isinstance(chosen, int) and 0 <= chosen < len(known):
        chosen = known[chosen]
    if chosen not in sheets:
        got = "" if sheet is None else f", got {sheet!r}"
        raise ShapeFileError(
            f"{path}: it has the sheets {', '.join(map(repr, known))}: name one with {format_option('sheet=')}{got}."
        )
    return sheets[chosen]


def _sheet_value(cell: Any) -> Any:
    """Return what a cell holds; a whole number as an integer, an error of Excel as NaN."""
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "e":
        return float("nan")
    return int(value) if isinstance(value, float) and value.is_integer() else value


def parquet_parts(path: Path, *, is_held: bool = True) -> Iterator[Any]:
    """Yield the rows of a Parquet file, a few at a time, as long as they do not take far more memory than the file.

    Equal values take nearly no room in it. `is_held` says whether all rows will be in memory at once.
    """
    check_regular(path)
    pyarrow = load_pyarrow()
    # By file, not by path: pyarrow takes paths for folders of partitions.
    with path.open("rb") as stream:
        schema = pyarrow.parquet.read_schema(stream)
        texts = [column.name for column in schema if column.type in (pyarrow.string(), pyarrow.large_string())]
        # Equal texts are one until it is known how much room they take.
        file = pyarrow.parquet.ParquetFile(stream, read_dictionary=texts)
        n_stored, described, n_bytes = path.stat().st_size, file.metadata, 0
        check_swelling(n_stored, 8 * described.num_rows * max(described.num_columns, 1), path, is_held=is_held)
        for part in file.iter_batches(_PARQUET_ROWS):
            # Text that is not UTF-8 fails only where it is used.
            part.validate(full=True)
            n_bytes += part.nbytes + sum(map(_text_bytes, part.columns))
            check_swelling(n_stored, n_bytes, path, is_held=is_held)
            yield from pyarrow.Table.from_batches([part]).cast(schema).to_batches()


def _text_bytes(column: Any) -> int:
    """Return how many bytes the texts of a column of a Parquet file take, those that are equal counted each."""
    if not hasattr(column, "dictionary"):
        return 0
    lengths = load_pyarrow().compute.binary_length(column.dictionary)
    return load_pyarrow().compute.sum(lengths.take(column.indices)).as_py() or 0


def _parquet_frames(path: Path) -> Frames:
    """Yield the parts of a Parquet file with the numbers of their rows."""
    n_rows = 0
    with refusing(path, "a Parquet file"):
        for part in parquet_parts(path, is_held=False):
            for column in part.schema:
                if load_pyarrow().types.is_nested(column.type):
                    raise ShapeFileError(
                        f"{path}: its column {column.name!r} holds {column.type}, several values in a cell: split it "
                        "into columns, or leave it out."
                    )
            yield part.to_pandas(), range(n_rows, n_rows + part.num_rows)
            n_rows += part.num_rows


def _open_frames(open_frames: Callable[[], Frames], name: str) -> Table:
    """Open data frames that follow each other; an index that has a name or is text is the first column."""
    import pandas as pd

    def with_index(frame: pd.DataFrame) -> pd.DataFrame:
        named = [name for name in frame.index.names if name is not None and name not in frame.columns]
        if named:
            return frame.reset_index(named)
        is_counted = isinstance(frame.index, pd.MultiIndex) or frame.index.dtype.kind in "iufbmM"
        return frame if is_counted else frame.reset_index(names="")

    def blocks() -> Iterator[Block]:
        for frame, rows in open_frames():
            cells = with_index(frame)
            yield Block(cells.set_axis(range(cells.shape[1]), axis=1), rows)

    first = next((with_index(frame) for frame, _ in open_frames() if len(frame)), None)
    if first is None:
        raise ShapeFileError(f"{name}: it holds no values.")
    # Columns that are only counted have no names.
    is_counted = first.columns.equals(pd.RangeIndex(first.shape[1]))
    names = None if is_counted else ["" if name is None else str(name) for name in first.columns]
    return Table(name, names, list(map(as_text, first.iloc[0].tolist())), blocks)


class CellKind:
    """The kind of a column of text: the first of booleans, whole numbers and numbers that all its cells are, or text.

    Examples
    --------
    >>> kind = CellKind()
    >>> kind.see(["1", "-", "2.5"])
    >>> list(map(kind.converter(), ["3", "-"]))
    [3.0, None]
    """

    def __init__(self, decimal: str = ".") -> None:
        self._possible: list[Callable[[str], Any]] = [
            *(_BOOLEANS.__getitem__, _as_whole),
            partial(parse_number, decimal=decimal),
        ]
        self._is_known = False

    def see(self, cells: Iterable[str]) -> None:
        """Take cells into account."""
        known = [cell for cell in cells if cell.strip().lower() not in MISSING_WORDS]
        self._is_known |= bool(known)
        if any(map(_LEADING_ZERO.match, known)):
            self._possible.clear()
        for convert in list(self._possible):
            try:
                list(map(convert, known))
            except (KeyError, ValueError):
                self._possible.remove(convert)

    def converter(self) -> Callable[[str], Any]:
        """Return a function from a cell to its value, None where it is missing; call it once all cells were seen."""
        is_text = not (self._possible and self._is_known)
        missing = _MISSING_TEXTS if is_text else MISSING_WORDS
        parse: Callable[[str], Any] = str if is_text else self._possible[0]

        # Most columns have few values.
        @lru_cache(maxsize=1024)
        def convert(cell: str) -> Any:
            return None if cell.strip().lower() in missing else parse(cell)

        return convert


def _as_whole(cell: str) -> int:
    number = int(cell)
    # 1_0 is a name, not a number.
    if cell != str(number) or abs(number) >= _LARGEST:
        raise ValueError
    return number


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


def without_formula(value: Any) -> Any:
    """Return a cell with an apostrophe before text that a spreadsheet would take for a formula."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def with_formula(value: Any) -> Any:
    """Return a cell of a text file as it was before :func:`without_formula`."""
    return value[1:] if isinstance(value, str) and value[:1] == "'" and _FORMULA.match(value) else value
