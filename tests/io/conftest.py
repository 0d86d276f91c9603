"""What the tests of reading share."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError, SkippedRecordsWarning
from shapelex.io.records import Record


def circle(n_points: int) -> np.ndarray:
    return np.exp(2j * np.pi * np.arange(n_points) / n_points)


def outline(points: np.ndarray, key: str = "OUTLINES") -> str:
    """Return a record of a TPS file."""
    lines = "".join(f"{z.real} {z.imag}\n" for z in points)
    return f"LM=0\n{key}=1\nPOINTS={len(points)}\n{lines}ID=leaf\n"


class Bomb:
    """An object that makes a file when it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.path,))


@pytest.fixture
def read(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., sx.ShapeSet]:
    """Return a function that writes text, bytes or JSON to a file (`FILE` of the module) and reads it."""

    def read_content(content: Any, name: str | None = None, **options: Any) -> sx.ShapeSet:
        path = tmp_path / (name or request.module.FILE)
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return sx.read(path, **options)

    return read_content


def check_refused(
    words: str, function: Callable[..., Any], *arguments: Any, error: Any = ShapeFileError, **options: Any
) -> None:
    """Check that a call fails with an error that has these words."""
    with pytest.raises(error, match=words):
        function(*arguments, **options)


def check_left_out(n_good: int, words: str, function: Callable[..., sx.ShapeSet], *given: Any, **options: Any) -> None:
    """Check that something bad is refused with these words, and left out of the rest when asked."""
    check_refused(words, function, *given, **options)
    with pytest.warns(SkippedRecordsWarning, match=rf"Left out 1 \w+: .*({words})"):
        assert len(function(*given, on_error="skip", **options)) == n_good


@pytest.fixture
def check_bad_record(read: Callable[..., sx.ShapeSet]) -> Callable[..., None]:
    """Return a check that a bad record is an error with its place and reason, and that others are read without it."""
    return lambda content, n_good, words, **options: check_left_out(n_good, words, read, content, **options)


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


@contextmanager
def little_memory(n_bytes: int = 64 << 20) -> Iterator[None]:
    """Check that no more memory than that is taken on the way."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < n_bytes
    finally:
        tracemalloc.stop()


def check_set(shapes: sx.ShapeSet, points: Any = None, **expected: Any) -> None:
    """Check configurations, attributes and columns of a set."""
    if points is not None:
        np.testing.assert_array_equal(shapes.configurations, points)
    known = {name: getattr(shapes, name) for name in ("ids", "labels", "sequence", "space", "shape", "closed", "notes")}
    known |= {"is_missing": shapes.is_missing, "formats": shapes.provenance.get("formats"), **shapes.metadata}
    found = {name: known[name] for name in expected}
    found = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}
    assert found == expected


def notes_of(shapes: sx.ShapeSet) -> str:
    return "\n".join(shapes.notes)
