"""The walk of ``CONTRIBUTING.md`` through the source is the way that shapes take."""

import ast
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx

GUIDE = Path(__file__).parent.parent / "CONTRIBUTING.md"
SOURCE = Path(sx.__file__).parent
WALK = re.findall(r"^\d+\. `(\S+\.py)`: `([\w.]+)`", GUIDE.read_text(encoding="utf-8").split("## How to add")[0], re.M)


def test_the_walk_has_ten_steps():
    assert len(WALK) == 10


@pytest.mark.parametrize(("path", "name"), WALK)
def test_a_step_names_what_its_file_defines(path, name):
    body = ast.parse((SOURCE / path).read_text(encoding="utf-8")).body
    for part in name.split("."):
        (found,) = [node for node in body if getattr(node, "name", None) == part]
        body = found.body


def entered_functions(call):
    """Return file and qualified name of all functions of the package that a call enters, in order of first entry."""
    entered = {}

    def profile(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and SOURCE in path.parents:
            entered.setdefault((path.relative_to(SOURCE).as_posix(), frame.f_code.co_qualname), None)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(entered)


def test_shapes_pass_the_files_in_order(tmp_path):
    t = 2 * np.pi * np.arange(8) / 8
    outlines = [np.exp(1j * t) * (2 + np.cos(2 * t + number) + 0.3 * np.sin(3 * t * number)) for number in range(20)]
    lines = ["LM=8\n" + "".join(f"{z.real} {z.imag}\n" for z in outline) + "ID=a\n" for outline in outlines]
    (tmp_path / "shapes.tps").write_text("".join(lines))

    def from_file_to_page():
        shapes = sx.read(tmp_path / "shapes.tps")
        model = sx.ShapeDictionary(12, 6, coder="ormp", max_iter=2, random_state=0).fit(shapes)
        sx.report.write_report(model, shapes, tmp_path / "page.html", overwrite=True)

    from_file_to_page()  # kernels are compiled before calls are counted
    entered = entered_functions(from_file_to_page)
    firsts = []
    for path, name in WALK:
        steps = [
            number
            for number, (file, entry) in enumerate(entered)
            if file == path and f"{entry}.".startswith(f"{name}.")
        ]
        assert steps, f"{path}: {name} is not entered"
        firsts.append(steps[0])
    assert firsts == sorted(firsts)
