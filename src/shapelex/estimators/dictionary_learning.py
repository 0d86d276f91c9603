"""Learn dictionaries: what estimators share that do, and the one that the paper compares with, which aligns first.

Progress is reported to the log, to standard error and to scikit-learn's callbacks, and kept in checkpoints.
"""

import hashlib
import json
import logging
import sys
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial
from pathlib import Path
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
from shapelex.exceptions import CheckpointError, CheckpointWarning, CodesError, reason_of
from shapelex.files.archive import as_plain
from shapelex.files.checkpoint_file import previous_path, read_checkpoint, write_checkpoint
from shapelex.files.schema import Array, Count, Number, Part, Schema
from shapelex.geometry import mean_shape
from shapelex.geometry.alignment import rotations_onto
from shapelex.learning.descent import Learner, LearningOptions, LearningParameters, LearningState, make_plan
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
# Checkpoints of short iterations are written at most so often, and once more at the end.
_LEAST_SECONDS = 1.0
# How far the norms of atoms in a checkpoint may be from 1.
_NORM_TOL = 1e-3
# Parts of the state of a learner that are sums of a pass, or nothing.
_SUMS = ("found", "current", "best", "memory")


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


class Checkpoint:
    """The checkpoint of one fit: puts the learner where an earlier run was, and saves it from time to time.

    A damaged checkpoint, and that of another fit, are refused.
    """

    def __init__(self, path: str | Path, learner: Learner, random_state: Any) -> None:
        self.path, self.learner = Path(path), learner
        if not self.path.absolute().parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self.path.absolute().parent} to write {self.path.name} to.")
        self.fingerprint = _describe_fit(learner, random_state)
        self._waiting: dict[str, Any] = {}
        self._failure: OSError | None = None
        self._last_time = time.monotonic()
        written = self.path if self.path.exists() else previous_path(self.path)
        if written.exists():
            self._resume(written)

    def _resume(self, path: Path) -> None:
        numbers, arrays = read_checkpoint(path)
        try:
            theirs, generator_state = numbers.pop("fingerprint"), numbers.pop("generator")
            told = [
                f"{name} {theirs.get(name)!r} there, {self.fingerprint.get(name)!r} here"
                for name in sorted({*self.fingerprint, *theirs})
                if self.fingerprint.get(name) != theirs.get(name)
            ]
            if not told:
                vars(self.learner).update(vars(_restored({**numbers, **arrays}, self.learner)))
                self.learner.generator.bit_generator.state = generator_state
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{path} is damaged, though its checksum is right ({reason_of(error)}): remove it to start again."
            ) from error
        if told:
            raise CheckpointError(
                f"{path} is the checkpoint of another fit ({', '.join(told)}): give the shapes and parameters it was "
                "made with, another checkpoint path, or remove it to start again."
            )
        logger.info("resumes from checkpoint %s", path)

    def save(self) -> None:
        """Write the state after a pass, unless the last one was written just before."""
        # Some generators have arrays in their states.
        state = json.dumps(self.learner.generator.bit_generator.state, default=lambda value: value.tolist())
        self._waiting = {"generator": json.loads(state), **_described(self.learner)}
        if time.monotonic() - self._last_time >= _LEAST_SECONDS:
            self._flush()

    def finish(self) -> None:
        """Write the last state, and warn if it could not be written."""
        self._flush()
        if self._failure is not None:
            told = f"The checkpoint {self.path} could not be written ({self._failure}): save the model elsewhere."
            warnings.warn(told, CheckpointWarning, stacklevel=7)

    def _flush(self) -> None:
        """Write the last state, if it is not yet on disk; a state that cannot be written does not stop the fit."""
        if not self._waiting:
            return
        arrays = {name: value for name, value in self._waiting.items() if isinstance(value, np.ndarray)}
        numbers = {name: value for name, value in self._waiting.items() if name not in arrays}
        self._waiting, self._failure = {}, None
        try:
            write_checkpoint(self.path, {**numbers, "fingerprint": self.fingerprint}, arrays)
        except OSError as error:
            self._failure = error
            logger.warning("checkpoint %s could not be written: %s", self.path, error)
        self._last_time = time.monotonic()


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
        rotations = rotations_onto(rows, self.space_.whitened_preshapes(self.mean_, "mean_"))
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


def _describe_fit(learner: Learner, random_state: Any) -> dict[str, Any]:
    """Return what tells one fit from another, as JSON values.

    Threads and device do not count, nor does a `random_state` that is not a seed; `max_iter` only where it changes the
    plan, which a longer fit of one stage does not.
    """
    shapes, options = learner.shapes, learner.options
    plan = make_plan(options, has_more=True)
    is_longer = len(plan) == 1 or options.batch_size is not None
    described: dict[str, Any] = {
        **vars(options),
        "max_iter": None if is_longer else max(stage.n_passes for stage in plan) - 1,
        "n_shapes": len(shapes),
        "dtype": str(shapes.dtype),
        "shapes": shapes.digest(),
        "sample_weight": shapes.weights,
        "space": repr(shapes.space),
        # Spaces with different Gram matrices may look the same in words.
        "gram": shapes.space.gram,
        "shift": shapes.space.shift,
        "random_state": int(random_state) if isinstance(random_state, int | np.integer) else None,
    }
    for name in ("n_jobs", "n_threads", "device", "verbose"):
        del described[name]
    for name, value in described.items():
        described[name] = as_plain(value)
        if isinstance(value, np.ndarray):
            described[name] = hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).hexdigest()
    return described


def _described(learner: Learner) -> dict[str, Any]:
    """Return where a fit stands as numbers and arrays; those of sums have names such as ``best.gram``."""
    state = {one.name: getattr(learner, one.name) for one in fields(LearningState)}
    for name in _SUMS:
        if sums := state.pop(name):
            state |= {f"{name}.{key}": value for key, value in vars(sums).items()}
    # Lists are copied, as they still grow.
    return {name: [*value] if isinstance(value, list) else value for name, value in state.items() if value is not None}


def _restored(described: dict[str, Any], learner: Learner) -> LearningState:
    """Return the state that :func:`_described` was given; what is not a state is a TypeError or the like."""
    n_atoms = learner.options.n_atoms
    rows, others = (n_atoms, learner.shapes.space.n_coordinates), {"gram": (n_atoms, n_atoms), "usage": (n_atoms,)}
    for name, value in described.items():
        last = name.rpartition(".")[2]
        if isinstance(value, np.ndarray):
            is_right = value.dtype.kind in "fc" and (
                last.startswith("worst") or last == "values" or value.shape == others.get(last, rows)
            )
            if is_right and last in ("atoms", "start"):
                is_right = bool(np.allclose(np.linalg.norm(value, axis=1), 1, atol=_NORM_TOL))
        elif value is None:
            is_right = last in ("atoms", "start", *_SUMS)
        else:
            numbers = value if last == "curve" else [value]
            kind = int | float if last in ("step", "weight", "loss", "curve") else int
            is_right = all(isinstance(one, kind) and 0 <= one < np.inf for one in numbers)
            is_right &= last != "weight" or value > 0
        if not is_right:
            raise ValueError(f"{name} does not belong to this fit")
    for name in _SUMS:
        own = {key.removeprefix(f"{name}."): described.pop(key) for key in [*described] if key.startswith(f"{name}.")}
        if own:
            described[name] = PassSums(**own)
    state = LearningState(**described)
    if state.atoms is None or not 0 <= state.stage < len(learner.plan):
        raise ValueError("it must have atoms, and a stage of the fit")
    return state


def _aligned(rows: ComplexArray, mean: ComplexArray, space: Space) -> ComplexArray:
    """Return rows rotated onto the mean, as real rows."""
    return _as_real_rows(rotations_onto(rows, space.whitened_preshapes(mean, "mean_")) * rows)


def _as_real_rows(rows: ComplexArray) -> ComplexArray:
    """Return rows of the real and imaginary parts, as complex numbers without imaginary part."""
    return np.ascontiguousarray(rows).view(rows.real.dtype).astype(rows.dtype)
