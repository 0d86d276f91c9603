"""Tables of shapes as text: one shape per row (wide) or one point per row (long).

Separator, decimal mark and names are found in the first rows; what the columns mean is found in
:mod:`shapelex.io.table_layout`. pandas parses chunks in which every line is a row with numbers where they belong; other
chunks are taken apart row by row, so that a fault is found with its line.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from shapelex._messages import format_option
from shapelex._typing import FloatArray
from shapelex._validation import check_choice, check_flag
from shapelex.exceptions import ParameterError, ShapeFileError
from shapelex.files.numbers import MISSING_WORDS
from shapelex.files.table_file import with_formula, without_formula
from shapelex.files.text_file import TextFile, open_text
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.table_layout import TableLayout, looks_like_names
from shapelex.io.table_shapes import Chunk, Table, parse_chunk, table_records
from shapelex.shapes import ShapeSet

if TYPE_CHECKING:
    import pandas as pd

_DELIMITERS = ("\t", ";", "|", ",", " ")
_SAMPLE_LINES = 100
_SAMPLE_CHARACTERS = 1 << 20
# Longer chunks are not read faster, but take more memory: about 40 times their length.
_CHUNK_CHARACTERS = 1 << 20
# A quoted cell of a chunk goes on in the next; more than this is no cell, but a quote that stands alone.
_MAX_QUOTED = 1 << 24
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


def read_records(
    path: Path,
    layout: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord | Remark]:
    """Yield the shapes of a table.

    Parameters
    ----------
    path : Path
        File to read.
    layout : {"blocks", "interleaved", "long"}, optional
        Order of the columns, needed where their names do not tell it: all x before all y, x and y of each point in
        turn, or one row per point.
    header : bool, optional
        Whether the first row has names; None looks at it.
    columns : list of str, optional
        Names of the columns of a table that has none.
    delimiter : str, optional
        What separates two cells; None finds it.
    decimal : str, optional
        Decimal sign, "." or ","; None finds it.
    id_column, label_column : str or int, optional
        Column of the ids and of the labels, by name or counted from 0; None finds them by their names.
    """

    def open_table() -> Table:
        table = open_text_table(open_text(path), header, columns, delimiter, decimal)

        def open_chunks(found: TableLayout) -> Iterator[Chunk]:
            return table.chunks(len(table.first), found.order)

        stem = path.name.split(".")[0] or path.name
        return Table(table.names, table.first, open_chunks, stem, table.decimal, table.text.n_characters)

    yield from table_records(open_table, str(path), layout, id_column, label_column)


def write_set(
    shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved", delimiter: str = ",", raw_cells: bool = False
) -> None:
    """Write a set as a table with names: one shape per row, or one point per row where `layout` is ``"long"``.

    Text that a spreadsheet would take for a formula, also in names, gets an apostrophe, unless `raw_cells`.
    """
    from shapelex.io.formats.frames import set_frame

    frame = set_frame(shapes, layout)
    if not check_flag(raw_cells, "raw_cells"):
        frame = _safe(frame)
    # All words are quoted, so that no id is taken for anything but text, nor loses the blanks around it.
    frame.to_csv(stream, sep=delimiter, index=False, na_rep="nan", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")


def _safe(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table without text that a spreadsheet would take for a formula."""
    safe = frame.copy(deep=False)
    for name, column in frame.items():
        if column.dtype.kind not in "biufc":
            safe[name] = column.map(without_formula)
    return safe.rename(columns=without_formula)


@dataclass(frozen=True)
class TextTable:
    """A text file that is a table.

    Parameters
    ----------
    text : TextFile
        The file.
    delimiter : str
        What separates its columns.
    decimal : str
        Its decimal mark.
    n_head : int
        Lines above the first row of values.
    names : list of str, or None
        Names of the columns.
    first : list of str
        The first row of values, as long as the table is wide.
    """

    text: TextFile
    delimiter: str
    decimal: str = "."
    n_head: int = 0
    names: list[str] | None = None
    first: list[str] = field(default_factory=list)

    def rows(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows of lines that are not empty, with the number of the line each ends on."""
        if len(self.delimiter) != 1:
            raise ParameterError(f"{format_option('delimiter')} must be one character, got {self.delimiter!r}.")
        if self.delimiter == " ":
            lines = (line.replace("\t", " ").strip(" ") for line in lines)
        rows = csv.reader(lines, delimiter=self.delimiter, skipinitialspace=self.delimiter != "\t")
        try:
            for row in rows:
                if row and (len(row) > 1 or row[0].strip()):
                    yield rows.line_num, [with_formula(cell) for cell in row]
        except csv.Error as error:
            message = f"{self.text.path}, line {rows.line_num}: it cannot be split into columns ({error})."
            raise ShapeFileError(message) from error

    def chunks(self, n_columns: int, order: Sequence[int]) -> Iterator[Chunk]:
        """Yield the rows of values in chunks of this many columns; those of coordinates are given in their order."""
        import pandas as pd

        n_done = 0
        for block in self._blocks():
            n_skipped = max(0, self.n_head - n_done)
            used = "".join(islice(_lines(block), n_skipped, None)) if n_skipped else block
            n_before = n_done + min(n_skipped, _n_lines(block))
            n_done += _n_lines(block)
            parsed = self._parse(used, n_columns, order) if used.strip() else None
            if parsed is not None:
                yield Chunk(*parsed, range(n_before + 1, n_done + 1))
                continue
            rows = list(self.rows(_lines(used)))
            if rows:
                padded = [row[:n_columns] + [""] * (n_columns - len(row)) for _, row in rows]
                frame = pd.DataFrame(padded, columns=range(n_columns), dtype=object)
                chunk = parse_chunk(frame, [n_before + line for line, _ in rows], order, self.decimal)
                for place, (_, row) in enumerate(rows):
                    if len(row) != n_columns:
                        chunk.faults[place] = f"it has {len(row)} columns, the table has {n_columns}."
                yield chunk

    def whole(self, n_columns: int, order: Sequence[int]) -> "tuple[pd.DataFrame, FloatArray]":
        """Return all cells, and the numbers in the columns `order`, of a table in which every row can be read."""
        import pandas as pd

        chunks = list(self.chunks(n_columns, order))
        for chunk in chunks:
            for row, fault in chunk.faults.items():
                raise ShapeFileError(f"{self.text.path}, line {chunk.lines[row]}: {fault}")
        if not chunks:
            raise ShapeFileError(f"{self.text.path} has names of columns, but no values.")
        cells = pd.concat([chunk.cells for chunk in chunks], ignore_index=True)
        return cells, np.concatenate([chunk.values for chunk in chunks])

    def _blocks(self) -> Iterator[str]:
        """Yield the text in blocks of whole rows that are long enough for pandas to be fast."""
        parts: list[str] = []
        n_characters = n_quotes = 0
        for part in self.text.blocks(keeps_line_ends=True):
            parts.append(part)
            n_characters += len(part)
            n_quotes += part.count('"')
            if n_characters >= (_MAX_QUOTED if n_quotes % 2 else _CHUNK_CHARACTERS):
                yield "".join(parts)
                parts, n_characters, n_quotes = [], 0, 0
        if parts:
            yield "".join(parts)

    def _parse(self, block: str, n_columns: int, order: Sequence[int]) -> "tuple[pd.DataFrame, FloatArray] | None":
        """Return the cells and numbers of whole lines; None where a line is no row, or a number is none or infinite."""
        import pandas as pd

        if "\r" in block:
            block = block.replace("\r\n", "\n").replace("\r", "\n")
        n_rows = _n_lines(block)
        has_quotes = '"' in block
        is_blank = self.delimiter == " "
        if is_blank:
            if has_quotes or len(block.split()) != n_rows * n_columns:
                return None
        else:
            plain = _QUOTED.sub("", block) if has_quotes else block
            if plain.count(self.delimiter) != n_rows * (n_columns - 1):
                return None
        # From version 3.1 on, pandas always reads numbers to the last bit.
        is_exact = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
        options: dict[str, Any] = {
            "sep": r"\s+" if is_blank else self.delimiter,
            "decimal": self.decimal,
            "header": None,
            "dtype": dict.fromkeys(range(n_columns), object) | dict.fromkeys(order, float),
            "skipinitialspace": self.delimiter != "\t",
            "skip_blank_lines": False,
            "float_precision": None if is_exact else "round_trip",
        }
        missing = {"na_values": dict.fromkeys(order, _MISSING), "keep_default_na": False}
        # Most tables have no missing numbers, and are read fastest when none is looked for.
        for words in ({"na_filter": False}, missing):
            try:
                cells = pd.read_csv(io.BytesIO(block.encode()), **options, **words)
            except (ValueError, pd.errors.ParserError):
                continue
            if cells.shape != (n_rows, n_columns):
                return None
            if "'" in block:
                for place in set(range(n_columns)).difference(order):
                    cells[place] = cells[place].map(with_formula)
            values = cells[list(order)].to_numpy()
            # pandas reads a column of True and False as 1 and 0.
            are_flags = ((values == 0) | (values == 1)).all(axis=0).any() and _FLAG.search(block) is not None
            return None if are_flags or np.isinf(values).any() else (cells, values)
        return None


def open_text_table(
    text: TextFile,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    count_titles: Callable[[Sequence[Sequence[str]]], int] = lambda _: 0,
) -> TextTable:
    """Find how a table is written, where the caller does not say it, from its first rows.

    `count_titles` tells how many of these are above the names of the columns.
    """
    if header is not None:
        check_flag(header, format_option("header"))
    if decimal is not None:
        check_choice(decimal, (".", ","), format_option("decimal"))
    lines, n_rows, n_characters = [], 0, 0
    for line in text_lines(text):
        lines.append(line)
        n_rows += bool(line.strip()) and line[0] != "#"
        n_characters += len(line)
        if n_rows >= _SAMPLE_LINES or (n_rows > 1 and n_characters > _SAMPLE_CHARACTERS):
            break
    table = TextTable(text, delimiter or _find_delimiter(text, lines))
    sample = list(table.rows(lines))
    n_remarks = next((place for place, (_, row) in enumerate(sample) if not _is_comment(row)), len(sample))
    n_remarks += count_titles([row for _, row in sample[n_remarks:]])
    start = [row for _, row in sample[n_remarks:]]
    if not start:
        raise ShapeFileError(f"{text.path}: it holds no values.")
    # Between commas, "1,000" may be a thousand or one: unless the caller says which, it is no number.
    mark = decimal or ("." if table.delimiter == "," else _find_decimal(start))
    names = None if columns is None else list(columns)
    if names is not None and len(names) != len(start[0]):
        raise ShapeFileError(f"columns names {len(names)} columns, but the table has {len(start[0])}.")
    has_names = header
    if has_names is None:
        has_names = names is None and looks_like_names(start[0], start[1] if len(start) > 1 else None, mark)
    if has_names and len(start) == 1:
        raise ShapeFileError(f"{text.path}: there are names of columns, but no values.")
    first = start[int(has_names)]
    if has_names and names is None:
        # R gives no name to the column of row names.
        names = ["", *start[0]] if len(first) == len(start[0]) + 1 else start[0]
    if names is not None:
        first = first[: len(names)] + [""] * (len(names) - len(first))
    n_head_rows = n_remarks + has_names
    n_head = sample[n_head_rows - 1][0] if n_head_rows else 0
    return replace(table, decimal=mark, names=names, n_head=n_head, first=first)


def text_lines(text: TextFile) -> Iterator[str]:
    """Yield the lines of a text with their ends."""
    return chain.from_iterable(map(_lines, text.blocks(keeps_line_ends=True)))


def _find_delimiter(text: TextFile, lines: Sequence[str]) -> str:
    plain = [line for line in lines if line.strip() and line[0] != "#"]
    best, best_share = "", 0.0
    for delimiter in _DELIMITERS:
        try:
            widths = Counter(len(row) for _, row in TextTable(text, delimiter).rows(plain))
        except ShapeFileError:
            # Without the right separator a line may be one cell too long for the parser.
            continue
        width, times = max(widths.items(), key=lambda item: item[1], default=(1, 0))
        share = times / max(1, sum(widths.values()))
        if width > 1 and share > best_share:
            best, best_share = delimiter, share
    if not best:
        raise ShapeFileError(
            f"{text.path} is no table: its lines have no common number of columns; give {format_option('delimiter=')}."
        )
    return best


def _find_decimal(rows: Sequence[list[str]]) -> str:
    cells = [cell.strip() for row in rows for cell in row]
    has_comma = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    return "," if has_comma and not any(_DECIMAL_POINT.fullmatch(cell) for cell in cells) else "."


def _lines(block: str) -> Iterator[str]:
    r"""Return lines with their ends, which may be ``\n``, ``\r\n`` or ``\r``."""
    return io.StringIO(block, newline="")


def _n_lines(block: str) -> int:
    r"""Return the number of lines; one of the ends ``\r\n`` counts once."""
    n_ends = block.count("\n") + (block.count("\r") - block.count("\r\n") if "\r" in block else 0)
    return n_ends + (not block.endswith(("\n", "\r")))


def _is_comment(row: Sequence[str]) -> bool:
    """Tell a remark above the table from a row whose id starts like one."""
    return row[0].startswith("#") and not any(_DECIMAL_POINT.fullmatch(cell) or cell.isdigit() for cell in row[1:])
