"""ImageJ regions: every type, zip archives, and what is refused."""

import json
import zipfile

import numpy as np
import pytest
import roifile

import shapelex as sx
from tests.io.conftest import check_left_out, check_refused, check_set, notes_of

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


def test_rectangles_ovals_lines_and_angles(read):
    corners, oval = read(region("RECT", **BOX)), read(region("OVAL", **BOX))
    assert set(corners[0]) == {10 - 20j, 10 - 30j, 14 - 30j, 14 - 20j}
    centered = oval[0] - (12 - 25j)
    np.testing.assert_allclose((centered.real / 2) ** 2 + (centered.imag / 5) ** 2, 1)
    ends = {"x1": 1.5, "y1": 2.0, "x2": 4.0, "y2": 8.5, "n_coordinates": 0, "integer_coordinates": None}
    line, angle = read(region("LINE", **ends)), read(region("ANGLE", SQUARE[:3]))
    assert line[0].tolist() == [1.5 - 2j, 4 - 8.5j]
    assert angle.shape == (1, 3)
    assert [one.closed for one in (corners, oval, line, angle)] == [True, True, False, False]
    # Coordinates between pixels are used.
    points = SQUARE + np.array([0.25, 0.5])
    np.testing.assert_array_equal(read(region("POLYGON", points.astype(np.float32)))[0], points @ [1, -1j])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"Iout" + bytes(60), "this one has 0"),
        (b"JPEG" + bytes(100), "not an ImageJ region"),
        (region("POLYGON")[:70], "damaged"),
        (region("NOROI"), "no outline"),
        (region("POLYGON", SQUARE[:2]), "at least 3 points"),
        (region("RECT", subtype=roifile.ROI_SUBTYPE.TEXT, text="a", version=228, **BOX), "a text that lies over the"),
    ],
)
def test_bad_regions_are_named_alone_and_in_archives(read, write_zip, content, words):
    check_refused(words, read, content)
    path = write_zip({"good.roi": region("POLYGON"), "bad.roi": content})
    check_left_out(1, rf"RoiSet\.zip, region 'bad\.roi'.*{words}", sx.read, path)


def test_archive_is_read_in_its_order_without_other_files(write_zip):
    members = {"b.roi": region("POLYGON"), "a.roi": region("POLYGON"), "notes.txt": b"x", "__MACOSX/._a.roi": b"junk"}
    shapes = sx.read(write_zip(members))
    check_set(shapes, ids=["b", "a"], space=sx.Landmarks(4, closed=True))


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
def test_real_regions_are_as_expected(data_folder):
    folder = data_folder / "formats/imagej_roi"
    for name in ("polygon", "polygon-left", "freehand", "freeline", "polyline", "multipoint"):
        expected = json.loads((folder / f"{name}.expected.json").read_text())[name]
        shapes = sx.read(folder / f"{name}.roi")
        np.testing.assert_allclose(shapes[0], np.array(expected["x"]) - 1j * np.array(expected["y"]), rtol=1e-7)
        assert shapes.ids.tolist() == [expected["name"]]
    for name, largest in (("composite-brush-donut", 1), ("composite-two-ellipses", 0)):
        paths = json.loads((folder / f"{name}.expected.json").read_text())[name]["paths"]
        rings = [np.array(path) @ [1, -1j] for path in paths]
        areas = [abs(np.sum(ring.real * np.roll(ring.imag, -1) - ring.imag * np.roll(ring.real, -1))) for ring in rings]
        assert np.argmax(areas) == largest
        ring, shapes = rings[largest], sx.read(folder / f"{name}.roi")
        np.testing.assert_allclose(shapes[0], ring[: len(ring) - (ring[0] == ring[-1])], rtol=1e-6)
        assert "have several parts, of which the largest was read" in notes_of(shapes)
        assert shapes.metadata["n_parts"].tolist() == [len(rings)]
