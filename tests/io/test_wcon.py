"""WCON: origins, units, several worms, perimeters, gaps, and what is refused."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.wcon import read_records, unit_ratio
from shapelex.io.records import BadRecord, Record

UNITS = {"t": "s", "x": "mm", "y": "mm", "ox": "mm", "oy": "mm", "cx": "mm", "cy": "mm", "px": "mm", "py": "mm"}


def write(folder: Path, data: Any, units: dict[str, str] = UNITS, **others: Any) -> Path:
    path = folder / "worms.wcon"
    path.write_text(json.dumps({"units": units, "data": data, **others}))
    return path


def read_data(folder: Path, data: Any, units: dict[str, str] = UNITS, **options: Any) -> list[Record | BadRecord]:
    return list(read_records(write(folder, data, units), **options))


# The four files of the format's own tests that must give the same spines: with and without origin and centroid.
SPINES = {"x": [[6.5, 7, 7.5]], "y": [[8.3, 8, 7.6]]}
SHIFTED = {"x": [[4.5, 5, 5.5]], "y": [[4.3, 4, 3.6]], "ox": [2], "oy": [4]}


@pytest.mark.parametrize(
    ("entry", "has_centroid"),
    [
        (SPINES, False),
        (SPINES | {"cx": [7], "cy": [8]}, True),
        (SHIFTED, False),
        (SHIFTED | {"cx": [5], "cy": [4]}, True),
    ],
    ids=["none", "centroid", "origin", "both"],
)
def test_origins_and_centroids_give_the_same_spine(tmp_path: Path, entry: dict[str, Any], has_centroid: bool) -> None:
    (record,) = read_data(tmp_path, {"id": "1", "t": [0], **entry})
    np.testing.assert_allclose(record.points, [6.5 + 8.3j, 7 + 8j, 7.5 + 7.6j])
    assert record.closed is False
    if has_centroid:
        assert (record.metadata["cx"], record.metadata["cy"]) == (7, 8)


def test_worms_are_sequences_in_order_of_time_whatever_the_file(tmp_path: Path) -> None:
    data = [
        {"id": "b", "t": [0.2, 0.1], "x": [[2, 0], [1, 0]], "y": [[0, 1], [0, 1]]},
        {"id": "a", "t": [0.1], "x": [[5, 0]], "y": [[0, 1]]},
        {"id": "b", "t": [0.4], "x": [[4, 0]], "y": [[0, 1]]},
    ]
    shapes = sx.read(write(tmp_path, data))
    assert shapes.configurations[:, 0].real.tolist() == [1, 2, 4, 5]
    assert shapes.sequence.tolist() == [0, 0, 0, 1]
    assert shapes.metadata["frame"].tolist() == [0, 1, 3, 0]
    assert shapes.metadata["t"].tolist() == [0.1, 0.2, 0.4, 0.1]
    assert shapes.ids.tolist() == ["worms:b:0.1", "worms:b:0.2", "worms:b:0.4", "worms:a:0.1"]


def series(times: list[float]) -> dict[str, Any]:
    return {"id": "1", "t": times, "x": [[t, 1] for t in times], "y": [[0, 1] for _ in times]}


@pytest.mark.parametrize(
    ("times", "frames"),
    [
        ([0.0, 0.1, 0.2, 0.5, 0.6], [0, 1, 2, 5, 6]),
        ([3.0], [0]),
        ([0.0, 1.0, 2.0, 2.01], [0, 1, 2, 3]),
        ([1.3, 1.4, 1.5, 2.5], [0, 1, 2, 12]),
    ],
)
def test_frames_follow_the_usual_step_of_time(tmp_path: Path, times: list[float], frames: list[int]) -> None:
    found = read_data(tmp_path, series(times))
    assert [record.frame for record in found if isinstance(record, Record)] == frames


@pytest.mark.parametrize(("max_gap", "sequences"), [(None, [0] * 5), (2, [0] * 5), (1, [0, 0, 0, 1, 1])])
def test_long_gaps_begin_a_sequence_on_request(tmp_path: Path, max_gap: int | None, sequences: list[int]) -> None:
    found = read_data(tmp_path, series([0.0, 0.1, 0.2, 0.5, 0.6]), max_gap=max_gap)
    assert [record.sequence for record in found] == sequences


def test_units_of_y_are_converted_to_those_of_x(tmp_path: Path) -> None:
    entry = {"id": "1", "t": [0], "x": [[1, 2]], "y": [[0.003, 0.004]], "ox": [1], "oy": [1]}
    (record,) = read_data(tmp_path, entry, UNITS | {"y": "m", "ox": "cm", "oy": "um"})
    np.testing.assert_allclose(record.points, [11 + 3.001j, 12 + 4.001j])
    assert record.metadata["units"] == "mm"


@pytest.mark.parametrize(
    ("unit", "reference", "ratio"),
    [
        ("mm", "mm", 1),
        ("pixels", "pixels", 1),
        ("m", "mm", 1000),
        ("millimetres", "mm", 1),
        ("µm", "um", 1),
        ("μm", "micron", 1),
        ("in", "mm", 25.4),
        ("12*in", "mm", 304.8),
        ("in/72", "inch", 1 / 72),
        ("0.5*mm", "mm", 0.5),
        ("kilometers", "m", 1000),
    ],
)
def test_unit_ratios(unit: str, reference: str, ratio: float) -> None:
    assert unit_ratio(unit, reference) == pytest.approx(ratio, rel=1e-11)


@pytest.mark.parametrize(
    "unit", ["", "s", "mm^2", "mm*mm", "1/mm", "*mm", "mm*", "0*mm", "2", 7, None, "mm mm", "x" * 999]
)
def test_what_is_no_length_has_no_ratio(unit: Any) -> None:
    with pytest.raises(ValueError, match="unit"):
        unit_ratio(unit, "mm")


def test_perimeters_as_points_and_as_walks(tmp_path: Path) -> None:
    square = {"id": "1", "t": [0], "x": [4], "y": [3]}
    points = {"px": [[4.5, 4.5, 3.5, 3.5]], "py": [[3.5, 2.5, 2.5, 3.5]]}
    # The example of the specification: steps -y, -x, +y of one millimeter.
    walk = {"walk": [{"px": [4.5, 3.5, 1], "n": 3, "4": "Mg"}]}
    for perimeter in (points, walk):
        (record,) = read_data(tmp_path, square | perimeter, curve="perimeter")
        np.testing.assert_array_equal(record.points, [4.5 + 3.5j, 4.5 + 2.5j, 3.5 + 2.5j, 3.5 + 3.5j])
        assert record.closed


def test_missing_points_are_nan_and_lost_frames_left_out(tmp_path: Path) -> None:
    entry = {"id": "1", "t": [0, 1, 2], "x": [[1, 2], [None, None], [None, 3]], "y": [[1, 2], [1, 2], [5, 3]]}
    path = write(tmp_path, entry)
    with pytest.raises(ShapeFileError, match=r"time 2.*missing"):
        sx.read(path)
    shapes = sx.read(path, missing="allow")
    assert shapes.metadata["frame"].tolist() == [0, 2]
    assert np.isnan(shapes[1][0])
    (note,) = shapes.notes
    assert "1 of 3 frames: left out, since no point" in note
    assert "max_gap=5" in note


def test_head_can_be_brought_first(tmp_path: Path) -> None:
    entry = {"id": "1", "t": [0, 1], "x": [[1, 2], [3, 4]], "y": [[0, 0], [0, 0]], "head": ["R", "L"]}
    reversed_, kept = read_data(tmp_path, entry, head_first=True)
    assert reversed_.points.tolist() == [2, 1]
    assert kept.points.tolist() == [3, 4]
    assert [record.points[0] for record in read_data(tmp_path, entry)] == [1, 3]


def test_repeats_are_dropped_and_contradictions_named(tmp_path: Path) -> None:
    one = {"id": "1", "t": [0], "x": [[1, 2]], "y": [[0, 0]]}
    _, remark = read_data(tmp_path, [one, one])
    assert remark.where == "1 time"
    assert "more than once" in remark.text
    bad, good = read_data(tmp_path, [one, one | {"x": [[1, 3]]}])
    assert isinstance(bad, BadRecord)
    assert bad.where == "data record 2, worm '1', time 0"
    assert good.points.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (3, "a number"),
        ({"t": [0]}, "id must be text"),
        ({"id": "1", "t": ["a"]}, "the text 'a'"),
        ({"id": "1", "t": [0], "x": [2.0], "y": [1.7]}, "a position is no shape"),
        ({"id": "1", "t": [0], "x": [[1, 2]], "y": [[1]]}, "its x has 2 points, its y 1"),
        ({"id": "1", "t": [0, 1], "x": [[1, 2]], "y": [[1, 2]]}, "1 entries for 2 times"),
        ({"id": "1", "t": [0], "x": [[1, 2]], "y": [[1, 2]], "ox": [1]}, "together"),
        ({"id": "1", "t": [0], "x": [[1, True]], "y": [[1, 2]]}, "true"),
        ({"id": "1", "t": [0], "x": [[1, 10**400]], "y": [[1, 2]]}, "too large"),
    ],
)
def test_bad_entries_are_named_and_the_next_is_read(tmp_path: Path, entry: Any, words: str) -> None:
    bad, *_, good = read_data(tmp_path, [entry, {"id": "2", "t": [0], "x": [[1, 2]], "y": [[0, 0]]}])
    assert isinstance(bad, BadRecord)
    assert words in bad.reason
    assert isinstance(good, Record)


@pytest.mark.parametrize(
    "walk",
    [
        3,
        {},
        {"px": [0, 0, 1], "n": 10**12, "4": "Mg"},
        {"px": [0, 0, 1], "n": 9, "4": "Mg"},
        {"px": [0, 0, 1], "n": 3, "4": "!"},
    ],
)
def test_bad_walks_are_named(tmp_path: Path, walk: Any) -> None:
    (bad,) = read_data(tmp_path, {"id": "1", "t": [0], "x": [4], "y": [3], "walk": [walk]}, curve="perimeter")
    assert isinstance(bad, BadRecord)
    assert "walk" in bad.reason


def test_pieces_in_an_archive_make_one_recording(tmp_path: Path) -> None:
    path = tmp_path / "worms.wcon.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in (0, 1):
            content = write(tmp_path, series([number, number + 0.5])).read_text()
            archive.writestr(f"worms_{number}.wcon", content)
    shapes = sx.read(path)
    assert shapes.metadata["t"].tolist() == [0, 0.5, 1, 1.5]
    assert shapes.sequence.tolist() == [0] * 4


@pytest.mark.realdata
def test_real_files(data_folder: Path) -> None:
    folder = data_folder / "formats/wcon"
    points = {record.id: record.points for record in read_records(folder / "offset_and_centroid.wcon")}
    np.testing.assert_allclose(points["offset_and_centroid:1:0"], [6.5 + 8.3j, 7 + 8j, 7.5 + 7.6j])
    np.testing.assert_allclose(points["offset_and_centroid:2:0.1"], [6.6 + 6.2j, 7.5 + 5.5j])
    assert sx.read(folder / "perimeter.wcon", curve="perimeter").shape == (1, 8)
    assert len(sx.read(folder / "perimeter_points.wcon", curve="perimeter", n_points=12)) == 3
    # One entry of this file comes twice.
    assert len(sx.read(folder / "multiworm.wcon")) == 23


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["minimax.wcon", "minimaxzipped.wcon.zip"])
def test_real_file_with_a_contradiction_a_gap_and_odd_lengths(data_folder: Path, name: str) -> None:
    path = data_folder / "formats/wcon" / name
    with pytest.raises(ShapeFileError, match=r"data record 5, worm '1', time 1\.3: this worm has other points"):
        sx.read(path)
    found = [record for record in read_records(path) if isinstance(record, Record)]
    assert [(record.metadata["worm"], record.frame) for record in found] == [
        ("4", 0),
        ("1", 0),
        ("1", 1),
        ("1", 2),
        ("1", 12),
        ("2", 0),
        ("2", 1),
    ]
    # y is in meters, x in millimeters; the origin moves x by 5 meters.
    np.testing.assert_allclose(found[1].points, 5001 + 2000j)
    assert np.isnan(found[3].points).tolist() == [True, False, False]
    # Left out: the contradiction, a spine with a missing point, and one whose points coincide.
    with pytest.warns(sx.exceptions.SkippedRecordsWarning, match="Left out 3 records"):
        assert len(sx.read(path, on_error="skip", n_points=5)) == 5
