"""The dictionary that the paper compares with: shapes are rotated onto their mean, then coded with real weights."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_weights
from shapelex.coding import SparseCodes, decode, encode_rows, residual_norms
from shapelex.estimators.base import as_generator, count_jobs
from shapelex.estimators.dictionary_learning import LEARNED_PARTS, RENEWED_PARAMETERS, DictionaryLearner
from shapelex.files.schema import Array, Schema
from shapelex.geometry import mean_shape
from shapelex.geometry.alignment import rotations_onto
from shapelex.learning import Learner, LearningOptions
from shapelex.learning.one_pass import PassSums
from shapelex.shapes.opening import as_shapes, read_configurations
from shapelex.spaces import Space
from shapelex.spaces.base import PlainRows


@dataclass(eq=False, repr=False)
class AlignFirstDictionary(DictionaryLearner):
    """Align all shapes to their mean, then learn atoms that are scaled, but not rotated, to approximate them.

    Rotates pre-shapes onto their full Procrustes mean, which gives ``z~_k``, then learns atoms ``d_j`` and real weights
    ``a_kj``, at most `n_nonzero` per shape, that minimize the mean of ``|z~_k − Σ_j a_kj d_j|²_Phi`` (section 6,
    "Computational results", equation 38 of the paper [1]_). :class:`ShapeDictionary` is compared with this method:
    weights that cannot rotate an atom leave larger errors.

    Parameters
    ----------
    n_atoms : int, default 20
        Number of atoms.
    n_nonzero : int, default 5
        Maximum number of atoms per shape.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    coder : {"auto", "exact", "beam", "ormp", "omp"}, default "auto"
        How to find the atoms of a shape, see :func:`shapelex.encode`. The paper uses ``"ormp"``.
    tie : float, optional
        0 not to hold the atoms near their start.
    n_swaps : int, optional
        Number of swaps of atoms, see :class:`ShapeDictionary`; none by default.
    n_restarts : int, default 1
        Number of descents, where they differ by random draws; the best result is kept.
    max_iter : int, default 100
        Maximum number of updates per descent.
    tol : float, default 1e-5
        A descent ends when an update changes the error by no more than this fraction of it.
    n_jobs : int, optional
        Maximum number of threads; −1 or None for all processors. Results are the same to the bit for any number.
    random_state : int, Generator, RandomState or None, default None
        Seed of all random draws.
    verbose : bool or int, default False
        True or 1 writes a line to standard error every tenth iteration and at the end, 2 every iteration.
    init : {"auto", "random"} or array_like of complex, shape (n_atoms, n_coordinates), default "auto"
        First dictionary, see :class:`ShapeDictionary`; given configurations are rotated onto the mean like the shapes.

    Attributes
    ----------
    mean_ : ndarray of complex, shape (n_coordinates,)
        Mean onto which all shapes are rotated: a pre-shape, in the pose of the first shape.
    atoms_ : ndarray of complex, shape (n_atoms, n_coordinates)
        The atoms: pre-shapes, in the pose of the mean up to a rotation by 180 degrees.
    space_ : Space
        Space of the configurations.
    rmse_ : float
        Root mean squared error of the aligned shapes.
    usage_ : ndarray of float, shape (n_atoms,)
        Fraction of the shapes that use each atom.
    loss_curve_ : ndarray of float, shape (n_iter + 1,)
        Mean squared error of the dictionary after each update, preceded by that of the first dictionary.
    n_iter_ : int
        Number of updates.
    n_features_in_ : int
        Number of coordinates.

    See Also
    --------
    ShapeDictionary : Complex weights; nothing is aligned.

    Notes
    -----
    The coders and updates are those of :class:`ShapeDictionary`: the real and imaginary parts of a whitened row form a
    row of twice as many real coordinates, and on real rows all weights are real.

    The error of a shape is at least the full distance from the shape to its reconstruction, and usually larger, since
    the pose is fixed before the reconstruction is known. ``distance(X, model.reconstruct(X))`` gives the distance.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> circle = np.exp(2j * np.pi * np.arange(30) / 30)
    >>> X = circle + 0.3 * rng.normal(size=(200, 2)) @ [circle**-1, 0.3 * circle**2]
    >>> model = sx.AlignFirstDictionary(n_atoms=4, n_nonzero=3, random_state=0).fit(X)
    >>> float(model.rmse_) < 1e-6
    True
    >>> model.transform(X).dtype
    dtype('float64')
    """

    _is_real = True
    _schema = Schema((*LEARNED_PARTS, Array("mean_", "complex", ("n_coordinates",))), renewed=RENEWED_PARAMETERS)

    def _start(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Learner, dict[str, Any]]:
        """Align the shapes."""
        configurations, space = read_configurations(self._open_input(X, self.space))
        rows = space.whitened_preshapes(configurations, "X")
        # mean_shape would call the argument "weights" in its error message.
        check_weights(sample_weight, len(rows), rows.real.dtype, "sample_weight")
        mean = mean_shape(configurations, weights=sample_weight, space=space)
        aligned = _aligned(rows, mean, space)
        shapes = as_shapes(aligned, PlainRows(aligned.shape[1]), sample_weight)
        learner = Learner(shapes, self._options(space, mean), as_generator(self.random_state))
        return learner, {"space_": space, "mean_": mean}

    def _attributes(self, found: PassSums, learner: Learner, known: dict[str, Any]) -> dict[str, Any]:
        return super()._attributes(replace(found, atoms=_as_complex_rows(found.atoms)), learner, known)

    def encode(self, X: ArrayLike) -> SparseCodes:
        """Code shapes over the atoms, after rotating them onto the mean.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        SparseCodes
            Atoms and weights that approximate each aligned pre-shape; the weights are complex numbers whose
            imaginary parts are 0.
        """
        return self._encode(_aligned(self._read_new_rows(X), self.mean_, self.space_))

    @keeps_array_kind
    def transform(self, X: ArrayLike) -> FloatArray:
        """Code shapes over the atoms, as a dense matrix.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes, n_atoms)
            Real weights, most of them zero.
        """
        return np.ascontiguousarray(self.encode(X).toarray().real)

    @keeps_array_kind
    def reconstruct(self, X: ArrayLike) -> ComplexArray:
        """Approximate shapes by their codes.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            ``inverse_transform(encode(X))``, each rotated back from the pose of the mean: approximations of the
            pre-shapes ``space_.preshape(X)``, in their poses.
        """
        rows = self._read_new_rows(X)
        rotations = _rotations(rows, self.mean_, self.space_)
        return np.conj(rotations) * decode(self._encode(_as_real_rows(rotations * rows)), self.atoms_)

    @keeps_array_kind
    def errors(self, X: ArrayLike) -> FloatArray:
        """Norms ``|z~ − Σ_j a_j d_j|_Phi`` of the differences between aligned pre-shapes and their reconstructions.

        The method minimizes these norms, and the paper reports them. They are not distances between shapes: the full
        distance from a shape to its reconstruction is at most as large.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes,)
            Errors between 0 and 1.
        """
        aligned = _aligned(self._read_new_rows(X), self.mean_, self.space_)
        return residual_norms(aligned, self._atom_rows(), self._encode(aligned))

    def _options(self, space: Space, mean: ComplexArray) -> LearningOptions:
        init = self.init
        if not isinstance(init, str):
            init = _aligned(space.whitened_preshapes(init, "init"), mean, space)
        return self._make_options(init=init)

    def _atom_rows(self) -> ComplexArray:
        return _as_real_rows(self.space_.whitened_preshapes(self.atoms_, "atoms_"))

    def _encode(self, aligned: ComplexArray) -> SparseCodes:
        n_threads = count_jobs(self.n_jobs)
        return encode_rows(aligned, self._atom_rows(), self.n_nonzero, method=self.coder, n_threads=n_threads)

    def _check_loaded(self) -> None:
        self._options(self.space_, self.mean_)
        self.errors(self.atoms_[:1])


def _rotations(rows: ComplexArray, mean: ComplexArray, space: Space) -> ComplexArray:
    return rotations_onto(rows, space.whitened_preshapes(mean, "mean_"))


def _aligned(rows: ComplexArray, mean: ComplexArray, space: Space) -> ComplexArray:
    """Return rows rotated onto the mean, as real rows."""
    return _as_real_rows(_rotations(rows, mean, space) * rows)


def _as_real_rows(rows: ComplexArray) -> ComplexArray:
    """Return rows of the real and imaginary parts, as complex numbers without imaginary part."""
    parts = np.ascontiguousarray(rows).view(rows.real.dtype)
    return parts.astype(rows.dtype)


def _as_complex_rows(real_rows: ComplexArray) -> ComplexArray:
    """Return the complex rows with these real and imaginary parts."""
    parts = np.ascontiguousarray(real_rows.real)
    return parts.view(real_rows.dtype)
