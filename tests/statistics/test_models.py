"""Linear models of shape and of codes: against dense projections and slow code, and their invariances."""

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from shapelex import statistics as st
from shapelex.exceptions import ShapeInputError
from shapelex.statistics.permutations import Exchange
from tests.statistics.conftest import indicator, make_shapes, projection, slow_statistics


def terms_of(shapes):
    """Return the columns of each term of ``x + group * site``, coded to sum to zero."""
    x, group, site = (np.asarray(shapes.metadata[name]) for name in ("x", "group", "site"))
    first, second = indicator(group), indicator(site)
    one, two = first[:, :-1] - first[:, -1:], second[:, :-1] - second[:, -1:]
    both = np.einsum("ni,nj->nij", one, two).reshape(len(x), -1)
    return {"x": x[:, None], "group": one, "site": two, "group:site": both}


LOWER = {
    1: {"x": [], "group": ["x"], "site": ["x", "group"], "group:site": ["x", "group", "site"]},
    2: {"x": ["group", "site", "group:site"], "group": ["x", "site"], "site": ["x", "group"],
        "group:site": ["x", "group", "site"]},
    3: {"x": ["group", "site", "group:site"], "group": ["x", "site", "group:site"],
        "site": ["x", "group", "group:site"], "group:site": ["x", "group", "site"]},
}  # fmt: skip


def unbalanced(rng, n_shapes=25):
    site = rng.permutation(np.arange(n_shapes) % 3).astype(str)
    return make_shapes(rng, n_shapes, effect=0.05, x=rng.normal(size=n_shapes), site=np.char.add("s", site))


@pytest.mark.parametrize("sum_type", [1, 2, 3])
@pytest.mark.parametrize("strata", [None, "site"])
def test_all_terms_equal_dense_projections(rng, sum_type, strata):
    shapes = unbalanced(rng)
    fit = st.shape_lm("shape ~ x + group * site", shapes, permutations=40, type=sum_type, strata=strata, random_state=3)
    Y, terms = fit.shapes.coordinates, terms_of(shapes)
    ones = np.ones((len(Y), 1))
    full = np.hstack([ones, *terms.values()])
    codes = None if strata is None else np.unique(shapes.metadata[strata], return_inverse=True)[1]
    indices = np.concatenate(list(Exchange(len(Y), codes).chunks(40, 3)))
    for place, (name, own) in enumerate(terms.items()):
        reduced = np.hstack([ones, *(terms[other] for other in LOWER[sum_type][name])])
        sums, rests = slow_statistics(Y, reduced, np.hstack([reduced, own]), full, indices)
        np.testing.assert_allclose(fit.sums.terms[place], sums, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(fit.sums.residuals[place], rests, rtol=1e-9, atol=1e-14)
        df, df_rest = own.shape[1], len(Y) - full.shape[1]
        statistics = (sums / df) / (rests / df_rest)
        assert fit.table.loc[name, "Df"] == df
        assert fit.table.loc[name, "F"] == pytest.approx(statistics[0], rel=1e-9)
        assert fit.table.loc[name, "P"] == pytest.approx(np.mean(statistics >= statistics[0] * (1 - 1e-9)))
    total = np.sum((Y - Y.mean(axis=0)) ** 2)
    assert fit.table.loc["total", "SS"] == pytest.approx(total)
    np.testing.assert_allclose(fit.table["Rsq"].iloc[:-1], fit.table["SS"].iloc[:-1] / total)
    np.testing.assert_allclose(fit.fitted_rows, projection(full) @ Y, atol=1e-12)


def test_full_permutation_permutes_shapes(rng):
    shapes = unbalanced(rng)
    fit = st.shape_lm("shape ~ x + group", shapes, permutations=30, method="full", random_state=1)
    Y, terms = fit.shapes.coordinates, terms_of(shapes)
    centered, ones = Y - Y.mean(axis=0), np.ones((len(Y), 1))
    lower = np.hstack([ones, terms["x"]])
    change = projection(np.hstack([lower, terms["group"]])) - projection(lower)
    indices = np.concatenate(list(Exchange(len(Y)).chunks(30, 1)))
    sums = [np.sum((change @ centered[index]) ** 2) for index in indices]
    np.testing.assert_allclose(fit.sums.terms[1], sums, rtol=1e-9)


def test_error_terms_compared_models_confounded_terms_and_missing_values(rng):
    shapes = unbalanced(rng)
    fit = st.shape_lm("shape ~ group * site", shapes, permutations=9, error={"group": "group:site"})
    squares = fit.table["MS"]
    assert fit.table.loc["group", "F"] == pytest.approx(squares["group"] / squares["group:site"])
    listed = st.shape_lm("shape ~ group * site", shapes, permutations=9, error=["group:site", "Residuals", "residuals"])
    pd.testing.assert_frame_equal(fit.table, listed.table)
    # Compared models differ by a term.
    small, large = (st.shape_lm(f"shape ~ {right}", shapes, permutations=19) for right in ("x", "x + group"))
    compared = st.compare_models(small, large).table.iloc[1]
    assert compared[["F", "P"]].tolist() == pytest.approx(large.table.loc["group", ["F", "P"]].tolist())
    # Confounded terms have fewer degrees of freedom.
    fit = st.shape_lm("shape ~ group + copy", shapes, {"copy": shapes.metadata["group"]}, permutations=9)
    assert fit.table.loc["copy", "Df"] == 0
    assert np.isnan(fit.table.loc["copy", "F"])
    assert "The term copy is confounded with others and has no degrees of freedom." in fit.remarks
    part = st.shape_lm("shape ~ x + group * x2", shapes, {"x2": 2 * shapes.metadata["x"]}, permutations=9)
    assert part.table.loc["residuals", "Df"] == 25 - 4
    # Missing values are left out and named.
    x = np.array(shapes.metadata["x"])
    x[4] = np.nan
    fit = st.shape_lm("shape ~ x + group", shapes, {"x": x}, permutations=9)
    assert (fit.n_used, fit.dropped) == (24, {4: "no x"})
    assert "1 of 25 shapes left out: no x in row 4." in str(fit)
    other = st.shape_lm("shape ~ x + group", shapes[np.arange(25) != 4], permutations=9)
    pd.testing.assert_frame_equal(fit.table, other.table)
    # Strata that allow no exchange.
    fit = st.shape_lm("shape ~ group", shapes, permutations=9, strata="group")
    assert fit.table.loc["group", "P"] == 1
    assert any("No permutation changes the term group" in remark for remark in fit.remarks)


def test_coefficients_predictions_and_residuals_agree(rng):
    shapes = unbalanced(rng)
    fit = st.shape_lm("shape ~ x + group", shapes, permutations=19)
    data = {"x": shapes.metadata["x"], "group": shapes.metadata["group"]}
    predicted = fit.predict(data, n_bootstrap=0)
    np.testing.assert_allclose(predicted.shapes, fit.fitted, atol=1e-12)
    np.testing.assert_allclose(fit.design.matrix @ fit.coefficients, fit.fitted, atol=1e-12)
    np.testing.assert_allclose(fit.residuals + fit.fitted_rows, fit.shapes.coordinates)
    lengths = fit.coefficient_tests()["length"]
    group = fit.shapes.space.norm(fit.coefficients[2])
    assert lengths["group[T.b]"] == pytest.approx(group)
    assert np.isnan(predicted.radii).all()


def test_bootstrap_regions_are_those_of_the_normal_theory(rng):
    X = np.array([0, 1, 1 + 1j, 1j]) + 0.01 * (rng.normal(size=(400, 4, 2)) @ [1, 1j])
    fit = st.shape_lm("shape ~ x", X, {"x": rng.normal(size=400)}, permutations=0)
    found = fit.predict({"x": [0.0, 5.0]}, n_bootstrap=400)
    # Var of a prediction: residual variance times the squared length of its weights.
    variance = np.sum(fit.residuals**2) / 398
    weights = [np.array([1, x]) @ fit.solver for x in (0.0, 5.0)]
    expected = [variance * weight @ weight for weight in weights]
    covariances = np.trace(found.covariances, axis1=2, axis2=3).sum(axis=1)
    np.testing.assert_allclose(covariances, expected, rtol=0.2)
    assert found.radii[1] > 2 * found.radii[0]
    assert "95 % regions" in str(found)


def test_formulas_transform_covariates(rng):
    shapes = unbalanced(rng)
    squares = {"x2": np.asarray(shapes.metadata["x"]) ** 2}
    smooth = st.shape_lm("shape ~ poly(x, 2) + group", shapes, permutations=9).table
    plain = st.shape_lm("shape ~ x + x2 + group", shapes, squares, permutations=9).table
    assert smooth.loc["poly(x, 2)", "SS"] == pytest.approx(plain.loc["x", "SS"] + plain.loc["x2", "SS"])
    assert smooth.loc["poly(x, 2)", "Df"] == 2
    nested = st.shape_lm("shape ~ group / site", shapes, permutations=9).table
    assert nested["Df"].tolist() == [1, 4, 19, 24]
    # Cages that belong to one group each.
    cage = np.char.add(shapes.metadata["group"], rng.permutation(np.arange(25) % 3).astype(str))
    within = st.shape_lm("shape ~ group / cage", shapes, {"cage": cage}, permutations=9, error={"group": "group:cage"})
    assert within.table["Df"].tolist() == [1, 4, 19, 24]
    assert within.table.loc["group:cage", "SS"] == pytest.approx(
        st.shape_lm("shape ~ cage", shapes, {"cage": cage}, permutations=9).table.loc["cage", "SS"]
        - within.table.loc["group", "SS"]
    )
    assert "The term group:cage has 4 instead of" in within.remarks[0]
    # More columns than shapes are fine where most of them depend on others.
    many = np.char.add(cage, np.repeat(["", "x"], [13, 12]))
    wide = st.shape_lm("shape ~ group / cage / many", shapes, {"cage": cage, "many": many}, permutations=9)
    assert wide.design.matrix.shape[1] > 25
    assert wide.table.loc["residuals", "Df"] == 25 - len(np.unique(many))


def test_manova_equals_the_eigenvalues_of_dense_matrices(rng):
    shapes = unbalanced(rng)
    fit = st.shape_lm("shape ~ x + site", shapes, permutations=9)
    found = fit.manova(4).table
    Y = fit.shapes.coordinates - fit.shapes.coordinates.mean(axis=0)
    left, values, _ = np.linalg.svd(Y, full_matrices=False)
    scores = left[:, :4] * values[:4]
    terms, ones = terms_of(shapes), np.ones((25, 1))
    lower, full = np.hstack([ones, terms["x"]]), np.hstack([ones, terms["x"], terms["site"]])
    rest = scores.T @ (np.eye(25) - projection(full)) @ scores
    effect = scores.T @ (projection(full) - projection(lower)) @ scores
    roots = np.linalg.eigvals(np.linalg.solve(rest, effect)).real
    line = found.loc["site"]
    assert line["Pillai"] == pytest.approx(np.sum(roots / (1 + roots)))
    assert line["Wilks"] == pytest.approx(np.prod(1 / (1 + roots)))
    assert line["Hotelling"] == pytest.approx(np.sum(roots))
    assert line["Roy"] == pytest.approx(roots.max())


@pytest.mark.parametrize("kind", [np.complex128, np.complex64])
def test_sizes_must_vary(rng, kind):
    shapes = make_shapes(rng, 20)
    same = (shapes.configurations / shapes.centroid_size[:, None]).astype(kind)
    for call in (st.allometry, lambda X, **options: st.shape_lm("shape ~ log(size)", X, **options)):
        with pytest.raises(ShapeInputError, match="all 20 shapes have the same centroid size"):
            call(same, permutations=9)
    true_sizes = rng.uniform(1, 2, size=20)
    assert not st.allometry(same, size=true_sizes, permutations=9).remarks
    # A remark names the column of true sizes where sizes hardly vary.
    similar, different = (rng.uniform(1, most, size=(20, 1)) * same for most in (1.005, 1.5))
    remarks = st.allometry(similar, data={"centroid_size": true_sizes}, permutations=9).remarks
    assert any("vary by 0." in one and "'centroid_size'" in one for one in remarks)
    assert not any("centroid sizes" in one for one in st.allometry(different, permutations=9).remarks)


def test_sizes_without_a_scale_have_a_remark(rng, tmp_path):
    rows = make_shapes(rng, 20).configurations * np.linspace(1, 2, 20)[:, None]
    lines = ["".join(f"{z.real} {z.imag}\n" for z in row) for row in rows]
    for name, ending in (("plain.tps", ""), ("scaled.tps", "SCALE=0.5\n")):
        (tmp_path / name).write_text("".join(f"LM={text.count(chr(10))}\n{text}{ending}" for text in lines))
        read = sx.read(tmp_path / name)
        copy = sx.read(sx.write(read, tmp_path / f"{name}.npz"))
        for shapes in (read, copy):
            remarks = st.shape_lm("shape ~ log(size)", shapes, permutations=9).remarks
            assert any("no scale of the shapes is known" in one for one in remarks) == (name == "plain.tps")
    assert not any(
        "scale" in one for one in st.shape_lm("shape ~ log(size)", read.configurations, permutations=9).remarks
    )


def make_weights(seed=0, n_shapes=30, n_atoms=4):
    rng = np.random.default_rng(seed)
    dose, kind = rng.normal(size=n_shapes), np.array(["a", "b", "c"])[np.arange(n_shapes) % 3]
    noise = rng.normal(size=(n_shapes, n_atoms)) + 1j * rng.normal(size=(n_shapes, n_atoms))
    weights = rng.uniform(0.5, 1, size=n_atoms) + 0.1 * noise
    weights[:, 1] += 0.3j * dose
    return weights, {"dose": dose, "kind": kind}


def test_single_atoms_add_up_and_are_those_of_least_squares():
    weights, data = make_weights()
    fit = sx.statistics.code_lm("codes ~ dose + kind", weights, data, permutations=99)
    for term in ("dose", "kind"):
        part = fit.atoms[fit.atoms["term"] == term]
        assert part["SS"].sum() == pytest.approx(fit.table.loc[term, "SS"])
    posed = fit.fit.shapes.coordinates.view(np.complex128)
    ones = np.ones((30, 1))
    with_dose = np.hstack([ones, data["dose"][:, None]])
    full = np.hstack([with_dose, (data["kind"][:, None] == ["b", "c"]).astype(float)])
    for atom in range(4):
        values = posed[:, atom]
        rest = [np.sum(np.abs(values - x @ np.linalg.lstsq(x, values, rcond=None)[0]) ** 2) for x in (with_dose, full)]
        row = fit.atoms[(fit.atoms["term"] == "kind") & (fit.atoms["atom"] == atom)].iloc[0]
        assert row["SS"] == pytest.approx(rest[0] - rest[1])
        assert row["F"] == pytest.approx((rest[0] - rest[1]) / 2 / (rest[1] / 26))
    assert fit.table.loc["dose", "P"] == 0.01
    strongest = fit.atoms[fit.atoms["term"] == "dose"].sort_values("F")["atom"].iloc[-1]
    assert strongest == 1
    assert "codes ~ dose + kind: 30 shapes, 4 atoms, 99 permutations" in str(fit)
    dose, animal = np.repeat(data["dose"][:10], 3), np.repeat(np.arange(10), 3)
    data |= {"dose": np.where(np.arange(30) == 4, np.nan, dose), "animal": animal}
    fit = sx.statistics.code_lm("~ dose", weights, data, unit="animal", permutations=19)
    assert fit.dropped == {4: "no dose"}
    assert fit.table.loc["total", "Df"] == 9


def test_predictions_follow_the_covariates_and_rebuild_shapes(coded_leaves):
    leaves, model, codes = coded_leaves
    fit = sx.statistics.code_lm("codes ~ kind", codes, {"kind": leaves.labels}, model=model, permutations=9)
    kinds = np.unique(leaves.labels)
    posed = fit.fit.shapes.coordinates.view(np.complex128)
    predicted = fit.predict({"kind": kinds})
    for kind, weights in zip(kinds, predicted, strict=True):
        np.testing.assert_allclose(weights, posed[leaves.labels == kind].mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(fit.predict_shapes({"kind": kinds}), predicted @ model.atoms_, atol=1e-10)
    plain = sx.statistics.code_lm("codes ~ kind", codes, {"kind": leaves.labels}, permutations=9)
    with pytest.raises(ShapeInputError, match="model="):
        plain.predict_shapes({"kind": kinds})
