"""Folders to work in beside a file that is made: of several processes at once, and after one was killed."""

import subprocess
import sys

import pytest

import shapelex as sx
from shapelex.store.atomic import replace_folder, work_folder, write_atomically

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of folders on Windows")


def test_two_works_on_the_same_target_keep_apart(tmp_path):
    with work_folder(tmp_path / "out.npz") as first:
        (first / "part").write_text("first")
        with work_folder(tmp_path / "out.npz") as second:
            assert first != second
        assert (first / "part").read_text() == "first"
    assert list(tmp_path.iterdir()) == []


def test_another_process_leaves_a_folder_in_use_alone(tmp_path):
    code = (
        "from pathlib import Path; from shapelex.store.atomic import work_folder\n"
        f"with work_folder(Path({str(tmp_path / 'out.npz')!r})): pass"
    )
    with work_folder(tmp_path / "out.npz") as folder:
        subprocess.run([sys.executable, "-c", code], check=True)
        assert folder.is_dir()


def test_what_a_killed_process_left_is_removed(tmp_path):
    code = (
        "import os; from pathlib import Path; from shapelex.store.atomic import work_folder\n"
        f"with work_folder(Path({str(tmp_path / 'out.npz')!r})) as folder:\n"
        "    (folder / 'part').write_text('half'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert len(list(tmp_path.iterdir())) == 1
    with work_folder(tmp_path / "out.npz") as folder:
        assert list(tmp_path.iterdir()) == [folder]


def test_the_last_of_two_writers_wins_whole(tmp_path):
    with replace_folder(tmp_path / "out.zarr") as first:
        first.mkdir()
        (first / "a").write_text("first")
        with replace_folder(tmp_path / "out.zarr") as second:
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

for number in range(20):
    shapes = sx.ShapeSet(np.random.default_rng(number).normal(size=(50, 5, 2)), labels=[sys.argv[2]] * 50)
    sx.write(shapes, Path(sys.argv[1]), overwrite=True)
"""


@pytest.mark.parametrize("suffix", [".zarr", ".npz", ".csv"])
def test_writers_at_once_leave_a_whole_set(tmp_path, suffix):
    target = tmp_path / f"out{suffix}"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(target), label]) for label in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(set(sx.read(target).labels)) == 1
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_a_file_that_a_killed_process_left_is_removed(tmp_path):
    code = (
        "import os; from pathlib import Path; from shapelex.store.atomic import write_atomically\n"
        f"write_atomically(Path({str(tmp_path / 'out.csv')!r}), lambda stream: os._exit(9))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert len(list(tmp_path.iterdir())) == 1
    write_atomically(tmp_path / "out.csv", lambda stream: stream.write(b"whole"))
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
