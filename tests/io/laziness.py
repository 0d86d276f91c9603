"""Helpers to compare readers that hold a part of a file with ones that hold it all, and to see how much they hold."""

import gzip
import tracemalloc
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from hypothesis import strategies as st

from shapelex.exceptions import ShapeFileError
from shapelex.io.records import Record

LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"])


@st.composite
def packings(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> bytes:
    """Return a text as bytes in one of the encodings, with one of the line ends, packed or not."""
    text = draw(texts).replace("\n", draw(LINE_ENDS))
    content = text.encode(draw(ENCODINGS), errors="replace")
    return gzip.compress(content, 1) if draw(st.booleans()) else content


def as_values(found: Iterator[Any]) -> list[Any]:
    """Return records as values to compare, up to the error that ends them."""
    values: list[Any] = []
    try:
        for record in found:
            if isinstance(record, Record):
                metadata = {name: (type(value), repr(value)) for name, value in record.metadata.items()}
                told = (record.id, record.label, record.closed, record.sequence, record.frame, record.where)
                values.append((np.asarray(record.points).tobytes(), told, metadata))
            else:
                values.append(record)
    except ShapeFileError as error:
        values.append(str(error))
    return values


def peak_bytes(records: Iterator[Any]) -> tuple[int, int]:
    """Return the number of records, and the most memory taken while none is kept."""
    # The first table that is read imports pandas, which is no part of it.
    import_module("pandas")
    tracemalloc.start()
    try:
        n_records = sum(1 for _ in records)
        return n_records, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
