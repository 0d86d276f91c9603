"""Shape files by name."""

import hashlib
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.datasets.registry import REGISTRY
from shapelex.exceptions import ShapeFileError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache, with no other place to look in."""
    pooch = pytest.importorskip("pooch")
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.delenv("SHAPELEX_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: folder)
    return folder


@pytest.fixture
def write_hands(monkeypatch: pytest.MonkeyPatch):
    """Write a small file as the set "hands" that the registry knows."""

    def write(folder: Path, offset: float = 0.0, closed: bool = True) -> Path:
        path = folder / "hands.npz"
        points = np.random.default_rng(0).normal(size=(3, 5, 2)) + offset
        np.savez(path, points=points, closed=closed, labels=np.array(["a", "b", "a"]), site=np.array([1, 2, 3]))
        contents = path.read_bytes()
        entry = replace(REGISTRY["hands"], n_bytes=len(contents), sha256=hashlib.sha256(contents).hexdigest())
        monkeypatch.setitem(REGISTRY, "hands", entry)
        return path

    return write


def test_every_set_has_a_line_and_a_checksum():
    told = sx.datasets.list_datasets()
    assert list(told) == list(REGISTRY)
    assert len(told) == 34
    for name, entry in REGISTRY.items():
        assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256)
        assert told[name].endswith(f": {entry.n_shapes} shapes")
        assert "\n" not in told[name]
        assert entry.source
        assert entry.license
    assert len({entry.sha256 for entry in REGISTRY.values()}) == 34


def test_from_the_cache(cache, write_hands):
    write_hands(cache)
    hands = sx.datasets.fetch("hands")
    assert hands.space == sx.Landmarks(5, closed=True)
    assert hands.labels.tolist() == ["a", "b", "a"]
    assert hands.metadata["site"].tolist() == [1, 2, 3]
    assert hands.provenance["dataset"] == "hands"
    assert hands.provenance["source"] == REGISTRY["hands"].source


def test_the_folder_comes_before_the_cache(cache, write_hands, tmp_path, monkeypatch):
    write_hands(cache, offset=5)
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    other.mkdir()
    write_hands(mine)
    monkeypatch.setenv("SHAPELEX_DATA", str(mine))
    # What is in the cache has another checksum now, so it must have come from the folder.
    assert abs(np.asarray(sx.datasets.fetch("hands")).mean()) < 1
    write_hands(cache, offset=5)
    monkeypatch.setenv("SHAPELEX_DATA", str(other))
    assert abs(np.asarray(sx.datasets.fetch("hands")).mean()) > 5
    with pytest.raises(FileNotFoundError, match="other"):
        sx.datasets.fetch("hands", folder=other)


def test_a_missing_file_says_where_to_put_it(cache, monkeypatch, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        sx.datasets.fetch("horses")
    assert f"horses.npz is not in {cache}." in str(caught.value)
    assert f"put it into {cache}, or set SHAPELEX_DATA" in str(caught.value)
    monkeypatch.setenv("SHAPELEX_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"is not in {re.escape(str(tmp_path))} nor in "):
        sx.datasets.fetch("horses")


@pytest.mark.parametrize(("damage", "words"), [("flip", "SHA-256 checksum"), ("cut", "bytes, but should have")])
def test_another_file_is_refused(cache, write_hands, damage, words):
    path = write_hands(cache)
    contents = bytearray(path.read_bytes())
    if damage == "flip":
        contents[len(contents) // 2] ^= 1
    else:
        del contents[-10:]
    path.write_bytes(contents)
    with pytest.raises(ShapeFileError, match=words):
        sx.datasets.fetch("hands")


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"'hands', .*, got 'feet'"):
        sx.datasets.fetch("feet")
    with pytest.raises(ValueError, match=r"got '\.\./hands'"):
        sx.datasets.fetch("../hands")


def test_without_pooch_the_extra_is_named(monkeypatch, write_hands, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv("SHAPELEX_DATA", raising=False)
    with pytest.raises(ImportError, match=r"shapelex\[io\]"):
        sx.datasets.fetch("hands")
    write_hands(tmp_path)
    monkeypatch.setenv("SHAPELEX_DATA", str(tmp_path))
    assert len(sx.datasets.fetch("hands")) == 3


@pytest.mark.realdata
@pytest.mark.parametrize("name", REGISTRY)
def test_every_shared_file_is_the_one_registered(data_folder, name):
    shapes = sx.datasets.fetch(name, folder=data_folder)
    assert len(shapes) == REGISTRY[name].n_shapes
    with np.load(data_folder / f"{name}.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(np.asarray(shapes), sx.from_points(file["points"]))
        assert shapes.closed == bool(file["closed"])
        kind = str(file["kind"]) if "kind" in file else "landmarks"
        assert type(shapes.space).__name__.lower().removesuffix("spline") == kind.removesuffix("spline")
