"""local_test, permanova and atom_tests: against slow code, invariances, strata, intervals, pictures, refused input."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist

import shapelex as sx
from shapelex import statistics as st
from shapelex.exceptions import CodesError
from shapelex.statistics.grouping import group_units
from shapelex.statistics.local_differences import permuted_traces
from tests.strategies import seeds


def make_points(seed, groups, n_points=4):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(len(groups), n_points)) + 1j * rng.normal(size=(len(groups), n_points))
    points[:, 0] += 0.8 * np.asarray(groups)
    return points


def slow_trace(points, groups, strata):
    """Return tr(W⁻¹ B) at each point from two least-squares fits: strata alone, and strata with groups."""
    strata = np.zeros(len(points)) if strata is None else np.asarray(strata)
    reduced = (strata[:, None] == np.unique(strata)).astype(float)
    full = np.hstack([reduced, (np.asarray(groups)[:, None] == np.unique(groups)).astype(float)])
    found = []
    for column in points.T:
        values = np.stack([column.real, column.imag], axis=1)
        rest = [values - x @ np.linalg.lstsq(x, values, rcond=None)[0] for x in (reduced, full)]
        within = rest[1].T @ rest[1]
        found.append(np.trace(np.linalg.solve(within, rest[0].T @ rest[0] - within)))
    return np.array(found)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("with_strata", [False, True])
def test_statistics_of_all_permutations_are_those_of_slow_code(n_groups, with_strata):
    rng = np.random.default_rng(3)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, size=20)])
    strata = rng.integers(0, 3, size=len(groups)) if with_strata else None
    points = make_points(1, groups)
    grouping = group_units(pd.Series(groups).map(str), None if strata is None else pd.Series(strata))
    observed, statistics, largest = permuted_traces(grouping, points, 20, np.random.default_rng(5))
    indices = np.concatenate(list(grouping.exchange.chunks(20, np.random.default_rng(5))))
    slow = np.stack([slow_trace(points, groups[order], strata) for order in indices])
    np.testing.assert_allclose(statistics, slow, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(observed, slow[0])
    np.testing.assert_allclose(largest, slow.max(axis=1))


def test_corrected_p_counts_permutations_whose_largest_statistic_reaches_a_point():
    rng = np.random.default_rng(0)
    shapes = np.array([0, 1, 2 + 1j, 1 + 2j, 1j]) + 0.2 * (rng.normal(size=(24, 5)) + 1j * rng.normal(size=(24, 5)))
    shapes[:12, 2] += 0.15
    test = sx.statistics.local_test(shapes, ["a"] * 12 + ["b"] * 12, permutations=99)
    assert (test.P_uncorrected <= test.P).all()
    assert test.P_overall == test.P[np.argmax(test.statistic)]
    order = np.argsort(test.statistic)
    assert (np.diff(test.P[order]) <= 0).all()
    multiples = test.P * 100
    np.testing.assert_allclose(multiples, np.round(multiples))
    table = test.to_dataframe()
    assert table["differs"].tolist() == (test.P <= 0.05).tolist()
    moved = np.diff(test.means, axis=0)[0]
    np.testing.assert_allclose(table["dx"], moved.real)


def test_a_stretch_of_an_outline_is_found_where_it_differs_and_only_there():
    space = sx.BSpline(16)
    circle = space.fit(np.exp(2j * np.pi * np.arange(200) / 200))
    rng = np.random.default_rng(2)
    shapes = circle + 0.01 * (rng.normal(size=(60, 16)) + 1j * rng.normal(size=(60, 16)))
    shapes[:30, 8] *= 1.015
    test = sx.statistics.local_test(sx.ShapeSet(shapes, space), ["a"] * 30 + ["b"] * 30)
    found = space.sample(circle, test.parameters)[test.differs]
    assert test.differs.any()
    # The control point lies opposite to the start.
    assert (np.abs(found - circle[8]) < 0.6).all()
    assert "points of the outline differ between a (30), b (30)" in str(test)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("lines", [True, False])
def test_plot_marks_what_differs(n_groups, lines):
    rng = np.random.default_rng(0)
    names = np.array(["a", "b", "c"])[np.arange(30) % n_groups]
    shapes = np.exp(2j * np.pi * np.arange(10) / 10) + 0.05 * rng.normal(size=(30, 10, 2)) @ [1, 1j]
    shapes[names == "a", :3] *= 1.4
    space = sx.Landmarks(10, closed=True)
    test = sx.statistics.local_test(sx.ShapeSet(shapes, space, labels=names), "label")
    ax = test.plot(Figure().subplots(), lines=lines)
    labels = [line.get_label() for line in ax.lines]
    assert labels.count("differs") == 1
    assert len([label for label in labels if label[0] in "abc"]) == n_groups
    assert len(ax.collections) == (n_groups == 2)
    # Open landmarks have numbers.
    test = sx.statistics.local_test(shapes, names, permutations=99)
    ax = test.plot(Figure().subplots())
    assert all(line.get_linestyle() == "None" for line in ax.lines)
    assert [text.get_text() for text in ax.texts] == [str(number) for number in range(1, 11)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*"abc"[:n_groups], "differs"]
    assert "Landmarks that differ, counted from 1:" in str(test)
    assert "parameter" not in test.to_dataframe()
    assert not test.plot(Figure().subplots(), lines=True).texts


@given(seeds)
def test_squares_are_those_of_anderson(seed):
    """Squares within a group are its squared distances, divided by its number of shapes."""
    rng = np.random.default_rng(seed)
    groups = np.array(["a", "b", "c"])[np.concatenate([np.repeat(np.arange(3), 2), rng.integers(0, 3, size=9)])]
    distances = cdist(points := rng.normal(size=(15, 4)), points, "cityblock")
    distances = (distances + distances.T) / 2
    test = sx.statistics.permanova(distances, groups, permutations=9)
    within = sum(
        np.sum(np.triu(distances[np.ix_(groups == name, groups == name)]) ** 2) / np.sum(groups == name)
        for name in "abc"
    )
    total = np.sum(np.triu(distances) ** 2) / 15
    assert test.table.loc["residuals", "SS"] == pytest.approx(within)
    assert test.table.loc["total", "SS"] == pytest.approx(total)
    assert test.table.loc["groups", "F"] == pytest.approx(((total - within) / 2) / (within / 12))
    assert test.table["Df"].tolist() == [2, 12, 14]


@given(seeds)
def test_strata_are_those_of_least_squares_of_euclidean_data(seed):
    rng = np.random.default_rng(seed)
    strata, groups = np.arange(24) % 4, rng.permutation(np.repeat(["a", "b"], 12))
    groups[:4], groups[4:8] = "a", "b"
    values = rng.normal(size=(24, 3))
    test = sx.statistics.permanova(cdist(values, values), groups, strata, permutations=9)
    reduced = (strata[:, None] == np.arange(4)).astype(float)
    full = np.hstack([reduced, (groups == "b").astype(float)[:, None]])
    rest = [np.sum((values - x @ np.linalg.lstsq(x, values, rcond=None)[0]) ** 2) for x in (reduced, full)]
    assert test.table.loc["groups", "SS"] == pytest.approx(rest[0] - rest[1])
    assert test.table.loc["residuals", "SS"] == pytest.approx(rest[1])
    assert test.table["Df"].tolist() == [1, 19, 20]


def test_shapes_codes_and_distances_give_the_same_test(coded_leaves):
    leaves, model, codes = coded_leaves
    made = model.inverse_transform(codes)
    from_codes = sx.statistics.permanova(codes, leaves.labels, model=model, permutations=19)
    from_shapes = sx.statistics.permanova(sx.ShapeSet(made, leaves.space), leaves.labels, permutations=19)
    distances = sx.pairwise_distances(made, space=leaves.space)
    from_distances = sx.statistics.permanova(distances, leaves.labels, permutations=19)
    np.testing.assert_allclose(from_codes.table, from_shapes.table, rtol=1e-7)
    np.testing.assert_allclose(from_codes.table, from_distances.table, rtol=1e-7)
    assert from_codes.table["P"].iloc[0] == 0.05
    assert "PERMANOVA of" in str(from_codes)
    assert from_codes.to_dataframe()["term"].tolist() == ["groups", "residuals", "total"]


def make_codes(seed=0, n_shapes=40, n_atoms=5, groups=None):
    rng = np.random.default_rng(seed)
    groups = np.array(["a", "b"])[rng.integers(0, 2, size=n_shapes)] if groups is None else groups
    weights = rng.uniform(0.2, 1, size=(n_shapes, n_atoms)) * np.exp(1j * rng.uniform(0, 7, size=(n_shapes, n_atoms)))
    weights[rng.uniform(size=weights.shape) < 0.4] = 0
    return weights, groups


def row_of(table, atom, measure):
    return table[(table["atom"] == atom) & (table["measure"] == measure)].iloc[0]


def slow_eta2(values, groups):
    parts = [values[groups == name] for name in np.unique(groups)]
    total = np.sum((values - values.mean()) ** 2)
    return sum(len(part) * (part.mean() - values.mean()) ** 2 for part in parts if len(part)) / total


@given(seeds)
def test_use_and_weight_are_compared_as_slow_code_does(seed):
    weights, groups = make_codes(seed)
    table = sx.statistics.atom_tests(weights, groups, permutations=19, bootstrap=0).table
    for atom in range(weights.shape[1]):
        moduli = np.abs(weights[:, atom])
        used = moduli > 0
        use, weight = (row_of(table, atom, measure) for measure in ("use", "weight"))
        assert use["n"] == 40
        assert weight["n"] == used.sum()
        assert use["mean_a"] == pytest.approx(used[groups == "a"].mean())
        assert weight["mean_b"] == pytest.approx(moduli[used & (groups == "b")].mean())
        assert use["eta2"] == pytest.approx(slow_eta2(used.astype(float), groups))
        assert weight["eta2"] == pytest.approx(slow_eta2(moduli[used], groups[used]))
        assert weight["difference"] == pytest.approx(weight["mean_b"] - weight["mean_a"])
        assert 0 < use["P"] <= 1


def test_p_is_the_share_of_divisions_that_explain_as_much():
    """All divisions of eight shapes, against many random ones."""
    weights, _ = make_codes(3, 8, 2)
    weights[weights == 0] = 0.1
    groups = np.array(["a"] * 4 + ["b"] * 4)
    table = sx.statistics.atom_tests(weights, groups, permutations=9999, bootstrap=0).table
    for atom in range(2):
        observed = slow_eta2(np.abs(weights[:, atom]), groups)
        reached = [
            slow_eta2(np.abs(weights[:, atom]), np.where(np.isin(np.arange(8), chosen), "a", "b")) >= observed - 1e-12
            for chosen in combinations(range(8), 4)
        ]
        assert row_of(table, atom, "weight")["P"] == pytest.approx(np.mean(reached), abs=0.02)
        # Every shape uses the atom: there is nothing to compare.
        assert np.isnan(row_of(table, atom, "use")["P"])


def test_differences_within_strata_are_those_of_least_squares():
    rng = np.random.default_rng(8)
    strata = rng.integers(0, 4, size=60)
    groups = np.array(["a", "b", "c"])[rng.integers(0, 3, size=60)]
    weights, _ = make_codes(2, 60, 3, groups)
    table = sx.statistics.atom_tests(weights, groups, strata, permutations=9, bootstrap=0).table
    dummies = (strata[:, None] == np.arange(4)).astype(float)
    design = np.hstack([dummies, np.stack([groups == "b", groups == "c"], axis=1).astype(float)])
    for atom in range(3):
        moduli = np.abs(weights[:, atom])
        for measure, values, known in (
            ("use", (moduli > 0).astype(float), moduli >= 0),
            ("weight", moduli, moduli > 0),
        ):
            solved = np.linalg.lstsq(design[known], values[known], rcond=None)[0]
            means = dict(zip("abc", [0, solved[4], solved[5]], strict=True))
            row = row_of(table, atom, measure)
            first, second = row["contrast"].split(" − ")
            assert row["difference"] == pytest.approx(means[first] - means[second])
            assert row["difference"] == pytest.approx(max(means.values()) - min(means.values()))


@pytest.mark.thorough
def test_intervals_hold_the_difference_about_as_often_as_they_say():
    """Of 100 simulated differences of known size, intervals of 90 % hold 80 to 98."""
    n_held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        weights = np.abs(rng.normal(2, 0.5, size=(60, 1)))
        weights[30:] += 0.3
        groups = ["a"] * 30 + ["b"] * 30
        test = sx.statistics.atom_tests(weights, groups, permutations=1, bootstrap=199, confidence=0.9)
        row = row_of(test.table, 0, "weight")
        n_held += row["low"] <= 0.3 <= row["high"]
    assert 80 <= n_held <= 98


def test_typical_shapes_differ_by_differing_atoms_alone(coded_leaves):
    leaves, model, codes = coded_leaves
    test = sx.statistics.atom_tests(codes, leaves.labels, model=model, permutations=199, bootstrap=19)
    assert len(test.differing)
    ax = test.plot(Figure().subplots(), max_atoms=4)
    assert [label.get_text()[:5] for label in ax.get_yticklabels()] == ["atom "] * 4
    assert len(ax.child_axes) == 4
    assert len(test.plot_typical(Figure().subplots()).lines) >= len(test.groups)
    assert "differ between" in str(test)
    typical = test.typical_shapes()
    coefficients = np.linalg.lstsq(model.atoms_[test.differing].T, np.diff(typical, axis=0).T, rcond=None)
    np.testing.assert_allclose(model.atoms_[test.differing].T @ coefficients[0], np.diff(typical, axis=0).T, atol=1e-9)
    # Group means of codes in the common pose are means of aligned reconstructions: near the mean shapes of the groups.
    for name, shape in zip(test.groups, typical, strict=True):
        mean = sx.mean_shape(leaves[leaves.labels == name])
        others = [sx.mean_shape(leaves[leaves.labels == other]) for other in test.groups if other != name]
        near = float(sx.distance(shape, mean, space=leaves.space))
        assert all(near < float(sx.distance(shape, other, space=leaves.space)) for other in others)


def test_codes_of_all_kinds_give_the_same_tests(coded_leaves, tmp_path):
    leaves, model, codes = coded_leaves
    path = model.encode_to(leaves, tmp_path / "codes.npz")
    stored = sx.read_codes(path)
    settings = {"permutations": 19, "bootstrap": 9}
    plain = sx.statistics.atom_tests(codes, leaves.labels, **settings)
    for same in (
        sx.statistics.atom_tests(stored, "label", **settings),
        sx.statistics.atom_tests(codes.toarray(), leaves.labels, **settings),
        sx.statistics.atom_tests(codes, "kind", data={"kind": leaves.labels}, model=model, **settings),
    ):
        np.testing.assert_allclose(plain.table["P"], same.table["P"])
    with pytest.raises(CodesError, match="5 atoms, but the model has 6"):
        sx.statistics.atom_tests(codes.toarray()[:, :5], leaves.labels, model=model)
    groups = leaves.labels.astype(object)
    groups[[3, 5]] = None
    test = sx.statistics.atom_tests(codes, groups, **settings)
    assert test.dropped == {3: "no groups", 5: "no groups"}
    assert f"2 of {len(leaves)} shapes left out" in str(test)


def test_intervals_within_few_strata_are_as_wide_as_the_standard_error_says():
    """Two strata that differ much in their use of the atom: only the variation of shapes within them counts."""
    rng = np.random.default_rng(0)
    strata, groups = np.repeat([0, 1], 200), np.tile(["a", "b"], 200)
    weights = (rng.uniform(size=400) < np.where(strata == 0, 0.3, 0.7)).astype(float)[:, None]
    test = sx.statistics.atom_tests(weights, groups, strata, permutations=19, bootstrap=400)
    row = row_of(test.table, 0, "use")
    cells = [weights[(strata == s) & (groups == g), 0] for s in (0, 1) for g in "ab"]
    error = np.sqrt(sum(cell.var() / len(cell) for cell in cells) / 4)
    assert (row["high"] - row["low"]) / (2 * 1.96 * error) == pytest.approx(1, abs=0.15)
    assert any("only 2 strata" in remark for remark in test.remarks)


def test_use_and_weight_have_axes_of_their_own_and_several_groups_are_named():
    weights, _ = make_codes(0, 30, 3)
    test = sx.statistics.atom_tests(10 * weights, np.repeat(list("abc"), 10), permutations=19, bootstrap=20)
    ax = test.plot(Figure().subplots())
    upper = next(one for one in ax.figure.axes if one is not ax)
    assert upper.get_xlim()[1] > 3 * ax.get_xlim()[1]
    assert ax.transData.transform((0, 0))[0] == pytest.approx(upper.transData.transform((0, 0))[0])
    shown = test.table[test.table["P"].notna()]
    assert sorted(one.get_text() for axes in (ax, upper) for one in axes.texts) == sorted(shown["contrast"])


N = 24
COLUMNS = {"group": np.array(["a", "b"])[np.arange(N) % 2], "x": np.random.default_rng(0).normal(size=N)}


def numbers_of_codes(weights):
    space = sx.Landmarks(7)
    model = type("Model", (), {})()
    model.space_ = space
    model.atoms_ = space.preshape(np.random.default_rng(0).normal(size=(weights.shape[1], 7, 2)) @ [1, 1j])
    atoms = st.atom_tests(weights, COLUMNS["group"], permutations=9, bootstrap=9)
    fits = [st.code_lm("codes ~ x", weights, COLUMNS, model=one, permutations=9) for one in (None, model)]
    tables = [atoms.table, *(table for fit in fits for table in (fit.table, fit.atoms))]
    return [
        *np.linalg.norm(atoms.mean_weights, axis=1),
        *(number for table in tables for number in table.select_dtypes("number").to_numpy(dtype=float).ravel()),
    ]


@given(seeds)
def test_rotations_of_codes(seed):
    rng = np.random.default_rng(seed)
    weights = 0.5 + 0.1 * (rng.normal(size=(N, 4, 2)) @ [1, 1j])
    weights[rng.random(weights.shape) < 0.1] = 0
    turned = weights * np.exp(1j * rng.uniform(0, 7, size=(N, 1)))
    np.testing.assert_allclose(numbers_of_codes(turned), numbers_of_codes(weights), rtol=1e-5, atol=1e-9)
