import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import shapelex as sx
from shapelex.exceptions import CodesError, EmptySetError, NonFiniteError

KINDS = ["modulus", "phase", "similarity", "tangent"]
CIRCLE = np.exp(2j * np.pi * np.arange(12) / 12)
SPACES = [None, sx.BSpline(12), sx.HermiteSpline(6)]


@pytest.fixture
def codes(rng):
    dense = rng.normal(size=(30, 4)) + 1j * rng.normal(size=(30, 4)) + [2, 0, 0, 1j]
    dense[rng.uniform(size=dense.shape) < 0.4] = 0
    return dense


def make(kind, n_atoms=4):
    atoms = np.random.default_rng(1).normal(size=(n_atoms, 6)) + 1j * np.random.default_rng(2).normal(size=(n_atoms, 6))
    return sx.CodeFeatures(kind, atoms=atoms if kind in ("tangent", "similarity") else None)


def make_shapes(seed=0):
    """Two kinds of outlines that differ in a mode only, in any pose."""
    rng = np.random.default_rng(seed)
    X = CIRCLE + 0.1 * rng.normal(size=(40, 3)) @ [CIRCLE**2, CIRCLE**3, CIRCLE**-2]
    X[20:] += 0.3j * CIRCLE**-1
    X[:20] -= 0.3j * CIRCLE**-1
    poses = rng.uniform(0.5, 2, (40, 1)) * np.exp(1j * rng.uniform(0, 6, (40, 1)))
    return poses * X + rng.normal(size=(40, 1)), np.repeat(["left", "right"], 20)


def make_dictionary(**options):
    return sx.ShapeDictionary(
        **{"n_atoms": 5, "n_nonzero": 2, "coder": "ormp", "n_swaps": 0, "max_iter": 5} | options, random_state=0
    )


class TestOracles:
    """Each kind against its definition, one shape at a time, in the coordinates and the product of the space."""

    @pytest.fixture(params=SPACES, ids=repr)
    def fitted(self, request):
        X, _ = make_shapes()
        dictionary = make_dictionary(space=request.param).fit(X)
        return X, dictionary, dictionary.space_, dictionary.encode(X).toarray()

    @pytest.mark.parametrize("kind", ["modulus", "similarity"])
    def test_features(self, fitted, kind):
        X, dictionary, space, codes = fitted
        columns = sx.CodeFeatures(kind, dictionary=clone(dictionary)).fit_transform(X)
        for code, shape, row in zip(codes, dictionary.inverse_transform(codes), columns, strict=True):
            if kind == "modulus":
                expected = [abs(weight) for weight in code]
            else:
                expected = [abs(space.inner(atom, shape)) for atom in dictionary.atoms_]
            np.testing.assert_allclose(row, expected, atol=1e-10)

    def test_tangent_products_are_those_of_horizontal_vectors(self, fitted):
        X, dictionary, space, codes = fitted
        columns = sx.CodeFeatures("tangent", dictionary=clone(dictionary)).fit_transform(X)
        shapes = dictionary.inverse_transform(codes)
        # Not the mean shape: reconstructions of shapes far from the dictionary are shorter, and count less.
        mean = sx.mean_shape(shapes, weights=space.norm(shapes) ** 2, space=space)
        vectors = []
        for shape in shapes:
            product = space.inner(mean, shape)
            vectors.append(shape * np.conj(product) / abs(product) - abs(product) * mean)
        expected = [[space.inner(one, other).real for other in vectors] for one in vectors]
        np.testing.assert_allclose(columns @ columns.T, expected, atol=1e-10)

    def test_phases_put_shapes_along_the_mean(self, fitted):
        X, dictionary, space, codes = fitted
        columns = sx.CodeFeatures("phase", dictionary=clone(dictionary)).fit_transform(X)
        shapes = dictionary.inverse_transform(codes)
        mean = sx.mean_shape(shapes, weights=space.norm(shapes) ** 2, space=space)
        turns = sx.rotate_onto(shapes, mean, space=space)[:, 0] / shapes[:, 0]
        expected = codes * (turns / np.abs(turns))[:, None]
        ours = columns[:, :5] + 1j * columns[:, 5:]
        # The pose of the mean is free, so phases are only known up to one for all shapes.
        common = np.vdot(ours, expected) / abs(np.vdot(ours, expected))
        np.testing.assert_allclose(ours * common, expected, atol=1e-8)


class TestShapes:
    @pytest.mark.parametrize("kind", KINDS)
    def test_does_not_depend_on_pose(self, kind):
        X, _ = make_shapes()
        features = sx.CodeFeatures(kind, dictionary=make_dictionary()).fit(X)
        columns = features.transform(X)
        assert np.ptp(columns, axis=0).max() > 0.1
        rng = np.random.default_rng(1)
        poses = rng.uniform(0.1, 9, (40, 1)) * np.exp(1j * rng.uniform(0, 6, (40, 1)))
        np.testing.assert_allclose(features.transform(poses * X + 5 * rng.normal(size=(40, 1))), columns, atol=1e-9)
        np.testing.assert_allclose(features.transform(sx.to_points(X)), columns, atol=1e-9)
        np.testing.assert_array_equal(clone(features).fit_transform(X), columns)

    def test_auto_is_tangent_with_atoms_and_phase_without(self, codes):
        X, _ = make_shapes()
        features = sx.CodeFeatures(dictionary=make_dictionary()).fit(X)
        assert features.kind_ == "tangent"
        assert clone(features).fit_transform(X.astype(np.complex64)).dtype == np.float32
        assert features.n_features_in_ == 12
        assert sx.CodeFeatures().fit(codes).kind_ == "phase"

    def test_align_first_dictionaries(self):
        X, _ = make_shapes()
        features = sx.CodeFeatures(dictionary=sx.AlignFirstDictionary(5, 2, max_iter=10, random_state=0)).fit(X)
        np.testing.assert_allclose(features.transform(2j * X + 1), features.transform(X), atol=1e-9)

    def test_bad_input(self):
        X, _ = make_shapes()
        with pytest.raises(TypeError, match=r"dictionary must be a ShapeDictionary\(…\) or None, got LogisticReg"):
            sx.CodeFeatures(dictionary=LogisticRegression()).fit(X)
        with pytest.raises(ValueError, match="leave atoms out"):
            sx.CodeFeatures(dictionary=make_dictionary(), atoms=X[:5]).fit(X)


class TestCodes:
    @pytest.mark.parametrize(("kind", "n_columns"), [("modulus", 4), ("phase", 8), ("similarity", 4), ("tangent", 12)])
    def test_columns(self, codes, kind, n_columns):
        features = make(kind)
        columns = features.fit_transform(codes)
        assert columns.shape == (30, n_columns)
        assert columns.dtype == np.float64
        names = features.get_feature_names_out()
        assert len(set(names)) == n_columns
        assert names[0] == ("real0" if n_columns > 4 else f"{kind}0")
        sparse = sx.SparseCodes([[0, 2], [1, -1]], [[1j, 2], [1, 0]], n_atoms=4)
        np.testing.assert_allclose(features.transform(sparse), features.transform(sparse.toarray()))

    def test_bad_input(self, codes):
        with pytest.raises(ValueError, match="kind must be one of 'auto', 'modulus', 'phase', 'similarity', 'tangent'"):
            sx.CodeFeatures("angle").fit(codes)
        for kind in ("tangent", "similarity"):
            with pytest.raises(ValueError, match=rf"CodeFeatures\('{kind}', dictionary=ShapeDictionary"):
                make_pipeline(make_dictionary(), sx.CodeFeatures(kind)).fit(make_shapes()[0])
        with pytest.raises(CodesError, match="atoms must have shape \\(4, n_coordinates\\)"):
            sx.CodeFeatures("tangent", atoms=np.ones((3, 6), complex)).fit(codes)
        with pytest.raises(NonFiniteError, match="atoms"):
            sx.CodeFeatures("tangent", atoms=np.full((4, 6), np.nan)).fit(codes)
        with pytest.raises(CodesError, match="X must hold codes over 4 atoms, as in fit, got 3 atoms"):
            sx.CodeFeatures().fit(codes).transform(codes[:, :3])
        with pytest.raises(CodesError, match=r"shape \(n_shapes, n_atoms\)"):
            sx.CodeFeatures().fit(codes[0])
        with pytest.raises(EmptySetError):
            sx.CodeFeatures().fit(codes[:0])
        with pytest.raises(NonFiniteError):
            sx.CodeFeatures().fit(codes * np.nan)


def test_a_set_of_shapes_is_no_set_of_codes():
    shapes = sx.ShapeSet(np.eye(4, 5) + 1j)
    with pytest.raises(CodesError, match="takes codes: CodeFeatures\\(dictionary=ShapeDictionary"):
        sx.CodeFeatures().fit(shapes)
