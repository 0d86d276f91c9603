"""Results that the R packages geomorph, RRPP and shapes print for their own data, to every digit."""

import numpy as np
import pytest

import shapelex as sx
from shapelex import statistics as st


def digits(value, printed):
    """Compare a number with a printed one, which has as many decimals as its text.

    R ends its alignment a little before it has converged: where a number lies next to the edge between two roundings,
    it may fall on the other side, by no more than a tenth of the last digit.
    """
    unit = 10.0 ** -len(printed.partition(".")[2])
    assert abs(float(value) - float(printed)) <= 0.6 * unit, (float(value), printed)


def all_digits(values, printed):
    """Compare numbers with printed ones in a text, separated by blanks."""
    texts = printed.split()
    assert len(values) == len(texts)
    for value, text in zip(values, texts, strict=True):
        digits(value, text)


def same_p(found, printed, permutations=1000):
    """Compare a P value with a printed one: both are estimates from random permutations."""
    share = max((found + printed) / 2, 1 / permutations)
    spread = np.sqrt(2 * share * (1 - share) / permutations)
    assert abs(found - printed) <= 4 * spread + 1 / permutations, (found, printed)


pytestmark = pytest.mark.realdata


def read(folder, name):
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


@pytest.fixture(scope="module")
def plethodon(data_folder):
    file = read(data_folder, "plethodon_12")
    return sx.ShapeSet(file["points"], metadata={"species": file["labels"], "site": file["site"]})


@pytest.fixture(scope="module")
def pupfish(data_folder):
    file = read(data_folder, "pupfish_56")
    pop, sex = np.char.partition(file["labels"], "/")[:, [0, 2]].T
    return sx.ShapeSet(file["points"], metadata={"Pop": pop, "Sex": sex, "logSize": np.log(file["centroid_size"])})


@pytest.fixture(scope="module")
def fit(pupfish):
    return st.shape_lm("shape ~ Sex * Pop", pupfish, aligned=True)


def same_table(table, **columns):
    for name, printed in columns.items():
        if name == "P":
            for found, text in zip(table["P"], printed.split(), strict=False):
                same_p(found, float(text))
        else:
            all_digits(table[name].iloc[: len(printed.split())], printed)


def pairs_of(result, column="d"):
    return {frozenset((row["first"], row["second"])): row[column] for _, row in result.to_dataframe().iterrows()}


class TestPlethodon:
    def test_species_and_site(self, plethodon):
        table = st.shape_lm("shape ~ species * site", plethodon).table
        assert table.index.tolist() == ["species", "site", "species:site", "residuals", "total"]
        assert table["Df"].tolist() == [1, 1, 1, 36, 39]
        same_table(table, SS="0.029258 0.064375 0.030885 0.072422 0.196940", Rsq="0.14856 0.32688 0.15682 0.36774",
                   F="14.544 32.000 15.352", P="0.001 0.001 0.001")  # fmt: skip

    def test_size_first(self, plethodon):
        table = st.shape_lm("shape ~ size + species * site", plethodon).table
        same_table(table, SS="0.010409 0.025661 0.063018 0.029093", F="5.2986 13.0625 32.0780 14.8093",
                   P="0.001 0.001 0.001 0.001")  # fmt: skip

    def test_error_terms(self, plethodon):
        error = ["species:site", "species:site", "residuals"]
        table = st.shape_lm("shape ~ species * site", plethodon, error=error).table
        same_table(table, F="0.9473 2.0843 15.3525", P="0.771 0.351 0.001")

    def test_nested_models(self, plethodon):
        models = [
            st.shape_lm(f"shape ~ log(size) + {rest}", plethodon, permutations=99)
            for rest in ("species + site", "species * site")
        ]
        table = st.compare_models(*models).table
        all_digits(table["RSS"], "0.098490 0.068671")
        digits(table["F"].iloc[1], "15.198")

    def test_coefficients(self, plethodon):
        found = st.shape_lm("shape ~ species * site", plethodon, permutations=99).coefficient_tests()
        all_digits(found["length"], "1.00036566 0.05409051 0.08023394 0.11114859")

    def test_pairs_of_means(self, plethodon):
        pairs = st.pairwise(st.shape_lm("shape ~ log(size) + species * site", plethodon))
        assert pairs.null == "shape ~ log(size) + species + site"
        printed = {
            "JA TA": ("0.02473040", 1.000), "JA JS": ("0.09396152", 0.026), "JA TS": ("0.10148562", 0.556),
            "TA JS": ("0.08999162", 0.605), "TA TS": ("0.09949284", 0.002), "JS TS": ("0.10547891", 0.001),
        }  # fmt: skip
        names = {"JA": "Jord.Allo", "JS": "Jord.Symp", "TA": "Teyah.Allo", "TS": "Teyah.Symp"}
        distances, shares = pairs_of(pairs), pairs_of(pairs, "P")
        for pair, (distance, p) in printed.items():
            key = frozenset(names[one] for one in pair.split())
            digits(distances[key], distance)
            same_p(shares[key], p)

    def test_principal_components(self, plethodon):
        model = sx.TangentPCA(5, projection="orthogonal", mean="partial").fit(plethodon)
        all_digits(model.explained_variance_ratio_, "0.36743 0.31023 0.08201 0.04512 0.03418")

    def test_two_blocks(self, plethodon):
        rows = st.shape_lm("shape ~ 1", plethodon, permutations=0).shapes.coordinates
        # Landmarks 1 to 5 against 6 to 12, aligned as a whole.
        found = st.two_block_pls(rows[:, :10], rows[:, 10:])
        digits(found.r, "0.911")
        same_p(found.p, 0.001)

    def test_disparity(self, plethodon):
        overall = st.disparity(plethodon, ["species", "site"], about="overall")
        digits(overall.overall, "0.004923493")
        all_digits(overall.variances, "0.003825240 0.005937274 0.003355765 0.006575694")
        assert overall.variances.index.tolist() == ["Jord.Allo", "Jord.Symp", "Teyah.Allo", "Teyah.Symp"]
        # JA–JS, JA–TA, JA–TS, JS–TA, JS–TS, TA–TS.
        for found, printed in zip(overall.table["P"], (0.023, 0.613, 0.002, 0.008, 0.522, 0.001), strict=True):
            same_p(found, printed)
        within = st.disparity(plethodon, ["species", "site"], permutations=9)
        all_digits(within.variances, "0.001933408 0.001790153 0.001732997 0.001785645")

    def test_imputation_is_ahead_of_regression(self, plethodon):
        lost = {1: [2, 7], 4: [2, 7, 8], 9: [2]}
        rows = plethodon.configurations.copy()
        for row, landmarks in lost.items():
            rows[row, landmarks] = np.nan
        complete = np.delete(plethodon.configurations, list(lost), axis=0)
        model = sx.ShapeDictionary(5, 3, random_state=0, max_iter=300).fit(complete)
        filled = sx.impute(sx.ShapeSet(rows, missing="allow"), model, reference=complete).configurations
        errors = [
            np.abs(filled[row, one] - plethodon.configurations[row, one]) / plethodon.centroid_size[row]
            for row, landmarks in lost.items()
            for one in landmarks
        ]
        # Thin-plate splines have 0.0176 on these six landmarks, regression 0.0333.
        assert np.sqrt(np.mean(np.square(errors))) < 0.0333


class TestPupfish:
    def test_size_sex_and_population(self, pupfish):
        table = st.shape_lm("shape ~ logSize + Sex * Pop", pupfish, aligned=True).table
        assert table["Df"].tolist() == [1, 1, 1, 1, 49, 53]
        same_table(table, SS="0.014019 0.007615 0.007661 0.002954 0.024084 0.056333",
                   F="28.5232 15.4933 15.5860 6.0105", P="0.001 0.001 0.001 0.002")  # fmt: skip

    def test_manova(self, fit):
        same_table(fit.table, F="28.209 16.320 6.173")
        found = fit.manova()
        # All 53 components are used, more than the 50 residual degrees of freedom.
        assert found.n_components == 53
        all_digits(found.table["Pillai"], "0.9466190 0.9805254 0.9270745")
        for p, printed in zip(found.table["P(Pillai)"], (0.001, 0.070, 0.706), strict=True):
            same_p(p, printed)

    def test_trajectories(self, fit):
        paths = st.trajectories(fit, "Pop", "Sex")
        assert paths.points == ["F", "M"]
        all_digits(paths.lengths[["Marsh", "Sinkhole"]], "0.04611590 0.02568508")
        digits(paths.angles.loc["Marsh", "Sinkhole"], "42.32209")
        same_p(paths.table["P_length"][0], 0.001)
        same_p(paths.table["P_angle"][0], 0.001)

    def test_pairs_of_means(self, fit):
        found = pairs_of(st.pairwise(fit, ["Pop", "Sex"]))
        names = {"MF": "Marsh.F", "MM": "Marsh.M", "SF": "Sinkhole.F", "SM": "Sinkhole.M"}
        printed = {"MF SF": "0.03302552", "MF MM": "0.04611590", "MF SM": "0.03881514", "SF MM": "0.04605211",
                   "SF SM": "0.02568508", "MM SM": "0.02802087"}  # fmt: skip
        for pair, distance in printed.items():
            digits(found[frozenset(names[one] for one in pair.split())], distance)

    def test_slopes(self, pupfish):
        null = st.shape_lm("shape ~ logSize + Sex * Pop", pupfish, aligned=True)
        fit = st.shape_lm("shape ~ logSize * Sex * Pop", pupfish, aligned=True)
        last = st.compare_models(null, fit).table.iloc[1]
        digits(last["SS"], "0.0020045")
        digits(last["F"], "1.3921")
        same_p(last["P"], 0.136)
        slopes = st.pairwise(fit, ["Sex", "Pop"], covariate="logSize", null=null)
        order = ["F.Marsh", "M.Marsh", "F.Sinkhole", "M.Sinkhole"]
        all_digits(slopes.lengths[order], "0.09846857 0.08899635 0.08048951 0.13005765")
        digits(slopes.angles.loc["F.Marsh", "M.Marsh"], "52.12367")

    def test_disparity(self, pupfish):
        found = st.disparity(pupfish, ["Pop", "Sex"], aligned=True, permutations=9)
        all_digits(found.variances, "0.0003439300 0.0003607052 0.0005803226 0.0008318581")


def test_lizards_are_symmetric_objects(data_folder):
    file = read(data_folder, "lizards_28")
    pairs = "13-14 2-11 15-16 27-28 3-10 17-19 4-9 20-21 22-24 5-8 6-7 25-26"
    numbers = np.array([pair.split("-") for pair in pairs.split()], dtype=int) - 1
    found = st.symmetry(file["points"], file["labels"], replicate=file["replicate"], pairs=numbers, permutations=99)
    assert found.table["Df"].tolist() == [48, 1, 48, 98, 195]
    same_table(found.table, SS="0.236788 0.009432 0.032119 0.006283 0.284622", F="7.3721 14.0951 10.4367")
    assert found.kind == "object"
    assert found.n_used == 98


# Set, groups, F and degrees of freedom of Hotelling and of Goodall, and distance of the means.
TWO_SAMPLES = [
    ("apes_8", ("gorf", "gorm"), "26.4704", (12, 46), "22.2423", (12, 684), "0.058664"),
    ("apes_8", ("pongof", "pongom"), "12.5282", (12, 41), "13.1861", (12, 624), "0.058661"),
    ("mice_vertebrae_6", ("s", "l"), "15.5234", (8, 37), "18.2851", (8, 352), "0.082448"),
    ("schizophrenia_13", ("con", "scz"), "0.83395", (22, 5), "1.8930", (22, 572), "0.038228"),
]


@pytest.mark.parametrize(("name", "groups", "hotelling", "hotelling_df", "goodall", "goodall_df", "rho"), TWO_SAMPLES)
def test_two_samples(data_folder, name, groups, hotelling, hotelling_df, goodall, goodall_df, rho):
    shapes = sx.read(data_folder / f"{name}.npz")
    test = sx.statistics.mean_test(*(shapes[shapes.labels == group] for group in groups))
    printed = [(test.hotelling.F, hotelling), (test.goodall.F, goodall), (test.distance, rho)]
    assert (test.hotelling.Df, test.goodall.Df) == (hotelling_df, goodall_df)
    if groups == ("gorf", "gorm"):
        printed.append((test.goodall_separate, "22.2857"))
        assert [(one.P, one.P_bootstrap) for one in test.tests] == [(0.001, 0.001)] * 4
    for value, text in printed:
        assert f"{value:.{len(text.partition('.')[2])}f}" == text
    if name == "schizophrenia_13":
        # Tables and permutations agree where the assumptions of the table do not matter.
        assert pytest.approx(test.hotelling.P_table, abs=0.05) == test.hotelling.P
        assert test.hotelling.P > 0.5
        assert np.isnan(test.james.F)
        assert "need 23 shapes" in test.james.reason
