"""Folders to work in beside a file that is made: of several processes at once, and after one was killed."""

import ctypes
import subprocess
import sys
from unittest import mock

import pytest

import shapelex as sx
from shapelex.files import atomic

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of folders on Windows")


def run_python(code, *arguments):
    """Return the exit status of another process that runs some code."""
    before = "import os, sys\nfrom pathlib import Path\nfrom shapelex.files import atomic\n"
    return subprocess.run([sys.executable, "-c", before + code, *map(str, arguments)], check=False).returncode


def test_works_on_the_same_target_keep_apart(tmp_path):
    with atomic.work_folder(tmp_path / "out.npz") as first:
        (first / "part").write_text("first")
        with atomic.work_folder(tmp_path / "out.npz") as second:
            assert first != second
        assert run_python("with atomic.work_folder(Path(sys.argv[1])): pass", tmp_path / "out.npz") == 0
        assert (first / "part").read_text() == "first"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "code",
    [
        "with atomic.work_folder(Path(sys.argv[1])) as folder:\n    (folder / 'part').write_text('half'); os._exit(9)",
        "atomic.write_atomically(Path(sys.argv[1]), lambda stream: os._exit(9))",
    ],
)
def test_what_a_killed_process_left_is_removed(tmp_path, code):
    target = tmp_path / "out.csv"
    assert run_python(code, target) == 9
    assert len(list(tmp_path.iterdir())) == 1
    with atomic.work_folder(target) as folder:
        assert "write_atomically" in code or list(tmp_path.iterdir()) == [folder]
    atomic.write_atomically(target, lambda stream: stream.write(b"whole"))
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_the_last_of_two_writers_wins_whole(tmp_path):
    with atomic.replace_folder(tmp_path / "out.zarr") as first:
        first.mkdir()
        (first / "a").write_text("first")
        with atomic.replace_folder(tmp_path / "out.zarr") as second:
            second.mkdir()
            (second / "a").write_text("second")
        assert (tmp_path / "out.zarr" / "a").read_text() == "second"
    assert (tmp_path / "out.zarr" / "a").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["out.zarr"]


WRITER = """
import sys
import numpy as np
import shapelex as sx
from pathlib import Path

for number in range(5):
    shapes = sx.ShapeSet(np.random.default_rng(number).normal(size=(50, 5, 2)), labels=[sys.argv[2]] * 50)
    sx.write(shapes, Path(sys.argv[1]), overwrite=True)
"""


@pytest.mark.parametrize("suffix", [".zarr", ".csv"])
def test_writers_at_once_leave_a_whole_set(tmp_path, suffix):
    target = tmp_path / f"out{suffix}"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(target), label]) for label in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(set(sx.read(target).labels)) == 1
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


KILLED = """
atomic._exchange = lambda first, second: False
rename = Path.rename
def rename_and_die(self, other):
    rename(self, other)
    os._exit(9)
Path.rename = rename_and_die
with atomic.replace_folder(Path(sys.argv[1])) as partial:
    partial.mkdir()
"""


def read_after_a_write_that_was_cut_off(path):
    with pytest.raises(KeyboardInterrupt), atomic.replace_folder(path):
        raise KeyboardInterrupt
    return sx.read(path)


@pytest.mark.parametrize("has_locks", [True, False])
@pytest.mark.parametrize("read", [sx.read, lambda path: sx.open_shapes(path)[:], read_after_a_write_that_was_cut_off])
def test_reading_finds_a_set_whose_replacement_was_cut_off(tmp_path, monkeypatch, read, has_locks):
    if not has_locks:
        # As on Windows.
        monkeypatch.setitem(sys.modules, "fcntl", None)
        monkeypatch.setattr(ctypes, "CDLL", mock.Mock(side_effect=TypeError))
    shapes = sx.ShapeSet([[0, 1, 1j], [0, 2, 1j]])
    target = sx.write(shapes, tmp_path / "out.zarr")
    # Killed when it has moved the old folder aside, and not yet put the new one there.
    assert run_python(KILLED, target) == 9
    assert not target.exists()
    assert read(target).equals(shapes)
    # What a process that lives may work in cannot be told without locks.
    assert not has_locks or [path.name for path in tmp_path.iterdir()] == ["out.zarr"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges folders in one step")
def test_a_folder_that_is_replaced_is_always_there(tmp_path):
    target = tmp_path / "out.zarr"
    target.mkdir()
    code = (
        "import sys; from pathlib import Path; from shapelex.files.atomic import replace_folder\n"
        "for _ in range(100):\n"
        "    with replace_folder(Path(sys.argv[1])) as partial: partial.mkdir()"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(target)])
    n_seen = 0
    while writer.poll() is None:
        n_seen += 1
        assert target.exists()
    assert writer.returncode == 0
    assert n_seen > 0


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError(27, "File too large")])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, error):
    with pytest.raises(OSError, match=f"{error.strerror}.*out.npz") as caught:
        atomic.write_atomically(tmp_path / "out.npz", mock.Mock(side_effect=error))
    assert caught.value.filename == str(tmp_path / "out.npz")
    assert list(tmp_path.iterdir()) == []
