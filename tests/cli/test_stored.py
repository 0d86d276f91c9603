"""Shapes that are read piece by piece, and learned from on a cluster."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.io import parts, read_codes, stored_shapes
from tests.cli.conftest import facts_of, lines_of, refused, run
from tests.rounding import assert_close, assert_close_codes

LEARN = "-o m.npz --atoms 4 --nonzero 2 --coder ormp --max-iter 30 --seed 1"


@pytest.fixture
def expected(shapes):
    return sx.ShapeDictionary(4, 2, coder="ormp", max_iter=30, random_state=1).fit(shapes.configurations)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["shapes.npy", "shapes.zarr"])
def test_learn_and_encode_from_files_that_are_not_read_whole(folder, shapes, expected, name):
    np.save("shapes.npy", shapes.configurations)
    pytest.importorskip("zarr").save_array("shapes.zarr", shapes.configurations)
    lines_of(run(f"learn {name} {LEARN}"))
    model = sx.load("m.npz")
    assert_close(model.atoms_, expected.atoms_)
    errors = expected.errors(shapes.configurations)
    said = f"40 shapes, RMSE {100 * (errors**2).mean() ** 0.5:.2f} %, worst {100 * errors.max():.2f} %"
    assert lines_of(run(f"encode m.npz {name} -o codes.zarr")) == [said, "wrote codes.zarr"]
    codes, found = read_codes("codes.zarr")
    assert_close_codes(codes, expected.encode(shapes.configurations))
    assert_close(found, errors)
    assert lines_of(run("info", "codes.zarr"))[0].startswith("codes of 40 shapes over 4 atoms")
    refused(f"encode m.npz {name} -o codes.zarr", "--force")
    lines_of(run(f"encode m.npz {name} -o codes.zarr --force"))


@pytest.mark.parametrize(
    ("layout", "suffix"), [("slots", ".csv"), ("atoms", ".tsv"), ("slots", ".parquet"), ("atoms", ".parquet")]
)
def test_tables_of_codes_are_the_same_piece_by_piece(ready, everything_is_large, layout, suffix, monkeypatch):
    pd = pytest.importorskip("pandas")
    encode = f"encode model.npz shapes.npz --layout {layout}"
    lines_of(run(f"{encode} -o pieces{suffix}"))
    monkeypatch.setattr(stored_shapes, "LARGE_BYTES", 1 << 40)
    lines_of(run(f"{encode} -o whole{suffix}"))
    read = {".csv": pd.read_csv, ".tsv": pd.read_table, ".parquet": pd.read_parquet}[suffix]
    pieces = read(f"pieces{suffix}")
    assert pieces["id"].tolist() == [f"cell {n}" for n in range(40)]
    pd.testing.assert_frame_equal(pieces, read(f"whole{suffix}"))
    assert lines_of(run("info", f"pieces{suffix}"))[-1].startswith("made by: shapelex encode model.npz")


def test_the_page_of_a_large_set_shows_shapes_spread_over_it(ready, everything_is_large):
    for option, shown in (
        ("--max-shapes 1", '"n_shapes":10,"n_population":40'),
        ("", '"n_shapes":40,"n_population":null'),
    ):
        lines_of(run(f"report model.npz shapes.npz -o r.html --force {option}"))
        assert shown in (ready / "r.html").read_text().replace(" ", "")


@pytest.fixture
def tables(folder, shapes):
    """Outlines of different start points in a table a class."""
    for name in "ab":
        some = shapes[shapes.labels == name]
        rows = [np.roll(row, 3 * place) for place, row in enumerate(some.configurations)]
        (folder / name).mkdir()
        sx.write(some.replace(configurations=rows, labels=None), folder / name / "table.csv")
    return folder


@pytest.mark.parametrize("options", ["", "--points 9 ", "--space bspline --points 8 "])
def test_import_piece_by_piece_is_the_import_in_memory(tables, monkeypatch, options):
    command = f"import a b {options}--label-from parent -o"
    said = lines_of(run(f"{command} whole.npz"))
    expected = sx.read("whole.npz")
    with monkeypatch.context() as patched:
        patched.setattr(stored_shapes, "LARGE_BYTES", 1)
        patched.setattr(parts, "_BATCH_RECORDS", 7)
        for out in ("pieces.npz", "pieces.zarr"):
            assert lines_of(run(f"{command} {out}"))[:-1] == said[:-1]
    for out in ("pieces.npz", "pieces.zarr"):
        found = sx.read(out)
        # Least squares round differently for another number of curves.
        np.testing.assert_allclose(
            found.configurations, expected.configurations, atol=1e-13 if "bspline" in options else 0
        )
        assert found.replace(configurations=expected.configurations).equals(expected)
        assert found.notes == expected.notes
        assert lines_of(run("info", out))[:-1] == said[:-1]
        assert lines_of(run("info", out))[-1] == f"made by: shapelex {command} {out}"
    assert {path.name for path in tables.iterdir()} == {
        "a", "b", "shapes.npz", "whole.npz", "pieces.npz", "pieces.zarr"
    }  # fmt: skip


def test_registration_piece_by_piece(tables, everything_is_large, monkeypatch):
    said = lines_of(run("import a b -o pieces.zarr --closed --register"))
    assert any("40 shapes registered to the mean of 40 of them" in line for line in said)
    monkeypatch.setattr(stored_shapes, "LARGE_BYTES", 1 << 40)
    lines_of(run("import a b -o whole.npz --closed --register"))
    found, expected = sx.read("pieces.zarr"), sx.read("whole.npz")
    np.testing.assert_array_equal(found.configurations, expected.configurations)


def test_the_way_from_files_to_codes_without_the_set_in_memory(tables, everything_is_large, monkeypatch):
    lines_of(run("import", "a", "b", "-o", "all.zarr", "--closed"))

    def refuse(*_, **__):
        raise AssertionError("the set was read whole")

    monkeypatch.setattr(sx, "read", refuse)
    lines_of(run(f"learn all.zarr {LEARN}"))
    assert sx.load("m.npz").space_ == sx.Landmarks(16, closed=True)
    lines_of(run("encode", "m.npz", "all.zarr", "-o", "codes.parquet"))
    assert lines_of(run("info", "codes.parquet"))[0].startswith("codes of 40 shapes")
    assert facts_of(run("info", "codes.parquet", "--json"))["command"].startswith("shapelex encode")


@pytest.mark.parametrize("out", ["pieces.npz", "pieces.zarr"])
@pytest.mark.parametrize("step", ["shapelex.io.parts.SetBuilder.finish", "shapelex.io.parts.AssembledShapes.blocks"])
def test_an_interrupted_import_leaves_nothing(tables, everything_is_large, monkeypatch, out, step):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(step, interrupt)
    before = sorted(path.name for path in tables.iterdir())
    assert run(f"import a b -o {out}").exit_code == 130
    assert sorted(path.name for path in tables.iterdir()) == before


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["shapes.npz", "shapes.zarr"])
def test_learn_on_the_cluster_of_a_scheduler(folder, shapes, name):
    distributed, pd = pytest.importorskip("distributed"), pytest.importorskip("pandas")
    sx.write(shapes, name, overwrite=True)
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        scheduler = f"--scheduler {cluster.scheduler_address}"
        lines_of(run(f"learn {name} {LEARN} {scheduler}"))
        if name == "shapes.zarr":
            here = lines_of(run(f"encode m.npz {name} -o here.csv"))
            lines = lines_of(run(f"encode m.npz {name} -o c.csv {scheduler}"))
            assert lines[0] == here[0]
            pd.testing.assert_frame_equal(pd.read_csv("c.csv"), pd.read_csv("here.csv"), rtol=1e-9)
    assert sx.load("m.npz").space_ == shapes.space
    alone = sx.ShapeDictionary(4, 2, space=shapes.space, coder="ormp", max_iter=30, random_state=1).fit(shapes)
    np.testing.assert_allclose(sx.load("m.npz").atoms_, alone.atoms_, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there_is_one_line(folder):
    pytest.importorskip("distributed")
    refused("learn shapes.npz -o m.npz --scheduler nonsense://nowhere", "no scheduler answers at nonsense://nowhere")
    # What comes next in this process runs without a cluster.
    dask = pytest.importorskip("dask")
    assert dask.delayed(abs)(-1).compute() == 1


@pytest.mark.parametrize("out", ["out.npz", "out.zarr"])
def test_an_output_in_the_folder_of_the_inputs_is_not_read(tables, out):
    for _ in range(2):
        lines_of(run("import", "a", "-o", f"a/{out}", "--force"))
        assert len(sx.read(f"a/{out}")) == 20


@pytest.mark.parametrize("option", ["--closed", "--like shapes.npz"])
def test_a_shape_that_cannot_be_registered_is_named_by_its_row(folder, shapes, everything_is_large, option):
    rows = shapes.configurations.copy()
    rows[33] = 5
    np.save("bad.npy", rows)
    refused(f"import bad.npy -o c.npz --register {option}", "row 33")
    assert not (folder / "c.npz").exists()
