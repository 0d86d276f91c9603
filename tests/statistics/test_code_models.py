"""code_lm: against the linear model of shape, and against slow code for single atoms; rotations change nothing."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeInputError

pytest.importorskip("formulaic")


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


def test_blocks_and_missing_covariates():
    weights, data = make_weights()
    dose = data["dose"].copy()
    dose[4] = np.nan
    animals = np.repeat(np.arange(10), 3)
    fit = sx.statistics.code_lm("~ dose", weights, {"dose": dose, "animal": animals}, blocks="animal", permutations=19)
    assert fit.dropped == {4: "no dose"}
    assert fit.table.loc["total", "Df"] == 28
