"""ImageJ regions: every type, zip archives, and what is refused."""

import json
import zipfile

import numpy as np
import pytest
import roifile

import shapelex as sx
from shapelex.exceptions import SkippedRecordsWarning
from tests.io.conftest import check_refused, notes_of

FILE = "cell.roi"
SQUARE = np.array([[2, 1], [2, 5], [6, 5], [6, 1]])
BOX = {"left": 10, "top": 20, "right": 14, "bottom": 30, "n_coordinates": 0, "integer_coordinates": None}


def region(kind: str, points: np.ndarray = SQUARE, **attributes: object) -> bytes:
    roi = roifile.ImagejRoi.frompoints(points)
    roi.name = ""
    roi.roitype = roifile.ROI_TYPE[kind]
    for name, value in attributes.items():
        setattr(roi, name, value)
    return roi.tobytes()


@pytest.fixture
def write_zip(tmp_path):
    def write(members):
        with zipfile.ZipFile(tmp_path / "RoiSet.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return tmp_path / "RoiSet.zip"

    return write


@pytest.mark.parametrize("kind", ["POLYGON", "FREEHAND", "TRACED", "POLYLINE", "FREELINE", "POINT"])
def test_points_and_closure_follow_the_type(read, kind):
    shapes = read(region(kind))
    np.testing.assert_array_equal(shapes.configurations, [SQUARE @ [1, -1j]])
    assert shapes.closed is (kind in ("POLYGON", "FREEHAND", "TRACED"))
    assert shapes.metadata["type"].tolist() == [kind.lower()]


def test_subpixel_coordinates_are_used(read):
    points = SQUARE + np.array([0.25, 0.5])
    np.testing.assert_array_equal(read(region("POLYGON", points.astype(np.float32)))[0], points @ [1, -1j])


def test_rectangle_becomes_its_corners_and_oval_an_ellipse(read):
    corners, oval = read(region("RECT", **BOX)), read(region("OVAL", **BOX))
    assert set(corners[0]) == {10 - 20j, 10 - 30j, 14 - 30j, 14 - 20j}
    centered = oval[0] - (12 - 25j)
    np.testing.assert_allclose((centered.real / 2) ** 2 + (centered.imag / 5) ** 2, 1)
    assert oval.closed
    assert corners.closed


def test_straight_line_and_angle(read):
    ends = {"x1": 1.5, "y1": 2.0, "x2": 4.0, "y2": 8.5, "n_coordinates": 0, "integer_coordinates": None}
    line = read(region("LINE", **ends))
    assert line[0].tolist() == [1.5 - 2j, 4 - 8.5j]
    assert not line.closed
    angle = read(region("ANGLE", SQUARE[:3]))
    assert (angle.shape, angle.closed) == ((1, 3), False)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"Iout" + bytes(60), "this one has 0"),
        (b"JPEG" + bytes(100), "no ImageJ region"),
        (region("POLYGON")[:70], "damaged"),
        (region("NOROI"), "no outline"),
        (region("POLYGON", SQUARE[:2]), "at least 3 points"),
        (
            region("RECT", subtype=roifile.ROI_SUBTYPE.TEXT, text="scale", version=228, **BOX),
            "a text that lies over the picture",
        ),
    ],
)
def test_bad_regions_are_named_alone_and_in_archives(read, write_zip, content, words):
    check_refused(words, read, content)
    path = write_zip({"good.roi": region("POLYGON"), "bad.roi": content})
    check_refused(rf"RoiSet\.zip, region 'bad\.roi'.*{words}", sx.read, path)
    with pytest.warns(SkippedRecordsWarning, match=r"bad\.roi"):
        assert len(sx.read(path, on_error="skip")) == 1


def test_archive_is_read_in_its_order_without_other_files(write_zip):
    members = {"b.roi": region("POLYGON"), "a.roi": region("POLYGON"), "notes.txt": b"x", "__MACOSX/._a.roi": b"junk"}
    shapes = sx.read(write_zip(members))
    assert shapes.ids.tolist() == ["b", "a"]
    assert shapes.space == sx.Landmarks(4, closed=True)


@pytest.mark.parametrize(
    ("name", "n_bytes", "words"),
    [
        ("../../evil.roi", 0, "leads out"),
        ("/evil.roi", 0, "leads out"),
        ("a/../../evil.roi", 0, "leads out"),
        ("C:/evil.roi", 0, "leads out"),
        ("..\\evil.roi", 0, "leads out"),
        ("bomb.roi", 80 << 20, "swells"),
        ("a.txt", 1, "no file"),
    ],
)
def test_hostile_archives_are_refused(write_zip, name, n_bytes, words):
    check_refused(words, sx.read, write_zip({name: bytes(n_bytes)}), format="roi")


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
@pytest.mark.filterwarnings("ignore::shapelex.exceptions.SkippedRecordsWarning")
def test_regions_of_several_kinds_are_remarked(write_zip, kinds, words):
    members = {f"{number}.roi": region(kind) for number, kind in enumerate(kinds)}
    path = write_zip({**members, "damaged.roi": b"Iout"})
    notes = notes_of(sx.read(path, n_points=9, closed=True, on_error="skip"))
    assert ("were all" in notes) == (words is not None)
    assert words is None or f"{len(kinds)} regions: {words}" in notes
    only = {"POLYGON": "outlines", "POLYLINE": "lines"}[kinds[0]]
    assert "were all" not in notes_of(sx.read(path, n_points=9, only=only, on_error="skip"))


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["polygon", "polygon-left", "freehand", "freeline", "polyline", "multipoint"])
def test_real_regions_are_as_expected(data_folder, name):
    expected = json.loads((data_folder / f"formats/imagej_roi/{name}.expected.json").read_text())[name]
    shapes = sx.read(data_folder / f"formats/imagej_roi/{name}.roi")
    np.testing.assert_allclose(shapes[0], np.array(expected["x"]) - 1j * np.array(expected["y"]), rtol=1e-7)
    assert shapes.ids.tolist() == [expected["name"]]


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "part"), [("composite-brush-donut", 1), ("composite-two-ellipses", None)])
def test_real_composites_give_their_largest_part(data_folder, name, part):
    paths = json.loads((data_folder / f"formats/imagej_roi/{name}.expected.json").read_text())[name]["paths"]
    shapes = sx.read(data_folder / f"formats/imagej_roi/{name}.roi")
    assert "have several parts, of which the largest was read" in notes_of(shapes)
    rings = [np.array(path) @ [1, -1j] for path in paths]
    area = [abs(np.sum(ring.real * np.roll(ring.imag, -1) - ring.imag * np.roll(ring.real, -1))) for ring in rings]
    largest = rings[int(np.argmax(area))]
    assert part is None or part == int(np.argmax(area))
    keep = len(largest) - (largest[0] == largest[-1])
    np.testing.assert_allclose(shapes[0], largest[:keep], rtol=1e-6)
    assert shapes.metadata["n_parts"].tolist() == [len(rings)]


@pytest.mark.realdata
def test_real_archive_reads_by_kind(data_folder):
    path = data_folder / "formats/imagej_roi/RoiSet.zip"
    check_refused("closed", sx.read, path)
    assert sx.read(path, n_points=50, only="outlines").shape == (6, 50)
    assert sx.read(path, n_points=50, only="lines").ids.tolist() == ["freeline", "polyline"]
    assert sx.read(path, only="points").shape == (1, 14)
    assert "9 regions: 6 outlines, 2 lines and 1 set of points" in notes_of(sx.read(path, n_points=50, closed=True))
