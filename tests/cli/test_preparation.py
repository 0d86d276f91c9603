"""Commands prepare shapes like those that a model was learned from, or refuse them; and sets with missing landmarks."""

import contextlib
import shutil
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import shapelex as sx
from tests.cli.conftest import error_of, facts_of, lines_of, refused, run

LEARN = ["--atoms", "4", "--nonzero", "2", "--max-iter", "5"]
SAID = "is not registered: registered to the mean that the model was learned with"

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, shapes):
    """``raw.npz``, ``registered.npz`` and ``model.npz`` of outlines in text files whose start points differ."""
    rng = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "cells").mkdir()
    for number, outline in enumerate(shapes.configurations):
        # As many points as the model has are resampled like all others.
        rows = np.roll(sx.resample(outline, 24 + number % 3, closed=True), rng.integers(24)) * (1 + 1e-3 * number)
        rows[3] = 0.7 * rows[3] + 0.3 * rows[4]
        np.savetxt(folder / "cells" / f"{number:02d}.txt", np.column_stack([rows.real, rows.imag]))
    with contextlib.chdir(folder):
        lines_of(run("import cells -o raw.npz --points 24 --closed"))
        lines_of(run("import cells -o registered.npz --points 24 --closed --register"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            lines_of(run("learn", "registered.npz", "-o", "model.npz", *LEARN))
    return folder


@pytest.fixture
def outlines(folder, prepared):
    shutil.copytree(prepared, folder, dirs_exist_ok=True)
    return folder


def encode(source, name="codes.npz", *options):
    result = run("encode", "model.npz", source, "-o", name, "--force", *options)
    lines = lines_of(result)
    return sx.read_codes(name), any(SAID in line for line in lines)


def assert_same(first, second):
    np.testing.assert_array_equal(first[0].support, second[0].support)
    np.testing.assert_allclose(first[0].coefs, second[0].coefs, atol=1e-9)
    np.testing.assert_allclose(first[1], second[1], atol=1e-9)


def test_raw_sets_and_files_have_the_codes_of_registered_ones(outlines):
    assert sx.load("model.npz").preparation_ == sx.read("registered.npz").preparation
    expected, was_registered = encode("registered.npz")
    assert not was_registered
    for source in ("raw.npz", "cells"):
        found, was_registered = encode(source)
        assert was_registered
        assert_same(found, expected)
    pytest.importorskip("zarr")
    found, was_registered = encode("raw.npz", "codes.zarr")  # block by block
    assert was_registered
    assert_same(found, expected)


def test_reconstructions_and_pages_are_of_prepared_outlines(outlines):
    for source in ("raw.npz", "registered.npz"):
        lines_of(run("reconstruct", "model.npz", source, "-o", "r.npz", "--figure", "r.png", "--force"))
        found = sx.read("r.npz")
        assert found.preparation == sx.read("registered.npz").preparation
        errors = sx.distance(found.configurations, sx.read("registered.npz").configurations, space=found.space)
        np.testing.assert_allclose(errors, found.metadata["error"], atol=1e-9)
    shown = lines_of(run("report", "model.npz", "raw.npz", "-o", "page.html"))
    assert SAID in shown[0]


def test_sets_that_were_prepared_differently_are_refused(outlines):
    lines_of(run("import", "cells", "-o", "m.npz", "--points", "24", "--closed", "--register", "--reflection"))
    for target in ("c.csv", "c.zarr"):
        result = refused(f"encode model.npz m.npz -o {target}", "m.npz was prepared differently")
        assert "reflection=False, got reflection=True" in error_of(result)
    lines_of(run("import", "cells/00.txt", "-o", "given.npz", "--closed"))
    refused("report model.npz given.npz -o p.html", "got the points of the file as they are")
    refused("import raw.npz registered.npz -o both.npz", "prepared in the same way")


def test_like_takes_over_the_whole_preparation(outlines):
    lines_of(run("import", "cells", "-o", "new.npz", "--like", "registered.npz"))
    first, second = sx.read("registered.npz"), sx.read("new.npz")
    assert first.preparation.difference(second.preparation) == ""
    np.testing.assert_array_equal(first.configurations, second.configurations)
    assert not encode("new.npz")[1]
    lines_of(run("import", "cells", "-o", "plain.npz", "--like", "raw.npz"))
    assert sx.read("plain.npz").preparation == sx.read("raw.npz").preparation
    refused("import cells -o x.npz --like registered.npz --register --reflection", "--reflection", status=2)


def test_sets_on_disk_record_what_sets_in_memory_do(outlines, everything_is_large):
    lines_of(run("import", "cells", "-o", "large.npz", "--points", "24", "--closed", "--register"))
    lines_of(run("import", "cells", "-o", "large_raw.npz", "--points", "24", "--closed"))
    lines_of(run("import", "cells", "-o", "large_like.npz", "--like", "registered.npz"))
    expected = sx.read("registered.npz")
    for name in ("large.npz", "large_like.npz"):
        found = sx.read(name)
        assert expected.preparation.difference(found.preparation) == ""
        np.testing.assert_array_equal(found.configurations, expected.configurations)
    assert sx.read("large_raw.npz").preparation == sx.read("raw.npz").preparation
    assert run("import", "large_raw.npz", "large.npz", "-o", "both.npz").exit_code == 1


def test_files_of_landmarks_are_not_made_outlines(outlines):
    rows = np.random.default_rng(0).normal(size=(5, 12)) + 1j * np.random.default_rng(1).normal(size=(5, 12))
    sx.write(sx.ShapeSet(rows), "landmarks.csv")
    told = "holds open shapes of 12 points, but the model is in Landmarks(n_points=24, closed=True)"
    result = refused("encode model.npz landmarks.csv -o c.csv", told)
    assert "shapelex import landmarks.csv -o shapes.npz --points 24 --closed" in error_of(result)
    lines_of(run("learn", "landmarks.csv", "-o", "model.npz", "--atoms", "2", "--nonzero", "1", "--force"))
    sx.write(sx.ShapeSet(rows[:, :9]), "fewer.csv")
    refused("encode model.npz fewer.csv -o c.csv", "open shapes of 9 points")
    np.save("fewer.npy", rows[:, :9])
    refused("encode model.npz fewer.npy -o c.csv", "fewer.npy")


def test_prepared_outlines_in_tables_are_not_resampled_again(outlines):
    for name in ("registered.csv", "registered.tps"):
        sx.write(sx.read("registered.npz"), name)
        lines_of(run("import", name, "-o", "again.npz", "--force"))
        for source in (name, "again.npz"):
            told = "expected points at equal steps of arc length, got the points of the file as they are."
            result = refused(f"encode model.npz {source} -o c.csv", told)
            assert "registered" not in error_of(result).partition("prepared differently")[2]


LEARN_GAPS = ("--atoms", "4", "--nonzero", "2", "--swaps", "0")


@pytest.fixture
def gaps(folder, shapes):
    """A set of landmarks, some of which are missing in 6 of 40 shapes."""
    rows = shapes.configurations.copy()
    rows[3:9, 2] = rows[5, 7] = np.nan
    found = shapes.replace(configurations=rows, space=sx.Landmarks(16), missing="allow")
    sx.write(found, "gaps.npz")
    return found


@pytest.mark.parametrize("name", ["gaps.npz", "gaps.tps", "gaps.csv", "gaps.zarr", "gaps.npy"])
def test_learn_and_encode(gaps, name):
    if name == "gaps.npy":
        np.save(name, gaps.configurations)
    else:
        sx.write(gaps, name, overwrite=True)
    options = ("--option", "curves=ignore") if name.endswith("tps") else ()
    shown = lines_of(run("learn", name, "-o", "m.npz", *LEARN_GAPS, *options, "--figure", "atoms.png"))
    assert shown[0].startswith("6 shapes are incomplete")
    model = sx.load("m.npz")
    assert np.sqrt(np.mean(model.errors(gaps) ** 2)) == pytest.approx(model.rmse_)
    result = facts_of(run("encode", "m.npz", name, "-o", "codes.npz", "--json"))
    assert result["rmse"] == pytest.approx(model.rmse_, rel=1e-6)
    codes, errors = sx.read_codes("codes.npz")
    np.testing.assert_allclose(errors, model.errors(gaps), rtol=1e-6)
    np.testing.assert_array_equal(codes.support, model.encode(gaps).support)


@pytest.mark.parametrize("name", ["gaps.npz", "gaps.zarr"])
def test_a_model_of_registered_outlines_needs_complete_ones(ready, gaps, shapes, name):
    lines_of(run("register", "shapes.npz", "-o", "registered.npz"))
    lines_of(run("learn", "registered.npz", "-o", "m.npz", *LEARN_GAPS))
    outlines = shapes.replace(configurations=gaps.configurations, missing="allow")
    sx.write(outlines, name, overwrite=True)
    told = f"incomplete outlines cannot be registered: first run shapelex impute {name}"
    result = refused(f"encode m.npz {name} -o codes.csv", told)
    assert "registered to the mean" not in result.output
