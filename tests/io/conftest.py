"""What the tests of reading share."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError, SkippedRecordsWarning


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


@pytest.fixture
def check_bad_record(read: Callable[..., sx.ShapeSet]) -> Callable[..., None]:
    """Return a check that a bad record is an error with its place and reason, and that others are read without it."""

    def check(content: Any, n_good: int, message: str, **options: Any) -> None:
        with pytest.raises(ShapeFileError, match=message):
            read(content, **options)
        with pytest.warns(SkippedRecordsWarning, match=f"Left out 1 record: .*{message}"):
            assert len(read(content, on_error="skip", **options)) == n_good

    return check


def notes_of(shapes: sx.ShapeSet) -> str:
    return "\n".join(shapes.notes)
