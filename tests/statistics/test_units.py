"""Units: what is independent, tests on means of units, and what is refused."""

import numpy as np
import pytest

import shapelex as sx
from shapelex import statistics as st
from shapelex.exceptions import ParameterTypeError, ShapeInputError


def make_cells(seed, n_units=12, n_shapes=8, effect=0.0):
    """Return shapes of images, which are more alike than shapes of different ones; the groups lie between images."""
    rng = np.random.default_rng(seed)
    image = np.repeat(np.arange(n_units), n_shapes)
    treatment = np.array(["drug", "none"])[image % 2]
    square = np.array([0, 1, 2, 2 + 1j, 2 + 2j, 1 + 2j, 2j, 1j])
    own, each = 0.15 * rng.normal(size=(n_units, 8, 2)), 0.1 * rng.normal(size=(len(image), 8, 2))
    shapes = square + (own[image] + each) @ [1, 1j]
    shapes[treatment == "drug", 4] += effect
    return sx.ShapeSet(shapes, metadata={"image": image, "treatment": treatment})


def test_roles_follow_rules_and_can_be_given():
    cells = make_cells(0)
    assert cells.study == {"id": "id", "unit": "image"}
    assert str(cells.units()) == "96 shapes from 12 images; images are the independent units"
    assert "96 shapes from 12 images; images are the independent units" in cells.summary()
    assert cells.replace(roles={"unit": "treatment"}).study["unit"] == "treatment"
    alone = cells.replace(roles={"unit": None})
    assert alone.units() is None
    assert "independent" not in alone.summary()
    # Selections and joined sets keep what was said.
    assert alone[:20].units() is None
    assert (alone + alone).units() is None
    # One shape of each image, or one image: nothing tells shapes apart.
    assert cells[::8].units() is None
    assert cells[:8].units() is None
    # Time series come first, and shapes outside of them are units by themselves.
    tracks = cells.replace(sequence=np.repeat([0, 1, -1], [50, 44, 2]))
    assert tracks.study["unit"] == "sequence"
    np.testing.assert_array_equal(np.bincount(tracks.units().numbers), [50, 44, 1, 1])
    assert "96 shapes from 4 time series" in tracks.summary()
    with pytest.raises(ShapeInputError, match="did you mean 'treatment'"):
        cells.replace(roles={"unit": "treatmen"})
    with pytest.raises(ShapeInputError, match="the unit of the study is 'image'"):
        cells.replace(roles={"unit": "image"}).replace(metadata={})
    with pytest.raises(ShapeInputError, match="roles are id, group, unit"):
        cells.replace(roles={"units": "image"})
    with pytest.raises(ShapeInputError, match="the sets disagree on the unit"):
        cells.replace(roles={"unit": "image"}) + alone


@pytest.mark.parametrize("suffix", [".npz", ".zarr"])
def test_roles_are_kept_in_files(tmp_path, suffix):
    alone = make_cells(0).replace(roles={"unit": None, "group": "treatment"})
    path = sx.write(alone, tmp_path / f"cells{suffix}")
    for found in (sx.read(path), sx.open_shapes(path)):
        assert found.roles == {"unit": None, "group": "treatment"}
        assert found.study == {"id": "id", "group": "treatment"}
    read = sx.read([path, sx.write(make_cells(0), tmp_path / f"other{suffix}")])
    assert read.units() is None


def of_means(cells, units, **options):
    """Return the test of the mean shapes of units, computed one by one."""
    fit = st.shape_lm("shape ~ treatment", cells, permutations=0, unit=None)
    rows = np.stack([fit.shapes.coordinates[units == unit].mean(axis=0) for unit in np.unique(units)])
    first = np.unique(units, return_index=True)[1]
    data = {"treatment": cells.metadata["treatment"][first]}
    return st.shape_lm("shape ~ treatment", fit.shapes.to_configurations(rows), data, aligned=True, **options)


def test_models_are_those_of_the_means_of_units():
    cells = make_cells(3, effect=0.2)
    fit, expected = st.shape_lm("shape ~ treatment", cells), of_means(cells, cells.metadata["image"])
    np.testing.assert_allclose(fit.table, expected.table, rtol=1e-7)
    assert fit.table["Df"].tolist() == [1, 10, 11]
    assert fit.n_used == 96
    assert "96 shapes from 12 images; images are the independent units; unit=None treats shapes as independent." in str(
        fit
    )
    assert st.shape_lm("shape ~ treatment", cells, unit=None).table["Df"].tolist() == [1, 94, 95]
    by_values = st.shape_lm("shape ~ treatment", cells.configurations, cells.metadata, unit=cells.metadata["image"])
    np.testing.assert_allclose(by_values.table, fit.table)
    named = [None if row in (0, 5) else f"im{image}" for row, image in enumerate(cells.metadata["image"])]
    some = st.shape_lm("shape ~ treatment", cells, {"well": named}, unit="well", permutations=9)
    assert some.dropped == {0: "no unit", 5: "no unit"}
    assert some.table.loc["total", "Df"] == 11
    # Arrays and their tables say nothing of units.
    assert st.shape_lm("shape ~ treatment", cells.configurations, cells.metadata).table.loc["total", "Df"] == 95
    pairs = st.pairwise(fit).table
    assert pairs["P"].tolist() == pytest.approx([fit.table.loc["treatment", "P"]], abs=0.01)
    assert st.disparity(cells, "treatment").counts.tolist() == [6, 6]
    assert st.mean_test(
        cells[cells.metadata["treatment"] == "drug"], cells[cells.metadata["treatment"] == "none"]
    ).sizes == (6, 6)
    assert st.local_test(cells, "treatment").counts == (6, 6)
    assert st.permanova(cells, "treatment").table["Df"].tolist() == [1, 10, 11]
    predicted = fit.predict({"treatment": ["drug"]}, n_bootstrap=200)
    assert (
        predicted.radii[0]
        > 1.5
        * st.shape_lm("shape ~ treatment", cells, unit=None).predict({"treatment": ["drug"]}, n_bootstrap=200).radii[0]
    )


def test_units_are_left_out_and_permuted_as_a_whole():
    cells = make_cells(0, effect=0.4)
    found, alone = (st.discriminants(cells, "treatment", unit=unit) for unit in ("auto", None))
    assert found.accuracy < alone.accuracy
    assert found.n_used == alone.n_used == 96
    with pytest.raises(ShapeInputError, match="at least two images each"):
        st.discriminants(cells[:24], "treatment")
    # Measurements that differ between images only, at random.
    other = np.random.default_rng(0).normal(size=(12, 2))[cells.metadata["image"]]
    found, alone = (st.two_block_pls(cells, other, unit=unit, permutations=199) for unit in ("auto", None))
    assert found.p > 0.05 > alone.p
    assert len(found.first_scores) == 12
    by_values = st.two_block_pls(other, cells.configurations, unit=cells.metadata["image"], permutations=199)
    assert by_values.r == pytest.approx(found.r)


def test_atoms_are_compared_by_the_averages_of_units():
    rng = np.random.default_rng(0)
    units, groups = np.repeat(np.arange(10), 4), np.repeat(["a", "b"], 20)
    weights = rng.uniform(0.5, 1, size=(40, 3)) * (rng.uniform(size=(40, 3)) < 0.6)
    found = st.atom_tests(weights, groups, unit=units, permutations=99)
    assert found.counts == (5, 5)
    row = found.table[(found.table["atom"] == 1) & (found.table["measure"] == "use")].iloc[0]
    assert row["n"] == 10
    used = (weights[:, 1] > 0).reshape(10, 4).mean(axis=1)
    assert row["mean_a"] == pytest.approx(used[:5].mean())
    assert "samples of values of unit, of which a group has only 5: they are too narrow." in str(found)
    fit = st.code_lm("codes ~ group", weights, {"group": groups}, unit=units, permutations=19)
    assert fit.table["Df"].tolist() == [1, 8, 9]
    assert st.atom_tests(weights, groups, permutations=19).counts == (20, 20)


def test_what_varies_within_units_is_refused_and_old_names_are_told():
    cells = make_cells(0)
    mixed = {"half": np.tile(["x", "y"], 48)}
    for call in (
        lambda **options: st.shape_lm("shape ~ half", cells, mixed, **options),
        lambda **options: st.local_test(cells, mixed["half"], permutations=19, **options),
        lambda **options: st.permanova(cells, "half", data=mixed, permutations=19, **options),
        lambda **options: st.disparity(cells, "half", data=mixed, permutations=19, **options),
    ):
        with pytest.raises(ShapeInputError, match=r"varies within 12 of 12 images.* a later version will.*unit=None"):
            call()
        call(unit=None)
    with pytest.raises(ShapeInputError, match="size varies within 12 of 12 images"):
        st.allometry(cells)
    with pytest.raises(ShapeInputError, match=r"at least two images in each group.*unit=None"):
        st.local_test(cells[:16], "treatment")
    with pytest.raises(ShapeInputError, match="all 96 shapes are from one of the time series"):
        st.shape_lm("shape ~ treatment", cells.replace(sequence=[0] * 96))
    with pytest.raises(ShapeInputError, match="give this column as unit="):
        st.permanova(cells, "treatment", "image")
    for function in (st.shape_lm, st.code_lm, st.allometry, st.disparity):
        with pytest.raises(ParameterTypeError, match="blocks was removed: unit="):
            function("shape ~ treatment", cells, blocks="image")


@pytest.mark.thorough
def test_without_effect_tests_on_units_reject_one_in_twenty_and_tests_on_shapes_many():
    def rejects(seed, **options):
        fit = st.shape_lm("shape ~ treatment", make_cells(seed), permutations=199, **options)
        return fit.table.loc["treatment", "P"] <= 0.05

    # Of 100 sets, 5 are expected, with a standard deviation of 2.2.
    assert 1 <= sum(rejects(seed) for seed in range(100)) <= 11
    assert sum(rejects(seed, unit=None) for seed in range(20)) >= 15
