"""The estimator: what a user of scikit-learn expects of it."""

import logging
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import shapelex as sx
from shapelex.exceptions import CoordinateCountError, ParameterError, ShapeInputError
from shapelex.kernels.statistics import accumulate_batch, unit_scales_batch
from tests.learning.samples import interrupt_when


def make_shapes(n_shapes=80, n_coordinates=8, n_atoms=5, n_nonzero=2, seed=0, noise=0.02):
    rng = np.random.default_rng(seed)
    shape = (n_atoms, n_coordinates)
    atoms = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    codes = np.zeros((n_shapes, n_atoms), complex)
    for code in codes:
        chosen = rng.choice(n_atoms, n_nonzero, replace=False)
        code[chosen] = rng.normal(size=n_nonzero) + 1j * rng.normal(size=n_nonzero)
    X = codes @ atoms
    X += noise * (rng.normal(size=X.shape) + 1j * rng.normal(size=X.shape))
    return X * np.exp(1j * rng.uniform(0, 6, size=(n_shapes, 1))) + rng.normal(size=(n_shapes, 1))


@pytest.fixture(scope="module")
def shapes():
    return make_shapes()


@pytest.fixture(scope="module")
def fitted(shapes):
    return sx.ShapeDictionary(n_atoms=5, n_nonzero=2, random_state=0, max_iter=20, tol=0).fit(shapes)


class TestFit:
    @pytest.mark.parametrize("kind", [sx.ShapeDictionary, sx.AlignFirstDictionary])
    def test_attributes(self, kind, shapes):
        fitted = kind(n_atoms=5, n_nonzero=2, random_state=0, max_iter=20, tol=0).fit(shapes)
        space = fitted.space_
        assert space == sx.Landmarks(8)
        assert fitted.atoms_.shape == (5, 8)
        np.testing.assert_allclose(space.norm(fitted.atoms_), 1, atol=1e-12)
        np.testing.assert_allclose(space.center(fitted.atoms_), 0, atol=1e-12)
        assert fitted.usage_.shape == (5,)
        assert fitted.usage_.sum() == pytest.approx(fitted.encode(shapes).counts().mean())
        assert fitted.n_iter_ >= 2
        assert fitted.loss_curve_.shape == (fitted.n_iter_ + 1,)
        assert fitted.n_features_in_ == 8
        assert fitted.rmse_ == pytest.approx(np.sqrt(np.mean(fitted.errors(shapes) ** 2)), rel=1e-9)
        assert fitted.score(shapes) == pytest.approx(-fitted.rmse_, rel=1e-9)

    @pytest.mark.parametrize("distance", ["partial", "geodesic"])
    def test_other_distances_never_rise(self, shapes, distance):
        model = sx.ShapeDictionary(n_atoms=4, n_nonzero=1, distance=distance, random_state=0, max_iter=15).fit(shapes)
        reconstructed = model.reconstruct(shapes)
        rmse = np.sqrt(np.mean(sx.distance(shapes, reconstructed, kind=distance) ** 2))
        assert model.rmse_ == pytest.approx(rmse, rel=1e-8)

    def test_random_states(self, shapes):
        def fit(random_state):
            return sx.ShapeDictionary(n_atoms=4, n_nonzero=2, max_iter=2, random_state=random_state).fit(shapes).atoms_

        np.testing.assert_array_equal(fit(np.random.RandomState(1)), fit(np.random.RandomState(1)))
        np.testing.assert_array_equal(fit(np.random.default_rng(1)), fit(1))
        assert fit(None).shape == (4, 8)
        with pytest.raises(ValueError, match="random_state must be a seed"):
            fit("seed")

    def test_given_first_dictionary(self, shapes):
        model = sx.ShapeDictionary(n_atoms=3, n_nonzero=1, init=5 * shapes[:3] + 1, max_iter=0).fit(shapes)
        np.testing.assert_allclose(model.atoms_, model.space_.preshape(shapes[:3]), atol=1e-12)
        with pytest.raises(ShapeInputError, match="init must be"):
            sx.ShapeDictionary(n_atoms=4, n_nonzero=1, init=shapes[:3]).fit(shapes)

    def test_restarts_keep_the_best(self, shapes):
        settings = {"n_atoms": 5, "n_nonzero": 2, "n_swaps": 3, "max_iter": 10, "random_state": 0}
        one = sx.ShapeDictionary(**settings).fit(shapes)
        five = sx.ShapeDictionary(**settings, n_restarts=5).fit(shapes)
        assert five.rmse_ <= one.rmse_ * (1 + 1e-6)

    def test_warns_when_not_converged(self, shapes):
        with pytest.warns(ConvergenceWarning, match="still changed after max_iter=1 iterations"):
            sx.ShapeDictionary(n_atoms=5, n_nonzero=2, init="random", max_iter=1, random_state=0).fit(shapes)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the passes of the default learner are limited anyway
            sx.ShapeDictionary(n_atoms=5, n_nonzero=2, max_iter=1, random_state=0).fit(shapes)


class TestBadInput:
    def test_bad_shapes(self, shapes):
        model = sx.ShapeDictionary(n_atoms=3, n_nonzero=1)
        with pytest.raises(ParameterError, match=r"n_atoms must be at most the number of shapes, 2, got 3"):
            model.fit(shapes[:2])
        with pytest.raises(CoordinateCountError, match="has 8 coordinates per shape, but the space has 9"):
            sx.ShapeDictionary(space=sx.Landmarks(9)).fit(shapes)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_nonzero": 12, "n_atoms": 10}, "n_nonzero must be between 1 and n_atoms=10, got 12"),
            ({"n_nonzero": 0}, "n_nonzero must be at least 1, got 0"),
            ({"n_atoms": 0}, "n_atoms must be at least 1, got 0"),
            ({"coder": "lasso"}, "coder must be one of 'auto'.*got 'lasso'"),
            ({"distance": "euclid"}, "distance must be one of"),
            ({"init": "zeros"}, "init must be one of"),
            ({"n_restarts": 0}, "n_restarts must be at least 1"),
            ({"max_iter": -1}, "max_iter must be at least 0"),
            ({"tol": -1}, "tol must be finite and not negative"),
            ({"batch_size": 0}, "batch_size must be at least 1"),
            ({"device": "toaster"}, "device.*toaster"),
            ({"n_jobs": 0}, "n_jobs must be a number of threads"),
            ({"n_jobs": True}, "n_jobs must be a number of threads"),
            ({"batch_size": 10, "n_restarts": 2}, "batches needs n_restarts=1"),
            ({"tie": -1.0}, "tie must be"),
            ({"tie": 0.3}, "tie=0"),
            ({"n_swaps": -1}, "n_swaps must be"),
            ({"nested": True}, "leave it out"),
            ({"effort": 0.5}, "effort must be"),
            ({"init": "spread"}, "'auto'"),
        ],
    )
    def test_bad_parameters(self, shapes, parameters, message):
        model = sx.ShapeDictionary(**{"n_atoms": 3, "n_nonzero": 1, **parameters})
        with pytest.raises(ValueError, match=message):
            model.fit(shapes)


class TestCodes:
    def test_transform_round_trip(self, fitted, shapes):
        codes = fitted.encode(shapes)
        dense = fitted.transform(shapes)
        assert (np.count_nonzero(dense, axis=1) <= 2).all()
        np.testing.assert_array_equal(codes.toarray(), dense)
        np.testing.assert_allclose(fitted.inverse_transform(codes), fitted.inverse_transform(dense), atol=1e-12)
        reconstructed = fitted.reconstruct(shapes)
        np.testing.assert_allclose(reconstructed, dense @ fitted.atoms_, atol=1e-12)
        residuals = fitted.space_.norm(fitted.space_.preshape(shapes) - reconstructed)
        np.testing.assert_allclose(fitted.errors(shapes), residuals, atol=1e-12)
        np.testing.assert_allclose(fitted.errors(shapes), sx.distance(shapes, reconstructed), atol=1e-10)

    def test_realism(self, fitted, shapes, monkeypatch):
        expected = sx.pairwise_distances(fitted.atoms_, shapes).min(axis=1)
        np.testing.assert_allclose(fitted.realism(shapes), expected)
        monkeypatch.setattr("shapelex.estimators.shape_dictionary._REALISM_BLOCK", 7)
        np.testing.assert_allclose(fitted.realism(shapes), expected)


class TestPartialFit:
    def test_batches_improve_on_the_first_dictionary(self):
        X = make_shapes(4000, noise=0.05)
        first = sx.ShapeDictionary(n_atoms=5, n_nonzero=2, random_state=0, max_iter=0).fit(X)
        online = sx.ShapeDictionary(n_atoms=5, n_nonzero=2, random_state=0)
        for _ in range(5):
            for start in range(0, 4000, 200):
                online.partial_fit(X[start : start + 200])
        assert -online.score(X) < 0.5 * first.rmse_
        assert online.n_iter_ == 100
        # Its batches were coded over earlier dictionaries, as a rule poorer ones.
        assert -online.score(X) < online.rmse_ < 0.5 * first.rmse_

    def test_forgets(self):
        old, new = make_shapes(300, seed=1), make_shapes(300, seed=2)
        model = sx.ShapeDictionary(n_atoms=5, n_nonzero=2, random_state=0)
        for _ in range(10):
            model.partial_fit(old)
        before = -model.score(new)
        for _ in range(40):
            model.partial_fit(new)
        assert -model.score(new) < 0.5 * before

    def test_fit_starts_anew(self, shapes):
        model = sx.ShapeDictionary(n_atoms=5, n_nonzero=2, random_state=0, max_iter=5)
        fresh = clone(model).fit(shapes).atoms_
        model.partial_fit(make_shapes(seed=9)).fit(shapes)
        np.testing.assert_array_equal(model.atoms_, fresh)

    def test_goes_on_from_a_fitted_dictionary(self, tmp_path):
        X = make_shapes(600, noise=0.05)
        model = sx.ShapeDictionary(n_atoms=5, n_nonzero=2, random_state=0).fit(X)
        before, n_before = -model.score(X), model.n_iter_
        path = model.save(tmp_path / "model")
        model.partial_fit(X[:20])
        assert -model.score(X) < 1.2 * before
        assert model.n_iter_ == n_before + 1
        loaded = sx.load(path).partial_fit(X[:20])
        np.testing.assert_array_equal(loaded.atoms_, model.atoms_)
        assert loaded.rmse_ == pytest.approx(model.rmse_, rel=1e-12)
        np.testing.assert_allclose(loaded.usage_, model.usage_, rtol=1e-12)
        loaded.partial_fit(X[:2])

    def test_parameters_may_change_between_batches(self, shapes):
        model = sx.ShapeDictionary(n_atoms=5, n_nonzero=2, random_state=0).partial_fit(shapes)
        model.set_params(n_nonzero=4).partial_fit(shapes)
        assert model.usage_.sum() > 2.5
        with pytest.raises(ValueError, match="needs n_restarts=1, got 3"):
            model.set_params(n_restarts=3).partial_fit(shapes)


class TestCitizenship:
    def test_pipeline_grid_search_and_cross_validation(self):
        first, second = make_shapes(40, seed=1), make_shapes(40, seed=2)
        X, y = np.concatenate([first, second]), np.repeat(["a", "b"], 40)
        pipeline = make_pipeline(
            sx.ShapeDictionary(n_atoms=8, n_nonzero=2, random_state=0, max_iter=10),
            sx.CodeFeatures(),
            LogisticRegression(max_iter=1000),
        )
        assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.6
        search = GridSearchCV(
            sx.ShapeDictionary(n_atoms=5, random_state=0, max_iter=5), {"n_nonzero": [1, 2, 3]}, cv=3
        ).fit(first)
        errors = -search.cv_results_["mean_test_score"]
        assert errors[0] > errors[1] > 0
        assert search.best_params_["n_nonzero"] > 1

    def test_verbose_and_log(self, shapes, capsys, caplog):
        model = sx.ShapeDictionary(
            n_atoms=3, n_nonzero=1, coder="ormp", init="random", max_iter=3, tol=0, random_state=0
        )
        with caplog.at_level(logging.DEBUG, logger="shapelex"):
            clone(model).fit(shapes)
        # The first use of a kernel logs that it is compiled.
        messages = [message for message in caplog.messages if "ompiling" not in message]
        assert len(messages) == 4
        assert "stage 1/1, iteration 3/3, RMSE 0." in messages[-1]
        captured = capsys.readouterr()
        assert captured.out == captured.err == ""
        clone(model).set_params(verbose=2).fit(shapes)
        assert capsys.readouterr().err.count(", iteration ") == 4

    @pytest.mark.parametrize(
        ("parameters", "n_descents", "n_iterations"),
        [
            ({"batch_size": 30}, 3, 5),
            ({"n_restarts": 2, "init": "random"}, 2, 8),
            ({"init": "random", "max_iter": 10}, 1, 3),  # stopped
        ],
    )
    def test_scikit_learn_callbacks(self, shapes, parameters, n_descents, n_iterations):
        callback_module = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")

        class Recorder:
            def __init__(self):
                self.events, self.scores = [], []

            def setup(self, estimator, context):
                self.events.append("setup")

            def teardown(self, estimator, context):
                self.events.append("teardown")

            def on_fit_task_begin(self, estimator, context):
                pass

            def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
                self.events.append(context.task_name)
                if context.task_name == "iteration":
                    self.scores.append(fitted_estimator.score(X))
                return context.task_name == "iteration" and n_descents == 1 and context.task_id == 2

        recorder = Recorder()
        assert isinstance(recorder, callback_module.FitCallback)
        model = sx.ShapeDictionary(5, 2, random_state=0, **{"max_iter": 3, "tol": 0, **parameters})
        model.set_callbacks(recorder).fit(shapes)
        assert (recorder.events[0], recorder.events[-1]) == ("setup", "teardown")
        assert recorder.events.count("descent") == n_descents
        assert len(recorder.scores) == n_iterations
        if n_descents == 1:
            assert model.n_iter_ == 2
            np.testing.assert_allclose(recorder.scores, -np.sqrt(model.loss_curve_), rtol=1e-9)

    def test_a_failed_fit_leaves_the_model_as_it_was(self, fitted, shapes):
        model = pickle.loads(pickle.dumps(fitted))
        with pytest.raises(ParameterError, match="n_atoms must be at most the number of shapes, 3, got 5"):
            model.fit(shapes[:3, :6])
        np.testing.assert_array_equal(model.transform(shapes), fitted.transform(shapes))

    def test_strings_of_numpy_are_strings(self, shapes):
        sx.ShapeDictionary(n_atoms=3, n_nonzero=1, coder=np.str_("ormp"), max_iter=1).fit(shapes)

    def test_weights_out_of_range_are_refused(self, shapes):
        with pytest.raises(ShapeInputError, match="largest sample_weight must lie between"):
            sx.ShapeDictionary(n_atoms=3, n_nonzero=1).fit(shapes, sample_weight=np.full(80, 1e308))


@pytest.mark.parametrize(
    ("options", "is_time"),
    [
        ({"n_swaps": 10}, lambda learner: learner.plan[learner.stage].kind == "swap" and learner.share > 0.6),
        ({"init": "random", "max_iter": 50, "tol": 0}, lambda learner: learner.n_passes == 5),
    ],
    ids=["swaps", "descent"],
)
def test_an_interrupt_keeps_the_best_and_raises(options, is_time, monkeypatch):
    X = make_shapes(400, n_atoms=8, n_nonzero=3)
    first = sx.ShapeDictionary(8, 3, random_state=0, max_iter=0).fit(X)
    interrupt_when(is_time, monkeypatch)
    model = sx.ShapeDictionary(8, 3, random_state=0, **options)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert -model.score(X) < first.rmse_
    assert model.rmse_ == pytest.approx(-model.score(X), rel=1e-9)
    assert model.n_iter_ == 4 or "n_swaps" in options


class TestBatches:
    @pytest.mark.parametrize("distance", ["full", "partial", "geodesic"])
    @pytest.mark.parametrize("is_fitted", [False, True])
    def test_usage_is_a_fraction_of_the_shapes(self, distance, is_fitted, tmp_path):
        model = sx.ShapeDictionary(4, 1, distance=distance, max_iter=3, random_state=0)
        if is_fitted:
            model = sx.load(model.fit(make_shapes(60)).save(tmp_path / "model"))
        for seed in range(3):
            model.partial_fit(make_shapes(50, seed=seed))
            assert model.usage_.sum() == pytest.approx(1, abs=1e-12)

    def test_no_pass_leaves_a_model_that_learns_on_and_is_saved(self, tmp_path):
        X = make_shapes(60)
        model = sx.ShapeDictionary(4, 2, batch_size=10, max_iter=0, random_state=0).fit(X)
        assert model._memory.products.shape == (4, 8)
        loaded = sx.load(model.save(tmp_path / "model"))
        np.testing.assert_array_equal(loaded.partial_fit(X).atoms_, model.partial_fit(X).atoms_)

    def test_batches_do_not_change_the_number_of_atoms(self):
        X = make_shapes(60)
        model = sx.ShapeDictionary(3, 2, random_state=0).fit(X)
        for _ in range(2):
            with pytest.raises(ValueError, match="n_atoms must be 3, the number of atoms of this dictionary, got 5"):
                model.set_params(n_atoms=5).partial_fit(X)
            model.set_params(n_atoms=3).partial_fit(X)
        assert model.atoms_.shape == (3, 8)


def test_a_single_precision_start_does_not_lower_the_precision():
    X = make_shapes(80)
    settings = {"n_atoms": 4, "n_nonzero": 2, "coder": "ormp", "max_iter": 5, "tol": 0}
    start = X[:4].astype(np.complex64)
    model = sx.ShapeDictionary(**settings, init=start).fit(X)
    assert model.atoms_.dtype == np.complex128
    expected = sx.ShapeDictionary(**settings, init=start.astype(np.complex128)).fit(X)
    np.testing.assert_allclose(model.atoms_, expected.atoms_, atol=1e-6)
    np.testing.assert_allclose(model.rmse_, np.sqrt(np.mean(model.errors(X) ** 2)), rtol=1e-12)


def test_one_class_of_convergence_warnings():
    from shapelex import exceptions

    assert exceptions.ConvergenceWarning is ConvergenceWarning
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
        sx.ShapeDictionary(4, 2, max_iter=1, tol=0, random_state=0).fit(make_shapes(60))
        sx.mean_shape(make_shapes(20), "geodesic", max_iter=1)


def test_read_only_arrays_are_neither_changed_nor_compiled_for_again():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(40, 5)) + 1j * rng.normal(size=(40, 5)), rng.uniform(size=40)
    model = sx.ShapeDictionary(3, 2, tol=1, random_state=0)
    atoms = model.fit(X, sample_weight=weights).atoms_
    kernels = (accumulate_batch, unit_scales_batch)
    n_compiled = [len(kernel.signatures) for kernel in kernels]
    X.flags.writeable = weights.flags.writeable = False
    np.testing.assert_array_equal(model.fit(X, sample_weight=weights).atoms_, atoms)
    assert [len(kernel.signatures) for kernel in kernels] == n_compiled


def test_an_unknown_coder_is_named_as_the_parameter_that_it_is(fitted, shapes):
    model = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(ValueError, match="coder must be one of"):
        model.set_params(coder="foo").encode(shapes)
