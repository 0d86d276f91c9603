"""CTX files: chain codes in XML, and XML that means harm."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError, SkippedRecordsWarning

# A square of pixels with its holes, y down, clockwise to the eye.
CTX = """<?xml version="1.0" standalone="yes"?>
<ctx><canvas width="9" height="8" /><silhouette contours="2">
<contour id="1"><path vertices="8" chain="2 3 0 0 2 2 4 4 6" /></contour>
<contour id="2" parent="1"><path vertices="4" chain="3 4 7 1 3" /></contour>
</silhouette></ctx>
"""


@pytest.fixture
def read(tmp_path):
    def read_text(text, name="square.ctx", **options):
        (tmp_path / name).write_text(text)
        return sx.read(tmp_path / name, **options)

    return read_text


def test_outer_contour(read):
    shapes = read(CTX)
    assert shapes.space == sx.Landmarks(8, closed=True)
    assert shapes.ids.tolist() == ["square"]
    down = np.array([2 + 3j, 3 + 3j, 4 + 3j, 4 + 4j, 4 + 5j, 3 + 5j, 2 + 5j, 2 + 4j])
    np.testing.assert_array_equal(shapes.configurations, [down.conj() + 7j])


def test_several_outer_contours(read):
    assert read(CTX.replace(' parent="1"', ""), n_points=8).ids.tolist() == ["square-1", "square-2"]


def test_by_content(read):
    assert read(CTX, "square.xml2").provenance["formats"] == ["ctx"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("2 3 0 0", "2 3 0 8", "contour 1: .*directions from 0 to 7"),
        ("2 3 0 0", "2 3 0 zero", "contour 1: its chain is no list of whole numbers"),
        ("2 3 0 0", "2 99999999999999999999 0 0", "contour 1: its chain"),
        ('vertices="8"', 'vertices="9"', "contour 1: 9 vertices are declared, but its chain has 8"),
        ("2 3 0 0 2 2 4 4 6", "2 3", "fewer than three points"),
        ('height="8"', 'height="tall"', "height of the canvas is 'tall'"),
        ("ctx>", "shape>", "no well-formed XML|is no CTX file"),
        ("</ctx>", "", "no well-formed XML"),
        ("<ctx>", '<!DOCTYPE ctx [<!ENTITY a "b">]><ctx>', "document type or entities, which are refused"),
        ("<ctx>", '<!DOCTYPE ctx SYSTEM "file:///etc/passwd"><ctx>', "document type or entities, which are refused"),
        ("<ctx>", "<ctx>" + "<a>" * 300 + "</a>" * 300, "nests its elements more than 200 deep"),
    ],
)
def test_refuses(read, old, new, words):
    assert old in CTX
    with pytest.raises(ShapeFileError, match=words):
        read(CTX.replace(old, new))


def test_bad_contour_is_stepped_over(read):
    text = CTX.replace(' parent="1"', "").replace("2 3 0 0", "2 3 0 8")
    with pytest.warns(SkippedRecordsWarning, match="contour 1"):
        assert len(read(text, on_error="skip")) == 1
