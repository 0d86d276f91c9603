"""Shapes that import and learn leave out, by a list of ids or files."""

from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.store.provenance import read_run
from tests.cli.conftest import facts_of, lines_of, run

LEARN = ("--atoms", "4", "--nonzero", "2", "--swaps", "0")


def write_list(text: str) -> str:
    Path("list.csv").write_text(text, encoding="utf-8")
    return "list.csv"


@pytest.fixture
def files(folder, shapes):
    """A folder ``parts`` with two files whose shapes have the same ids."""
    Path("parts").mkdir()
    for name, start in (("one", 0), ("two", 20)):
        sx.write(shapes[start : start + 20].replace(ids=[f"cell {n}" for n in range(20)]), f"parts/{name}.npz")


def test_import_leaves_out_ids_and_says_which_entries_fit_no_shape(folder, shapes):
    shown = lines_of(
        run("import", "shapes.npz", "-o", "kept.npz", "--exclude", write_list("id\ncell 3\ncell 41\ncell 7\n"))
    )
    kept = sx.read("kept.npz")
    assert kept.ids.tolist() == [name for name in shapes.ids.tolist() if name not in ("cell 3", "cell 7")]
    assert kept.notes[-1] == "2 of 40 shapes were excluded by list.csv; 1 of its entries fit no shape: 'cell 41'"
    assert any(kept.notes[-1] in line for line in shown)


@pytest.mark.parametrize("name", ["kept.npz", "kept.zarr"])
def test_import_piece_by_piece_leaves_out_the_same(files, everything_is_large, name):
    rows = "".join(f"cell {n},one.npz\n" for n in range(20)) + 'cell 5,"parts/two.npz"\n'
    excluded = write_list(f"id,file\n{rows}")
    lines_of(run("import", "parts", "-o", name, "--exclude", excluded))
    kept = sx.read(name)
    assert kept.ids.tolist() == [f"cell {n}" for n in range(20) if n != 5]
    assert {Path(file).name for file in kept.metadata["file"].tolist()} == {"two.npz"}
    assert kept.notes[-1] == "21 of 40 shapes were excluded by list.csv"


def test_a_file_alone_leaves_out_all_its_shapes(files):
    lines_of(run("import", "parts", "-o", "kept.npz", "--exclude", write_list("file;why\none.npz;blurred\n")))
    assert len(sx.read("kept.npz")) == 20


@pytest.mark.parametrize("is_large", [False, True])
def test_learn_learns_from_the_others(folder, shapes, is_large, request):
    if is_large:
        request.getfixturevalue("everything_is_large")
    excluded = write_list('id,file\ncell 3,\n"cell 7",\ncell 99,\n')
    shown = facts_of(run("learn", "shapes.npz", "-o", "m.npz", *LEARN, "--exclude", excluded, "--json"))
    assert (shown["n_excluded"], shown["unmatched"]) == (2, ["cell 99"])
    sx.write(shapes[~np.isin(shapes.ids, ["cell 3", "cell 7"])], "without.npz")
    expected = facts_of(run("learn", "without.npz", "-o", "e.npz", *LEARN, "--json"))
    assert shown["rmse"] == pytest.approx(expected["rmse"], rel=1e-9)
    assert "list.csv" in {Path(one["path"]).name for one in read_run("m.npz")["inputs"]}
