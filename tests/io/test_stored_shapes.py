"""Sets that stay in their files: opened, cut, written block by block; damaged and hostile ones refused."""

import json

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError, ShapelexError
from shapelex.files import archive
from shapelex.io.formats import npz as _npz
from shapelex.io.formats import zarr as _zarr
from shapelex.shapes import storage
from tests.io.conftest import check_refused

zarr = pytest.importorskip("zarr")


def make_set(n_shapes=10, space=None, dtype=complex, seed=0):
    rng = np.random.default_rng(seed)
    space = sx.Landmarks(4, closed=True) if space is None else space
    rows = rng.normal(size=(n_shapes, space.n_coordinates, 2)) @ [1, 1j]
    return sx.ShapeSet(
        rows.astype(dtype),
        space,
        ids=[f"cell {n} é" for n in range(n_shapes)],
        labels=["a", "bb"] * (n_shapes // 2) + ["a"] * (n_shapes % 2),
        sequence=np.arange(n_shapes) // 4 - 1,
        metadata={"frame": np.arange(n_shapes), "ids": ["own"] * n_shapes, "old one": rng.random(n_shapes) > 0.5},
        notes=["something happened"],
        provenance={"from": "here"},
    )


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(archive, "_SMALL_BYTES", 0)
    monkeypatch.setattr(storage, "BLOCK_ROWS", 3)


@pytest.mark.parametrize("suffix", [".npz", ".zarr"])
@pytest.mark.parametrize(
    ("space", "dtype"),
    [
        (sx.Landmarks(4), "c8"),
        (sx.BSpline(7), "c16"),
        (sx.HermiteSpline(3, closed=False), "c8"),
        (sx.CustomSpace(np.diag([1.0, 2, 3]), np.ones(3)), "c16"),
    ],
)
def test_written_in_memory_or_in_blocks_it_is_the_same_set(tmp_path, monkeypatch, suffix, space, dtype):
    # Sets are larger than any trap.
    monkeypatch.setattr(_npz, "MAX_BYTES", 100)
    shapes = make_set(space=space, dtype=dtype)
    whole = sx.write(shapes, tmp_path / f"whole{suffix}")
    parts = sx.write(sx.open_shapes(whole), tmp_path / f"parts{suffix}", command="again")
    for path in (whole, parts):
        found = sx.read(path)
        assert found.equals(shapes)
        assert (found.configurations.dtype, found.notes) == (dtype, shapes.notes)
        stored = sx.open_shapes(path)
        for rows in (slice(None), slice(2, 12), slice(1, 9, 3), slice(5, 5), [9, 2]):
            assert stored[rows].equals(shapes[rows])
        np.testing.assert_array_equal(stored[7], shapes.configurations[7])
        np.testing.assert_array_equal(np.asarray(stored), shapes.configurations)
    assert sx.read(parts).provenance["source"]["command"] == "again"
    assert sorted(tmp_path.iterdir()) == [parts, whole]


def test_arrays_of_others(tmp_path):
    rows = np.random.default_rng(0).normal(size=(6, 5, 2))
    np.save(tmp_path / "a.npy", rows)
    zarr.save_array(str(tmp_path / "a.zarr"), rows)
    columns = {"closed": False, "labels": list("aabbcc"), "age": np.arange(6)}
    np.savez(tmp_path / "a.npz", points=rows, **columns)
    np.savez_compressed(tmp_path / "b.npz", points=rows, **columns)
    np.savez(tmp_path / "c.npz", points=np.asfortranarray(rows))
    for path in tmp_path.iterdir():
        stored = sx.open_shapes(path)
        assert stored.space == sx.Landmarks(5)
        np.testing.assert_array_equal(stored[2:4].configurations, rows[2:4] @ [1, 1j])
        assert stored[2:4].ids.tolist() == ["2", "3"]
        assert stored[:].equals(sx.read(path))
    # Zarr folders are found among files.
    assert len(sx.read(tmp_path)) == 30
    assert len(sx.read(tmp_path / "*.zarr")) == 6
    np.savez(tmp_path / "d.npz", points=np.arange(24).reshape(3, 4, 2))
    assert sx.open_shapes(tmp_path / "d.npz")[:].equals(sx.read(tmp_path / "d.npz"))
    zarr.open_group(str(tmp_path / "b.zarr"), mode="w").create_array("outlines", data=rows @ [1, 1j])
    check_refused(r"name one array of it, as in .*outlines", sx.open_shapes, tmp_path / "b.zarr")
    for read in (sx.read, sx.open_shapes):
        np.testing.assert_array_equal(read(tmp_path / "b.zarr" / "outlines")[:].configurations, rows @ [1, 1j])


def test_a_folder_is_replaced_only_when_asked_and_only_if_it_is_ours(tmp_path):
    shapes = make_set()
    path = sx.write(shapes, tmp_path / "a.zarr")
    sx.write(shapes[:3], path, overwrite=True)
    assert len(sx.read(path)) == 3
    (tmp_path / "b.zarr").mkdir()
    (tmp_path / "b.zarr" / "mine.txt").write_text("precious")
    (tmp_path / "c.zarr").write_text("mine")
    for name, options, error, words in (
        ("a.zarr", {}, FileExistsError, "overwrite=True"),
        ("b.zarr", {"overwrite": True}, IsADirectoryError, r"b\.zarr"),
        ("c.zarr", {"overwrite": True}, FileExistsError, "is a file"),
        ("a.npz", {"format": "zarr"}, ShapeFileError, r"must end in \.zarr"),
    ):
        check_refused(words, sx.write, shapes, tmp_path / name, error=error, **options)
    assert (tmp_path / "b.zarr" / "mine.txt").read_text() == "precious"
    assert (tmp_path / "c.zarr").read_text() == "mine"


@pytest.mark.parametrize("suffix", [".npz", ".zarr"])
def test_an_error_on_the_way_leaves_nothing_and_loses_nothing(tmp_path, suffix):
    shapes = make_set()
    path = sx.write(shapes, tmp_path / f"a{suffix}")
    n_read = 0

    def blocks():
        nonlocal n_read
        for start in range(0, len(shapes), 3):
            n_read += 1
            if n_read > 6:
                raise KeyboardInterrupt
            yield shapes.configurations[start : start + 3]

    # Its shapes are counted when it is made, and read again when it is written.
    source = sx.ShapeSet(blocks, shapes.space)
    with pytest.raises(KeyboardInterrupt):
        sx.write(source, path, overwrite=True)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert sx.read(path).equals(shapes)


def test_refused(tmp_path):
    (tmp_path / "a.tps").write_text("LM=3\n0 0\n1 0\n0 1\n")
    np.save(tmp_path / "flat.npy", np.zeros((4, 6)))
    zarr.open_group(str(tmp_path / "other.zarr"), mode="w").create_array("x", data=np.zeros(3))
    path = sx.write(make_set(), tmp_path / "labels.npz")
    arrays = dict(np.load(path))
    np.savez(path, **{**arrays, "labels": arrays["labels"][:4]})
    points, days = np.zeros((2, 3, 2)), np.array(["2020-01-01"] * 2, dtype="datetime64[D]")
    np.savez(tmp_path / "days.npz", points=points, day=days)
    for name, error, words in (
        ("none.npz", FileNotFoundError, "There is no file"),
        (".", ShapeFileError, "is a folder"),
        ("a.tps", ShapeFileError, r"read whole: import it first; .*\.npz"),
        ("flat.npy", ShapeFileError, r"flat\.npy cannot be read as shapes"),
        ("other.zarr", ShapeFileError, "group of another kind"),
        ("labels.npz", ShapeFileError, r"labels must have one entry for each of the 10 shapes, got shape \(4,\)"),
        ("days.npz", ShapelexError, "datetime64"),
    ):
        with pytest.raises(error, match=words):
            sx.open_shapes(tmp_path / name)[:]
    check_refused("datetime64", sx.read, tmp_path / "days.npz")


def test_a_folder_that_declares_more_than_it_holds(tmp_path):
    path = sx.write(make_set(), tmp_path / "a.zarr")
    metadata = path / "configurations" / "zarr.json"
    told = json.loads(metadata.read_text())
    for sizes, words in ((told["shape"], "declares"), (told["chunk_grid"]["configuration"]["chunk_shape"], "chunk")):
        sizes[0] = 10**13
        metadata.write_text(json.dumps(told))
        check_refused(words, sx.open_shapes, path)


@pytest.mark.parametrize("name", ["configurations", "column_0", "column_1", "column_2"])
def test_a_chunk_that_was_lost_or_damaged(tmp_path, monkeypatch, name):
    monkeypatch.setattr(_zarr, "_CHUNK_BYTES", 300)
    monkeypatch.setattr("shapelex.shapes.storage._UNPACKED_ROWS", 1)
    shapes = make_set(40)
    path = sx.write(shapes, tmp_path / "a.zarr")
    if name == "configurations":
        (path / name / "c" / "5" / "0").write_bytes(b"nonsense")
        stored = sx.open_shapes(path)
        assert stored[:20].equals(shapes[:20])
        for use in (lambda: stored[18:22], lambda: sx.ShapeDictionary(3, 2, space=shapes.space).fit(stored)):
            check_refused("damaged in rows 20 to 23", use)
    next(chunk for chunk in sorted((path / name / "c").rglob("*")) if chunk.is_file()).unlink()
    check_refused(r"1 of the 10 chunks of .* are not there; copy it again", sx.open_shapes, path)
