"""DeepLabCut: header rows, individuals, likelihoods, labeled images, and tables in HDF5 whose names are pickled."""

import pickle

import numpy as np
import pytest

import shapelex as sx
from tests.io.conftest import Bomb, check_refused, check_set, notes_of

h5py = pytest.importorskip("h5py")

FILE = "miceDLC.csv"
SCORER = "DLC_resnet50_openfieldOct30shuffle1_30000"
PARTS = ("nose", "left_ear", "tail")


def header(individuals=(), parts=PARTS, coordinates="x y likelihood"):
    """Return the names of the columns, one tuple a column."""
    owners = [(name,) for name in individuals] or [()]
    return [(SCORER, *owner, part, name) for owner in owners for part in parts for name in coordinates.split()]


def as_csv(columns, rows, n_names=1):
    """Return a table with header rows, and with so many columns of names of images."""
    levels = ("scorer", "individuals", "bodyparts", "coords")
    levels = levels if len(columns[0]) == 4 else (levels[0], *levels[2:])
    starts = [level + "," * (n_names - 1) for level in levels]
    lines = [",".join(names) for names in zip(starts, *columns, strict=True)]
    return "\n".join([*lines, *rows]) + "\n"


SINGLE = as_csv(
    header(),
    [
        "0,10.5,20.25,0.99,30.0,40.0,0.98,50.0,60.0,0.1",
        "1,11.5,21.25,0.99,31.0,41.0,0.97,51.0,61.0,0.95",
        "3,13.5,23.25,0.99,33.0,43.0,0.96,53.0,63.0,0.94",
    ],
)
SEVERAL = as_csv(
    [*header(("mouse1", "mouse2")), *header(("single",), ("corner", "feeder"))],
    [
        "0,1,2,0.9,3,4,0.9,5,6,0.9,7,8,0.9,9,10,0.9,11,12,0.9,0,0,1.0,9,9,1.0",
        "1,,,,,,,,,,7,8,0.9,9,10,0.9,11,13,0.9,0,0,1.0,9,9,1.0",
    ],
)


def save_table(path, columns, values, index, kind=None):
    """Write a table as pandas does with PyTables."""
    values = np.asarray(values, dtype=float)
    dtype = [("index", np.asarray(index).dtype), ("values_block_0", float, values.shape[1:])]
    rows = np.array(list(zip(index, values, strict=True)), dtype=dtype)
    with h5py.File(path, "w") as file:
        group = file.create_group("df_with_missing")
        group.attrs["pandas_type"] = np.bytes_(b"frame_table")
        table = group.create_dataset("table", data=rows)
        table.attrs["values_block_0_kind"] = np.bytes_(pickle.dumps(columns, 0) if kind is None else kind)
    return path


def test_one_animal(read):
    shapes = read(SINGLE)
    check_set(shapes, formats=["deeplabcut"], space=sx.Landmarks(3))
    np.testing.assert_array_equal(shapes[0], [10.5 - 20.25j, 30 - 40j, 50 - 60j])
    check_set(shapes, frame=[0, 1, 3], sequence=[0, 0, 0], ids=["miceDLC:0", "miceDLC:1", "miceDLC:3"])
    direction, cut_off, landmarks = shapes.notes
    assert "y: taken to point down, as in images, and negated; the option y_down=False" in direction
    assert "9 landmarks: all were taken, however unlikely; the option likelihood=0.6" in cut_off
    assert landmarks.endswith("3 landmarks: in this order: nose, left_ear, tail.")
    assert read(SINGLE, max_gap=0).sequence.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(read(SINGLE, y_down=False).configurations, shapes.configurations.conj())


def test_unlikely_landmarks_are_missing(read):
    check_refused(r'frame 0: 1 of its 3 landmarks is missing: missing="allow"', read, SINGLE, likelihood=0.6)
    shapes = read(SINGLE, likelihood=0.6, missing="allow")
    assert shapes.is_missing.tolist() == [[False, False, True], [False] * 3, [False] * 3]
    assert "9 landmarks: 1 of them are below likelihood=0.6 and were made missing" in shapes.notes[1]
    # Equal to the cut-off is not below it.
    assert not read(SINGLE, likelihood=0.1).is_missing.any()
    gone = read(SINGLE, likelihood=0.985, missing="allow")
    assert gone.is_missing.sum() == 6
    check_refused("likelihood must be between 0 and 1, got 60", read, SINGLE, likelihood=60, error=ValueError)
    check_refused("No shape could be read", read, SINGLE, likelihood=1.0, missing="allow")


def test_several_individuals(read):
    shapes = read(SEVERAL)
    check_set(shapes, individual=["mouse1", "mouse2", "mouse2"], frame=[0, 0, 1], sequence=[0, 1, 1])
    assert shapes.ids[2] == "miceDLC:mouse2:1"
    notes = notes_of(shapes)
    assert "1 of 4 frames: left out, since no point of the animal is known" in notes
    assert "individuals single: left out, since their body parts are not those of mouse1; the option ind" in notes
    one = read(SEVERAL, individual="single")
    np.testing.assert_array_equal(one.configurations, [[0, 9 - 9j]] * 2)
    check_refused("has no individual 'mouse3', but mouse1, mouse2, single", read, SEVERAL, individual="mouse3")
    # Body parts may stand in another order.
    columns = [*header(("a",), ("nose", "tail"), "x y"), *header(("b",), ("tail", "nose"), "x y")]
    ordered = read(as_csv(columns, ["0,1,1,2,2,20,20,10,10"]))
    np.testing.assert_array_equal(ordered.configurations, [[1 - 1j, 2 - 2j], [10 - 10j, 20 - 20j]])


@pytest.mark.parametrize(("names", "n_names"), [("labeled-data/vid/img01.png", 1), ("labeled-data,vid,img01.png", 3)])
def test_labeled_images_are_no_series(read, names, n_names):
    rows = [f"{names},1,2,3,4,5,6", f"{names.replace('01', '02')},1,2,,,5,6", f"{names.replace('01', '07')},,,,,,"]
    text = as_csv(header(coordinates="x y"), rows, n_names)
    shapes = read(text, "CollectedData_me.csv", missing="allow")
    check_set(shapes, ids=["labeled-data/vid/img01.png", "labeled-data/vid/img02.png"], image=shapes.ids.tolist())
    check_set(shapes, sequence=None, is_missing=[[False] * 3, [False, True, False]])
    assert "1 of 3 poses: left out, since no landmark is known" in notes_of(shapes)
    check_refused(r"has no likelihoods, so likelihood=0\.6 has no meaning", read, text, likelihood=0.6)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("0.99,31.0", "0.99,x", "line 5: 'x' is no number"),
        ("1,11.5", "11.5", "line 5: it has 9 columns, the table has 10"),
        ("bodyparts,nose", "bodyparts,nose,nose", "expected rows of one length"),
        ("bodyparts", "parts", "is no DeepLabCut table: expected rows"),
        ("coords,x,y,likelihood", "coords,x,y,z", "must be x, y and likelihood, got 'z'"),
        ("coords,x,y", "coords,x,likelihood", "has the column .*nose, likelihood twice"),
        ("nose,nose,nose", "nose,ear,nose", "x without y"),
        (f"scorer,{SCORER}", "scorer,other", "several scorers"),
        ("3,13.5", "1,13.5", "several rows for one frame"),
    ],
)
def test_refuses(read, old, new, words):
    assert old in SINGLE
    check_refused(words, read, SINGLE.replace(old, new, 1))


def test_hdf5_is_as_csv(tmp_path, read):
    table = np.array([[float(cell or "nan") for cell in line.split(",")] for line in SEVERAL.splitlines()[4:]])
    columns = [*header(("mouse1", "mouse2")), *header(("single",), ("corner", "feeder"))]
    path = save_table(tmp_path / "miceDLC.h5", columns, table[:, 1:], [0, 1])
    shapes = sx.read(path)
    assert shapes.provenance["formats"] == ["deeplabcut"]
    assert shapes.equals(read(SEVERAL).replace(notes=shapes.notes, provenance=shapes.provenance))


def test_nothing_is_unpickled(tmp_path):
    path = save_table(tmp_path / "a.h5", None, np.ones((1, 6)), [0], pickle.dumps([Bomb(tmp_path / "ran")], 0))
    check_refused(r"cannot be read without unpickling.*read the \.csv", sx.read, path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("columns", "values", "index", "words"),
    [
        (header(coordinates="x y"), np.ones((1, 5)), [0], "6 columns are named, 5 are there"),
        (header(coordinates="x y"), np.ones((2, 6)), [4, 4], "several rows for one frame"),
        ([("x",), ("y",)], np.ones((1, 2)), [0], "three or four names"),
        (["x", "y"], np.ones((1, 2)), [0], "no list of names"),
        (3, np.ones((1, 2)), [0], "it holds INT"),
    ],
)
def test_hdf5_refuses(tmp_path, columns, values, index, words):
    check_refused(words, sx.read, save_table(tmp_path / "a.h5", columns, values, index))
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["x"] = np.ones(3)
    check_refused("is no DeepLabCut", sx.read, tmp_path / "b.h5", format="deeplabcut")
    with h5py.File(tmp_path / "b.h5", "a") as file:
        file.create_group("df_with_missing").attrs["pandas_type"] = np.bytes_(b"frame")
        file["df_with_missing/block0_values"] = np.ones((2, 4))
    check_refused("lacks df_with_missing/block0_items: read the .csv", sx.read, tmp_path / "b.h5")


def save_blocks(path, columns, values, images):
    """Write a table as pandas does with PyTables and format="fixed": names in levels, values in a block."""

    def save_axis(group, key, names):
        group.attrs[f"{key}_variety"] = np.bytes_(b"multi")
        group.attrs[f"{key}_nlevels"] = np.int64(len(names[0]))
        for level, own in enumerate(zip(*names, strict=True)):
            known, places = np.unique(own, return_inverse=True)
            group[f"{key}_level{level}"] = known.astype("S")
            group[f"{key}_label{level}"] = places.astype(np.int8)

    with h5py.File(path, "w") as file:
        group = file.create_group("df_with_missing")
        group.attrs.update({"pandas_type": np.bytes_(b"frame"), "nblocks": np.int64(1), "ndim": np.int64(2)})
        save_axis(group, "axis0", columns)
        save_axis(group, "block0_items", columns)
        if isinstance(images[0], tuple):
            save_axis(group, "axis1", images)
        else:
            group["axis1"] = images
        group["block0_values"] = np.asarray(values, dtype=float)
        group["block0_values"].attrs["transposed"] = np.bool_(True)
    return path


def test_blocks_in_hdf5(tmp_path, read):
    images = [("labeled-data", "vid", f"img0{number}.png") for number in (2, 1)]
    values = np.arange(12.0).reshape(2, 6)
    path = save_blocks(tmp_path / "CollectedData_me.h5", header(coordinates="x y"), values, images)
    rows = [",".join([*image, *map(str, row)]) for image, row in zip(images, values.tolist(), strict=True)]
    expected = read(as_csv(header(coordinates="x y"), rows, 3), "CollectedData_me.csv")
    found = sx.read(path)
    assert found.equals(expected.replace(notes=found.notes, provenance=found.provenance))
    video = sx.read(save_blocks(tmp_path / "b.h5", header(coordinates="x y"), values, [4, 6]))
    assert video.metadata["frame"].tolist() == [4, 6]
