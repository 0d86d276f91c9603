"""Outlines of Cellpose as text, and its pickled files, which are refused."""

from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError, SkippedRecordsWarning

OUTLINES = "31,53,53,53,53,75,31,75\n\n16,38,68,38,68,90,16,90\n"


def test_outlines(tmp_path: Path) -> None:
    path = tmp_path / "plate_1_cp_outlines.txt"
    path.write_text(OUTLINES)
    shapes = sx.read(path)
    assert shapes.space == sx.Landmarks(4, closed=True)
    # The number of the line is the label that the region has in the masks.
    assert shapes.ids.tolist() == ["plate_1:1", "plate_1:3"]
    np.testing.assert_array_equal(shapes[0], [31 - 53j, 53 - 53j, 53 - 75j, 31 - 75j])
    (note,) = shapes.notes
    assert "1 of 3 regions: left out" in note
    assert shapes.provenance["formats"] == ["cellpose"]
    np.testing.assert_array_equal(sx.read(path, y_down=False).configurations, shapes.configurations.conj())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1,2,3,4,5", "line 1: an outline is x,y,x,y,…, but the line has 5 numbers"),
        ("1,2,3,x,5,6", "line 1: 'x' is no number"),
        ("1,2,3,4", "line 1: a closed outline needs at least 3 points"),
        ("1,2,3,,5,6,7,8", "line 1: a coordinate is not finite"),
    ],
)
def test_bad_outline_is_named_and_stepped_over(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "plate_cp_outlines.txt"
    path.write_text(f"{line}\n{OUTLINES}")
    with pytest.raises(ShapeFileError, match=words):
        sx.read(path)
    with pytest.warns(SkippedRecordsWarning, match="Left out 1 record"):
        assert len(sx.read(path, on_error="skip")) == 2


def test_pickled_masks_are_refused_without_unpickling(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[object, ...]]:
            return (Path.touch, (tmp_path / "ran",))

    np.save(tmp_path / "plate_seg.npy", np.array({"masks": Bomb()}), allow_pickle=True)
    with pytest.raises(ShapeFileError, match=r"plate_seg\.npy holds pickled Python objects of Cellpose.*imwrite"):
        sx.read(tmp_path / "plate_seg.npy")
    (tmp_path / "plate_cp_outlines.txt").write_text(OUTLINES)
    assert "no files of shapes, not read: plate_seg.npy" in sx.read(tmp_path).notes
    assert not (tmp_path / "ran").exists()
    # A plain array may have such a name too.
    np.save(tmp_path / "my_seg.npy", np.zeros((2, 3, 2)))
    assert len(sx.read(tmp_path / "my_seg.npy")) == 2
