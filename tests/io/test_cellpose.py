"""Outlines of Cellpose as text, and the masks in its pickled files."""

import numpy as np
import pytest
import tifffile

import shapelex as sx
from tests.io.conftest import Bomb, check_refused, check_set, notes_of

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


def seg_file(path, masks):
    """Write what Cellpose saves of a segmentation: a pickled dict with more than the masks."""
    flows = [np.zeros((2, 3), "f4"), {"a": None, "cellprob": np.ones(4)}]
    content = {"outlines": masks * 0, "masks": masks, "chan_choose": [0, 0], "filename": "plate.tif", "flows": flows}
    np.save(path, content, allow_pickle=True)
    return path


@pytest.mark.parametrize("dtype", ["u2", "u4", "i4", ">u2"])
def test_masks_of_segmentations(tmp_path, dtype):
    masks = np.zeros((40, 50), dtype)
    masks[5:15, 6:20] = 1
    masks[20:36, 10:40] = 7
    found = sx.read(seg_file(tmp_path / "plate_seg.npy", masks), n_points=20)
    check_set(found, ids=["plate_seg:1", "plate_seg:7"], area=[140, 480], formats=["image"])
    expected = sx.outlines_from_mask(masks, 20, which="labels").configurations
    np.testing.assert_array_equal(found.configurations, expected)
    np.testing.assert_array_equal(
        sx.read(seg_file(tmp_path / "plate_seg.npy", np.asfortranarray(masks)), n_points=20).configurations, expected
    )
    film = sx.read(seg_file(tmp_path / "film_seg.npy", np.stack([masks, masks])), n_points=20)
    assert film.metadata["frame"].tolist() == [0, 0, 1, 1]
    # An image of the same masks is read instead; the raw image is not.
    for name in ("plate_cp_masks.tif", "plate.tif"):
        tifffile.imwrite(tmp_path / name, masks.astype("u2"))
    (tmp_path / "film_seg.npy").unlink()
    found = sx.read(tmp_path, n_points=20)
    assert found.ids.tolist() == ["plate_cp_masks:1", "plate_cp_masks:7"]
    assert "their masks lie beside them: plate.tif, plate_seg.npy" in notes_of(found)


def test_nothing_that_is_pickled_is_run(tmp_path):
    for content in ({"masks": Bomb(tmp_path / "ran")}, Bomb(tmp_path / "ran"), {"masks": np.array([None])}, {"a": 1}):
        np.save(tmp_path / "plate_seg.npy", np.array(content), allow_pickle=True)
        check_refused(r"plate_seg\.npy cannot be read as masks", sx.read, tmp_path / "plate_seg.npy")
    assert not (tmp_path / "ran").exists()
    path = seg_file(tmp_path / "plate_seg.npy", np.ones((4, 4), "u2"))
    content = path.read_bytes()
    for end in range(100, len(content), 29):
        path.write_bytes(content[:end])
        check_refused(r"plate_seg\.npy cannot be read as masks", sx.read, path)
    # A plain array may have such a name too.
    np.save(tmp_path / "my_seg.npy", np.zeros((2, 3, 2)))
    assert len(sx.read(tmp_path / "my_seg.npy")) == 2
