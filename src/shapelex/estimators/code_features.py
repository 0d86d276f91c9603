"""Real features from complex codes, for ordinary classifiers and regressors."""

from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_numeric_array, check_choice
from shapelex.coding import SparseCodes
from shapelex.estimators.configurations import numbered_names
from shapelex.exceptions import CodesError, EmptySetError, NonFiniteError

_KINDS = ("modulus", "phase", "tangent")


class CodeFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn complex codes into real columns that do not depend on how a shape is turned.

    Turning a shape multiplies its whole code by one phase. The moduli of its weights ignore that phase, and with it
    also how the atoms are turned against each other, which says much about a shape. The other two kinds turn each
    code, or the shape it stands for, to lie along the average of the training set, and keep both parts.

    Parameters
    ----------
    kind : {"modulus", "phase", "tangent"}, default "phase"
        ``"modulus"`` gives ``|a_j|``. ``"phase"`` gives real and imaginary parts of codes that are turned along their
        average: modulus and relative phase of every atom. ``"tangent"`` gives the reconstructed shapes, turned along
        their average, as coordinates in the tangent space there; it needs `atoms`.
    atoms : array_like of complex, shape (n_atoms, n_coordinates), optional
        The dictionary's atoms, for ``"tangent"``: ``dictionary.space_.whiten(dictionary.atoms_)``, or plain ``atoms_``
        for landmarks.

    Attributes
    ----------
    reference_ : ndarray of complex
        The average that codes (or reconstructions) are turned along.
    n_features_in_ : int
        Number of atoms.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([[1, 0.5j], [1j, -0.4]])
    >>> CodeFeatures(kind="modulus").fit_transform(codes)
    array([[1. , 0.5],
           [1. , 0.4]])
    >>> turned = CodeFeatures().fit(codes)
    >>> bool(np.allclose(turned.transform(codes), turned.transform(np.exp(1j) * codes)))
    True
    """

    def __init__(
        self, kind: Literal["modulus", "phase", "tangent"] = "phase", *, atoms: ArrayLike | None = None
    ) -> None:
        self.kind = kind
        self.atoms = atoms

    def fit(self, codes: SparseCodes | ArrayLike, y: Any = None) -> "CodeFeatures":  # noqa: ARG002
        """Find the average that codes are turned along.

        Parameters
        ----------
        codes : SparseCodes, or array_like of complex, shape (n_shapes, n_atoms)
            Codes of the training set.
        y : None
            Ignored.

        Returns
        -------
        CodeFeatures
            The transformer itself.
        """
        check_choice(self.kind, _KINDS, "kind")
        dense = _as_dense(codes)
        validate_data(self, dense, skip_check_array=True)
        vectors = self._vectors(dense)
        matrix = vectors.T @ vectors.conj()
        size = len(matrix)
        _, leading = eigh(matrix, subset_by_index=[size - 1, size - 1])
        reference = leading[:, 0]
        # The sign of an eigenvector is chance; the largest entry is made positive.
        largest = reference[np.argmax(np.abs(reference))]
        self.reference_ = reference * np.conj(largest) / np.abs(largest)
        return self

    def transform(self, codes: SparseCodes | ArrayLike) -> FloatArray:
        """Return the features.

        Parameters
        ----------
        codes : SparseCodes, or array_like of complex, shape (n_shapes, n_atoms)
            Codes.

        Returns
        -------
        ndarray of float, shape (n_shapes, n_features)
            ``n_atoms`` columns for ``"modulus"``, twice as many for ``"phase"``, and twice ``n_coordinates`` for
            ``"tangent"``.
        """
        check_is_fitted(self)
        dense = _as_dense(codes)
        if dense.shape[1] != self.n_features_in_:
            raise CodesError(
                f"codes are over {dense.shape[1]} atoms, but CodeFeatures was fitted on {self.n_features_in_}."
            )
        if self.kind == "modulus":
            return np.abs(dense)
        vectors = self._vectors(dense)
        products = vectors @ self.reference_.conj()
        moduli = np.abs(products)
        phases = np.where(moduli > 0, products, 1) / np.where(moduli > 0, moduli, 1)
        turned = vectors * phases.conj()[:, None]
        if self.kind == "tangent":
            turned = turned - moduli[:, None] * self.reference_
        return np.concatenate([turned.real, turned.imag], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:  # noqa: ARG002
        """Names of the columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
            ``modulus0 …``, or ``real0 … imag0 …``.
        """
        check_is_fitted(self)
        if self.kind == "modulus":
            return numbered_names(["modulus"], self.n_features_in_)
        return numbered_names(["real", "imag"], len(self.reference_))

    def _vectors(self, dense: ComplexArray) -> ComplexArray:
        if self.kind != "tangent":
            return dense
        if self.atoms is None:
            raise ValueError('kind="tangent" needs the atoms: CodeFeatures(kind="tangent", atoms=dictionary.atoms_).')
        atoms = as_numeric_array(self.atoms, "atoms")
        if atoms.ndim != 2 or len(atoms) != dense.shape[1]:
            raise CodesError(f"atoms must have {dense.shape[1]} rows, one for each column of codes, got {atoms.shape}.")
        vectors: ComplexArray = dense @ atoms
        return vectors


def _as_dense(codes: SparseCodes | ArrayLike) -> ComplexArray:
    if isinstance(codes, SparseCodes):
        return codes.toarray()
    dense = as_numeric_array(codes, "codes")
    if dense.ndim != 2:
        raise CodesError(f"codes must have shape (n_shapes, n_atoms), got {dense.shape}.")
    if len(dense) == 0:
        raise EmptySetError("codes holds no shape.")
    if not np.isfinite(dense).all():
        raise NonFiniteError("codes must be finite.")
    return dense.astype(np.result_type(dense.dtype, np.complex64), copy=False)
