"""scikit-learn's own checks, through an adapter that reads real columns as configurations.

One estimator of each base class is checked by default, all where the environment variable CI is set.
"""

import os

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

import shapelex as sx
from shapelex.estimators.classification_methods import TangentMachine

pytestmark = pytest.mark.filterwarnings("ignore")


class RealColumns:
    """Takes the real tables that the checks make: each row is a polygon above equispaced points of the real line."""

    def _to_configurations(self, X, *, reset):
        X = validate_data(self, X, reset=reset, dtype=(np.float64, np.float32))
        if X.shape[1] < 2:
            raise ValueError(f"Found array with {X.shape[1]} feature(s) while a minimum of 2 is required.")
        return X.astype(np.result_type(X.dtype, np.complex64)) * 1j + np.arange(X.shape[1], dtype=X.dtype)

    def _open_input(self, X, space, sample_weight=None):
        # Tables of new shapes must have as many columns as those that were fitted.
        is_first = space is self.space
        return super()._open_input(self._to_configurations(X, reset=is_first), space, sample_weight)


class OnePointMore(RealColumns):
    """Adds a point to every polygon: some checks have two columns, and any two points have the same shape."""

    def _to_configurations(self, X, *, reset):
        configurations = super()._to_configurations(X, reset=reset)
        return np.concatenate([configurations, np.full_like(configurations[:, :1], -1)], axis=1)

    def _read_fit_input(self, X):
        configurations = super()._read_fit_input(X)
        self.n_features_in_ = configurations.shape[1] - 1
        return configurations


class PoorScore:
    """The checks' classes differ in position and size, which a shape forgets."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class ColumnsDictionary(RealColumns, sx.ShapeDictionary):
    def __init__(self, n_atoms=2, n_nonzero=1, *, max_iter=5, random_state=0):
        super().__init__(n_atoms, n_nonzero, max_iter=max_iter, random_state=random_state)


class ColumnsAlignFirst(RealColumns, sx.AlignFirstDictionary):
    def __init__(self, n_atoms=2, n_nonzero=1, *, max_iter=5, random_state=0):
        super().__init__(n_atoms, n_nonzero, max_iter=max_iter, random_state=random_state)


class ColumnsComplexPCA(RealColumns, sx.ComplexPCA):
    def __init__(self, n_components=None, *, subtract_average=False):
        super().__init__(n_components, subtract_average=subtract_average)


class ColumnsTangentPCA(OnePointMore, sx.TangentPCA):
    def __init__(self, n_components=None, *, projection="log"):
        super().__init__(n_components, projection=projection)


class ColumnsClassifier(PoorScore, RealColumns, sx.ShapeDictionaryClassifier):
    def __init__(self, n_atoms=2, n_nonzero=1, *, max_iter=5, random_state=0):
        super().__init__(n_atoms, n_nonzero, max_iter=max_iter, random_state=random_state)


class ColumnsRiemannian(RealColumns, sx.RiemannianDictionary):
    def __init__(self, n_atoms=2, *, max_iter=5, random_state=0):
        super().__init__(n_atoms, max_iter=max_iter, random_state=random_state)


class ColumnsRegistration(RealColumns, sx.OutlineRegistration):
    def __init__(self, *, reflection=False):
        super().__init__(reflection=reflection)


class ColumnsConvolutions(RealColumns, sx.OutlineConvolutions):
    def __init__(self, mirror=False, random_state=0):
        super().__init__(mirror=mirror, random_state=random_state)


class ColumnsShapeClassifier(PoorScore, OnePointMore, sx.ShapeClassifier):
    # Without class dictionaries, which are checked above and take most of the time.
    _pointwise = (TangentMachine,)

    def __init__(self, random_state=0):
        super().__init__(random_state=random_state)


COMPLEX_CODES = {"check_transformer_preserve_dtypes": "codes are complex, so float input cannot give float output"}
SWAPS = {
    "check_sample_weight_equivalence_on_dense_data": (
        "first atoms and swaps are drawn by row number; for given codes and first atoms weights do count copies"
    )
}
TOO_FEW_SHAPES = {
    "check_fit2d_1sample": 'the error says "the number of shapes, 1", where the check looks for "1 sample"'
}
NOTHING_VARIES = {"check_fit2d_1sample": 'the error says "one shape only", where the check looks for "1 sample"'}
EXPECTED_FAILURES = {
    ColumnsDictionary: COMPLEX_CODES | SWAPS | TOO_FEW_SHAPES,
    ColumnsAlignFirst: TOO_FEW_SHAPES
    | {"check_sample_weight_equivalence_on_dense_data": "atoms with weights and with copies may differ by their sign"},
    ColumnsComplexPCA: COMPLEX_CODES,
    ColumnsTangentPCA: NOTHING_VARIES,
    ColumnsClassifier: SWAPS | TOO_FEW_SHAPES,
    ColumnsRiemannian: SWAPS | TOO_FEW_SHAPES,
    ColumnsRegistration: {"check_transformer_preserve_dtypes": "outlines are complex"},
    ColumnsConvolutions: {},
    ColumnsShapeClassifier: {},
}


# A dictionary, principal components and a classifier.
REPRESENTATIVES = (ColumnsDictionary, ColumnsTangentPCA, ColumnsClassifier)


@parametrize_with_checks(
    [kind() for kind in (EXPECTED_FAILURES if os.environ.get("CI") else REPRESENTATIVES)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES[type(estimator)],
)
def test_common_checks(estimator, check):
    check(estimator)
