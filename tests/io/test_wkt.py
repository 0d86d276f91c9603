"""Well-known text: kinds of geometry, names and frames, tracks, and what is refused."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shapelex as sx
from shapelex._messages import format_option
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.wkt import read_records
from shapelex.io.records import BadRecord, Record, Remark

# A cell over four frames: pixel chains, closed, one frame missing, and not in order.
TRACK = """9; POLYGON((59 466,58 467,57 469,60 470,59 466))
10; POLYGON((64 462,63 463,62 465,65 466,64 462))
13; POLYGON((50 451,49 452,48 454,51 455,50 451))
12; POLYGON((56 458,55 459,54 461,57 462,56 458))
"""


def read_text(folder: Path, text: str, **options: Any) -> list[Any]:
    path = folder / "cell.wkt"
    path.write_text(text)
    return list(read_records(path, **options))


def test_track(tmp_path: Path) -> None:
    (tmp_path / "cell7.wkt").write_text(TRACK)
    shapes = sx.read(tmp_path / "cell7.wkt")
    assert shapes.space == sx.Landmarks(4, closed=True)
    assert shapes.metadata["frame"].tolist() == [9, 10, 12, 13]
    assert shapes.sequence.tolist() == [0, 0, 0, 0]
    assert shapes.ids.tolist() == ["cell7:9", "cell7:10", "cell7:12", "cell7:13"]
    np.testing.assert_array_equal(shapes[0], [59 + 466j, 58 + 467j, 57 + 469j, 60 + 470j])
    assert "y_down=True" in shapes.notes[0]
    turned = sx.read(tmp_path / "cell7.wkt", y_down=True, max_gap=0)
    np.testing.assert_array_equal(turned.configurations, shapes.configurations.conj())
    assert turned.sequence.tolist() == [0, 0, 1, 1]
    assert turned.notes == ()


@pytest.mark.parametrize(
    ("text", "points", "closed", "facts"),
    [
        ("POLYGON ((0 0, 4 0, 4 3, 0 0), (1 1, 2 1, 2 2, 1 1))", [0, 4, 4 + 3j], True, {"n_holes": 1}),
        ("polygon((0 0,4 0,4 3,0 0))", [0, 4, 4 + 3j], True, {"n_holes": 0}),
        ("SRID=4326;POLYGON Z ((0 0 9, 4e0 0 9, 4. 3 9, 0 0 9))", [0, 4, 4 + 3j], True, {}),
        ("POLYGONZM((0 0 9 1, 4 0 9 1, 4 3 9 1, 0 0 9 1))", [0, 4, 4 + 3j], True, {}),
        ("MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((0 0,4 0,4 3,0 0)))", [0, 4, 4 + 3j], True, {"n_parts": 2}),
        ("LINESTRING(\n  0 1,\n  -2 .5\n)", [1j, -2 + 0.5j], False, {}),
        ("MULTILINESTRING((0 0,1 0),(0 0,0 5))", [0, 5j], False, {"n_parts": 2}),
        ("MULTIPOINT((0 1),(5 2))", [1j, 5 + 2j], None, {}),
        ("MULTIPOINT(0 1,5 2)", [1j, 5 + 2j], None, {}),
    ],
)
def test_geometries(tmp_path: Path, text: str, points: list[complex], closed: bool | None, facts: Any) -> None:
    record, *_ = read_text(tmp_path, text)
    np.testing.assert_array_equal(record.points, points)
    assert record.closed is closed
    assert facts.items() <= record.metadata.items()
    assert (record.id, record.frame, record.sequence) == ("cell:1", None, None)


def test_names_and_holes(tmp_path: Path) -> None:
    text = "# cells\noak 1; POLYGON((0 0,9 0,9 9),(1 1,2 1,2 2))\n\nelm;POLYGON((0 0,9 0,9 9))\n"
    first, second, holes, turned = read_text(tmp_path, text)
    assert (first.id, second.id, second.where) == ("oak 1", "elm", "line 4")
    assert holes == Remark(
        "1 of 2 geometries", "have holes, which were left out; the column n_holes of the metadata counts them."
    )
    assert isinstance(turned, Remark)


def test_empty_geometries_and_more_coordinates_are_counted(tmp_path: Path) -> None:
    text = "POLYGON EMPTY\nPOLYGON Z ((0 0 1,9 0 1,9 9 1))\nPOLYGON((0 0,9 0,9 9))\npolygon zm empty\n"
    first, second, empty, more, _ = read_text(tmp_path, text)
    assert (first.where, second.where) == ("line 2", "line 3")
    assert empty == Remark("2 of 4 geometries", "left out, since they are empty: they have no coordinates.")
    assert (more.where, "such as z" in more.text) == ("1 of 2 geometries", True)


def test_two_shapes_of_one_frame_are_no_track(tmp_path: Path) -> None:
    text = TRACK + "10; POLYGON((0 0,9 0,9 9))\n"
    bad = next(found for found in read_text(tmp_path, text) if isinstance(found, BadRecord))
    assert bad == BadRecord(
        "line 5",
        f"frame 10 is also in line 2, so the file is not one track: {format_option('tracked', False)} reads all.",
    )
    records = [found for found in read_text(tmp_path, text, tracked=False) if isinstance(found, Record)]
    assert [(record.frame, record.sequence) for record in records] == [(n, None) for n in (9, 10, 13, 12, 10)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("MULTIPOINT((), (1 2))", "fewer than two numbers"),
        ("POINT(1 2)", "no outline"),
        ("GEOMETRYCOLLECTION(POINT(1 2))", "is no number|expected 2 numbers"),
        ("CIRCLE(1 2)", "expected a geometry such as"),
        ("frame,shape", "expected a geometry such as"),
        ("1; 2; POLYGON((0 0,9 0,9 9))", "one name or frame before the geometry, found 2"),
        ("POLYGON((0 0,9 0,9 9)) rest", "expected 2 numbers"),
        ("POLYGON((0 0,9 0,9 9)", "parentheses and commas"),
        ("POLYGON((0 0,9 0,9 9)))", "parentheses and commas"),
        ("POLYGON((0 0,9,9 9))", "expected 2 numbers a position, found '9'"),
        ("POLYGON((0 0,9 0 1,9 9))", "expected 2 numbers a position"),
        ("POLYGON Z((0 0,9 0,9 9))", "expected 3 numbers a position"),
        ("POLYGON((0 0,9 nan,9 9))", "lacks a coordinate"),
        ("POLYGON((0 0,9 1e999,9 9))", "too large"),
        ("POLYGON((0 0,9 9,0 0))", "at least 3 points"),
        ("POLYGON(0 0,9 0,9 9)", "pairs"),
        ("POLYGON" + "(" * 5000 + "0 0" + ")" * 5000, "deep"),
    ],
)
def test_bad_geometry_is_named_and_stepped_over(tmp_path: Path, line: str, words: str) -> None:
    found = read_text(tmp_path, f"{line}\nPOLYGON((0 0,4 0,4 3,0 0))\n")
    (bad,) = (one for one in found if isinstance(one, BadRecord))
    assert bad.where == "line 1"
    assert re.search(words, bad.reason)
    assert sum(isinstance(one, Record) for one in found) == 1


@pytest.mark.realdata
def test_real_track_is_that_of_the_shared_set(data_folder: Path) -> None:
    shapes = sx.read(data_folder / "formats/wkt/u373_cell7_track.wkt", n_points=100, y_down=True)
    assert shapes.metadata["frame"].tolist() == list(range(9, 23))
    assert set(shapes.sequence) == {0}
    with np.load(data_folder / "cells_u373_tracks_100.npz") as known:
        is_same = (known["sequence"] == 6) & np.isin(known["frame"], shapes.metadata["frame"])
        # The shared set is rounded to four digits.
        np.testing.assert_allclose(shapes.configurations, known["points"][is_same] @ [1, 1j], atol=1e-4)


@pytest.mark.parametrize("text", ["A" + " " * 300_000, "A;" * 100_000, "A" * 300_000, "LINE" + " \t" * 150_000 + "!"])
def test_long_lines_are_refused_in_linear_time(tmp_path, text):
    """A search that tries all ways to part blanks would take hours."""
    (tmp_path / "a.wkt").write_text(text)
    with pytest.raises(ShapeFileError):
        sx.read(tmp_path / "a.wkt", format="wkt")
