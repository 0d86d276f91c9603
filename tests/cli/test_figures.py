"""Options of figures: size, look, and formats."""

import re
from pathlib import Path

import pytest

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


def test_look(folder):
    learn = ["learn", "shapes.npz", "-o", "m.npz", "--atoms", "4", "--nonzero", "1", "--max-iter", "0", "--quiet"]
    look = ["--no-lines", "--numbers", "--columns", "1", "--letter", "b", "--font-size", "5"]
    lines_of(run(*learn, "--figure", "a.svg", *look))
    texts = texts_of("a.svg")
    assert "b" in texts
    assert {"1", "2", "3"} <= set(texts)
    assert sum(text.endswith("%") for text in texts) == 4
    assert "5px" in (folder / "a.svg").read_text()


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
