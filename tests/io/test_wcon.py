"""WCON: origins, units, several worms, perimeters, gaps, and what is refused."""

import json
import zipfile
from typing import Any

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import SkippedRecordsWarning
from tests.io.conftest import check_refused, check_set, notes_of

FILE = "worms.wcon"
UNITS = {name: "s" if name == "t" else "mm" for name in ("t", "x", "y", "ox", "oy", "cx", "cy", "px", "py")}


def recording(*data: Any, **units: str) -> dict[str, Any]:
    return {"units": UNITS | units, "data": list(data)}


def worm(name: str, times: list[float], x: Any, y: Any, **others: Any) -> dict[str, Any]:
    return {"id": name, "t": times, "x": x, "y": y, **others}


def series(times: list[float]) -> dict[str, Any]:
    return worm("1", times, [[t, 1] for t in times], [[0, 1] for _ in times])


# The four files of the format's own tests that must give the same spines: with and without origin and centroid.
@pytest.mark.parametrize("has_origin", [True, False])
@pytest.mark.parametrize("has_centroid", [True, False])
def test_origins_and_centroids_give_the_same_spine(read, has_origin, has_centroid):
    entry = worm("1", [0], [[6.5, 7, 7.5]], [[8.3, 8, 7.6]])
    if has_origin:
        entry = worm("1", [0], [[4.5, 5, 5.5]], [[4.3, 4, 3.6]], ox=[2], oy=[4])
    if has_centroid:
        entry |= {"cx": [5], "cy": [4]} if has_origin else {"cx": [7], "cy": [8]}
    shapes = read(recording(entry))
    np.testing.assert_allclose(shapes.configurations, [[6.5 + 8.3j, 7 + 8j, 7.5 + 7.6j]])
    assert not shapes.closed
    if has_centroid:
        assert (shapes.metadata["cx"][0], shapes.metadata["cy"][0]) == (7, 8)


def test_worms_are_sequences_in_order_of_time_whatever_the_file(read):
    data = [
        worm("b", [0.2, 0.1], [[2, 0], [1, 0]], [[0, 1], [0, 1]]),
        worm("a", [0.1], [[5, 0]], [[0, 1]]),
        worm("b", [0.4], [[4, 0]], [[0, 1]]),
    ]
    shapes = read(recording(*data))
    assert shapes.configurations[:, 0].real.tolist() == [1, 2, 4, 5]
    check_set(shapes, sequence=[0, 0, 0, 1], frame=[0, 1, 3, 0], t=[0.1, 0.2, 0.4, 0.1])
    assert shapes.ids.tolist() == ["worms:b:0.1", "worms:b:0.2", "worms:b:0.4", "worms:a:0.1"]


@pytest.mark.parametrize(
    ("times", "frames"),
    [
        ([0.0, 0.1, 0.2, 0.5, 0.6], [0, 1, 2, 5, 6]),
        ([3.0], [0]),
        ([0.0, 1.0, 2.0, 2.01], [0, 1, 2, 3]),
        ([1.3, 1.4, 1.5, 2.5], [0, 1, 2, 12]),
        # Rounded times of 29.97 frames per second.
        (np.round(700 + np.array([0, 1, 2, 3, 7, 8, 19]) / 29.97, 3).tolist(), [0, 1, 2, 3, 7, 8, 19]),
    ],
)
def test_frames_follow_the_usual_step_of_time(read, times, frames):
    assert read(recording(series(times))).metadata["frame"].tolist() == frames
    for max_gap in (None, 1, 2, 20):
        gaps = np.diff(frames) - 1 > (np.inf if max_gap is None else max_gap)
        sequence = [0, *np.cumsum(gaps).tolist()]
        check_set(read(recording(series(times)), max_gap=max_gap), sequence=sequence)


@pytest.mark.parametrize(
    ("unit", "reference", "ratio"),
    [
        ("mm", "mm", 1), ("pixels", "pixels", 1), ("m", "mm", 1000), ("millimetres", "mm", 1), ("µm", "um", 1),
        ("μm", "micron", 1), ("in", "mm", 25.4), ("12*in", "mm", 304.8), ("in/72", "inch", 1 / 72),
        ("0.5*mm", "mm", 0.5), ("kilometers", "m", 1000),
        *((unit, "mm", None) for unit in ("", "s", "mm^2", "mm*mm", "1/mm", "*mm", "mm*", "0*mm", "2", "mm mm")),
        (7, "mm", None), (None, "mm", None),
        ("x" * 999, "mm", None), ("pixels", "mm", None),
    ],
)  # fmt: skip
def test_units_of_y_are_converted_to_those_of_x(read, unit, reference, ratio):
    units = {"t": "s", "x": reference, "ox": reference, "y": unit, "oy": unit}
    document = recording(worm("1", [0], [[1, 2]], [[3, 4]], ox=[1], oy=[1])) | {"units": units}
    if ratio is None:
        check_refused("unit of y cannot be converted to that of x: .*unit|units .* as text", read, document)
        return
    shapes = read(document)
    np.testing.assert_allclose(shapes.configurations, [[2 + 4j * ratio, 3 + 5j * ratio]], rtol=1e-11)
    assert shapes.metadata["units"].tolist() == [reference]


@pytest.mark.parametrize(
    "perimeter",
    [
        {"px": [[4.5, 4.5, 3.5, 3.5]], "py": [[3.5, 2.5, 2.5, 3.5]]},
        # The example of the specification: steps -y, -x, +y of one millimeter.
        {"walk": [{"px": [4.5, 3.5, 1], "n": 3, "4": "Mg"}]},
    ],
)
def test_perimeters_as_points_and_as_walks(read, perimeter):
    shapes = read(recording(worm("1", [0], [4], [3], **perimeter)), curve="perimeter")
    check_set(shapes, [[4.5 + 3.5j, 4.5 + 2.5j, 3.5 + 2.5j, 3.5 + 3.5j]], closed=True)


def test_missing_points_are_nan_and_lost_frames_left_out(read):
    entry = worm("1", [0, 1, 2], [[1, 2], [None, None], [None, 3]], [[1, 2], [1, 2], [5, 3]])
    check_refused(r"time 2.*missing", read, recording(entry))
    shapes = read(recording(entry), missing="allow")
    assert shapes.metadata["frame"].tolist() == [0, 2]
    assert np.isnan(shapes[1][0])
    (note,) = shapes.notes
    assert "1 of 3 frames: left out, since no point" in note
    assert "max_gap=5" in note


def test_head_can_be_brought_first(read):
    document = recording(worm("1", [0, 1], [[1, 2], [3, 4]], [[0, 0], [0, 0]], head=["R", "L"]))
    np.testing.assert_array_equal(read(document, head_first=True).configurations, [[2, 1], [3, 4]])
    np.testing.assert_array_equal(read(document).configurations, [[1, 2], [3, 4]])


def test_repeats_are_dropped_and_contradictions_named(read, check_bad_record):
    one = worm("1", [0], [[1, 2]], [[0, 0]])
    shapes = read(recording(one, one))
    assert len(shapes) == 1
    assert "1 time: " in notes_of(shapes)
    assert "more than once" in notes_of(shapes)
    check_bad_record(recording(one, one | {"x": [[1, 3]]}), 1, "data record 2, worm '1', time 0: ")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (3, "a number"),
        ({"t": [0]}, "id must be text"),
        ({"id": "1", "t": ["a"]}, "the text 'a'"),
        (worm("1", [0], [2.0], [1.7]), "a position is no shape"),
        (worm("1", [0], [[1, 2]], [[1]]), "its x has 2 points, its y 1"),
        (worm("1", [0], [[1, 2]] * 2, [[1, 2]]), "2 entries for 1 times"),
        (worm("1", [0], [[1, 2]], [[1, 2]], ox=[1]), "together"),
        (worm("1", [0], [[1, True]], [[1, 2]]), "true"),
        (worm("1", [0], [[1, 10**400]], [[1, 2]]), "too large"),
    ],
)
def test_bad_entries(check_bad_record, entry, words):
    check_bad_record(recording(entry, worm("2", [0], [[1, 2]], [[0, 0]])), 1, f"data record 1.*{words}")


@pytest.mark.parametrize(
    "walk", [3, {}, *({"px": [0, 0, 1], "n": n, "4": text} for n, text in ((10**12, "Mg"), (9, "Mg"), (3, "!")))]
)
def test_bad_walks_are_named(read, walk):
    check_refused("walk", read, recording(worm("1", [0], [4], [3], walk=[walk])), curve="perimeter")


def test_pieces_in_an_archive_make_one_recording(tmp_path):
    path = tmp_path / "worms.wcon.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in (0, 1):
            archive.writestr(f"worms_{number}.wcon", json.dumps(recording(series([number, number + 0.5]))))
    shapes = sx.read(path)
    check_set(shapes, t=[0, 0.5, 1, 1.5], sequence=[0] * 4)


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["minimax.wcon", "minimaxzipped.wcon.zip"])
def test_real_file_with_a_contradiction_a_gap_and_odd_lengths(data_folder, name):
    path = data_folder / "formats/wcon" / name
    check_refused(r"data record 5, worm '1', time 1\.3: this worm has other points", sx.read, path)
    # Left out: the contradiction, a spine with a missing point, and one whose points coincide.
    with pytest.warns(SkippedRecordsWarning, match="Left out 3 records"):
        shapes = sx.read(path, on_error="skip", n_points=5)
    check_set(shapes, worm=["4", "1", "1", "2", "2"], frame=[0, 1, 12, 0, 1])
