"""Figures as files: fonts, sizes, and the same bytes for the same figure."""

import errno
import io
import re
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import shapelex as sx

CIRCLE = np.exp(2j * np.pi * np.arange(40) / 40)
Z = np.array([CIRCLE + a * CIRCLE**-2 for a in (0.1, 0.2, 0.3)])


def make_figure() -> Figure:
    figure = Figure(figsize=sx.plotting.figure_size("single", 50), layout="constrained")
    left, right = figure.subplots(1, 2)
    sx.plotting.plot_mean(Z, ax=left)
    sx.plotting.plot_loss([0.3, 0.2, 0.1], ax=right)
    sx.plotting.letter_panels([left, right])
    return figure


def fonts_of_pdf(content: bytes) -> set[bytes]:
    parts = [content]
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
        try:
            parts.append(zlib.decompress(stream))
        except zlib.error:
            continue
    return set(re.findall(rb"/Subtype /(Type0|Type3|TrueType|CIDFontType2)", b"".join(parts)))


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
