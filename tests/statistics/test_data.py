"""Shapes as aligned rows with the columns of an analysis; permutations and P values; calls that cannot be answered."""

from itertools import permutations as all_permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies

import shapelex as sx
from shapelex import statistics as st
from shapelex.exceptions import CodesError, ParameterError, ParameterTypeError, ShapeInputError
from shapelex.statistics.data import as_complex, as_groups, read_input
from shapelex.statistics.permutations import (
    Exchange,
    effect_sizes,
    p_values,
    remark_on_count,
)
from tests.conftest import custom_space, in_each_product
from tests.statistics.conftest import make_shapes, mirrored_faces


def random_shapes(rng, n_shapes=12, n_points=7, spread=0.2):
    mean = np.exp(2j * np.pi * np.arange(n_points) / n_points) * (1 + 0.3 * np.arange(n_points))
    noise = rng.normal(size=(n_shapes, n_points, 2)) @ [1, 1j]
    return mean + spread * noise


def aligned(X, **data):
    return read_input(X, data).use({})


@in_each_product
def test_rows_are_the_mean_plus_tangent_vectors(space, rng):
    mean = rng.normal(size=(space.n_coordinates, 2)) @ [1, 1j]
    noise = rng.normal(size=(10, space.n_coordinates, 2)) @ [1, 1j]
    shapes = sx.ShapeSet(mean + 0.1 * noise, space, preparation=None)
    found = aligned(shapes)
    rows, base = as_complex(found.coordinates), space.whitened_preshapes(found.mean)[0]
    vectors = rows - base
    assert np.abs(vectors @ base.conj()).max() < 1e-12
    # At the partial mean, the tangent vectors average to zero.
    assert np.abs(vectors.mean(axis=0)).max() < 1e-9
    full = sx.distance(shapes.configurations, found.mean, space=space)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), full, atol=1e-12)
    back = found.to_configurations(found.coordinates)
    np.testing.assert_allclose(space.inner(back, back).real, (found.coordinates**2).sum(axis=1), atol=1e-12)


def test_columns_come_from_the_set_and_the_table(rng):
    shapes = sx.ShapeSet(random_shapes(rng), labels=["a", "b"] * 6, metadata={"site": np.arange(12)})
    given = read_input(shapes, pd.DataFrame({"site": np.arange(12)[::-1], "age": 1.0}, index=np.arange(5, 17)))
    assert {"size", "id", "label", "labels", "site", "age"} == set(given.columns)
    assert given.columns["site"].tolist() == list(range(12))[::-1]
    np.testing.assert_allclose(given.columns["size"], shapes.centroid_size)
    own = read_input(shapes, {"size": np.arange(12)})
    assert own.columns["size"].tolist() == list(range(12))
    assert "not the centroid size" in own.remarks[0]
    with pytest.raises(ValueError, match=r"names 'labl'.*did you mean 'label'\?"):
        given.column("labl", "groups")
    with pytest.raises(ValueError, match="one entry for each of the 12 shapes"):
        given.column([1, 2], "groups")
    with pytest.raises(ValueError, match=r"one row for each of the 12 shapes.*ShapeSet\.join"):
        read_input(shapes, {"age": [1, 2]})
    with pytest.raises(TypeError, match="data must be a data frame"):
        read_input(shapes, [1, 2])


def test_kinds_of_input_agree(rng, tmp_path):
    X = random_shapes(rng)
    points = np.stack([X.real, X.imag], axis=-1)
    stored = sx.open_shapes(sx.write(sx.ShapeSet(X), tmp_path / "shapes.npz"))
    expected = aligned(X).coordinates
    for other in (points, sx.ShapeSet(X), stored, list(X[:, None, :])):
        np.testing.assert_array_equal(aligned(other).coordinates, expected)
    # Aligned shapes are taken as they are.
    space = custom_space(7)
    found = read_input(sx.ShapeSet(X, space)).use({}, aligned=True)
    np.testing.assert_allclose(found.coordinates @ found.coordinates.T, (X.conj() @ space.gram @ X.T).real, atol=1e-10)
    np.testing.assert_allclose(found.to_configurations(found.coordinates), X, atol=1e-10)
    outlines = sx.ShapeSet(X, sx.Landmarks(7, closed=True))
    assert "not registered" in read_input(outlines).remarks[0]
    found = sx.register(outlines)
    assert not read_input(outlines.replace(configurations=found.configurations, preparation=found.preparation)).remarks


def test_types_of_pandas_become_text_and_numbers(rng):
    table = pd.DataFrame(
        {
            "text": pd.array(["a", "b", None] * 4, dtype="string"),
            "whole": pd.array([*range(11), None], dtype="Int64"),
            "flag": pd.array([True, False, None] * 4, dtype="boolean"),
            "mixed": [1, "x"] * 6,
            "day": pd.date_range("2020-01-01", periods=12),
        }
    )
    given = read_input(random_shapes(rng), table)
    for name, n_used, kind in (("text", 8, "O"), ("whole", 11, "i"), ("flag", 8, "b"), ("mixed", 12, "O")):
        used = given.use({name: given.columns[name]})
        assert (len(used.table), used.table[name].dtype.kind) == (n_used, kind)
    assert as_groups(given.use({"mixed": given.columns["mixed"]}).table["mixed"])[1] == ["1", "x"]
    with pytest.raises(ValueError, match="'day' must be text or numbers, got datetime64"):
        given.use({"day": given.columns["day"]})


@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1e-160, 1e150, 1e200])
def test_numbers_whose_squares_cannot_be_computed_are_refused(rng, unit):
    plain, groups = rng.normal(size=(20, 5, 2)) @ [1, 1j], np.arange(20) % 2
    X = unit * plain
    distances = unit * np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0)))
    statistics, words = sx.statistics, "must have a largest entry between 1e-140 and"
    for call, error, name in (
        (lambda: statistics.shape_lm("shape ~ group", X, {"group": groups}, aligned=True), ShapeInputError, "shapes"),
        (lambda: statistics.disparity(X, groups, aligned=True), ShapeInputError, "shapes"),
        (lambda: statistics.permanova(distances, groups), ShapeInputError, "distances"),
        (lambda: statistics.two_block_pls(plain, X.real), ShapeInputError, "b"),
        (lambda: statistics.code_lm("codes ~ group", X, {"group": groups}), CodesError, "codes"),
    ):
        with pytest.raises(error, match=f"{name} {words}"):
            call()


def draw(exchange, permutations=99, seed=0):
    return np.concatenate(list(exchange.chunks(permutations, seed)))


@given(strategies.lists(strategies.integers(0, 3), min_size=1, max_size=12), strategies.integers(0, 600))
def test_permutations_stay_within_strata_and_start_with_the_identity(strata, permutations):
    codes = np.array(strata)
    indices = draw(Exchange(len(codes), codes), permutations)
    assert indices.shape == (permutations + 1, len(codes))
    assert (indices[0] == np.arange(len(codes))).all()
    assert (np.sort(indices, axis=1) == np.arange(len(codes))).all()
    assert (codes[indices] == codes).all()


def test_permutations_depend_on_the_seed_alone():
    first, second, other = (draw(Exchange(20), 300, seed) for seed in (1, 1, 2))
    assert (first == second).all()
    assert (first[1:] != other[1:]).any()
    # A shorter run is the beginning of a longer one.
    assert (draw(Exchange(20), 50, 1) == first[:51]).all()
    # All permutations are equally likely.
    indices = draw(Exchange(3), 60_000)[1:]
    counts = [(indices == order).all(axis=1).sum() for order in all_permutations(range(3))]
    assert np.abs(np.array(counts) - 10_000).max() < 5 * 100


def test_p_counts_the_observed_statistic_and_ties_and_effect_sizes_are_standard_scores_of_logarithms():
    statistics = np.array([[3.0, 1, 2, 3 - 1e-13], [3, 1, 2, 2.9], [np.nan, 1, 2, 3]])
    np.testing.assert_array_equal(p_values(statistics), [0.5, 0.25, np.nan])
    assert np.isnan(p_values(np.array([1.0])))
    logs = np.array([3.0, 1, 2, 0])
    assert effect_sizes(np.exp(logs)) == pytest.approx((3 - 1.5) / logs.std())
    assert np.isnan(effect_sizes(np.ones(4)))


def test_few_permutations_are_remarked():
    assert "Only 6 different permutations of the animals" in remark_on_count(Exchange(3), 99, "animals")[0]
    assert remark_on_count(Exchange(30), 99) == []
    assert remark_on_count(Exchange(3), 0) == []


RNG = np.random.default_rng(20)
GROUPS, CODES = list("ab") * 20, RNG.normal(size=(40, 5)) + 0j
SHAPES = make_shapes(
    RNG, 30, effect=0.1, groups=3, x=RNG.normal(size=30), site=np.repeat(list("uv"), 15), animal=np.arange(30) // 2
)
FACES, FACE_OF = mirrored_faces(RNG), np.repeat(np.arange(12), 2)
ALONE = np.where(np.arange(30) == 0, "alone", "others")
POINTS = np.where(np.asarray(SHAPES.metadata["group"]) == "a", "u", SHAPES.metadata["site"])
BROKEN = np.full((5, 4), np.nan) + 0j


def fit(right="x + group", shapes=SHAPES, data=None, **options):
    return st.shape_lm(f"shape ~ {right}", shapes, data, permutations=options.pop("permutations", 0), **options)


def pairs(*arguments, right="x + group", **options):
    return st.pairwise(fit(right), *arguments, **options)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        # Linear models.
        *((lambda text=text: st.shape_lm(text, SHAPES), ValueError, "must begin with 'shape ~'")
          for text in ("group", "~ group", "form ~ group", "log(shape) ~ group", "")),
        (lambda: st.shape_lm(3, SHAPES), TypeError, "formula must be text"),
        (lambda: fit("group | x"), ValueError, "one right side"),
        (lambda: fit("0 + group"), ValueError, "must have an intercept"),
        *((lambda start=start, step=step: fit("k", data={"k": start + step * np.arange(30)}), ShapeInputError,
           r"the column 'k' has (nearly )?the same value")
          for start, step in ((2020.0, 1e-12), (1e9, 1e-7), (0.3, 1e-17))),
        (lambda: fit("same", data={"same": ["one"] * 30}), ValueError, r"'same' has the same value \('one'\) in all"),
        (lambda: fit("size", SHAPES.replace(configurations=np.tile([0, 1, 1j, 2, 3, 5j], (30, 1)))), ValueError,
         "have the same centroid size"),
        (lambda: fit("group", type=4), ValueError, "type must be 1, 2 or 3"),
        (lambda: fit("group", method="all"), ValueError, "method must be one of"),
        (lambda: fit("group", permutations=-1), ValueError, "permutations must be at least 0"),
        (lambda: fit("group", random_state="x"), ValueError, "random_state must be"),
        (lambda: fit("group * site", error={"group": "group:sit"}), ValueError,
         r"names 'group:sit', which is not a term \(did you mean 'group:site'\?\)"),
        (lambda: fit("group * site", error=["residuals"]), ValueError,
         "a list with an entry for each of the terms group, site"),
        (lambda: fit().predict({"x": 1}), ValueError, "must have a column 'group'"),
        (lambda: fit().predict({"x": 1, "group": "z"}), ValueError, "group='z', which the model has not seen"),
        (lambda: fit().predict({"x": [1, 2], "group": ["a", "b", "a"]}), ValueError, "columns of one length"),
        (lambda: fit().predict({"x": 1, "group": "a"}, confidence=95), ValueError, "confidence must lie between"),
        (lambda: fit("x + site").manova(100), ValueError, "n_components must be at most"),
        (lambda: st.compare_models(fit("x"), fit("group")), ValueError, "does not contain 'shape ~ x'"),
        (lambda: st.compare_models(fit("x")), ValueError, "at least one model"),
        (lambda: st.compare_models(fit("x"), fit(shapes=SHAPES[:20])), ValueError, "but 'shape ~ x' used 30"),
        # Pairs and other views on models.
        (lambda: pairs(groups="groop"), ValueError, r"did you mean 'group'\?"),
        (lambda: pairs(groups=["a"] * 30), ValueError, "at least two groups"),
        (lambda: pairs(covariate="group"), TypeError, "must be numbers"),
        (lambda: pairs(null="shape ~ x * group"), ValueError, "must be smaller than the model"),
        (lambda: pairs(correction="bonferroni"), ValueError, "correction must be one of"),
        (lambda: pairs(right="x"), ValueError, "no categorical covariate"),
        (lambda: pairs(right="group").angles, ValueError, "means have no angles"),
        (lambda: st.disparity(SHAPES, ALONE), ValueError, "one shape only in alone"),
        (lambda: st.disparity(SHAPES, ["same"] * 30), ValueError, "at least two groups"),
        (lambda: st.discriminants(SHAPES, ALONE), ValueError, "one shape only in alone"),
        (lambda: st.trajectories(fit("group + site"), "group", POINTS), ValueError, "a has none at v"),
        (lambda: st.trajectories(fit("group + site"), "group", ["u"] * 30), ValueError, "at least two values"),
        (lambda: st.allometry(SHAPES, "group", permutations=9).shapes_at([1.0]), ValueError, "one of a, b, c"),
        (lambda: st.allometry(SHAPES, size="x"), ValueError, "size must be positive numbers"),
        (lambda: st.two_block_pls(SHAPES, np.ones((29, 2))), ValueError, "same number of rows"),
        (lambda: st.two_block_pls(SHAPES, np.ones((30, 2))), ValueError, "must vary"),
        (lambda: st.covariance_ratio(SHAPES, ["a"] * 5 + ["b"]), ValueError, "at least two modules of"),
        (lambda: st.measurement_error(SHAPES, np.arange(30)), ValueError, "every specimen was measured once"),
        (lambda: st.symmetry(FACES, FACE_OF), ValueError, "give pairs for objects"),
        (lambda: st.symmetry(FACES, FACE_OF, pairs=[[0, 8]]), ValueError, "between 0 and 7"),
        (lambda: st.symmetry(FACES, FACE_OF, pairs=[[0, 1], [1, 2]]), ValueError, "each landmark at most once"),
        (lambda: st.symmetry(FACES, FACE_OF, side=["left"] * 24), ValueError, "side must have two values"),
        (lambda: st.symmetry(FACES, FACE_OF, side=["left"] * 12 + ["right"] * 12), ValueError, "shapes of both sides"),
        # Groups.
        (lambda: st.mean_test(sx.ShapeSet(BROKEN, missing="allow"), FACES[:, :4]), ShapeInputError,
         "a must have at least two shapes"),
        (lambda: st.local_test(SHAPES[:6], ["a"] * 6), ShapeInputError, "at least two different values"),
        (lambda: st.local_test(SHAPES[:6], ["a"] * 5 + ["b"]), ShapeInputError, "'b' has one"),
        (lambda: st.local_test(SHAPES[:6], ["a", "b"]), ShapeInputError, "6 shapes"),
        # Codes.
        (lambda: st.atom_tests(CODES, [""] * 40), ShapeInputError, "all 40 shapes miss something"),
        (lambda: st.atom_tests(CODES, GROUPS, model=sx.ShapeDictionary()), ParameterTypeError, "a fitted dictionary"),
        (lambda: st.atom_tests(CODES[0], GROUPS), CodesError, "matrix"),
        (lambda: st.atom_tests(np.full((4, 2), np.nan), GROUPS[:4]), CodesError, "finite"),
        (lambda: st.atom_tests(CODES, GROUPS, confidence=95), ParameterError, "confidence"),
        (lambda: st.code_lm("codes ~ doses", CODES, {"dose": range(40)}), ShapeInputError, "did you mean 'dose'"),
        (lambda: st.code_lm("codes ~ dose", CODES[:, :1], {"dose": range(40)}), CodesError, "two atoms"),
        (lambda: st.permanova(sx.encode(FACES, FACES[:3], 1), GROUPS[:24]), ParameterError, "model must be given"),
        # Distances.
        (lambda: st.permanova(np.arange(36.0).reshape(6, 6), GROUPS[:6]), ShapeInputError, "symmetric"),
        (lambda: st.permanova(-np.ones((6, 6)), GROUPS[:6]), ShapeInputError, "not negative"),
        (lambda: st.permanova(np.zeros((6, 6)), GROUPS[:6], kind="procrustes"), ParameterError, "kind"),
    ],
)  # fmt: skip
def test_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
