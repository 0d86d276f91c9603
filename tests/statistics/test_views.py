"""Views on linear models of shape: pairs, allometry, disparity, trajectories, covariation, symmetry and others."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.stats import false_discovery_control
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import shapelex as sx
from shapelex import statistics as st
from shapelex.statistics.permutations import Exchange
from tests.statistics.conftest import make_shapes, mirrored_faces


@pytest.fixture
def shapes(rng):
    return make_shapes(
        rng, 30, effect=0.1, groups=3, x=rng.normal(size=30), site=np.repeat(list("uv"), 15), animal=np.arange(30) // 2
    )


def draw(result):
    ax = result.plot(ax=Figure(layout="constrained").subplots())
    ax.figure.canvas.draw()
    return ax


class TestPairs:
    def test_means_without_covariates_are_averages(self, shapes):
        fit = st.shape_lm("shape ~ group", shapes, permutations=50, random_state=4)
        pairs = st.pairwise(fit)
        rows, groups = fit.shapes.coordinates, np.asarray(shapes.metadata["group"])
        indices = np.concatenate(list(Exchange(30).chunks(50, 4)))
        means = np.array([[rows[index][groups == g].mean(axis=0) for g in "abc"] for index in indices])
        distances = np.linalg.norm(means[:, 0] - means[:, 2], axis=1)
        line = pairs.table[(pairs.table["first"] == "a") & (pairs.table["second"] == "c")].iloc[0]
        assert line["d"] == pytest.approx(distances[0])
        assert line["P"] == pytest.approx(np.mean(distances >= distances[0] * (1 - 1e-9)))
        assert pairs.distances.loc["c", "a"] == line["d"]
        variances = [np.mean(np.sum((rows[groups == g] - means[0, k]) ** 2, axis=1)) for k, g in enumerate("abc")]
        np.testing.assert_allclose(pairs.variances, variances)
        p = pairs.table["P"]
        for correction, expected in (("fdr", false_discovery_control(p)), ("none", p)):
            np.testing.assert_allclose(st.pairwise(fit, correction=correction).table["P_corrected"], expected)
        in_order = np.maximum.accumulate(np.sort(p) * [3, 2, 1])
        np.testing.assert_allclose(np.sort(st.pairwise(fit, correction="holm").table["P_corrected"]), in_order)
        draw(pairs)

    def test_slopes_are_those_of_each_group(self, shapes):
        fit = st.shape_lm("shape ~ x * group", shapes, permutations=19)
        slopes = st.pairwise(fit, "group", covariate="x", null="shape ~ x + group")
        x, groups = (np.asarray(shapes.metadata[name]) for name in ("x", "group"))
        for g in "abc":
            expected = np.polyfit(x[groups == g], fit.shapes.coordinates[groups == g], 1)[0]
            assert slopes.lengths[g] == pytest.approx(np.linalg.norm(expected))
        assert slopes.null == "shape ~ x + group"
        # A null model that contains the groups is remarked on.
        fit = st.shape_lm("shape ~ group * site", shapes, permutations=49)
        remarks = st.pairwise(fit, "group").remarks
        assert any("contains group" in one and 'null="shape ~ site"' in one for one in remarks)
        assert any('null="shape ~ 1"' in one for one in st.pairwise(fit).remarks)
        alone = st.pairwise(st.shape_lm("shape ~ site + group", shapes, permutations=9), "group")
        for other in (st.pairwise(fit, "group", null="shape ~ site"), alone):
            assert not any("null model" in one for one in other.remarks)
        assert slopes.angles.loc["a", "b"] > 0


class TestDisparity:
    def test_variances_are_mean_squared_distances(self, shapes):
        found = st.disparity(shapes, "group", about="overall", permutations=30, random_state=1)
        rows = st.shape_lm("shape ~ 1", shapes).shapes.coordinates
        squares = np.sum((rows - rows.mean(axis=0)) ** 2, axis=1)
        groups = np.asarray(shapes.metadata["group"])
        np.testing.assert_allclose(found.variances, [squares[groups == g].mean() for g in "abc"])
        indices = np.concatenate(list(Exchange(30).chunks(30, 1)))
        steps = np.array([abs(squares[i][groups == "a"].mean() - squares[i][groups == "b"].mean()) for i in indices])
        assert found.table["P"][0] == pytest.approx(np.mean(steps >= steps[0] * (1 - 1e-9)))
        assert found.overall == pytest.approx(squares.mean())
        single = np.where(np.arange(30) == 0, "alone", "others")
        assert st.disparity(shapes, single, about="overall", permutations=9).counts["alone"] == 1
        draw(found)


class TestTrajectories:
    def test_two_points_are_differences_of_means(self, shapes):
        fit = st.shape_lm("shape ~ group * site", shapes, permutations=19)
        paths = st.trajectories(fit, "group", "site")
        rows, group, site = fit.shapes.coordinates, *(np.asarray(shapes.metadata[n]) for n in ("group", "site"))
        steps = {
            g: rows[(group == g) & (site == "v")].mean(axis=0) - rows[(group == g) & (site == "u")].mean(axis=0)
            for g in "abc"
        }
        np.testing.assert_allclose(paths.lengths, [np.linalg.norm(step) for step in steps.values()])
        cosine = steps["a"] @ steps["b"] / np.linalg.norm(steps["a"]) / np.linalg.norm(steps["b"])
        assert paths.angles.loc["a", "b"] == pytest.approx(np.degrees(np.arccos(cosine)))
        draw(paths)


class TestAllometry:
    def test_scores_follow_size(self, rng):
        sizes = np.exp(rng.normal(size=40))
        base, change = rng.normal(size=(2, 6, 2)) @ [1, 1j]
        X = base + 0.1 * np.log(sizes)[:, None] * change + 0.001 * (rng.normal(size=(40, 6, 2)) @ [1, 1j])
        X *= (sizes / sx.ShapeSet(X).centroid_size)[:, None]
        found = st.allometry(X, permutations=19)
        assert found.share > 0.95
        assert np.corrcoef(found.scores, np.log(sizes))[0, 1] > 0.99
        np.testing.assert_allclose(found.scores, found.common_component)
        small, large = found.shapes_at(np.quantile(sizes, [0.1, 0.9]))
        assert sx.distance(small, X[np.argmin(sizes)]) < sx.distance(large, X[np.argmin(sizes)])
        draw(found)

    def test_groups_have_slopes_of_their_own_or_a_common_one(self, shapes):
        own, common = (st.allometry(shapes, "group", common=one, permutations=9) for one in (False, True))
        assert own.fit.table.index[2] == "log(size):group"
        assert common.fit.table.index.tolist() == ["log(size)", "group", "residuals", "total"]
        assert own.shapes_at([1.0], "a").shape == (1, 6)
        draw(own)


class TestCovariation:
    def test_axes_are_singular_vectors(self, rng):
        a = rng.normal(size=(20, 3))
        b = a @ rng.normal(size=(3, 4)) + 0.5 * rng.normal(size=(20, 4))
        found = st.two_block_pls(a, b, permutations=60, random_state=2)
        a0, b0 = a - a.mean(axis=0), b - b.mean(axis=0)

        def correlation(rows):
            left, _, right = np.linalg.svd(rows.T @ b0)
            return np.corrcoef(rows @ left[:, 0], b0 @ right[0])[0, 1]

        values = [correlation(a0[index]) for index in np.concatenate(list(Exchange(20).chunks(60, 2)))]
        assert found.r == pytest.approx(values[0])
        assert found.p == pytest.approx(np.mean(np.array(values) >= values[0] - 1e-9))
        assert found.to_dataframe()["r"][0] == pytest.approx(found.r)
        table = pd.DataFrame(np.where(np.arange(60).reshape(20, 3) == 9, np.nan, a))
        missing = st.two_block_pls(table, b, permutations=9)
        assert (missing.n_used, missing.dropped) == (19, {3: "missing entries"})
        draw(found)

    def test_modules_that_vary_alone_have_a_small_ratio(self, rng):
        mean = np.array([0, 1, 2, 3, 10, 11, 12, 13]) + 1j * rng.normal(size=8)
        change = rng.normal(size=(2, 8, 2)) @ [1, 1j] * [[1] * 4 + [0] * 4, [0] * 4 + [1] * 4]
        X = mean + rng.normal(size=(60, 2)) @ change * 0.3 + 0.02 * (rng.normal(size=(60, 8, 2)) @ [1, 1j])
        modular = st.covariance_ratio(X, ["a"] * 4 + ["b"] * 4, permutations=99)
        mixed = st.covariance_ratio(X, ["a", "b"] * 4, permutations=99)
        assert modular.ratio < mixed.ratio
        assert modular.p < 0.1 < mixed.p
        assert modular.random[0] == modular.ratio
        draw(modular)


class TestSymmetry:
    def test_directional_asymmetry_of_objects(self, rng):
        pairs, who = [[0, 3], [1, 4], [2, 5]], np.repeat(np.arange(12), 2)
        for asymmetry, is_found in ((0.0, False), (0.15, True)):
            X = mirrored_faces(rng, asymmetry)
            found = st.symmetry(X, who, replicate=np.tile([1, 2], 12), pairs=pairs, permutations=199)
            assert found.table["Df"].tolist() == [11, 1, 11, 24, 47]
            assert (found.table.loc["side", "P"] <= 0.01) == is_found
            assert found.table.loc["individual", "P"] == 0.005
        draw(found)
        # The symmetric component is its own mirror image.
        mirrored = found.symmetric.conj()[:, [3, 4, 5, 0, 1, 2, 6, 7]]
        assert np.max(sx.distance(found.symmetric, mirrored)) < 1e-7

    def test_sides_are_mirrored_where_that_is_closer(self, rng):
        wings = rng.normal(size=(1, 6, 2)) @ [1, 1j] + 0.05 * (rng.normal(size=(20, 6, 2)) @ [1, 1j])
        side, who = np.tile(["left", "right"], 10), np.repeat(np.arange(10), 2)
        plain = st.symmetry(wings, who, side, permutations=19)
        turned = st.symmetry(np.where((side == "right")[:, None], wings.conj(), wings), who, side, permutations=19)
        pd.testing.assert_frame_equal(plain.table, turned.table)
        assert "side right were mirrored" in turned.remarks[-1]
        assert not plain.remarks
        assert plain.table.index.tolist() == ["individual", "side", "individual:side", "total"]

    def test_several_shapes_of_a_side_are_replicates(self, rng):
        X, who, side = make_shapes(rng, 24).configurations, np.repeat(range(6), 4), np.tile(["left", "right"], 12)
        named = st.symmetry(X, who, side, replicate=np.tile([1, 1, 2, 2], 6), permutations=9)
        unnamed = st.symmetry(X, who, side, permutations=9)
        assert unnamed.table["Df"].tolist() == [5, 1, 5, 12, 23]
        pd.testing.assert_frame_equal(named.table, unnamed.table)
        assert any("2 shapes of a side" in one for one in unnamed.remarks)
        assert not any("shapes of a side" in one for one in named.remarks)


def test_intraclass_correlation_is_the_share_between_specimens(rng):
    base = np.exp(2j * np.pi * np.arange(8) / 8)
    own = base + 0.03 * (rng.normal(size=(150, 8, 2)) @ [1, 1j])
    X = np.repeat(own, 2, axis=0) + 0.03 * (rng.normal(size=(300, 8, 2)) @ [1, 1j])
    found = st.measurement_error(X, np.repeat(np.arange(150), 2), np.tile(["first", "second"], 150), permutations=9)
    assert found.icc == pytest.approx(0.5, abs=0.06)
    assert found.n_replicates == 2
    draw(found)
    assert found.table.index.tolist() == ["specimen", "replicate", "residuals", "total"]


def test_exchanged_landmarks_are_outliers(rng, shapes):
    rows = shapes.configurations.copy()
    rows[5] = rows[5, [1, 0, 2, 3, 4, 5]]
    found = st.outliers(shapes.replace(configurations=rows))
    assert found.rows[0] == 5
    assert found.table["distance"].is_monotonic_decreasing
    draw(found)
    assert set(st.outliers(shapes, "group").table["group"]) == {"a", "b", "c"}


def test_discriminants_leave_each_shape_out(shapes):
    found = st.discriminants(shapes, "group", n_components=3)
    rows = st.shape_lm("shape ~ 1", shapes).shapes.coordinates
    groups = np.asarray(shapes.metadata["group"])
    right = 0
    for row in range(30):
        kept = np.arange(30) != row
        center = rows[kept].mean(axis=0)
        axes = np.linalg.svd(rows[kept] - center, full_matrices=False)[2][:3].T
        model = LinearDiscriminantAnalysis(priors=[1 / 3] * 3).fit((rows[kept] - center) @ axes, groups[kept])
        right += model.predict((rows[row : row + 1] - center) @ axes)[0] == groups[row]
    assert found.accuracy == pytest.approx(right / 30)
    assert found.confusion.to_numpy().sum() == 30
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1)
    draw(found)


def test_all_results_print_and_convert(shapes):
    fit = st.shape_lm("shape ~ group * site", shapes, permutations=9)
    results = [
        fit, fit.manova(3), fit.predict({"group": ["a", "b"], "site": "u"}, n_bootstrap=9), st.pairwise(fit),
        st.trajectories(fit, "group", "site"), st.disparity(shapes, "group", permutations=9),
        st.outliers(shapes), st.discriminants(shapes, "group"), st.allometry(shapes, permutations=9),
        st.measurement_error(shapes, "animal", permutations=9),
        st.two_block_pls(shapes, shapes.metadata["x"], permutations=9),
        st.covariance_ratio(shapes, list("aaabbb"), permutations=9),
    ]  # fmt: skip
    for result in results:
        assert isinstance(result.to_dataframe(), pd.DataFrame)
        assert "\n\n" in str(result)
        assert result._repr_html_().startswith("<pre")
        assert result.n_used == 30
    draw(results[2])
    draw(fit)
