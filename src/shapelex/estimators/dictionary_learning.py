"""Learn dictionaries: what estimators share that do, and the one that the paper compares with, which aligns first.

Progress is reported to the log, to standard error and to scikit-learn's callbacks.
"""

import logging
import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from shapelex._blas import single_blas_thread
from shapelex._messages import Message, parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_count, check_weights
from shapelex.coding import SparseCodes, decode, encode_rows, residual_norms
from shapelex.estimators.base import AtomReconstructor, Method, as_generator, check_matrix, count_jobs, preparation_of
from shapelex.exceptions import CodesError
from shapelex.files.schema import Array, Count, Number, Part, Schema
from shapelex.geometry import mean_shape
from shapelex.geometry.alignment import rotations_onto
from shapelex.learning.checkpoint import Checkpoint
from shapelex.learning.descent import Learner, LearningOptions, LearningParameters
from shapelex.learning.one_pass import PassSums
from shapelex.shapes.opening import as_shapes, read_configurations
from shapelex.spaces.base import PlainRows, Space

try:
    from sklearn import callback
except ImportError:
    # scikit-learn has callbacks since 1.9.
    callback = None
_CallbackSupport: Any = object if callback is None else callback.CallbackSupportMixin

logger = logging.getLogger("shapelex")

# What parameters of files of earlier versions become that have no meaning any more.
RENEWED_PARAMETERS: dict[str, Callable[[Any], Any]] = {
    "init": lambda init: "auto" if isinstance(init, str) and init == "spread" else init,
    "nested": lambda _: None,
    "tie": lambda tie: None if tie else tie,
    "effort": lambda effort: max(effort, 1),
}
# What model files hold of every dictionary.
LEARNED_PARTS: tuple[Part, ...] = (
    Array("atoms_", "complex", ("n_atoms", "n_coordinates")),
    Array("usage_", "float", ("n_atoms",)),
    Array("loss_curve_", "float", ("n_losses",)),
    Number("rmse_"),
    Count("n_iter_"),
)


def with_callbacks(method: Method) -> Method:
    """Return a fit that closes scikit-learn's callbacks at its end, where there are any."""
    return method if callback is None else callback.with_callbacks(method)


def write_progress(message: str) -> None:
    """Write a line to standard error: a terminal, a log file and the output of a notebook cell all show it at once."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


def make_options(given: LearningParameters, **others: Any) -> LearningOptions:
    """Check the parameters of an estimator and return them as options of a learner."""
    # False and True are the levels 0 and 1.
    check_count(int(given.verbose) if isinstance(given.verbose, bool) else given.verbose, 0, "verbose")
    own = {one.name: getattr(given, one.name) for one in fields(LearningOptions) if hasattr(given, one.name)}
    return LearningOptions(**{**own, "n_threads": count_jobs(given.n_jobs), **others})


@dataclass(eq=False, repr=False)
class DictionaryLearner(LearningParameters, AtomReconstructor, _CallbackSupport):  # type: ignore[misc]
    """An estimator of one dictionary, which its fit learns in passes over the shapes."""

    _: KW_ONLY
    init: str | ArrayLike = "auto"

    # Whether all weights are real numbers.
    _is_real: ClassVar[bool] = False

    def inverse_transform(self, codes: SparseCodes | ArrayLike) -> ComplexArray:
        """Compute the configurations of codes.

        Parameters
        ----------
        codes : SparseCodes, or array_like of complex, shape (n_shapes, n_atoms)
            Codes; those of :class:`AlignFirstDictionary` are real.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            ``Σ_j a_j d_j``: centered, and where the codes come from :meth:`encode`, each in the pose of its pre-shape,
            or in the pose of the mean for :class:`AlignFirstDictionary`.

        Raises
        ------
        CodesError
            If the codes have another number of atoms, or are complex where they must be real.
        NonFiniteError
            If an entry of dense codes is NaN or infinite.
        """
        check_is_fitted(self)
        if isinstance(codes, SparseCodes):
            if self._is_real and codes.coefs.imag.any():
                raise CodesError("codes must be real: complex weights belong to another kind of dictionary.")
            return decode(codes, self.atoms_)
        dense = check_matrix(codes, "n_shapes", len(self.atoms_), is_real=self._is_real)
        return np.asarray(dense @ self.atoms_)

    @abstractmethod
    def _start(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Learner, dict[str, Any]]:
        """Return a learner of the shapes, and the attributes that are known before it learns, the space among them."""

    def _attributes(self, found: PassSums, learner: Learner, known: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Return the attributes of an estimator with the dictionary that a learner found, and those that are known."""
        return {
            "atoms_": known["space_"].unwhiten_rows(found.atoms),
            "rmse_": found.rmse,
            "usage_": found.usage / found.weight,
            "loss_curve_": np.array(found.curve),
            "n_iter_": len(found.curve) - 1,
            "n_features_in_": known["space_"].n_coordinates,
            **known,
        }

    @with_callbacks
    @single_blas_thread()
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the atoms.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations. The Notes of :class:`ShapeDictionary` say what it reads in blocks.
        y : None
            Ignored.
        sample_weight : array_like of float, shape (n_shapes,), optional
            Weight of each shape; an integer weight equals that many copies, but for the weight with which atoms are
            held near their start, which counts shapes.

        Returns
        -------
        self
            The estimator itself.
        """
        learner, known = self._start(X, sample_weight)
        attributes = partial(self._attributes, learner=learner, known=known | {"preparation_": preparation_of(X)})
        path = getattr(self, "checkpoint", None)
        checkpoint = None if path is None else Checkpoint(path, learner, self.random_state)
        task = {"estimator": self, "X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        name, plan, was_stopped = type(self).__name__, learner.plan, False
        # Those of scikit-learn's callbacks: of the fit, and of its present descent, which is a stage.
        contexts: list[Any] = []
        if getattr(self, "_skl_callbacks", None):
            contexts.append(self._init_callback_context(max_subtasks=len(plan)))
            contexts[0].call_on_fit_task_begin(**task)
        try:
            for _ in learner.passes():
                if checkpoint is not None:
                    checkpoint.save()
                best, stage = learner.result, plan[learner.stage]
                assert best is not None
                message = (
                    f"{name}: stage {learner.stage + 1}/{len(plan)}, iteration {learner.n_passes - 1}/"
                    f"{stage.n_passes - 1}, RMSE {learner.rmse:.6f}, best {best.rmse:.6f}"
                )
                logger.debug(message, extra={"iteration": learner})
                if self.verbose > 1 or (self.verbose == 1 and learner.n_passes % 10 == 1 and stage.kind != "swap"):
                    write_progress(message)
                if contexts and _end_iteration(contexts, learner, task, partial(attributes, best)):
                    was_stopped = True
                    break
            self.__dict__.update(attributes(learner.finish()))
        except KeyboardInterrupt:
            if learner.result is not None:
                self.__dict__.update(attributes(learner.result))
            raise
        finally:
            if checkpoint is not None:
                checkpoint.finish()
        if plan[-1].kind == "first" and plan[-1].n_passes > 1 and not (learner.converged or was_stopped):
            warnings.warn(
                Message(
                    f"The dictionary still changed after {parameter('max_iter', self.max_iter)} iterations, by more "
                    f"than {self.tol:g} of its loss: raise {parameter('max_iter')}, or {parameter('tol')}."
                ),
                ConvergenceWarning,
                stacklevel=4,
            )
        if self.verbose:
            write_progress(f"{name}: finished, RMSE {self.rmse_:.6f} after {self.n_iter_} iterations")
        while contexts:
            contexts.pop().call_on_fit_task_end(**task, reconstruction_attributes=vars(self).copy)
        return self


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
    _schema = Schema(*LEARNED_PARTS, Array("mean_", "complex", ("n_coordinates",)), renewed=RENEWED_PARAMETERS)

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
        # Real and imaginary parts are complex numbers again.
        atoms = np.ascontiguousarray(found.atoms.real).view(found.atoms.dtype)
        return super()._attributes(replace(found, atoms=atoms), learner, known)

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
        given = self.init
        init = given if isinstance(given, str) else _aligned(space.whitened_preshapes(given, "init"), mean, space)
        return make_options(self, init=init)

    def _atom_rows(self) -> ComplexArray:
        return _as_real_rows(self.space_.whitened_preshapes(self.atoms_, "atoms_"))

    def _encode(self, aligned: ComplexArray) -> SparseCodes:
        n_threads = count_jobs(self.n_jobs)
        return encode_rows(aligned, self._atom_rows(), self.n_nonzero, method=self.coder, n_threads=n_threads)

    def _check_loaded(self) -> None:
        self._options(self.space_, self.mean_)
        self.errors(self.atoms_[:1])


def _end_iteration(contexts: list[Any], learner: Learner, task: dict[str, Any], attributes: partial[Any]) -> bool:
    """Tell scikit-learn's callbacks of a pass, and of its descent if it is the first one; return whether one stops."""
    if learner.n_passes == 1 and len(contexts) > 1:
        contexts.pop().call_on_fit_task_end(**task)
    if len(contexts) == 1:
        n_passes = learner.plan[learner.stage].n_passes
        contexts.append(contexts[0].subcontext(task_name="descent", max_subtasks=n_passes))
        contexts[1].call_on_fit_task_begin(**task)
    iteration = contexts[1].subcontext(task_name="iteration")
    iteration.call_on_fit_task_begin(**task)
    return bool(iteration.call_on_fit_task_end(**task, reconstruction_attributes=attributes))


def _rotations(rows: ComplexArray, mean: ComplexArray, space: Space) -> ComplexArray:
    return rotations_onto(rows, space.whitened_preshapes(mean, "mean_"))


def _aligned(rows: ComplexArray, mean: ComplexArray, space: Space) -> ComplexArray:
    """Return rows rotated onto the mean, as real rows."""
    return _as_real_rows(_rotations(rows, mean, space) * rows)


def _as_real_rows(rows: ComplexArray) -> ComplexArray:
    """Return rows of the real and imaginary parts, as complex numbers without imaginary part."""
    return np.ascontiguousarray(rows).view(rows.real.dtype).astype(rows.dtype)
