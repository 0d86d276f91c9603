"""Shapes that are read piece by piece, and learned from on a cluster."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.io import read_codes
from tests.cli.conftest import lines_of, run

LEARN = ["--atoms", "4", "--nonzero", "2", "--coder", "ormp", "--max-iter", "5", "--seed", "1"]


@pytest.fixture
def expected(shapes):
    with pytest.warns(UserWarning, match="max_iter"):
        return sx.ShapeDictionary(4, 2, coder="ormp", max_iter=5, random_state=1).fit(shapes.configurations)


@pytest.fixture
def stored(folder, shapes):
    np.save("shapes.npy", shapes.configurations)
    zarr = pytest.importorskip("zarr")
    zarr.save_array("shapes.zarr", shapes.configurations)
    return folder


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["shapes.npy", "shapes.zarr"])
def test_learn_and_encode_from_files_that_are_not_read_whole(stored, shapes, expected, name):
    lines_of(run("learn", name, "-o", "m.npz", *LEARN))
    model = sx.load("m.npz")
    np.testing.assert_array_equal(model.atoms_, expected.atoms_)
    for out in ("codes.zarr", "codes.parquet"):
        assert lines_of(run("encode", "m.npz", name, "-o", out)) == ["40 shapes", f"wrote {out}"]
        codes, errors = read_codes(out)
        np.testing.assert_array_equal(codes.toarray(), expected.transform(shapes.configurations))
        np.testing.assert_array_equal(errors, expected.errors(shapes.configurations))
        assert run("encode", "m.npz", name, "-o", out).exit_code == 1


def test_a_damaged_array_is_one_line(folder):
    (folder / "shapes.npy").write_bytes(b"\x93NUMPY nonsense")
    result = run("learn", "shapes.npy", "-o", "m.npz")
    assert result.exit_code == 1
    assert result.stderr.startswith("shapelex: shapes.npy cannot be read as one array of shapes")
    assert len(result.stderr.splitlines()) == 1
    assert not (folder / "m.npz").exists()


@pytest.mark.filterwarnings("ignore")
def test_learn_on_the_cluster_of_a_scheduler(folder, shapes):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        lines_of(run("learn", "shapes.npz", "-o", "m.npz", *LEARN, "--scheduler", cluster.scheduler_address))
    alone = sx.ShapeDictionary(4, 2, space=shapes.space, coder="ormp", max_iter=5, random_state=1).fit(shapes)
    np.testing.assert_allclose(sx.load("m.npz").atoms_, alone.atoms_, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there_is_one_line(folder):
    pytest.importorskip("distributed")
    result = run("learn", "shapes.npz", "-o", "m.npz", "--scheduler", "nonsense://nowhere")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("shapelex: no scheduler answers at nonsense://nowhere")
