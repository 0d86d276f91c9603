"""Inputs by size and hash, and records that are searched for in files of any contents."""

import os
from pathlib import Path

import pytest

from shapelex.exceptions import ShapeFileError
from shapelex.files.provenance import describe_input, make_run, read_run, state_of_input, write_sidecar


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "masks").mkdir()
    for name in ("a", "b"):
        (tmp_path / "masks" / f"{name}.tif").write_bytes(name.encode() * 10)
    chunk = tmp_path / "set.zarr" / "points" / "c" / "0"
    chunk.parent.mkdir(parents=True)
    chunk.write_bytes(b"0123")
    (tmp_path / "set.zarr" / "zarr.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize("name", ["masks/b.tif", "masks", "masks/", "masks/*.tif", "."])
def test_changes_of_contents_are_seen_in_files_folders_and_patterns(folder, name):
    before = describe_input(name)
    assert state_of_input(before) == "unchanged"
    (folder / "masks" / "b.tif").write_bytes(b"c" * 10)
    assert state_of_input(before) == "changed"


def test_new_names_are_seen_hidden_and_written_files_are_not(folder):
    written = {folder / "masks" / "shapes.npz", folder / "masks" / "shapes.zarr"}
    before = describe_input("masks", written)
    (folder / "masks" / ".cache").touch()
    assert state_of_input(before) == "unchanged"
    (folder / "masks" / "shapes.npz").write_bytes(b"new")
    (folder / "masks" / "shapes.zarr").mkdir()
    (folder / "masks" / "shapes.zarr" / "zarr.json").write_bytes(b"{}")
    assert state_of_input(before, written) == "unchanged"
    assert state_of_input(before) == "changed"
    (folder / "masks" / "b.tif").rename(folder / "masks" / "d.tif")
    assert state_of_input(before, written) == "changed"


@pytest.mark.parametrize("name", ["set.zarr", ".", "*.zarr"])
def test_chunks_of_zarr_folders_count_by_size_metadata_by_contents(folder, name):
    before = describe_input(name)
    (folder / "set.zarr" / "points" / "c" / "0").write_bytes(b"4567")
    assert state_of_input(before) == "unchanged"
    (folder / "set.zarr" / "zarr.json").write_text("[]")
    assert state_of_input(before) == "changed"
    (folder / "set.zarr" / "zarr.json").write_text("{}")
    (folder / "set.zarr" / "points" / "c" / "0").write_bytes(b"45678")
    assert state_of_input(before) == "changed"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_pipes_and_links_that_lead_nowhere_are_no_inputs(folder):
    before = describe_input("masks")
    os.mkfifo(folder / "masks" / "pipe.tif")
    (folder / "masks" / "link.tif").symlink_to("nowhere")
    assert state_of_input(before) == "unchanged"
    assert state_of_input({**before, "path": "masks/pipe.tif"}) == "missing"


@pytest.mark.parametrize("inputs", [None, "all", [1], [{"path": 1, "bytes": 2, "sha256": "3"}], [{"path": "a"}]])
def test_damaged_inputs_in_a_record_count_as_not_recorded(folder, inputs):
    write_sidecar(Path("c.csv"), {**make_run("shapelex encode", 0, ["masks"]), "inputs": inputs})
    assert "inputs" not in read_run("c.csv")


@pytest.mark.parametrize(
    "content",
    [
        b'<script id="shapelex-data">' * 400_000,
        b"<script " * 1_000_000 + b'id="shapelex-data"',
        b'id="shapelex-data">' + b"</s" * 2_000_000,
        b'id="shapelex-data">' + b"[" * 1_000_000 + b"</script>",
    ],
)
def test_hostile_pages_are_searched_in_linear_time(tmp_path, content):
    (tmp_path / "page.html").write_bytes(content)
    with pytest.raises(ShapeFileError):
        read_run(tmp_path / "page.html")
