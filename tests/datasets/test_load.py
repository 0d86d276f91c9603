"""Sets of shapes by name: from folders and the cache."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.datasets.public import REGISTRY
from shapelex.exceptions import DatasetUnavailableError, ShapeFileError
from tests.datasets.local_server import blob_id


@pytest.fixture
def write_hands(monkeypatch: pytest.MonkeyPatch):
    """Write a small file as the set "hands" that the registry knows."""

    def write(folder: Path, offset: float = 0.0) -> Path:
        path = folder / "hands.npz"
        folder.mkdir(parents=True, exist_ok=True)
        points = np.random.default_rng(0).normal(size=(3, 5, 2)) + offset
        np.savez(path, points=points, closed=True, labels=np.array(["a", "b", "a"]), site=np.array([1, 2, 3]))
        contents = path.read_bytes()
        entry = replace(REGISTRY["hands"], n_bytes=len(contents), sha256=hashlib.sha256(contents).hexdigest())
        monkeypatch.setitem(REGISTRY, "hands", entry)
        return path

    return write


def test_every_set_has_a_line_and_a_checksum():
    told = sx.datasets.list_datasets()
    assert list(told) == list(REGISTRY)
    assert len(told) == 42
    assert len({entry.sha256 for entry in REGISTRY.values()} - {None}) == 35
    by_name: dict[str, set[tuple[str, str]]] = {}
    for name, entry in REGISTRY.items():
        assert entry.sha256 is not None or entry.files
        assert entry.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", entry.sha256)
        assert entry.n_shapes is None or told[name].endswith(f": {entry.n_shapes} shapes")
        assert "\n" not in told[name]
        assert entry.source
        assert entry.license
        assert bool(entry.files) == bool(entry.commit) == bool(entry.reader)
        assert re.fullmatch(r"[0-9a-f]{40}|", entry.commit)
        for file in entry.files:
            assert re.fullmatch(r"[0-9a-f]{40}", file.blob)
            by_name.setdefault(file.name, set()).add((entry.source, file.path))
    # Files of all sources go into one folder.
    assert all(len(paths) == 1 for paths in by_name.values())


def test_from_the_cache(cache, write_hands):
    write_hands(cache)
    hands = sx.datasets.fetch("hands")
    assert hands.space == sx.Landmarks(5, closed=True)
    assert hands.labels.tolist() == ["a", "b", "a"]
    assert hands.metadata["site"].tolist() == [1, 2, 3]
    assert hands.provenance["dataset"] == "hands"
    assert hands.provenance["source"] == REGISTRY["hands"].source
    assert hands.provenance["DESCR"].splitlines()[1:] == [
        "Source: https://github.com/ansonang3/2DKSD, commit 1c4f22676255ea2c0bff1197f6a189ae7261a16a: DATA/hands.csv",
        "License: none stated",
    ]


def test_the_folder_comes_before_the_cache(cache, write_hands, tmp_path, monkeypatch):
    write_hands(cache, offset=5)
    mine, other = tmp_path / "mine", tmp_path / "other"
    write_hands(mine)
    monkeypatch.setenv("SHAPELEX_DATA", str(mine))
    # What is in the cache has another checksum now, so it must have come from the folder.
    assert abs(np.asarray(sx.datasets.fetch("hands")).mean()) < 1
    write_hands(cache, offset=5)
    monkeypatch.setenv("SHAPELEX_DATA", str(other))
    assert abs(np.asarray(sx.datasets.fetch("hands")).mean()) > 5
    with pytest.raises(FileNotFoundError, match="other"):
        sx.datasets.fetch("hands", folder=other)


def test_a_missing_file_without_address_says_where_to_put_it(cache, monkeypatch, tmp_path):
    with pytest.raises(DatasetUnavailableError) as caught:
        sx.datasets.fetch("apes_8")
    assert f"apes_8.npz is not in {cache}: it cannot be downloaded, as it has no public address" in str(caught.value)
    assert f"put it into {cache}, or set SHAPELEX_DATA" in str(caught.value)
    monkeypatch.setenv("SHAPELEX_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"is not in {re.escape(str(tmp_path))} nor in "):
        sx.datasets.fetch("apes_8")


def test_a_folder_alone_says_what_to_download_into_it(tmp_path, monkeypatch):
    monkeypatch.delenv("SHAPELEX_DATA_URL")
    with pytest.raises(DatasetUnavailableError) as caught:
        sx.datasets.fetch("bee_wings_9", folder=tmp_path)
    message = str(caught.value)
    assert message.startswith(f"bee_wings_9.npz or bee_wings.TPS with bee_metadata.csv is not in {tmp_path}: download ")
    address = f"https://raw.githubusercontent.com/{REGISTRY['bee_wings_9'].source}"
    file = "42066d355ce3b9d44fcc85c45a2772a9309878dc/Bee_Wings_Phylo_Allo_Code/data/bee_wings.TPS"
    assert f": download {address}/{file} and " in message
    with pytest.raises(DatasetUnavailableError, match=r"^worms\.csv is not in"):
        sx.datasets.fetch("worms", folder=tmp_path)


def test_files_of_the_source_in_a_folder(cache, tmp_path, monkeypatch):
    content = b"0,1,1,0,0,1\n0,2,2,0,0,2\n"
    entry = REGISTRY["hands"]
    file = replace(entry.files[0], blob=blob_id(content), n_bytes=len(content))
    space = {"kind": "Landmarks", "size": 3, "closed": True}
    monkeypatch.setitem(REGISTRY, "hands", replace(entry, files=(file,), space=space))
    (tmp_path / "hands.csv").write_bytes(content)
    hands = sx.datasets.fetch("hands", folder=tmp_path)
    assert hands.space == sx.Landmarks(3, closed=True)
    np.testing.assert_array_equal(hands.configurations, [[0, 1, 1 + 1j], [0, 2, 2 + 2j]])
    monkeypatch.setenv("SHAPELEX_DATA", str(tmp_path))
    assert sx.datasets.fetch("hands").equals(hands)
    (tmp_path / "hands.csv").write_bytes(content + b"0,3,3,0,0,3\n")
    with pytest.raises(ShapeFileError, match=r"hands\.csv has the git blob id .*but should have .* and 24 bytes"):
        sx.datasets.fetch("hands")


def test_another_file_is_refused(cache, write_hands):
    path = write_hands(cache)
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)
    with pytest.raises(ShapeFileError, match=r"SHA-256 checksum .* but should have .* bytes"):
        sx.datasets.fetch("hands")


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"'hands', .*, got '\.\./hands'"):
        sx.datasets.fetch("../hands")


@pytest.mark.realdata
def test_the_paper_files_are_those_of_the_list(data_folder):
    rows = re.findall(r"^\| (DATA/\S+) \| (\w+) \| (\d+|not seen) \|", (data_folder / "PUBLIC.md").read_text(), re.M)
    files = {file.path: file for entry in REGISTRY.values() for file in entry.files}
    assert len(rows) == 13
    for path, blob, size in rows:
        assert (files[path].blob, files[path].n_bytes) == (blob, int(size) if size.isdigit() else None)


@pytest.mark.realdata
@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.sha256 is not None])
def test_every_shared_file_is_the_one_registered(data_folder, name):
    shapes = sx.datasets.fetch(name, folder=data_folder)
    assert len(shapes) == REGISTRY[name].n_shapes
    with np.load(data_folder / f"{name}.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(np.asarray(shapes), sx.from_points(file["points"]))
        assert shapes.closed == bool(file["closed"])
        kind = str(file["kind"]) if "kind" in file else "landmarks"
        assert type(shapes.space).__name__.lower().removesuffix("spline") == kind.removesuffix("spline")
