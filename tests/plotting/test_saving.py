"""Figures and movies as files, and the style sheet: fonts, sizes, speed, and errors of the disk."""

import errno
import io
import re
import sys
import xml.etree.ElementTree as ET
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
import numpy as np
import pytest
from cycler import cycler
from matplotlib.figure import Figure
from PIL import Image, ImageSequence

import shapelex as sx
from shapelex.exceptions import CodesError, ShapeInputError
from shapelex.plotting import save_movie

CIRCLE = np.exp(2j * np.pi * np.arange(40) / 40)
Z = np.array([CIRCLE + a * CIRCLE**-2 for a in (0.1, 0.2, 0.3)])


def test_style_is_restored():
    before = dict(mpl.rcParams)
    with sx.plotting.style():
        assert mpl.rcParams["pdf.fonttype"] == mpl.rcParams["ps.fonttype"] == 42
        assert mpl.rcParams["svg.fonttype"] == "none"
        assert mpl.rcParams["font.size"] == 8
    sx.plotting.plot_shapes(Z, labels=["a", "b", "c"], ax=Figure().subplots())
    assert dict(mpl.rcParams) == before


def test_settings_of_users_win():
    with mpl.rc_context({"font.size": 12, "lines.linewidth": 3, "axes.prop_cycle": cycler(color=["red", "lime"])}):
        ax = sx.plotting.plot_shapes(Z, labels=["a", "b", "c"], ax=Figure().subplots())
        assert {text.get_fontsize() for text in ax.texts} == {12}
        assert {(line.get_color(), line.get_linewidth()) for line in ax.lines} == {("red", 3)}
        ax = sx.plotting.plot_shapes(Z, color=["x", "y", "y"], ax=Figure().subplots())
        assert {line.get_color() for line in ax.lines} == {"red", "lime"}
        # What is said in the call wins over everything.
        ax = sx.plotting.plot_shapes(Z, labels=["a", "b", "c"], fontsize=5, color="blue", ax=Figure().subplots())
        assert {text.get_fontsize() for text in ax.texts} == {5}
        assert {line.get_color() for line in ax.lines} == {"blue"}


def make_figure() -> Figure:
    figure = Figure(figsize=sx.plotting.figure_size("single", 50), layout="constrained")
    left, right = figure.subplots(1, 2)
    sx.plotting.plot_mean(Z, ax=left)
    sx.plotting.plot_loss([0.3, 0.2, 0.1], ax=right)
    sx.plotting.letter_panels([left, right])
    return figure


@pytest.fixture
def save_twice(tmp_path):
    """Save a figure, which stays as it is, check that an equal one gives the same bytes, and return its path."""

    def save(ending, **options):
        figure = make_figure()
        before = [(line.get_color(), line.get_alpha()) for line in figure.axes[0].lines]
        path = sx.plotting.save_figure(figure, tmp_path / f"a.{ending}", **options)
        assert [(line.get_color(), line.get_alpha()) for line in figure.axes[0].lines] == before
        again = sx.plotting.save_figure(make_figure(), tmp_path / f"b.{ending}", **options).read_bytes()
        assert path.read_bytes() == again.replace(b"b.eps", b"a.eps")
        return path

    return save


def test_pdf_has_no_type_3_fonts(save_twice):
    def fonts_of_pdf(content: bytes) -> set[bytes]:
        streams = re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL)
        parts = [zlib.decompress(one) for one in streams if one.startswith(b"x")]
        return set(re.findall(rb"/Subtype /(Type0|Type3|TrueType|CIDFontType2)", b"".join([content, *parts])))

    fonts = fonts_of_pdf(save_twice("pdf").read_bytes())
    assert b"CIDFontType2" in fonts
    assert b"Type3" not in fonts
    # The check finds them where they are.
    stream = io.BytesIO()
    make_figure().savefig(stream, format="pdf")
    assert b"Type3" in fonts_of_pdf(stream.getvalue())


def test_svg_has_text(save_twice):
    texts = ["".join(one.itertext()) for one in ET.parse(save_twice("svg")).iter("{http://www.w3.org/2000/svg}text")]
    assert {"A", "B", "iteration", "RMSE (%)"} <= set(texts)


@pytest.mark.parametrize(("ending", "dpi"), [("png", 200), ("tiff", 300)])
def test_images_have_the_size_in_print(save_twice, ending, dpi):
    with Image.open(save_twice(ending, dpi=dpi)) as image:
        assert image.size == (int(85 / 25.4 * dpi), int(50 / 25.4 * dpi))
        assert float(image.info["dpi"][0]) == pytest.approx(dpi, abs=0.1)
        if ending == "tiff":
            assert (image.mode, image.info["compression"]) == ("RGB", "tiff_lzw")


@pytest.mark.thorough
def test_postscript_has_truetype_fonts_and_mixes_transparent_colors_with_white(save_twice, caplog):
    content = save_twice("eps").read_text("latin-1")
    assert not caplog.records
    gray = 1 - 0.55 * (1 - 0x9A / 255)
    assert f"{gray:.3f}" in content
    assert "/FontType 42 def" in content
    assert "/FontType 3 def" not in content


@pytest.mark.parametrize("ending", ["pdf", "svg", "tiff"])
def test_error_of_the_disk_names_the_figure(tmp_path, size_limit, ending):
    path = tmp_path / f"a.{ending}"
    path.write_text("an older figure")
    figure = make_figure()
    with size_limit(2048), pytest.raises(OSError, match=f"a.{ending}") as caught:
        sx.plotting.save_figure(figure, path)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert path.read_text() == "an older figure"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def crawl() -> tuple[sx.ShapeSet, Any, np.ndarray, np.ndarray]:
    """Return frames of one worm, their codes, the atoms, and frame numbers with a gap."""
    worms = sx.datasets.make_worms(9, 1, 12, random_state=0)
    atoms = worms.space.preshape(worms.configurations[[0, 3, 6]])
    codes = sx.encode(worms, atoms, 2)
    return worms, codes, atoms, np.arange(9) + 4 * (np.arange(9) > 5)


def test_gif_has_a_picture_for_each_frame_at_the_speed_of_the_recording(tmp_path: Path, crawl: Any) -> None:
    path = save_movie(tmp_path / "worm.gif", *crawl[:3], frames=crawl[3], fps=10)
    with Image.open(path) as movie:
        assert (movie.n_frames, movie.info["duration"], movie.info["loop"]) == (9, 100, 0)
        pictures = [np.asarray(frame.convert("RGB")).astype(int) for frame in ImageSequence.Iterator(movie)]
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


def test_fewer_pictures_keep_the_speed_and_mp4_has_one_for_each_frame(tmp_path: Path, crawl: Any) -> None:
    for options, shown in (({"max_frames": 3}, (3, 200)), ({"rate": 60}, (5, 30))):
        with Image.open(save_movie(tmp_path / f"{shown[0]}.gif", *crawl[:3], **options)) as movie:
            assert (movie.n_frames, movie.info["duration"]) == shown
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = save_movie(tmp_path / "worm.mp4", *crawl[:3], frames=crawl[3], fps=1 / 900)
    n_pictures, seconds = ffmpeg.count_frames_and_secs(str(path))
    assert n_pictures == 9
    assert seconds == pytest.approx(9 / 15, abs=0.02)


def test_what_is_no_movie_and_no_size(tmp_path: Path, crawl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    worms, codes, atoms, _ = crawl
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert sx.plotting.figure_size("single") == pytest.approx((85 / 25.4, 0.7 * 85 / 25.4))
    assert sx.plotting.figure_size("double", 90) == pytest.approx((180 / 25.4, 90 / 25.4))
    for call, error, words in (
        (lambda: save_movie(tmp_path / "w.mp4", *crawl[:3]), ImportError, r'imageio-ffmpeg.*"shapelex\[sequences\]"'),
        (lambda: save_movie(tmp_path / "w.avi", *crawl[:3]), ValueError, r"\.gif"),
        (lambda: save_movie(tmp_path / "w.gif", worms[:4], codes, atoms), ShapeInputError, "frames, got 4 and 9"),
        (lambda: save_movie(tmp_path / "w.gif", worms, codes, atoms[:2]), CodesError, "over 3 atoms, but 2"),
        (lambda: sx.plotting.figure_size("triple"), ValueError, "width must be one of 'single', 'double'"),
        (lambda: sx.plotting.figure_size(85, -1), ValueError, "height must be finite and positive, got -1"),
    ):
        with pytest.raises(error, match=words):
            call()
    assert list(tmp_path.iterdir()) == []


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
    number, reason = FAILURES[script]
    program = tmp_path / "ffmpeg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    path = tmp_path / "worm.mp4"
    path.write_text("an older movie")
    with pytest.raises(OSError, match="worm") as caught:
        save_movie(path, crawl[0][:3], crawl[1][:3], crawl[2])
    assert (caught.value.errno, caught.value.filename) == (number, str(path))
    assert caught.value.strerror in (reason, f"ffmpeg could not write the movie: {reason}")
    assert path.read_text() == "an older movie"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["ffmpeg", "worm.mp4"]


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_error_of_the_disk_names_the_movie(tmp_path: Path, crawl: Any, suffix: str, size_limit: Any) -> None:
    path = tmp_path / f"worm{suffix}"
    with size_limit(4096), pytest.raises(OSError, match="worm") as caught:
        save_movie(path, crawl[0][:3], crawl[1][:3], crawl[2])
    assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []
