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


@pytest.mark.parametrize("suffix", [".zarr", ".csv"])
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


KILLED = """
import os
from pathlib import Path
from shapelex.store import atomic
target = Path({target!r})
atomic._exchange = lambda first, second: False
rename = Path.rename
def rename_and_die(self, other):
    rename(self, other)
    os._exit(9)
Path.rename = rename_and_die
with atomic.replace_folder(target) as partial:
    partial.mkdir()
"""


def cut_off_replacing(target):
    """Kill a process when it has moved the old folder aside, and not yet put the new one there."""
    code = KILLED.format(target=str(target))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert not target.exists()


def test_reading_finds_a_set_whose_replacement_was_cut_off(tmp_path):
    pytest.importorskip("zarr")
    shapes = sx.ShapeSet([[0, 1, 1j], [0, 2, 1j]])
    for read in (sx.read, lambda path: sx.open_shapes(path)[:]):
        target = sx.write(shapes, tmp_path / "out.zarr", overwrite=True)
        cut_off_replacing(target)
        assert read(target).equals(shapes)
        assert [path.name for path in tmp_path.iterdir()] == ["out.zarr"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges folders in one step")
def test_a_folder_that_is_replaced_is_always_there(tmp_path):
    target = tmp_path / "out.zarr"
    target.mkdir()
    code = (
        "from pathlib import Path; from shapelex.store.atomic import replace_folder\n"
        "for _ in range(300):\n"
        f"    with replace_folder(Path({str(target)!r})) as partial: partial.mkdir()"
    )
    writer = subprocess.Popen([sys.executable, "-c", code])
    n_missed = n_seen = 0
    while writer.poll() is None:
        n_seen += 1
        n_missed += not target.exists()
    assert writer.returncode == 0
    assert n_seen > 0
    assert n_missed == 0


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError(27, "File too large")])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, error):
    def write(stream):
        raise error

    with pytest.raises(OSError, match=f"{error.strerror}.*out.npz") as caught:
        write_atomically(tmp_path / "out.npz", write)
    assert caught.value.filename == str(tmp_path / "out.npz")
    assert list(tmp_path.iterdir()) == []
