"""Sparse representation classification, as a user of scikit-learn meets it."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

import shapelex as sx
from tests.conftest import in_each_product
from tests.strategies import random_configurations

CIRCLE = np.exp(2j * np.pi * np.arange(12) / 12)


def make_classes(n_each=20, seed=0, noise=0.02):
    """Three kinds of outlines, each with its own way to vary, in any pose."""
    rng = np.random.default_rng(seed)
    modes = [CIRCLE**-1, CIRCLE**2, CIRCLE**-3]
    X = np.concatenate([CIRCLE + 0.4 * rng.normal(size=(n_each, 1)) * mode for mode in modes])
    X += noise * (rng.normal(size=X.shape) + 1j * rng.normal(size=X.shape))
    poses = rng.uniform(0.5, 2, (len(X), 1)) * np.exp(1j * rng.uniform(0, 6, (len(X), 1)))
    return poses * X + rng.normal(size=(len(X), 1)), np.repeat(["long", "bent", "star"], n_each)


def make_model(**options):
    few = {"n_atoms": 3, "n_nonzero": 2, "max_iter": 20, "random_state": 0}
    return sx.ShapeDictionaryClassifier(**few | options)


@pytest.fixture(scope="module")
def classes():
    return make_classes()


@pytest.fixture(scope="module")
def fitted(classes):
    return make_model().fit(*classes)


def test_errors_are_those_of_the_class_dictionaries(classes, fitted):
    X, y = classes
    errors = fitted.class_errors(X)
    assert errors.shape == (60, 3)
    assert list(fitted.classes_) == ["bent", "long", "star"]
    for number, label in enumerate(fitted.classes_):
        dictionary = fitted.dictionaries_[number]
        distances = sx.distance(X, dictionary.reconstruct(X), space=fitted.metric_space_)
        np.testing.assert_allclose(errors[:, number], distances, atol=1e-12)
        assert errors[y == label, number].mean() < 0.5 * errors[y != label, number].mean()


def test_predicts_the_class_of_least_error(fitted):
    X, y = make_classes(seed=1)
    predicted = fitted.predict(X)
    np.testing.assert_array_equal(predicted, fitted.classes_[fitted.class_errors(X).argmin(axis=1)])
    assert fitted.score(X, y) == np.mean(predicted == y) > 0.8
    weights = np.where(predicted == y, 1.0, 0.0)
    assert fitted.score(X, y, sample_weight=weights) == 1


def test_probabilities_follow_the_formula(classes, fitted):
    X, y = classes
    squares = fitted.class_errors(X) ** 2
    others = np.where(y[:, None] == fitted.classes_, np.inf, squares).min(axis=1)
    assert fitted.temperature_ == pytest.approx(others.mean() / 4)
    chances = np.exp(-squares / fitted.temperature_)
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(probabilities, chances / chances.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_array_equal(fitted.classes_[probabilities.argmax(axis=1)], fitted.predict(X))
    cold = make_model(temperature=1e-300).fit(X, y).predict_proba(X)
    assert set(np.unique(cold)) == {0.0, 1.0}


def make_noisy_classes(n_each=(20, 20), seed=0, scales=(0.1, 0.1)):
    """Two classes whose difference is small beside what varies within both."""
    rng = np.random.default_rng(seed)
    shared, telling = CIRCLE**-1, CIRCLE**3
    parts = []
    for side, count, scale in zip((-1, 1), n_each, scales, strict=True):
        X = CIRCLE + 0.4 * rng.normal(size=(count, 1)) * shared + side * 0.06 * telling
        parts.append(X + scale / 6 * (rng.normal(size=X.shape) + 1j * rng.normal(size=X.shape)))
    return np.concatenate(parts), np.repeat(["a", "b"], n_each)


class TestShrinkage:
    def test_labels_teach_what_to_overlook(self):
        (X, y), (new, truth) = make_noisy_classes(), make_noisy_classes(seed=1)
        options = {"n_atoms": 1, "n_nonzero": 1}
        plain = make_model(shrinkage=1.0, **options).fit(X, y)
        taught = make_model(shrinkage=0.01, **options).fit(X, y)
        assert plain.metric_space_ == plain.space_
        assert taught.score(new, truth) > 0.9 > plain.score(new, truth) + 0.1


NUMBERS, WEIGHTS = np.array([0] * 6 + [1] * 5), np.linspace(1, 2, 11)


def learned_space(X, space, shrinkage=0.2):
    model = make_model(space=space, n_atoms=1, n_nonzero=1, shrinkage=shrinkage)
    return model.fit(X, NUMBERS, sample_weight=WEIGHTS).metric_space_


class TestLearnedProduct:
    @in_each_product
    def test_is_the_inverse_of_the_covariance_within_classes(self, space):
        X = random_configurations(space, 11, 0) + 3 * random_configurations(space, 1, 1)
        rows = space.whitened_preshapes(X)
        scatter = np.zeros((rows.shape[1],) * 2, complex)
        for number in (0, 1):
            is_member = number == NUMBERS
            mean = space.whiten(sx.mean_shape(X[is_member], weights=WEIGHTS[is_member], space=space))
            for row, weight in zip(rows[is_member], WEIGHTS[is_member], strict=True):
                across = row - mean * np.vdot(mean, row)
                scatter += weight * np.outer(across, across.conj())
        covariance = 0.8 * scatter / np.trace(scatter).real + 0.2 * np.eye(len(scatter)) / len(scatter)
        learned = learned_space(X, space)
        first, second = random_configurations(space, 2, 2)
        expected = space.whiten(first).conj() @ np.linalg.inv(covariance) @ space.whiten(second)
        assert learned.inner(learned.centered(first), learned.centered(second)) == pytest.approx(expected, rel=1e-7)
        assert learned.center(first) == pytest.approx(space.center(first), rel=1e-8)

    @in_each_product
    def test_depends_on_shapes_only(self, space, rng):
        X = random_configurations(space, 11, 0) + 3 * random_configurations(space, 1, 1)
        poses = rng.uniform(0.5, 2, (11, 1)) * np.exp(1j * rng.uniform(0, 6, (11, 1)))
        moved = learned_space(poses * X + rng.normal(size=(11, 1)) * space.shift, space)
        gram = learned_space(X, space).gram
        np.testing.assert_allclose(moved.gram, gram, atol=1e-8 * np.abs(gram).max())

    def test_copies_teach_nothing(self):
        X = random_configurations(sx.Landmarks(6), 11, 0)
        for dtype in (np.complex64, np.complex128):
            copies = (X[[0] * 6 + [7] * 5] * np.exp(1j * np.arange(11))[:, None]).astype(dtype)
            assert learned_space(copies, sx.Landmarks(6)) == sx.Landmarks(6)


class TestHeldOutCalibration:
    def test_chooses_the_shrinkage(self):
        X, y = make_noisy_classes()
        model = make_model(n_atoms=1, n_nonzero=1, cv=3).fit(X, y)
        assert model.shrinkage_ < 1
        assert make_model(n_atoms=1, n_nonzero=1).fit(X, y).shrinkage_ == 0.1
        assert make_model(cv=3, shrinkage=0.3).fit(X, y).shrinkage_ == 0.3

    def test_probabilities_and_predictions_follow_the_formula(self, classes):
        X, y = classes
        model = make_model(cv=3, shrinkage=1.0).fit(X, y)
        assert np.ptp(model.temperatures_) > 0
        scores = model.offsets_ - model.class_errors(X) ** 2 / model.temperatures_
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities, chances / chances.sum(axis=1, keepdims=True), rtol=1e-9)
        np.testing.assert_array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])
        assert model.temperature_ == pytest.approx(np.exp(np.log(model.temperatures_).mean()))
        again = make_model(cv=3, shrinkage=1.0).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), probabilities)

    def test_classes_that_vary_unequally_and_differ_in_number(self):
        options = {"n_each": (40, 16), "scales": (0.1, 1.5)}
        (X, y), (new, truth) = make_noisy_classes(**options), make_noisy_classes(seed=1, **options)
        plain = make_model(shrinkage=1.0).fit(X, y)
        learned = make_model(shrinkage=1.0, cv=3).fit(X, y)
        assert learned.temperatures_[1] > learned.temperatures_[0]
        assert learned.score(new, truth) > plain.score(new, truth)

    def test_frequent_classes_get_an_offset_and_separated_ones_stay_finite(self, classes):
        X, y = make_noisy_classes(n_each=(54, 6), scales=(3, 3))
        model = make_model(n_atoms=1, n_nonzero=1, shrinkage=1.0, cv=3).fit(X, y)
        assert model.offsets_[0] > model.offsets_[1] + 0.5
        far = np.concatenate([classes[0][:6], classes[0][40:46] ** 3])
        apart = make_model(cv=3, shrinkage=1.0).fit(far, np.repeat([0, 1], 6))
        assert np.isfinite(np.r_[apart.temperatures_, apart.offsets_]).all()
        assert (apart.temperatures_ > 0).all()

    @pytest.mark.parametrize(("n_members", "cv", "used"), [(2, 3, None), (3, 2, 3), (3, 5, 3), (4, 5, 4)])
    def test_small_classes_get_fewer_folds_and_a_warning(self, classes, n_members, cv, used):
        X, y = classes
        rows = np.r_[:20, 20 : 20 + n_members, 40:60]
        with pytest.warns(UserWarning, match=rf"cv={cv} must leave every class 2 .* smallest class has {n_members}"):
            found = make_model(cv=cv, shrinkage=0.3).fit(X[rows], y[rows])
        expected = make_model(cv=used, shrinkage=0.3).fit(X[rows], y[rows])
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))

    def test_weights_and_a_single_class(self, classes):
        X, y = classes
        weighted = make_model(cv=3, shrinkage=0.3).fit(X, y, sample_weight=np.where(y == "bent", 5.0, 1.0))
        assert np.isfinite(weighted.predict_proba(X)).all()
        np.testing.assert_array_equal(make_model(cv=3).fit(X[:20], y[:20]).predict_proba(X), 1)


def test_a_small_class_gets_as_many_atoms_as_shapes(classes):
    X, y = classes
    keep = np.r_[:20, 20:22, 40:60]
    model = make_model(n_atoms=4, n_nonzero=3).fit(X[keep], y[keep])
    assert [len(dictionary.atoms_) for dictionary in model.dictionaries_] == [2, 4, 4]
    assert [dictionary.n_nonzero for dictionary in model.dictionaries_] == [2, 3, 3]
    np.testing.assert_allclose(model.class_errors(X[20:22])[:, 0], 0, atol=1e-9)
    assert np.isfinite(model.predict_proba(X)).all()


def test_weights(classes):
    X, y = classes
    weights = np.ones(60)
    weights[[0, 25, 59]] = 0
    without = make_model().fit(X[weights > 0], y[weights > 0], sample_weight=np.ones(57))
    zero = make_model().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(zero.class_errors(X), without.class_errors(X), atol=1e-12)
    heavy = make_model(n_atoms=1, n_nonzero=1, coder="ormp").fit(X, y, sample_weight=np.r_[1e6, np.ones(59)])
    assert heavy.class_errors(X[:1])[0, 1] < 1e-3


def test_integer_labels_and_a_single_class(classes):
    X, y = classes
    numbers = np.searchsorted(["bent", "long", "star"], y) * 5 - 5
    model = make_model().fit(X, numbers)
    assert set(model.predict(X)) <= {-5, 0, 5}
    alone = make_model().fit(X[:20], y[:20])
    assert set(alone.predict(X)) == {"long"}
    np.testing.assert_array_equal(alone.predict_proba(X), 1)


def test_bad_labels(classes):
    X, y = classes
    single = np.r_[19, 20, 40, 41, 41, 19]
    for words, arguments in {
        r"at least 2 shapes .* 1 of 3 have a single one \('bent'\)": (X[single], y[single]),
        "X has 60 shapes, y 59 labels": (X, y[:59]),
        "requires y": (X, None),
        "Unknown label type: continuous": (X, np.linspace(0, 1, 60)),
        "y is not known in row 0: leave": (X, np.r_[np.nan, np.ones(59)]),
        "y is not known in rows 1, 2: leave": (X, [y[0], None, np.nan, *y[3:]]),
    }.items():
        with pytest.raises(ValueError, match=words):
            make_model().fit(*arguments)


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"n_nonzero": 4}, ValueError, "n_atoms=3, got 4"),
        ({"temperature": 0}, ValueError, "temperature"),
        ({"temperature": "auto"}, TypeError, "temperature"),
        ({"temperature": 0.1, "cv": 3}, ValueError, "temperature must be None"),
        ({"cv": 1}, ValueError, "cv"),
        ({"coder": "greedy"}, ValueError, "coder"),
        *[({"shrinkage": bad}, ValueError, "shrinkage must be above 0 and at most 1") for bad in (0, 1.5, np.nan)],
        *[({"shrinkage": bad}, TypeError, 'shrinkage must be a number or "auto"') for bad in ("small", None, True)],
    ],
)
def test_bad_parameters(classes, parameters, error, words):
    with pytest.raises(error, match=words):
        make_model(**parameters).fit(*classes)


@pytest.mark.realdata
def test_hearts_by_author(load_real):
    X = load_real("hearts_outlines_80")
    with np.load(Path(os.environ["SHAPELEX_DATA"]) / "hearts_outlines_80.npz", allow_pickle=False) as file:
        y = file["labels"]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = sx.ShapeDictionaryClassifier(n_atoms=8, n_nonzero=3, random_state=0)
    assert cross_val_score(model, X, y, cv=folds).mean() > 0.65
