"""Commands on sets with missing landmarks: what they do with them, or which command to run first."""

import numpy as np
import pytest

import shapelex as sx
from tests.cli.conftest import facts_of, lines_of, run

LEARN = ("--atoms", "4", "--nonzero", "2", "--swaps", "0")


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
    shown = lines_of(run("learn", name, "-o", "m.npz", *LEARN, *options, "--figure", "atoms.png"))
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
    lines_of(run("learn", "registered.npz", "-o", "m.npz", *LEARN))
    outlines = shapes.replace(configurations=gaps.configurations, missing="allow")
    sx.write(outlines, name, overwrite=True)
    result = run("encode", "m.npz", name, "-o", "codes.csv")
    assert result.exit_code == 1
    assert f"incomplete outlines cannot be registered: first run shapelex impute {name}" in result.stderr
    assert "registered to the mean" not in result.output


@pytest.mark.realdata
def test_broken_trilobites_from_the_file_to_a_page(data_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    heads = data_folder / "formats" / "tps" / "trilobite_cephala_landmarks_curves.tps"
    shown = lines_of(run("learn", heads, "-o", "m.npz", *LEARN, "--option", "curves=ignore"))
    assert shown[0].startswith("15 shapes are incomplete")
    lines_of(run("encode", "m.npz", heads, "-o", "codes.csv"))
    shown = lines_of(run("impute", heads, "-o", "complete.npz", "--model", "m.npz"))
    assert "34 of 4800 landmarks filled in, in 15 of 300 shapes." in shown
    lines_of(run("report", "m.npz", "complete.npz", "-o", "heads.html"))
