"""Well-known text: kinds of geometry, names and frames, tracks, and what is refused."""

import re

import numpy as np
import pytest

import shapelex as sx
from tests.io.conftest import check_refused, check_set, notes_of

FILE = "cell.wkt"
# A cell over four frames: pixel chains, closed, one frame missing, and not in order.
TRACK = """9; POLYGON((59 466,58 467,57 469,60 470,59 466))
10; POLYGON((64 462,63 463,62 465,65 466,64 462))
13; POLYGON((50 451,49 452,48 454,51 455,50 451))
12; POLYGON((56 458,55 459,54 461,57 462,56 458))
"""


def test_track(read):
    shapes = read(TRACK)
    check_set(shapes, space=sx.Landmarks(4, closed=True), frame=[9, 10, 12, 13], sequence=[0, 0, 0, 0])
    assert shapes.ids.tolist() == ["cell:9", "cell:10", "cell:12", "cell:13"]
    np.testing.assert_array_equal(shapes[0], [59 + 466j, 58 + 467j, 57 + 469j, 60 + 470j])
    assert "y_down=True" in shapes.notes[0]
    turned = read(TRACK, y_down=True, max_gap=0)
    check_set(turned, shapes.configurations.conj(), sequence=[0, 0, 1, 1], notes=())


def test_two_shapes_of_one_frame_are_no_track(read, check_bad_record):
    text = TRACK + "10; POLYGON((0 0,9 0,9 9,0 9))\n"
    check_bad_record(text, 4, "line 5: frame 10 is also in line 2, so the file is not one track: tracked=False reads")
    shapes = read(text, tracked=False)
    check_set(shapes, sequence=None, frame=[9, 10, 13, 12, 10])


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
        ("MULTIPOINT((0 1),(5 2))", [1j, 5 + 2j], False, {}),
        ("MULTIPOINT(0 1,5 2)", [1j, 5 + 2j], False, {}),
    ],
)
def test_geometries(read, text, points, closed, facts):
    shapes = read(text)
    np.testing.assert_array_equal(shapes.configurations, [points])
    assert (shapes.ids.tolist(), shapes.sequence, shapes.closed) == (["cell:1"], None, closed)
    assert facts.items() <= {name: column[0] for name, column in shapes.metadata.items()}.items()


def test_names_and_remarks(read):
    shapes = read("# cells\noak 1; POLYGON((0 0,9 0,9 9),(1 1,2 1,2 2))\n\nelm;POLYGON((0 0,9 0,9 9))\n")
    assert shapes.ids.tolist() == ["oak 1", "elm"]
    assert "1 of 2 geometries: have holes, which were left out; the column n_holes" in shapes.notes[0]
    notes = notes_of(read("POLYGON EMPTY\nPOLYGON Z ((0 0 1,9 0 1,9 9 1))\nPOLYGON((0 0,9 0,9 9))\npolygon zm empty\n"))
    assert "2 of 4 geometries: left out, since they are empty: they have no coordinates." in notes
    assert re.search("1 of 2 geometries: .*such as z", notes)


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
def test_bad_geometries(check_bad_record, line, words):
    check_bad_record(f"{line}\nPOLYGON((0 0,4 0,4 3,0 0))\n", 1, f"line 1: .*({words})")


# A search that tries all ways to part blanks would take hours.
@pytest.mark.parametrize("text", ["A" + " " * 300_000, "A;" * 100_000, "A" * 300_000, "LINE" + " \t" * 150_000 + "!"])
def test_long_lines_are_refused_in_linear_time(read, text):
    check_refused("no line holds a geometry", read, text, format="wkt")


@pytest.mark.realdata
def test_real_track_is_that_of_the_shared_set(data_folder):
    shapes = sx.read(data_folder / "formats/wkt/u373_cell7_track.wkt", n_points=100, y_down=True)
    assert shapes.metadata["frame"].tolist() == list(range(9, 23))
    assert set(shapes.sequence) == {0}
    with np.load(data_folder / "cells_u373_tracks_100.npz") as known:
        is_same = (known["sequence"] == 6) & np.isin(known["frame"], shapes.metadata["frame"])
        # The shared set is rounded to four digits.
        np.testing.assert_allclose(shapes.configurations, known["points"][is_same] @ [1, 1j], atol=1e-4)
