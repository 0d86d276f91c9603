"""Outlines of Cellpose as text, and its pickled files, which are refused."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError
from tests.io.conftest import Bomb

FILE = "plate_1_cp_outlines.txt"
OUTLINES = "31,53,53,53,53,75,31,75\n\n16,38,68,38,68,90,16,90\n"


def test_outlines(read):
    shapes = read(OUTLINES)
    assert shapes.space == sx.Landmarks(4, closed=True)
    # The number of the line is the label that the region has in the masks.
    assert shapes.ids.tolist() == ["plate_1:1", "plate_1:3"]
    np.testing.assert_array_equal(shapes[0], [31 - 53j, 53 - 53j, 53 - 75j, 31 - 75j])
    (note,) = shapes.notes
    assert "1 of 3 regions: left out" in note
    assert shapes.provenance["formats"] == ["cellpose"]
    np.testing.assert_array_equal(read(OUTLINES, y_down=False).configurations, shapes.configurations.conj())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1,2,3,4,5", "an outline is x,y,x,y,…, but the line has 5 numbers"),
        ("1,2,3,x,5,6", "'x' is no number"),
        ("1,2,3,4", "a closed outline needs at least 3 points"),
        ("1,2,3,,5,6,7,8", "a coordinate is not finite"),
    ],
)
def test_bad_outlines(check_bad_record, line, words):
    check_bad_record(f"{line}\n{OUTLINES}", 2, f"line 1: {words}")


def test_pickled_masks_are_refused_without_unpickling(tmp_path):
    np.save(tmp_path / "plate_seg.npy", np.array({"masks": Bomb(tmp_path / "ran")}), allow_pickle=True)
    with pytest.raises(ShapeFileError, match=r"plate_seg\.npy holds pickled Python objects of Cellpose.*imwrite"):
        sx.read(tmp_path / "plate_seg.npy")
    (tmp_path / FILE).write_text(OUTLINES)
    assert "no files of shapes, not read: plate_seg.npy" in sx.read(tmp_path).notes
    assert not (tmp_path / "ran").exists()
    # A plain array may have such a name too.
    np.save(tmp_path / "my_seg.npy", np.zeros((2, 3, 2)))
    assert len(sx.read(tmp_path / "my_seg.npy")) == 2
