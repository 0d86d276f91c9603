"""Options of figures: size, look, and formats."""

import re
from pathlib import Path

import pytest
from PIL import Image

import shapelex as sx
from tests.cli.conftest import lines_of, run

MEAN = ["mean", "shapes.npz", "-o", "m.csv", "--force"]


def texts_of(name: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", Path(name).read_text())


def size_of_pdf(name: str) -> tuple[float, float]:
    box = re.search(rb"/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)", Path(name).read_bytes())
    return float(box[1]), float(box[2])


@pytest.mark.parametrize(("width", "mm"), [("single", 85), ("double", 180), ("120", 120), ("60mm", 60)])
def test_width(folder, width, mm):
    lines_of(run(*MEAN, "--figure", "m.pdf", "--width", width))
    assert size_of_pdf("m.pdf")[0] == pytest.approx(mm / 25.4 * 72, abs=0.1)


def test_height_is_what_the_shapes_need(folder):
    learn = ["learn", "shapes.npz", "-o", "m.npz", "--atoms", "4", "--nonzero", "1", "--max-iter", "0", "--force"]
    heights = []
    for columns in ("4", "2"):
        lines_of(run(*learn, "--figure", "a.pdf", "--width", "single", "--columns", columns))
        heights.append(size_of_pdf("a.pdf")[1])
    assert heights[0] < 0.5 * size_of_pdf("a.pdf")[0] < heights[1]


def test_dots_per_inch(folder):
    lines_of(run(*MEAN, "--figure", "m.tiff", "--width", "single", "--dpi", "600"))
    with Image.open(folder / "m.tiff") as image:
        assert image.width == int(85 / 25.4 * 600)


def test_look(folder):
    learn = ["learn", "shapes.npz", "-o", "m.npz", "--atoms", "4", "--nonzero", "1", "--max-iter", "0", "--quiet"]
    look = ["--no-lines", "--numbers", "--columns", "1", "--letter", "b", "--font-size", "5"]
    lines_of(run(*learn, "--figure", "a.svg", *look))
    texts = texts_of("a.svg")
    assert "b" in texts
    assert {"1", "2", "3"} <= set(texts)
    assert sum(text.endswith("%") for text in texts) == 4
    assert "5px" in (folder / "a.svg").read_text()


@pytest.mark.parametrize("option", [["--width", "single"], ["--dpi", "100"], ["--no-lines"], ["--letter", "A"]])
def test_options_need_a_figure(folder, option):
    result = run(*MEAN, *option)
    assert result.exit_code == 2
    assert f"{option[0]}: works only with --figure" in " ".join(result.output.split())


@pytest.mark.parametrize("width", ["5", "wide", "-20", "nan"])
def test_wrong_widths(folder, width):
    result = run(*MEAN, "--figure", "m.png", "--width", width)
    assert result.exit_code == 2
    assert "expected 20 to 1000 millimeters, single (85 mm) or double (180 mm)" in " ".join(
        result.output.replace("│", " ").split()
    )


def test_options_of_shapes_are_for_figures_of_shapes(folder):
    assert run("distances", "shapes.npz", "-o", "d.csv", "--figure", "d.png", "--no-lines").exit_code == 2


BAD, OTHER = r"$\frac{$", "$x_{y$"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("mean", "bad.npz", "--by-label", "-o", "m.npz"), [BAD, OTHER]),
        (("distances", "bad.npz", "-o", "d.csv"), [BAD, OTHER]),
        (("classify", "bad.npz", "--folds", "2", "-o", "c.npz"), [BAD, OTHER]),
        (("encode", "model.npz", "bad.npz", "-o", "e.csv"), []),
    ],
)
def test_labels_and_letters_are_drawn_as_they_are_written(ready, shapes, words, shown):
    sx.write(shapes.replace(labels=[BAD, OTHER] * 20), "bad.npz")
    lines_of(run(*words, "--figure", "f.svg", "--letter", r"$\x{$"))
    assert {*shown, r"$\x{$"} <= set(texts_of("f.svg"))
    assert (ready / words[-1]).exists()


def test_groups_of_a_test_are_drawn_as_they_are_written(ready, shapes):
    sx.write(shapes.replace(labels=[BAD, OTHER] * 20), "bad.npz")
    options = ("--by", "label", "--permutations", 19, "--dictionary", "model.npz", "-o", "found")
    lines_of(run("test", "bad.npz", *options))
    assert {path.name for path in (ready / "found").glob("*.png")} == {
        "means.png", "effects.png", "atoms.png", "typical.png"
    }  # fmt: skip
