"""Arrays in, the same kind out: torch tensors and arrays of the array API standard."""

from collections import deque

import numpy as np
import pytest

import shapelex as sx
from shapelex._arrays import to_numpy
from shapelex.exceptions import NonFiniteError
from shapelex.shapes.storage import TensorShapes

CIRCLE = np.exp(2j * np.pi * np.arange(12) / 12)
QUICK = {"n_swaps": 0, "max_iter": 2, "tol": 1.0, "random_state": 0}


def make_shapes(dtype=complex):
    rng = np.random.default_rng(0)
    X = CIRCLE + 0.1 * rng.normal(size=(20, 3)) @ [CIRCLE**2, CIRCLE**3, 1 / CIRCLE]
    return X.astype(dtype)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def make_kind(kind):
    """Return a function that makes arrays of a library from NumPy's, and a check that an array is one of them."""
    if kind == "array API":
        strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
        return strict.asarray, lambda array: isinstance(array, type(strict.asarray(1.0)))
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if kind == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return (
        lambda array: torch.from_numpy(np.array(array)).to(kind),
        lambda array: isinstance(array, torch.Tensor) and array.device.type == kind,
    )


on_all_kinds = pytest.mark.parametrize("kind", ["cpu", "cuda", "array API"])


@on_all_kinds
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    "function",
    [
        lambda X: sx.distance(X, X[0, ...]),
        lambda X: sx.distance(X[0, ...], X[1, ...]),
        lambda X: sx.distance(X, make_shapes()[::-1]),
        lambda X: sx.pairwise_distances(X),
        lambda X: sx.pairwise_distances(X[:3, ...], kind="geodesic", W=X),
        lambda X: sx.mean_shape(X),
        lambda X: sx.mean_shape(X, kind="partial"),
        lambda X: sx.align_to_mean(X),
        lambda X: sx.optimal_rotation(X, X[0, ...]),
        lambda X: sx.rotate_onto(X, X[0, ...]),
        lambda X: sx.align_onto(X, X[0, ...]),
        lambda X: sx.geodesic(X[0, ...], X[1, ...], 0.5),
        lambda X: sx.exp(X[0, ...], sx.log(X[0, ...], X[1, ...])),
        lambda X: sx.parallel_transport(X[0, ...], X[1, ...], sx.horizontal_projection(X[0, ...], X[2, ...])),
    ],
)
def test_functions(kind, dtype, function):
    make, is_kind = make_kind(kind)
    X = make_shapes(dtype)
    expected, found = function(X), function(make(X))
    assert is_kind(found)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(to_numpy(found), expected)
    assert to_numpy(found).dtype == expected.dtype


@on_all_kinds
@pytest.mark.parametrize(
    ("estimator", "methods"),
    [
        (sx.ShapeDictionary(3, 2, **QUICK), ["transform", "reconstruct", "errors", "realism"]),
        (sx.AlignFirstDictionary(3, 2, **QUICK), ["transform", "reconstruct", "errors"]),
        (sx.ComplexPCA(2), ["transform", "reconstruct", "errors"]),
        (sx.TangentPCA(2), ["transform", "reconstruct", "errors"]),
        (sx.RiemannianDictionary(3, max_iter=1, tol=1.0, random_state=0), ["transform", "reconstruct", "errors"]),
        (sx.ProcrustesKernel(), ["fit_transform", "transform", "__call__", "encode"]),
        (sx.OutlineRegistration(space=sx.Landmarks(12, closed=True)), ["transform"]),
        (sx.OutlineConvolutions(random_state=0), ["transform"]),
        (sx.CodeFeatures(dictionary=sx.ShapeDictionary(3, 2, **QUICK)), ["fit_transform", "transform"]),
        (sx.ShapeDictionaryClassifier(2, 1, **QUICK), ["class_errors", "predict_proba"]),
    ],
    ids=lambda one: type(one).__name__ if not isinstance(one, list) else "",
)
def test_estimators(kind, estimator, methods):
    make, is_kind = make_kind(kind)
    X, y = make_shapes(), np.arange(20) % 2
    estimator.fit(X, y)
    expected = {name: getattr(estimator, name)(X) for name in methods}
    estimator.fit(make(X), y)
    for name in methods:
        found = getattr(estimator, name)(make(X))
        assert is_kind(found), name
        # Convolutions are in single precision, and a GPU adds in another order.
        is_single = kind == "cuda" and isinstance(estimator, sx.OutlineConvolutions)
        tolerance = 1e-4 if is_single else 1e-12
        np.testing.assert_allclose(to_numpy(found), expected[name], rtol=tolerance, atol=tolerance)


@on_all_kinds
def test_codes_and_labels(kind):
    make, is_kind = make_kind(kind)
    X = make_shapes()
    model = sx.ShapeDictionary(3, 2, **QUICK).fit(X)
    codes = model.encode(make(X))
    assert codes == model.encode(X)
    assert sx.encode(make(X), make(model.atoms_), 2) == sx.encode(X, model.atoms_, 2)
    assert is_kind(sx.decode(codes, make(model.atoms_)))
    assert is_kind(model.inverse_transform(model.transform(make(X))))
    # Labels that are text have no array of another kind; numbers have.
    classifier = sx.ShapeDictionaryClassifier(2, 1, **QUICK)
    assert isinstance(classifier.fit(X, ["a", "b"] * 10).predict(make(X)), np.ndarray)
    assert is_kind(classifier.fit(X, [3, 5] * 10).predict(make(X)))


@on_all_kinds
def test_real_points_sets_and_errors(kind):
    make, is_kind = make_kind(kind)
    X = make_shapes()
    points = sx.to_points(X)
    assert is_kind(sx.distance(make(points), make(points[::-1].copy())))
    np.testing.assert_array_equal(sx.ShapeSet(make(points)).configurations, X)
    X[3, 0] = np.nan
    with pytest.raises(NonFiniteError, match="row 3"):
        sx.ShapeDictionary(3, 2, **QUICK).fit(make(X))


def test_lazily_conjugated_tensors_and_gradients(torch):
    X = torch.from_numpy(make_shapes())
    torch.testing.assert_close(sx.mean_shape(X.conj()), torch.from_numpy(sx.mean_shape(X.numpy().conj())))
    assert not sx.mean_shape(X.clone().requires_grad_()).requires_grad


class TestDevice:
    """A model on a GPU and shapes on the same GPU: nothing travels through the host."""

    @pytest.fixture(autouse=True)
    def _gpu(self, torch):
        if not torch.cuda.is_available():
            pytest.skip("there is no GPU")

    @pytest.mark.parametrize("is_real", [False, True])
    @pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
    def test_results_equal_those_of_the_host(self, torch, dtype, is_real):
        X = make_shapes(dtype)
        given = torch.from_numpy(sx.to_points(X) if is_real else X).cuda()
        model = sx.ShapeDictionary(3, 2, device="cuda", **QUICK).fit(given)
        np.testing.assert_array_equal(model.atoms_, sx.ShapeDictionary(3, 2, device="cuda", **QUICK).fit(X).atoms_)
        for name in ("transform", "reconstruct", "errors"):
            found = getattr(model, name)(given)
            assert found.device.type == "cuda"
            expected = getattr(model, name)(X)
            assert to_numpy(found).dtype == expected.dtype
            np.testing.assert_allclose(to_numpy(found), expected, atol=1e-5 if dtype == np.complex64 else 1e-12)
        assert model.encode(given) == model.encode(X)

    def test_no_large_copy_leaves_the_device(self, torch, monkeypatch):
        X = torch.from_numpy(np.tile(make_shapes(), (50, 1))).cuda()
        model = sx.ShapeDictionary(3, 2, device="cuda", **QUICK).fit(X)
        copied = []
        to_host = torch.Tensor.cpu
        monkeypatch.setattr(torch.Tensor, "cpu", lambda self: copied.append(self.numel()) or to_host(self))
        for name in ("transform", "reconstruct", "errors"):
            getattr(model, name)(X)
        assert sum(copied) <= 3 * X.shape[1]


class TestTensorShapes:
    """The path of tensors on a GPU, followed on the CPU."""

    @pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
    @pytest.mark.parametrize("is_real", [False, True])
    def test_passes_of_torch_read_the_tensor_itself(self, torch, dtype, is_real, monkeypatch):
        from shapelex.coding.encoding import dense_codes_on_device, shape_errors_on_device
        from shapelex.coding.torch.device_coder import DeviceCoder

        X = make_shapes(dtype)
        shapes = TensorShapes(torch.from_numpy(sx.to_points(X) if is_real else X), None, "X")
        assert shapes.shape == X.shape
        assert shapes.dtype == dtype
        np.testing.assert_array_equal(shapes[2:5], X[2:5])
        plain = sx.ShapeDictionary(3, 2, device="torch", **QUICK).fit(X)
        monkeypatch.setattr(DeviceCoder, "block_rows", lambda self: 7)
        monkeypatch.setattr(TensorShapes, "read", lambda self, start, stop: pytest.fail("read by the host"))
        coding = plain._coding()
        tolerance = 1e-5 if dtype == np.complex64 else 1e-12
        np.testing.assert_allclose(dense_codes_on_device(shapes, coding).numpy(), plain.transform(X), atol=tolerance)
        np.testing.assert_allclose(shape_errors_on_device(shapes, coding).numpy(), plain.errors(X), atol=tolerance)
        assert plain.encode(shapes) == plain.encode(X)

    def test_learning(self, torch):
        X = make_shapes()
        tensor = TensorShapes(torch.from_numpy(X), None, "X")
        models = [sx.ShapeDictionary(3, 2, device="torch", **QUICK).fit(shapes) for shapes in (X, tensor)]
        np.testing.assert_array_equal(models[0].atoms_, models[1].atoms_)

    def test_a_model_returns_tensors_of_its_device(self, torch, monkeypatch):
        X = make_shapes()
        model = sx.ShapeDictionary(3, 2, device="torch", **QUICK).fit(X)
        expected = {name: getattr(model, name)(X) for name in ("transform", "reconstruct", "errors")}

        def is_there(value, device):
            return isinstance(value, torch.Tensor) and device == "torch"

        monkeypatch.setattr("shapelex._arrays.is_on_device", is_there)
        monkeypatch.setattr("shapelex.estimators.shape_dictionary.is_on_device", is_there)
        for name, values in expected.items():
            np.testing.assert_allclose(getattr(model, name)(torch.from_numpy(X)).numpy(), values, atol=1e-12)


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_blocks_of_tensors(kind):
    make, _ = make_kind(kind)
    X = make_shapes()
    parts = [X[:12], X[12:]]
    expected = sx.ShapeDictionary(3, 2, **QUICK).fit(parts)
    # A deque has a length and begins anew, like a data loader.
    for blocks in (list(map(make, parts)), deque(map(make, parts))):
        found = sx.ShapeDictionary(3, 2, **QUICK).fit(blocks)
        assert found.rmse_ == pytest.approx(expected.rmse_)
