"""What estimators share that learn dictionaries: their parameters, and the passes of a fit.

Progress is reported to the log, to standard error and to scikit-learn's callbacks.
"""

import logging
import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from shapelex._arrays import keeps_array_kind
from shapelex._blas import single_blas_thread
from shapelex._messages import Message, parameter
from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import check_count
from shapelex.coding import SparseCodes, decode
from shapelex.estimators.base import AtomPlotMixin, ShapeReconstructor, check_dense_codes, count_jobs, preparation_of
from shapelex.exceptions import CodesError
from shapelex.files.schema import Array, Count, Number, Part
from shapelex.learning import Learner, LearningOptions
from shapelex.learning.checkpoint import Checkpoint
from shapelex.learning.one_pass import PassSums
from shapelex.spaces import Space

try:
    from sklearn import callback
except ImportError:
    # scikit-learn has callbacks since 1.9.
    callback = None
_CallbackSupport: Any = object if callback is None else callback.CallbackSupportMixin

Method = TypeVar("Method", bound=Callable[..., Any])

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


@dataclass(eq=False, repr=False)
class LearningParameters:
    """Parameters of all estimators that learn dictionaries."""

    n_atoms: int = 20
    n_nonzero: int = 5
    _: KW_ONLY
    space: Space | None = None
    coder: str = "auto"
    tie: float | None = None
    n_swaps: int | None = None
    n_restarts: int = 1
    max_iter: int = 100
    tol: float = 1e-5
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool | int = False

    def _make_options(self, **others: Any) -> LearningOptions:
        """Check the parameters and return them as options of a learner."""
        # False and True are the levels 0 and 1.
        check_count(int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0, "verbose")
        return LearningOptions.of(self, n_threads=count_jobs(self.n_jobs), **others)


@dataclass(eq=False, repr=False)
class DictionaryLearner(LearningParameters, AtomPlotMixin, ShapeReconstructor, _CallbackSupport):  # type: ignore[misc]
    """An estimator of one dictionary, which its fit learns in passes over the shapes."""

    _: KW_ONLY
    init: str | ArrayLike = "auto"

    # Whether all weights are real numbers.
    _is_real: ClassVar[bool] = False

    @keeps_array_kind
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
        configurations: ComplexArray = check_dense_codes(codes, len(self.atoms_), is_real=self._is_real) @ self.atoms_
        return configurations

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


def _end_iteration(
    contexts: list[Any], learner: Learner, task: dict[str, Any], attributes: Callable[[], dict[str, Any]]
) -> bool:
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
