"""Sets keep how their outlines were prepared; models prepare others like those of the fit, or refuse them."""

import logging
import pickle
import re
import warnings

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import shapelex as sx
from shapelex.exceptions import (
    CollapsedShapeError,
    PreparationError,
    PreparationWarning,
    ShapeInputError,
    UnsupportedBySpaceError,
)
from shapelex.files.archive import preparation_of_header
from shapelex.shapes.preparation import UNRECORDED, Preparation

SPACE = sx.Landmarks(40, closed=True)
OPTIONS = {"max_iter": 5, "tol": 0.1, "random_state": 0}
MODELS = {
    "dictionary": sx.ShapeDictionary(4, 2, **OPTIONS),
    "align first": sx.AlignFirstDictionary(4, 2, **OPTIONS),
    "complex PCA": sx.ComplexPCA(3),
    "tangent PCA": sx.TangentPCA(3),
    "kernel": sx.ProcrustesKernel(),
    "classifier": sx.ShapeDictionaryClassifier(3, 2, cv=None, tol=0.1, random_state=0),
}


def make_outlines(n_shapes=60):
    rng = np.random.default_rng(3)
    t = 2j * np.pi * np.arange(40) / 40
    modes = np.stack([np.exp(f * t) for f in (-3, -2, -1, 2, 3)])
    weights = 0.1 * (rng.normal(size=(n_shapes, 5)) + 1j * rng.normal(size=(n_shapes, 5)))
    outlines = np.exp(t) + (weights + np.array([0.1, 0.3, 0.1, 0.1j, 0.2])) @ modes
    is_reversed = rng.random(n_shapes) < 0.3
    outlines[is_reversed] = SPACE.reverse(outlines[is_reversed])
    return SPACE.roll(outlines, rng.integers(40, size=n_shapes))


@pytest.fixture(scope="module")
def raw():
    return sx.ShapeSet(make_outlines(), SPACE, labels=["a", "b"] * 30)


@pytest.fixture(scope="module")
def registration(raw):
    return sx.OutlineRegistration().fit(raw)


@pytest.fixture(scope="module")
def registered(raw, registration):
    return registration.transform(raw)


@pytest.fixture(scope="module")
def model(registered):
    return sx.ShapeDictionary(4, 2, **OPTIONS).fit(registered)


def fit(name, shapes):
    return clone(MODELS[name]).fit(shapes, shapes.labels)


def results(model, X):
    if isinstance(model, sx.ShapeDictionaryClassifier):
        return model.class_errors(X)
    return model.transform(X)


@pytest.mark.parametrize("name", MODELS)
def test_raw_outlines_give_what_outlines_registered_by_hand_give(name, raw, registration, registered, tmp_path):
    model = fit(name, registered)
    by_hand = sx.register(raw, to=registration.mean_).configurations
    expected = results(model, by_hand)
    np.testing.assert_allclose(results(model, raw), expected, atol=1e-12)
    np.testing.assert_allclose(results(model, registered), expected, atol=1e-12)
    assert not np.allclose(results(model, raw.configurations), expected)
    loaded = sx.load(model.save(tmp_path / "model.npz"))
    assert loaded.preparation_ == model.preparation_ == registered.preparation
    np.testing.assert_allclose(results(loaded, raw), expected, atol=1e-12)


def test_new_outlines_go_to_the_mean_that_was_fitted(raw):
    registration = sx.OutlineRegistration()
    np.testing.assert_array_equal(registration.fit_transform(raw), registration.registration_.configurations)
    assert registration.space_ == SPACE
    assert registration.n_features_in_ == len(registration.get_feature_names_out()) == 40
    rolled = SPACE.roll(raw.configurations, np.arange(60))
    expected = sx.register(rolled, SPACE, to=registration.mean_)
    np.testing.assert_array_equal(registration.transform(rolled), expected.configurations)
    np.testing.assert_array_equal(registration.register(rolled).shift, expected.shift)
    with pytest.raises(UnsupportedBySpaceError, match="closed=True"):
        sx.OutlineRegistration(space=sx.Landmarks(40)).fit(rolled)
    with pytest.raises(TypeError, match="space must be a space"):
        sx.OutlineRegistration(space="closed").fit(rolled)


def test_registration_makes_a_dictionary_blind_to_start_points(raw, registered):
    def score(first, shapes):
        return make_pipeline(first, sx.ShapeDictionary(4, 2, **OPTIONS)).fit(shapes.configurations).score(shapes)

    whole, plain = (sx.OutlineRegistration(space=SPACE, start=one, direction=one) for one in (True, False))
    assert score(whole, raw) > 0.75 * score(plain, raw)
    assert score(whole, raw) == pytest.approx(score(whole, registered), abs=0.02)


def test_every_method_of_a_dictionary_prepares_its_input(model, raw, registered, caplog):
    for method in ("errors", "reconstruct", "transform", "realism", "score"):
        with caplog.at_level(logging.INFO, "shapelex.estimators.base"):
            found = getattr(model, method)(raw)
        np.testing.assert_allclose(found, getattr(model, method)(registered), atol=1e-12)
    assert "registering 60 outlines" in caplog.text
    more = pickle.loads(pickle.dumps(model)).partial_fit(raw)
    same = pickle.loads(pickle.dumps(model)).partial_fit(registered)
    np.testing.assert_allclose(more.atoms_, same.atoms_, atol=1e-12)
    assert more.preparation_ == registered.preparation


@pytest.mark.parametrize("suffix", [".npz", ".zarr"])
def test_stored_and_dask_sets(model, raw, registered, tmp_path, suffix):
    expected = model.encode(registered)
    for name, shapes in (("raw", raw), ("registered", registered)):
        path = sx.write(shapes, tmp_path / f"{name}{suffix}")
        assert sx.read(path).preparation == shapes.preparation
        stored = sx.open_shapes(path)
        assert stored.preparation == shapes.preparation == stored[3:5].preparation
        np.testing.assert_array_equal(model.encode(stored).support, expected.support)
        np.testing.assert_allclose(model.encode(stored).coefs, expected.coefs, atol=1e-12)
        lazy = model.encode(sx.open_shapes(path, chunks=17)).compute()
        np.testing.assert_allclose(lazy.coefs, expected.coefs, atol=1e-12)
        again = sx.ShapeDictionary(4, 2, **OPTIONS).fit(stored)
        assert again.preparation_ == shapes.preparation


def test_errors_name_the_row_of_a_collapsed_outline(model, raw):
    rows = raw.configurations.copy()
    rows[33] = 1
    for X in (sx.ShapeSet(rows, SPACE), sx.ShapeSet(da.from_array(rows, chunks=(17, 40)), SPACE)):
        with pytest.raises(CollapsedShapeError, match=r"X .*33"):
            np.asarray(model.errors(X))


def test_a_pipeline_registers_and_its_dictionary_alone_does_too(raw, tmp_path):
    pipeline = make_pipeline(sx.OutlineRegistration(), sx.ShapeDictionary(4, 2, **OPTIONS)).fit(raw[:40])
    expected = pipeline.transform(raw[40:])
    np.testing.assert_allclose(pipeline.transform(raw.configurations[40:]), expected, atol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pipeline)).transform(raw[40:]), expected)
    dictionary = sx.load(pipeline[-1].save(tmp_path / "model.npz"))
    assert dictionary.preparation_ == pipeline[0].preparation_
    np.testing.assert_allclose(dictionary.transform(raw[40:]), expected, atol=1e-12)


def test_plain_arrays_count_as_prepared(raw, registered, model):
    plain = sx.ShapeDictionary(4, 2, space=SPACE, **OPTIONS).fit(registered.configurations)
    assert plain.preparation_ is None
    np.testing.assert_array_equal(plain.errors(raw), plain.errors(raw.configurations))
    np.testing.assert_array_equal(model.errors(registered.configurations), model.errors(registered))
    no_record = raw.replace(preparation=None)
    np.testing.assert_array_equal(model.errors(no_record), model.errors(raw.configurations))


def test_sets_that_were_prepared_differently_are_refused(raw, model):
    mirrored = sx.OutlineRegistration(reflection=True).fit_transform(raw)
    with pytest.raises(PreparationError, match=r"reflection=False, got reflection=True\. .*without registering"):
        model.encode(mirrored)
    other = sx.OutlineRegistration().fit_transform(raw[5:30])
    with pytest.raises(PreparationError, match="registered to another mean"):
        model.encode(other)
    resampled = raw.replace(preparation=Preparation("arc length"))
    given = raw.replace(preparation=Preparation("as given"))
    by_arc = sx.ShapeDictionary(4, 2, **OPTIONS).fit(resampled)
    with pytest.raises(PreparationError, match=r"equal steps of arc length.*the points of the file.*n_points"):
        by_arc.errors(given)
    np.testing.assert_array_equal(by_arc.errors(raw), by_arc.errors(raw.configurations))
    with pytest.raises(PreparationError, match=r"not registered, got outlines that are registered to a mean"):
        by_arc.errors(mirrored)


def test_files_of_earlier_versions_warn_once(raw, registered, model):
    old = pickle.loads(pickle.dumps(model))
    old.preparation_ = UNRECORDED
    for shapes in (raw, registered):
        old.__dict__.pop("_has_warned_of_preparation", None)
        with pytest.warns(PreparationWarning, match="model file does not record"):
            old.encode(shapes)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            old.encode(shapes)
    # A registered model registers them, whatever was done before.
    np.testing.assert_allclose(
        model.errors(registered.replace(preparation=UNRECORDED)), model.errors(registered), atol=1e-12
    )
    of_raw = sx.ShapeDictionary(4, 2, **OPTIONS).fit(raw)
    with pytest.warns(PreparationWarning, match="file of X does not record"):
        of_raw.encode(registered.replace(preparation=UNRECORDED))


def test_open_curves_are_registered_by_direction_alone(tmp_path):
    rng = np.random.default_rng(0)
    curves = np.linspace(0, 1, 12) + 1j * rng.normal(size=(30, 3)) @ np.linspace(0, 1, 12) ** np.arange(1, 4)[:, None]
    space = sx.Landmarks(12)
    turned = curves.copy()
    turned[::3] = turned[::3, ::-1]
    raw = sx.ShapeSet(turned, space)
    registered = sx.OutlineRegistration(start=False).fit_transform(raw)
    model = sx.ShapeDictionary(3, 2, **OPTIONS).fit(registered)
    loaded = sx.load(model.save(tmp_path / "model.npz"))
    np.testing.assert_allclose(loaded.errors(raw), model.errors(registered), atol=1e-12)


def test_the_page_shows_prepared_shapes(model, raw, registered, tmp_path):
    pages = [sx.report.write_report(model, shapes, tmp_path / "page", overwrite=True).read_text()
             for shapes in (raw, registered)]  # fmt: skip
    # Only the note on the registration tells them apart.
    first, second = (re.sub(r'"notes":\[.*?\],', "", page) for page in pages)
    assert first == second


def test_imputation_does_not_take_outlines_that_it_cannot_register(model, raw):
    rows = raw.configurations.copy()
    rows[0, 3] = np.nan
    with pytest.raises(PreparationError, match="cannot be registered"):
        sx.impute(sx.ShapeSet(rows, SPACE, missing="allow"), model)


FIVE = sx.Landmarks(5, closed=True)
OUTLINE = np.array([0, 2, 3 + 1j, 1 + 2j, 1j])
FLAGS = dict.fromkeys(["start", "direction", "reflection", "subsample"], True)


@pytest.fixture
def two_registered():
    found = sx.register([OUTLINE, FIVE.roll(OUTLINE, 2)], FIVE)
    return sx.ShapeSet(found.configurations, FIVE, preparation=found.preparation)


def test_slices_keep_it_and_another_space_ends_it(two_registered):
    assert two_registered[:1].preparation == two_registered[[1]].preparation == two_registered.preparation
    assert two_registered.replace(ids=["a", "b"]).preparation.is_registered
    other = two_registered.replace(configurations=np.ones((2, 4)) * [[0, 1, 2j, 3]], space=sx.Landmarks(4))
    assert other.preparation == Preparation()
    with pytest.raises(ShapeInputError, match=r"mean of shape \(5,\).*n_points=3"):
        sx.ShapeSet([[0, 1, 1j]], preparation=two_registered.preparation)
    # Each shape was registered to another target.
    assert sx.register([OUTLINE, OUTLINE], FIVE, to=[OUTLINE, OUTLINE]).preparation is None


def test_concatenation(two_registered):
    raw = sx.ShapeSet([OUTLINE], FIVE)
    unknown = raw.replace(preparation=UNRECORDED)
    assert (two_registered + two_registered).preparation == two_registered.preparation
    assert (raw + raw).preparation == Preparation()
    assert (raw + unknown).preparation == UNRECORDED
    # Plain arrays count as prepared.
    plain = raw.replace(preparation=None)
    assert (two_registered + plain).preparation == two_registered.preparation
    assert (plain + plain).preparation is None
    resampled, given = (raw.replace(preparation=Preparation(how)) for how in ("arc length", "as given"))
    assert (resampled + raw).preparation == Preparation()
    for first, second, words in (
        (two_registered, raw, "same way: expected .*registered to a mean .*, got outlines that are not registered"),
        (two_registered, unknown, "got outlines that are prepared in a way that is not recorded"),
        (resampled, given, "arc length"),
    ):
        with pytest.raises(PreparationError, match=words):
            first + second


def test_summaries_tell_it(two_registered):
    assert "registered to a mean (start point, direction)" in two_registered.summary()
    assert "not registered" in sx.ShapeSet([OUTLINE], FIVE).summary()
    assert "registered" not in sx.ShapeSet([OUTLINE]).summary()
    assert "preparation not recorded" in two_registered.replace(preparation=UNRECORDED).summary()


@pytest.mark.parametrize(
    "value",
    [
        1,
        {},
        {"resampling": "guess", "registration": None},
        {"resampling": None, "registration": {"mean": [[0, 1]]}},
        {"resampling": None, "registration": {"mean": [[0, 1]] * 3, **FLAGS, "start": 1}},
        {"resampling": None, "registration": {"mean": [[0, float("nan")]] * 3, **FLAGS}},
    ],
)
def test_damaged_records_are_refused(value):
    with pytest.raises(ValueError, match="preparation is damaged"):
        preparation_of_header({"preparation": value}, 3)
