"""ImageJ regions: every type, zip archives, and what is refused."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import roifile

import shapelex as sx
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.roi import read_records
from shapelex.io.records import BadRecord, Record, Remark

SQUARE = np.array([[2, 1], [2, 5], [6, 5], [6, 1]])


def region(kind: str, points: np.ndarray = SQUARE, **attributes: object) -> bytes:
    roi = roifile.ImagejRoi.frompoints(points)
    roi.name = ""
    roi.roitype = roifile.ROI_TYPE[kind]
    for name, value in attributes.items():
        setattr(roi, name, value)
    return roi.tobytes()


def read_bytes(folder: Path, content: bytes, **options: object) -> Record | BadRecord:
    path = folder / "cell.roi"
    path.write_bytes(content)
    (record,) = read_records(path, **options)
    return record


@pytest.mark.parametrize(
    ("kind", "closed"),
    [
        ("POLYGON", True),
        ("FREEHAND", True),
        ("TRACED", True),
        ("POLYLINE", False),
        ("FREELINE", False),
        ("POINT", None),
    ],
)
def test_points_and_closure_follow_the_type(tmp_path: Path, kind: str, closed: bool | None) -> None:
    record = read_bytes(tmp_path, region(kind))
    np.testing.assert_array_equal(record.points, SQUARE @ [1, -1j])
    assert record.closed is closed
    assert record.metadata["type"] == kind.lower()


def test_subpixel_coordinates_are_used(tmp_path: Path) -> None:
    points = SQUARE + np.array([0.25, 0.5])
    record = read_bytes(tmp_path, region("POLYGON", points.astype(np.float32)))
    np.testing.assert_array_equal(record.points, points @ [1, -1j])


def test_rectangle_becomes_its_corners_and_oval_an_ellipse(tmp_path: Path) -> None:
    box = {"left": 10, "top": 20, "right": 14, "bottom": 30, "n_coordinates": 0, "integer_coordinates": None}
    corners = read_bytes(tmp_path, region("RECT", **box))
    assert set(corners.points) == {10 - 20j, 10 - 30j, 14 - 30j, 14 - 20j}
    oval = read_bytes(tmp_path, region("OVAL", **box))
    centered = oval.points - (12 - 25j)
    np.testing.assert_allclose((centered.real / 2) ** 2 + (centered.imag / 5) ** 2, 1)
    assert oval.closed
    assert corners.closed


def test_straight_line_and_angle(tmp_path: Path) -> None:
    ends = {"x1": 1.5, "y1": 2.0, "x2": 4.0, "y2": 8.5, "n_coordinates": 0, "integer_coordinates": None}
    line = read_bytes(tmp_path, region("LINE", **ends))
    assert line.points.tolist() == [1.5 - 2j, 4 - 8.5j]
    assert line.closed is False
    angle = read_bytes(tmp_path, region("ANGLE", SQUARE[:3]))
    assert len(angle.points) == 3
    assert angle.closed is False


def test_text_over_the_picture_is_no_shape(tmp_path: Path) -> None:
    box = {"left": 10, "top": 20, "right": 14, "bottom": 30, "n_coordinates": 0, "integer_coordinates": None}
    record = read_bytes(tmp_path, region("RECT", subtype=roifile.ROI_SUBTYPE.TEXT, text="scale", version=228, **box))
    assert "a text that lies over the picture" in record.reason


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no ImageJ region"),
        (b"Iout" + bytes(60), "this one has 0"),
        (b"JPEG" + bytes(100), "no ImageJ region"),
        (region("POLYGON")[:70], "damaged"),
        (region("NOROI"), "no outline"),
        (region("POLYGON", SQUARE[:2]), "at least 3 points"),
    ],
)
def test_bad_bytes_are_bad_records(tmp_path: Path, content: bytes, words: str) -> None:
    record = read_bytes(tmp_path, content)
    assert isinstance(record, BadRecord)
    assert words in record.reason


def write_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_archive_is_read_in_its_order_without_other_files(tmp_path: Path) -> None:
    members = {"b.roi": region("POLYGON"), "a.roi": region("POLYGON"), "notes.txt": b"x", "__MACOSX/._a.roi": b"junk"}
    shapes = sx.read(write_zip(tmp_path / "RoiSet.zip", members))
    assert shapes.ids.tolist() == ["b", "a"]
    assert shapes.space == sx.Landmarks(4, closed=True)


def test_bad_region_in_an_archive_is_named_or_skipped(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "RoiSet.zip", {"good.roi": region("POLYGON"), "bad.roi": b"Iout"})
    with pytest.raises(ShapeFileError, match=r"RoiSet\.zip, region 'bad\.roi'"):
        sx.read(path)
    with pytest.warns(sx.exceptions.SkippedRecordsWarning, match=r"bad\.roi"):
        assert len(sx.read(path, on_error="skip")) == 1


@pytest.mark.parametrize(
    ("members", "words"),
    [
        *(
            ({name: b""}, "leads out")
            for name in ("../../evil.roi", "/evil.roi", "a/../../evil.roi", "C:/evil.roi", "..\\evil.roi")
        ),
        ({"bomb.roi": bytes(80 << 20)}, "swells"),
        ({"a.txt": b"1"}, "no file"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_hostile_archives_are_refused(tmp_path: Path, members: dict[str, bytes], words: str) -> None:
    path = write_zip(tmp_path / "RoiSet.zip", members)
    with pytest.raises(ShapeFileError, match=words):
        sx.read(path, format="roi")


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["polygon", "polygon-left", "freehand", "freeline", "polyline", "multipoint"])
def test_real_regions_are_as_expected(data_folder: Path, name: str) -> None:
    expected = json.loads((data_folder / f"formats/imagej_roi/{name}.expected.json").read_text())[name]
    (record,) = read_records(data_folder / f"formats/imagej_roi/{name}.roi")
    np.testing.assert_allclose(record.points, np.array(expected["x"]) - 1j * np.array(expected["y"]), rtol=1e-7)
    assert record.id == expected["name"]


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "part"), [("composite-brush-donut", 1), ("composite-two-ellipses", None)])
def test_real_composites_give_their_largest_part(data_folder: Path, name: str, part: int | None) -> None:
    paths = json.loads((data_folder / f"formats/imagej_roi/{name}.expected.json").read_text())[name]["paths"]
    record, remark = read_records(data_folder / f"formats/imagej_roi/{name}.roi")
    assert "have several parts, of which the largest was read" in remark.text
    rings = [np.array(path) @ [1, -1j] for path in paths]
    area = [abs(np.sum(ring.real * np.roll(ring.imag, -1) - ring.imag * np.roll(ring.real, -1))) for ring in rings]
    largest = rings[int(np.argmax(area))]
    assert part is None or part == int(np.argmax(area))
    keep = len(largest) - (largest[0] == largest[-1])
    np.testing.assert_allclose(record.points, largest[:keep], rtol=1e-6)
    assert record.metadata["n_parts"] == len(rings)


@pytest.mark.realdata
def test_real_archive_reads_by_kind(data_folder: Path) -> None:
    path = data_folder / "formats/imagej_roi/RoiSet.zip"
    with pytest.raises(ShapeFileError, match="closed"):
        sx.read(path)
    outlines = sx.read(path, n_points=50, only="outlines")
    assert len(outlines) == 6
    assert outlines.space == sx.Landmarks(50, closed=True)
    assert sx.read(path, n_points=50, only="lines").ids.tolist() == ["freeline", "polyline"]
    assert sx.read(path, only="points").shape == (1, 14)
    closed = sx.read(path, n_points=50, closed=True)
    assert len(closed) == 9
    assert [note for note in closed.notes if "only=outlines" in note] == [
        f"{path}, 9 regions: 6 outlines, 2 lines and 1 set of points were all read as shapes of one kind, closed or "
        "open as asked; the option only=outlines reads the outlines alone."
    ]
    assert not [note for note in outlines.notes if "only=" in note]


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (["POLYGON", "POLYLINE"], "1 outline and 1 line were all"),
        (["POLYGON", "OVAL", "POINT", "POINT", "LINE"], "2 outlines, 1 line and 2 sets of points were all"),
        (["POLYLINE", "POINT"], "1 line and 1 set of points were all"),
        (["POLYGON", "OVAL"], None),
        (["POLYLINE"], None),
    ],
)
def test_regions_of_several_kinds_are_remarked(tmp_path: Path, kinds: list[str], words: str | None) -> None:
    path = tmp_path / "RoiSet.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number, kind in enumerate(kinds):
            archive.writestr(f"{number}.roi", region(kind))
        archive.writestr("damaged.roi", b"Iout")
    *records, last = read_records(path)
    remarks = [one for one in [*records, last] if isinstance(one, Remark)]
    if words is None:
        assert remarks == []
    else:
        assert remarks == [last]
        assert last.text.startswith(words)
        assert last.where == f"{len(kinds)} regions"
    for only in ("outlines", "lines", "points"):
        assert not [one for one in read_records(path, only=only) if isinstance(one, Remark)]
        assert [one for one in read_records(path, only=only) if isinstance(one, BadRecord)]
