"""Movies: number of pictures, speed, what moves, and what is said where a writer is missing."""

import errno
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import shapelex as sx
from shapelex.exceptions import CodesError, ShapeInputError
from shapelex.plotting import save_movie


@pytest.fixture(scope="module")
def crawl() -> tuple[sx.ShapeSet, Any, np.ndarray, np.ndarray]:
    """Return frames of one worm, their codes, the atoms, and frame numbers with a gap."""
    worms = sx.datasets.make_worms(9, 1, 12, random_state=0)
    atoms = worms.space.preshape(worms.configurations[[0, 3, 6]])
    codes = sx.encode(worms, atoms, 2)
    return worms, codes, atoms, np.arange(9) + 4 * (np.arange(9) > 5)


def pictures_of(path: Path) -> list[np.ndarray]:
    with Image.open(path) as movie:
        found = []
        for number in range(movie.n_frames):
            movie.seek(number)
            found.append(np.asarray(movie.convert("RGB")).astype(int))
    return found


def test_gif_has_a_picture_for_each_frame_at_the_speed_of_the_recording(tmp_path: Path, crawl: Any) -> None:
    worms, codes, atoms, frames = crawl
    path = save_movie(tmp_path / "worm.gif", worms, codes, atoms, frames=frames, fps=10)
    with Image.open(path) as movie:
        assert (movie.n_frames, movie.info["duration"], movie.info["loop"]) == (9, 100, 0)
    pictures = pictures_of(path)
    assert all((one != other).any() for one, other in pairwise(pictures))
    # The line through the weights moves to the right.
    height, width = pictures[0].shape[:2]
    dark = [
        (picture[int(0.7 * height) : int(0.8 * height), : int(0.8 * width)].sum(axis=2) < 60).all(axis=0)
        for picture in pictures
    ]
    places = [int(np.flatnonzero(column)[0]) for column in dark]
    assert places == sorted(places)
    assert len(set(places)) == 9
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("options", "n_pictures", "duration"), [({"max_frames": 3}, 3, 200), ({"rate": 60}, 5, 30)])
def test_fewer_pictures_keep_the_speed(
    tmp_path: Path, crawl: Any, options: dict[str, Any], n_pictures: int, duration: int
) -> None:
    worms, codes, atoms, _ = crawl
    path = save_movie(tmp_path / "worm.gif", worms, codes, atoms, **options)
    with Image.open(path) as movie:
        assert movie.n_frames == n_pictures
        assert movie.info["duration"] == duration


def test_mp4_has_a_picture_for_each_frame(tmp_path: Path, crawl: Any) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    worms, codes, atoms, frames = crawl
    path = save_movie(tmp_path / "worm.mp4", worms, codes, atoms, frames=frames, fps=1 / 900)
    n_pictures, seconds = ffmpeg.count_frames_and_secs(str(path))
    assert n_pictures == 9
    assert seconds == pytest.approx(9 / 15, abs=0.02)


def test_missing_writer_is_named(tmp_path: Path, crawl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    worms, codes, atoms, _ = crawl
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ImportError, match=r'imageio-ffmpeg.*pip install "shapelex\[sequences\]"'):
        save_movie(tmp_path / "worm.mp4", worms, codes, atoms)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_movie(tmp_path: Path, crawl: Any) -> None:
    worms, codes, atoms, _ = crawl
    with pytest.raises(ValueError, match=r"\.gif"):
        save_movie(tmp_path / "worm.avi", worms, codes, atoms)
    with pytest.raises(ShapeInputError, match="as many frames, got 4 and 9"):
        save_movie(tmp_path / "worm.gif", worms[:4], codes, atoms)
    with pytest.raises(CodesError, match="over 3 atoms, but 2"):
        save_movie(tmp_path / "worm.gif", worms, codes, atoms[:2])


# What ffmpeg may do instead of writing the movie, and what is said of it.
FULL = 'cat > /dev/null; for last; do :; done; echo half > "$last"; echo "No space left on device" >&2; exit 1'
FAILURES = {
    FULL: (errno.ENOSPC, "No space left on device"),
    'echo "first" >&2; echo "Unknown encoder." >&2; exit 8': (errno.EIO, "Unknown encoder"),
    "exit 3": (errno.EIO, "exit status 3"),
    "kill -9 $$": (errno.EIO, "it was ended by the signal SIGKILL"),
    "exit 0": (errno.EIO, "exit status 0"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("script", FAILURES)
def test_movie_that_ffmpeg_could_not_write_leaves_the_older_one(tmp_path, crawl, monkeypatch, script) -> None:
    pytest.importorskip("imageio_ffmpeg")
    number, reason = FAILURES[script]
    program = tmp_path / "ffmpeg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    path = tmp_path / "worm.mp4"
    path.write_text("an older movie")
    worms, codes, atoms, _ = crawl
    with pytest.raises(OSError, match="worm") as caught:
        save_movie(path, worms[:3], codes[:3], atoms)
    assert (caught.value.errno, caught.value.filename) == (number, str(path))
    assert caught.value.strerror in (reason, f"ffmpeg could not write the movie: {reason}")
    assert path.read_text() == "an older movie"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["ffmpeg", "worm.mp4"]


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_error_of_the_disk_names_the_movie(tmp_path: Path, crawl: Any, suffix: str, size_limit: Any) -> None:
    pytest.importorskip("imageio_ffmpeg")
    worms, codes, atoms, _ = crawl
    path = tmp_path / f"worm{suffix}"
    with size_limit(4096), pytest.raises(OSError, match="worm") as caught:
        save_movie(path, worms[:3], codes[:3], atoms)
    assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []
