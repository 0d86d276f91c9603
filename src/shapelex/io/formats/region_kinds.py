"""Kinds of regions that one file may mix: outlines are closed, lines open, points neither.

In come the records of a reader; out go those of the kind that was asked for, or all, and a remark where they are of
several kinds: a set is closed or open as a whole, so that lines among outlines were closed, or outlines opened. Of a
region in several parts one is read, of one with holes the outer ring; remarks say how many there were.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from shapelex._validation import check_choice
from shapelex.io.records import BadRecord, Record, Remark

KINDS: Final = ("outlines", "lines", "points")
_ONE_OF = {"outlines": "outline", "lines": "line", "points": "set of points"}
_MANY_OF = {"outlines": "outlines", "lines": "lines", "points": "sets of points"}


def select_kind(
    records: Iterable[Record | BadRecord], only: str | None, noun: str
) -> Iterator[Record | BadRecord | Remark]:
    """Yield the records of one kind, or all of them and then what they are, where they are of several kinds.

    Parameters
    ----------
    records : iterable of Record or BadRecord
        All records of a file.
    only : {"outlines", "lines", "points"} or None
        The kind to keep; bad records are of no kind, and stay.
    noun : str
        What the file calls its records, in the plural.
    """
    if only is not None:
        check_choice(only, KINDS, "only")
    counts: Counter[str] = Counter()
    for record in remark_parts(records, noun):
        if isinstance(record, Remark):
            yield record
            continue
        kind = _kind_of(record.closed) if isinstance(record, Record) else only
        if only not in (None, kind):
            continue
        if isinstance(record, Record):
            counts[_kind_of(record.closed)] += 1
        yield record
    if len(counts) > 1:
        named = [f"{n} {(_ONE_OF if n == 1 else _MANY_OF)[kind]}" for kind in KINDS if (n := counts[kind])]
        words = f"{', '.join(named[:-1])} and {named[-1]}"
        yield Remark(
            f"{counts.total()} {noun}",
            f"{words} were all read as shapes of one kind, closed or open as asked; the option only=outlines reads "
            "the outlines alone.",
        )


def remark_parts(records: Iterable[Record | BadRecord | Remark], noun: str) -> Iterator[Record | BadRecord | Remark]:
    """Yield records, then say of how many of them parts or holes were left out."""
    n_records = n_in_parts = n_with_holes = 0
    for record in records:
        if isinstance(record, Record):
            n_records += 1
            n_in_parts += record.metadata.get("n_parts", 1) > 1
            n_with_holes += record.metadata.get("n_holes", 0) > 0
        yield record
    if n_in_parts:
        text = "have several parts, of which the largest was read; the column n_parts of the metadata counts them."
        yield Remark(f"{n_in_parts} of {n_records} {noun}", text)
    if n_with_holes:
        text = "have holes, which were left out; the column n_holes of the metadata counts them."
        yield Remark(f"{n_with_holes} of {n_records} {noun}", text)


def _kind_of(closed: bool | None) -> str:
    return "points" if closed is None else "outlines" if closed else "lines"
