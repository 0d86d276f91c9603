"""The rows of a text table, from its start and as often as wanted.

In comes a text file; out go its separator, decimal mark and names of columns, found in its first rows, and its rows in
chunks. pandas parses chunks in which every line is a row with numbers where they belong; other chunks are taken apart
row by row, so that a fault is found with its line.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import FloatArray
from shapelex._validation import check_choice, check_flag
from shapelex.exceptions import ShapeFileError
from shapelex.io.numbers import MISSING_WORDS
from shapelex.io.table_layout import looks_like_names
from shapelex.io.text_file import TextFile
from shapelex.io.wide_table import Chunk, parse_chunk

if TYPE_CHECKING:
    import pandas as pd

_DELIMITERS = ("\t", ";", "|", ",", " ")
_SAMPLE_LINES = 20
_SAMPLE_CHARACTERS = 1 << 20
_CHUNK_CHARACTERS = 1 << 22
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")
_QUOTED = re.compile(r'"[^"]*"')
_FLAG = re.compile("true|false", re.IGNORECASE)
# pandas compares words as they are written; a missing one that is written otherwise is found row by row.
_MISSING = [
    spelled
    for word in MISSING_WORDS
    for spelled in {word, word.upper(), word.title(), "NaN" if word == "nan" else word}
]

Row = tuple[int, list[str]]


@dataclass(frozen=True)
class Table:
    """A text file that is a table.

    Parameters
    ----------
    text : TextFile
        The file.
    delimiter : str
        What separates its columns.
    decimal : str
        Its decimal mark.
    names : list of str, or None
        Names of the columns.
    n_head : int
        Lines above the first row of values.
    first : list of str
        The first row of values.
    """

    text: TextFile
    delimiter: str
    decimal: str = "."
    names: list[str] | None = None
    n_head: int = 0
    first: list[str] = field(default_factory=list)

    def rows(self) -> Iterator[Row]:
        """Yield the rows from the first, with the number of the line each ends on; remarks above them are left out."""
        is_start = True
        for line, row in self._split(chain.from_iterable(map(_lines, self.text.blocks(keeps_line_ends=True)))):
            if is_start and _is_comment(row):
                continue
            is_start = False
            yield line, row

    def chunks(self, n_columns: int, order: Sequence[int]) -> Iterator[Chunk]:
        """Yield the rows of values in chunks of this many columns; those of coordinates are given in their order."""
        blocks = _joined(self.text.blocks(keeps_line_ends=True))
        n_done, n_skipped = 0, self.n_head
        rest: list[str] = []
        for block in blocks:
            if n_skipped or rest:
                lines = [*rest, *_lines(block)]
                n_done += min(n_skipped, len(lines))
                rest, n_skipped, block = [], max(0, n_skipped - len(lines)), "".join(lines[n_skipped:])
            if not block.strip():
                n_done += sum(1 for _ in _lines(block))
                continue
            parsed = self._parse(block, n_columns, order)
            if parsed is not None:
                cells, values = parsed
                yield Chunk(cells, values, range(n_done + 1, n_done + len(cells) + 1))
                n_done += len(cells)
                continue
            # A row may go on in the next block.
            n_own = sum(1 for _ in _lines(block))
            source = _Lines(block, blocks)
            rows = []
            for line, row in self._split(source):
                rows.append((n_done + line, row))
                if source.n_taken >= n_own:
                    break
            n_done += source.n_taken
            rest = source.rest()
            if rows:
                yield self._as_chunk(rows, n_columns, order)
        if rest:
            rows = [(n_done + line, row) for line, row in self._split(iter(rest))]
            yield self._as_chunk(rows, n_columns, order)

    def _parse(self, block: str, n_columns: int, order: Sequence[int]) -> "tuple[pd.DataFrame, FloatArray] | None":
        """Return the cells and numbers of whole lines; None where a line is no row, or a number is none or infinite."""
        import pandas as pd

        if "\r" in block:
            block = block.replace("\r\n", "\n").replace("\r", "\n")
        n_rows = block.count("\n") + (not block.endswith("\n"))
        has_quotes = '"' in block
        is_blank = self.delimiter.isspace() and self.delimiter != "\t"
        if is_blank:
            if has_quotes or len(block.split()) != n_rows * n_columns:
                return None
        else:
            plain = _QUOTED.sub("", block) if has_quotes else block
            if plain.count(self.delimiter) != n_rows * (n_columns - 1):
                return None
        options: dict[str, Any] = {
            "sep": r"\s+" if is_blank else self.delimiter,
            "decimal": self.decimal,
            "header": None,
            "dtype": dict.fromkeys(range(n_columns), object) | dict.fromkeys(order, float),
            "skipinitialspace": self.delimiter != "\t",
            "skip_blank_lines": False,
            **_exact_numbers(pd.__version__),
        }
        missing = {"na_values": dict.fromkeys(order, _MISSING), "keep_default_na": False}
        # Most tables have no missing numbers, and are read fastest when none is looked for.
        for words in ({"na_filter": False}, missing):
            try:
                cells = pd.read_csv(io.StringIO(block), **options, **words)
            except (ValueError, pd.errors.ParserError):
                continue
            if cells.shape != (n_rows, n_columns):
                return None
            values = cells[list(order)].to_numpy()
            # pandas reads a column of True and False as 1 and 0.
            are_flags = ((values == 0) | (values == 1)).all(axis=0).any() and _FLAG.search(block) is not None
            return None if are_flags or np.isinf(values).any() else (cells, values)
        return None

    def _as_chunk(self, rows: Sequence[Row], n_columns: int, order: Sequence[int]) -> Chunk:
        """Return rows of text as a chunk, with what is wrong with some of them."""
        import pandas as pd

        widths = {place: len(row) for place, (_, row) in enumerate(rows) if len(row) != n_columns}
        cells = [row[:n_columns] + [""] * (n_columns - len(row)) for _, row in rows]
        frame = pd.DataFrame(cells, columns=range(n_columns), dtype=object)
        return parse_chunk(frame, [line for line, _ in rows], order, self.decimal, widths)

    def _split(self, lines: Iterator[str]) -> Iterator[Row]:
        """Yield the rows that are not empty, with the number of the line each ends on."""
        delimiter = self.delimiter
        if len(delimiter) != 1:
            raise ValueError(f"delimiter must be one character, got {delimiter!r}.")
        if delimiter.isspace() and delimiter != "\t":
            lines = (line.replace("\t", " ").strip(" ") for line in lines)
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t")
        try:
            for row in rows:
                if row and (len(row) > 1 or row[0].strip()):
                    yield rows.line_num, row
        except csv.Error as error:
            message = f"{self.text.path}, line {rows.line_num}: it cannot be split into columns ({error})."
            raise ShapeFileError(message) from error


def _exact_numbers(version: str) -> dict[str, Any]:
    """Return the option by which pandas reads numbers to the last bit; it always does from version 3.1 on."""
    major, minor = version.split(".")[:2]
    return {"float_precision": "round_trip"} if (int(major), int(minor)) < (3, 1) else {}


class _Lines:
    """The lines of a block and of those after it, taken one at a time."""

    def __init__(self, block: str, blocks: Iterator[str]) -> None:
        self._lines, self._blocks, self.n_taken = _lines(block), blocks, 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        for line in self._lines:
            self.n_taken += 1
            return line
        self._lines = _lines(next(self._blocks))
        return next(self)

    def rest(self) -> list[str]:
        """Return the lines of the last block that were not taken."""
        return list(self._lines)


def _joined(blocks: Iterator[str]) -> Iterator[str]:
    """Yield blocks together until they are long enough for pandas to be fast."""
    parts: list[str] = []
    for block in blocks:
        parts.append(block)
        if sum(map(len, parts)) >= _CHUNK_CHARACTERS:
            yield "".join(parts)
            parts = []
    if parts:
        yield "".join(parts)


def open_table(
    text: TextFile,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Table:
    """Find how a table is written.

    Parameters
    ----------
    text : TextFile
        The file.
    header : bool, optional
        Whether the first row has names.
    columns : sequence of str, optional
        Names of the columns of a table that has none.
    delimiter : str, optional
        What separates the columns.
    decimal : {".", ","}, optional
        Decimal mark.

    Returns
    -------
    Table
        The table, its rows not yet read.

    Raises
    ------
    ShapeFileError
        If it is none.
    """
    if header is not None:
        check_flag(header, "header")
    if decimal is not None:
        check_choice(decimal, (".", ","), "decimal")
    table = Table(text, delimiter or _find_delimiter(text))
    sample = list(islice(table.rows(), _SAMPLE_LINES))
    start = [row for _, row in sample]
    if not start:
        raise ShapeFileError("it holds no values.")
    # Between commas, "1,000" may be a thousand or one: unless the caller says which, it is no number.
    mark = decimal or ("." if table.delimiter == "," else _find_decimal(start))
    names: list[str] | None = None
    if columns is not None:
        names, has_names = list(columns), bool(header)
        if len(names) != len(start[0]):
            raise ShapeFileError(f"columns names {len(names)} columns, but the table has {len(start[0])}.")
    elif header is None:
        has_names = looks_like_names(start[0], start[1] if len(start) > 1 else None, mark)
    else:
        has_names = header
    if has_names and names is None:
        names = start[0]
    if has_names and len(start) == 1:
        raise ShapeFileError("there are names of columns, but no values.")
    n_head = sample[0][0] if has_names else _n_remark_lines(table)
    return replace(table, decimal=mark, names=names, n_head=n_head, first=start[int(has_names)])


def _find_delimiter(text: TextFile) -> str:
    lines = list(islice((line for line in _sample(text) if line.strip() and line[0] != "#"), _SAMPLE_LINES))
    best, best_share = "", 0.0
    for delimiter in _DELIMITERS:
        try:
            widths = Counter(len(row) for _, row in Table(text, delimiter)._split(iter(lines)))
        except ShapeFileError:
            # Without the right separator a line may be one cell too long for the parser.
            continue
        width, times = max(widths.items(), key=lambda item: item[1], default=(1, 0))
        share = times / max(1, sum(widths.values()))
        if width > 1 and share > best_share:
            best, best_share = delimiter, share
    if not best:
        raise ShapeFileError(f"{text.path} is no table: its lines have no common number of columns; give delimiter=.")
    return best


def _sample(text: TextFile) -> Iterator[str]:
    """Yield the lines of the first part of a text."""
    n_left = _SAMPLE_CHARACTERS
    for line in chain.from_iterable(map(_lines, text.blocks(keeps_line_ends=True))):
        yield line[:n_left]
        n_left -= len(line)
        if n_left <= 0:
            return


def _find_decimal(rows: Sequence[list[str]]) -> str:
    cells = [cell.strip() for row in rows for cell in row]
    has_comma = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    return "," if has_comma and not any(_DECIMAL_POINT.fullmatch(cell) for cell in cells) else "."


def _n_remark_lines(table: Table) -> int:
    """Return the number of lines of the remarks above a table without names."""
    n_lines = 0
    for line, row in table._split(chain.from_iterable(map(_lines, table.text.blocks(keeps_line_ends=True)))):
        if not _is_comment(row):
            break
        n_lines = line
    return n_lines


def _lines(block: str) -> Iterator[str]:
    r"""Return lines with their ends, which may be ``\n``, ``\r\n`` or ``\r``."""
    return io.StringIO(block, newline="")


def _is_comment(row: Sequence[str]) -> bool:
    """Tell a remark above the table from a row whose id starts like one."""
    return row[0].startswith("#") and not any(_DECIMAL_POINT.fullmatch(cell) or cell.isdigit() for cell in row[1:])
