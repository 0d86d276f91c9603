"""Progress of a fit, reported to the log, to standard error and to scikit-learn's callbacks.

scikit-learn has callbacks since 1.9; with older versions there are none.
"""

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from shapelex._messages import Message, parameter
from shapelex._typing import ComplexArray
from shapelex._validation import check_count
from shapelex.learning import Learner
from shapelex.learning.checkpoint import Checkpoint
from shapelex.learning.one_pass import PassSums
from shapelex.shapes.preparation import Preparation
from shapelex.spaces import Space

if TYPE_CHECKING:
    Method = TypeVar("Method", bound=Callable[..., Any])

    class CallbackSupportMixin:
        """The method that scikit-learn's mixin adds."""

        def _init_callback_context(self, **options: Any) -> Any: ...

    def with_callbacks(method: Method) -> Method: ...  # noqa: D103

else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """Replaces scikit-learn's mixin before 1.9: no callbacks."""

        def with_callbacks(method):
            """Return the method unchanged."""
            return method


logger = logging.getLogger("shapelex")


def check_verbose(verbose: bool | int) -> None:
    """Refuse what is neither True or False nor a level of detail."""
    if not isinstance(verbose, bool):
        check_count(verbose, 0, "verbose")


def write_progress(message: str) -> None:
    """Write a line to standard error: a terminal, a log file and the output of a notebook cell all show it at once."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


@contextmanager
def follow_fit(
    estimator: Any,
    learner: Learner,
    attributes: Callable[[PassSums], dict[str, Any]],
    data: dict[str, Any],
    checkpoint: Checkpoint | None = None,
) -> Iterator[Callable[[], bool]]:
    """Give the function to call after every pass, which saves and reports it, and returns whether to stop.

    Where the fit is interrupted, the estimator gets the attributes of the best dictionary so far. A warning says where
    plain descents had too few iterations. `data` are ``X``, ``y`` and ``metadata`` of the fit, for callbacks.
    """
    name, plan, known, was_stopped = type(estimator).__name__, learner.plan, {"estimator": estimator, **data}, False
    # Those of scikit-learn's callbacks: of the fit, and of its present descent, which is a stage.
    contexts: list[Any] = []
    if getattr(estimator, "_skl_callbacks", None):
        contexts.append(estimator._init_callback_context(max_subtasks=len(plan)))
        contexts[0].call_on_fit_task_begin(**known)

    def report() -> bool:
        nonlocal was_stopped
        if checkpoint is not None:
            checkpoint.save()
        best, stage = learner.result, plan[learner.stage]
        assert best is not None
        message = (
            f"{name}: stage {learner.stage + 1}/{len(plan)}, iteration {learner.n_passes - 1}/{stage.n_passes - 1}, "
            f"RMSE {np.sqrt(learner.curve[-1]):.6f}, best {best.rmse:.6f}"
        )
        logger.debug(message, extra={"iteration": learner})
        verbose = estimator.verbose
        if verbose > 1 or (verbose == 1 and learner.n_passes % 10 == 1 and stage.kind != "swap"):
            write_progress(message)
        was_stopped = bool(contexts) and _end_iteration(contexts, learner, known, partial(attributes, best))
        return was_stopped

    try:
        yield report
    except KeyboardInterrupt:
        if learner.result is not None:
            vars(estimator).update(attributes(learner.result))
        raise
    finally:
        if checkpoint is not None:
            checkpoint.finish()
    if plan[-1].kind == "first" and plan[-1].n_passes > 1 and not (learner.converged or was_stopped):
        warnings.warn(
            Message(
                f"The dictionary still changed after {parameter('max_iter', estimator.max_iter)} iterations, by more "
                f"than {estimator.tol:g} of its loss: raise {parameter('max_iter')}, or {parameter('tol')}."
            ),
            ConvergenceWarning,
            stacklevel=6,
        )
    if estimator.verbose:
        write_progress(f"{name}: finished, RMSE {estimator.rmse_:.6f} after {estimator.n_iter_} iterations")
    while contexts:
        contexts.pop().call_on_fit_task_end(**known, reconstruction_attributes=vars(estimator).copy)


def _end_iteration(
    contexts: list[Any], learner: Learner, known: dict[str, Any], attributes: Callable[[], dict[str, Any]]
) -> bool:
    """Tell scikit-learn's callbacks of a pass, and of its descent if it is the first one; return whether one stops."""
    if learner.n_passes == 1 and len(contexts) > 1:
        contexts.pop().call_on_fit_task_end(**known)
    if len(contexts) == 1:
        n_passes = learner.plan[learner.stage].n_passes
        contexts.append(contexts[0].subcontext(task_name="descent", max_subtasks=n_passes))
        contexts[1].call_on_fit_task_begin(**known)
    iteration = contexts[1].subcontext(task_name="iteration")
    iteration.call_on_fit_task_begin(**known)
    return bool(iteration.call_on_fit_task_end(**known, reconstruction_attributes=attributes))


def found_attributes(
    found: PassSums, atoms: ComplexArray, space: Space, preparation: Preparation | None, **others: Any
) -> dict[str, Any]:
    """Return the attributes of an estimator that has learned a dictionary."""
    return {
        "atoms_": atoms,
        "rmse_": found.rmse,
        "usage_": found.usage / found.weight,
        "loss_curve_": np.array(found.curve),
        "n_iter_": len(found.curve) - 1,
        "space_": space,
        "preparation_": preparation,
        "n_features_in_": space.n_coordinates,
        **others,
    }
