"""The rows of a text table, from its start and as often as wanted.

In comes a text file; out go its separator, decimal mark and names of columns, found in its first rows, and its rows of
cells, one at a time.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from shapelex._validation import check_choice, check_flag
from shapelex.exceptions import ShapeFileError
from shapelex.io.table_layout import looks_like_names
from shapelex.io.text_file import TextFile

_DELIMITERS = ("\t", ";", "|", ",", " ")
_SAMPLE_LINES = 20
_SAMPLE_CHARACTERS = 1 << 20
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")

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
    has_names : bool
        Whether the first row is one of names.
    """

    text: TextFile
    delimiter: str
    decimal: str = "."
    names: list[str] | None = None
    has_names: bool = False

    def rows(self) -> Iterator[Row]:
        """Yield the rows of values from the first, with the number of the line each ends on.

        Yields
        ------
        tuple of int and list of str
            Number and cells.
        """
        return islice(_split_rows(self.text.blocks(keeps_line_ends=True), self), int(self.has_names), None)


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
    start = [row for _, row in islice(table.rows(), _SAMPLE_LINES)]
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
    return replace(table, decimal=mark, names=names, has_names=has_names)


def _find_delimiter(text: TextFile) -> str:
    lines = list(islice((line for line in _sample(text) if line.strip() and line[0] != "#"), _SAMPLE_LINES))
    best, best_share = "", 0.0
    for delimiter in _DELIMITERS:
        try:
            widths = Counter(len(row) for _, row in _split_rows(lines, Table(text, delimiter)))
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


def _split_rows(blocks: Iterable[str], table: Table) -> Iterator[Row]:
    """Yield the rows that are not empty, with the number of the line each ends on."""
    delimiter = table.delimiter
    if len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, got {delimiter!r}.")
    lines: Iterator[str] = chain.from_iterable(map(_lines, blocks))
    if delimiter.isspace() and delimiter != "\t":
        lines = (line.replace("\t", " ").strip(" ") for line in lines)
    rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t")
    is_start = True
    try:
        for row in rows:
            if not row or (len(row) == 1 and not row[0].strip()) or (is_start and _is_comment(row)):
                continue
            is_start = False
            yield rows.line_num, row
    except csv.Error as error:
        message = f"{table.text.path}, line {rows.line_num}: it cannot be split into columns ({error})."
        raise ShapeFileError(message) from error


def _lines(block: str) -> Iterator[str]:
    r"""Return lines with their ends, which may be ``\n``, ``\r\n`` or ``\r``."""
    return io.StringIO(block, newline="")


def _is_comment(row: Sequence[str]) -> bool:
    """Tell a remark above the table from a row whose id starts like one."""
    return row[0].startswith("#") and not any(_DECIMAL_POINT.fullmatch(cell) or cell.isdigit() for cell in row[1:])
