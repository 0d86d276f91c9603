"""Real features from codes over a dictionary, for ordinary classifiers and regressors."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, cast

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_choice
from shapelex.coding import SparseCodes
from shapelex.estimators.base import NamedParameters, check_matrix
from shapelex.estimators.dictionary_learning import AlignFirstDictionary
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.exceptions import CodesError, EmptySetError, ParameterError, ParameterTypeError
from shapelex.geometry.alignment import phases
from shapelex.geometry.means import leading_row

_KINDS = ("auto", "modulus", "phase", "similarity", "tangent")


@dataclass(eq=False, repr=False)
class CodeFeatures(TransformerMixin, NamedParameters):  # type: ignore[misc]
    """Convert codes over a dictionary to real columns that do not depend on the rotation of a shape.

    Rotating a shape multiplies its whole code by one phase. The moduli of the weights do not depend on that phase, but
    also lose the rotations of the atoms relative to each other, which are characteristic of a shape. The other kinds of
    features keep them.

    Given a dictionary, the transformer takes shapes: it learns the dictionary and codes them. Otherwise it takes codes.

    Parameters
    ----------
    kind : {"auto", "tangent", "similarity", "phase", "modulus"}, default "auto"
        ``"tangent"`` gives reconstructed shapes, rotated onto their mean, as coordinates in the tangent space there;
        for most classifiers these are the best features. ``"similarity"`` gives ``|d_j* Phi z|`` between the
        reconstruction and every atom: the cosine of the geodesic distance, times the norm of the reconstruction.
        ``"phase"`` gives real and imaginary parts of codes that are rotated so that their shapes (or the codes
        themselves, without atoms) are closest to their mean. ``"modulus"`` gives ``|a_j|``. ``"auto"`` is ``"tangent"``
        where the atoms are known and ``"phase"`` elsewhere.
    dictionary : ShapeDictionary or AlignFirstDictionary, optional
        Dictionary to learn from the shapes and to code them with; it is cloned, not changed.
    atoms : array_like of complex, shape (n_atoms, n_coordinates), optional
        Atoms that given codes belong to: ``dictionary.space_.whiten(dictionary.atoms_)``, or plain ``atoms_`` for
        landmarks.

    Attributes
    ----------
    dictionary_ : ShapeDictionary or AlignFirstDictionary
        The fitted `dictionary`, where one was given.
    kind_ : str
        The kind of the features.
    reference_ : ndarray of complex
        Mean onto which reconstructions (whitened), or codes where the atoms are not known, are rotated.
    n_features_in_ : int
        Number of coordinates of a shape, or of atoms of a code.

    See Also
    --------
    ShapeDictionaryClassifier : Classifies shapes by one dictionary per class.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> rng = np.random.default_rng(0)
    >>> circle = np.exp(2j * np.pi * np.arange(12) / 12)
    >>> X = circle + rng.normal(size=(40, 2)) @ [0.1 * circle**2, 0.1 * circle**3]
    >>> X[20:] += 0.5 * circle**-1
    >>> y = np.repeat(["round", "long"], 20)
    >>> features = sx.CodeFeatures(dictionary=sx.ShapeDictionary(4, 3, random_state=0, tol=1e-3))
    >>> model = make_pipeline(features, StandardScaler(), LogisticRegression()).fit(X, y)
    >>> model.predict([1j * circle, circle + 0.5 / circle])
    array(['round', 'long'], dtype='<U5')

    From existing codes:

    >>> codes = np.array([[1, 0.5j], [1j, -0.4]])
    >>> sx.CodeFeatures(kind="modulus").fit_transform(codes)
    array([[1. , 0.5],
           [1. , 0.4]])
    """

    kind: Literal["auto", "modulus", "phase", "similarity", "tangent"] = "auto"
    _: KW_ONLY
    dictionary: ShapeDictionary | AlignFirstDictionary | None = None
    atoms: ArrayLike | None = None

    def fit(self, X: SparseCodes | ArrayLike, y: Any = None) -> "CodeFeatures":
        """Learn the dictionary, where one was given, and the mean onto which shapes are rotated.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations; without a dictionary SparseCodes or codes, complex (n_shapes, n_atoms).
        y : array_like, optional
            Passed to the dictionary, which usually ignores it.

        Returns
        -------
        CodeFeatures
            The transformer itself.
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: SparseCodes | ArrayLike, y: Any = None) -> FloatArray:
        """Fit, and return the features of the same shapes, which are coded only once.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations; without a dictionary SparseCodes or codes, complex (n_shapes, n_atoms).
        y : array_like, optional
            Passed to the dictionary.

        Returns
        -------
        ndarray of float, shape (n_shapes, n_features)
            The same as from :meth:`transform`.
        """
        return self._features(self._fit(X, y))

    def transform(self, X: SparseCodes | ArrayLike) -> FloatArray:
        """Return the features.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations; without a dictionary SparseCodes or codes, complex (n_shapes, n_atoms).

        Returns
        -------
        ndarray of float, shape (n_shapes, n_features)
            ``n_atoms`` columns for ``"modulus"`` and ``"similarity"``, twice as many for ``"phase"``, and twice
            ``n_coordinates`` for ``"tangent"``.
        """
        check_is_fitted(self)
        codes = self._codes(X)
        if codes.shape[1] != self._n_atoms:
            raise CodesError(f"X must hold codes over {self._n_atoms} atoms, as in fit, got {codes.shape[1]} atoms.")
        return self._features(codes)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:  # noqa: ARG002
        """Names of the columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
            ``modulus0 …``, ``similarity0 …``, or ``real0 … imag0 …``.
        """
        check_is_fitted(self)
        prefixes = [self.kind_] if self.kind_ in ("modulus", "similarity") else ["real", "imag"]
        n_each = len(self.reference_) if self.kind_ == "tangent" else self._n_atoms
        return np.array([f"{prefix}{number}" for prefix in prefixes for number in range(n_each)], dtype=object)

    def _fit(self, X: SparseCodes | ArrayLike, y: Any) -> ComplexArray:
        """Fit, and return the codes of the fitted shapes."""
        check_choice(self.kind, _KINDS, "kind")
        if self.dictionary is None:
            codes = self._codes(X)
            validate_data(self, codes, skip_check_array=True)
            self._atom_rows: ComplexArray | None = None
            if self.atoms is not None:
                self._atom_rows = check_matrix(self.atoms, codes.shape[1], "n_coordinates", name="atoms")
        else:
            if self.atoms is not None:
                raise ValueError("atoms must be None where a dictionary is given, which has its own: leave atoms out.")
            if not isinstance(self.dictionary, ShapeDictionary | AlignFirstDictionary):
                raise ParameterTypeError(f"dictionary must be a ShapeDictionary(…) or None, got {self.dictionary!r}.")
            self.dictionary_ = clone(self.dictionary).fit(X, y)
            codes = self._codes(X)
            self.n_features_in_ = self.dictionary_.n_features_in_
            self._atom_rows = self.dictionary_.space_.whiten(self.dictionary_.atoms_)
        self._n_atoms = codes.shape[1]
        automatic = "phase" if self._atom_rows is None else "tangent"
        self.kind_ = automatic if self.kind == "auto" else self.kind
        if self.kind_ in ("similarity", "tangent") and self._atom_rows is None:
            raise ParameterError(
                f"kind={self.kind!r} needs the atoms: give the dictionary itself in place of codes from a step before, "
                f"CodeFeatures({self.kind!r}, dictionary=ShapeDictionary(…)), or the atoms= that the codes belong to."
            )
        vectors = self._vectors(codes)
        # The unit vector of least summed squared full distance: the mean shape, for reconstructions.
        reference, _ = leading_row(vectors.T @ vectors.conj())
        # The phase of an eigenvector is arbitrary; the largest entry is made positive.
        largest = reference[np.argmax(np.abs(reference))]
        self.reference_ = reference * np.conj(largest) / np.abs(largest)
        return codes

    def _codes(self, X: SparseCodes | ArrayLike) -> ComplexArray:
        """Return the dense codes of shapes, or those that were given."""
        if self.dictionary is not None:
            # The codes of a Dask array stay one.
            return cast(ComplexArray, self.dictionary_.encode(X).toarray())
        if isinstance(X, SparseCodes):
            return X.toarray()
        if hasattr(X, "space"):
            raise CodesError(
                "X is a set of shapes, but CodeFeatures without a dictionary takes codes: "
                "CodeFeatures(dictionary=ShapeDictionary(…)) codes the shapes first."
            )
        dense = check_matrix(X, "n_shapes", "n_atoms", name="X")
        if len(dense) == 0:
            raise EmptySetError("X holds no code.")
        return np.asarray(dense, dtype=np.result_type(dense.dtype, np.complex64))

    def _vectors(self, codes: ComplexArray) -> ComplexArray:
        """Return the vectors to rotate: whitened reconstructions, or codes where the atoms are not known."""
        return codes if self._atom_rows is None else codes @ self._atom_rows

    def _features(self, codes: ComplexArray) -> FloatArray:
        if self.kind_ == "modulus":
            return np.abs(codes)
        vectors = self._vectors(codes)
        if self.kind_ == "similarity":
            assert self._atom_rows is not None
            return np.abs(vectors @ self._atom_rows.conj().T)
        products = vectors @ self.reference_.conj()
        rotated = (codes if self.kind_ == "phase" else vectors) * phases(products).conj()[:, None]
        if self.kind_ == "tangent":
            rotated = rotated - np.abs(products)[:, None] * self.reference_
        return np.concatenate([rotated.real, rotated.imag], axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = self.dictionary is not None
        return tags
