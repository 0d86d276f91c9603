"""Progress of a fit, reported to the log, to standard error and to scikit-learn's callbacks.

scikit-learn has callbacks since 1.9; with older versions there are none.
"""

import logging
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.exceptions import ConvergenceWarning

from shapelex._messages import Message, parameter
from shapelex._validation import check_count
from shapelex.exceptions import ShapeInputError
from shapelex.learning import Learner, LearningState
from shapelex.learning.checkpoint import Checkpoint
from shapelex.learning.one_pass import PassSums

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


class FitProgress:
    """Follows a fit: ``with FitProgress(...):`` around the run of a learner and what stores its result.

    It saves and reports the progress after every pass, stores the best dictionary so far where the fit is interrupted,
    and warns where plain descents had too few iterations.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted; its `verbose` says what is written to standard error.
    learner : Learner
        What runs.
    attributes : callable
        Returns, for a dictionary, the attributes of the estimator that its method ``_store`` takes.
    data : dict
        ``X``, ``y`` and ``metadata`` of the fit, for the callbacks.
    checkpoint : Checkpoint, optional
        Where the state is saved after every pass.
    """

    def __init__(
        self,
        estimator: Any,
        learner: Learner,
        attributes: Callable[[PassSums], dict[str, Any]],
        data: dict[str, Any],
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._estimator, self._attributes, self._data, self._checkpoint = estimator, attributes, data, checkpoint
        self._learner = learner
        self._root: Any = None
        self._descent: Any = None
        self._stage = 0
        self._was_stopped = False
        learner.callback = self
        if getattr(estimator, "_skl_callbacks", None):
            self._root = estimator._init_callback_context(max_subtasks=len(learner.state.plan))
            self._root.call_on_fit_task_begin(estimator=estimator, **data)

    def __call__(self, state: LearningState) -> bool:
        """Save and report one pass; return whether a callback asks to stop."""
        if self._checkpoint is not None:
            self._checkpoint.save(state, self._learner.generator)
        assert state.result is not None
        stage = state.plan[state.stage]
        message = (
            f"{type(self._estimator).__name__}: stage {state.stage + 1}/{len(state.plan)}, iteration "
            f"{state.n_passes - 1}/{stage.n_passes - 1}, RMSE {state.rmse:.6f}, best {state.result.rmse:.6f}"
        )
        logger.debug(message, extra={"iteration": state})
        verbose = self._estimator.verbose
        if verbose > 1 or (verbose == 1 and state.n_passes % 10 == 1 and stage.kind != "swap"):
            write_progress(message)
        if self._root is not None:
            self._was_stopped = self._notify_callbacks(state, state.result)
        return self._was_stopped

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        found, state = self._estimator, self._learner.state
        if self._checkpoint is not None:
            self._checkpoint.finish()
        if kind is KeyboardInterrupt and state.result is not None:
            found._store(self._attributes(state.result))
        if kind is not None and issubclass(kind, ShapeInputError):
            # A sample or a batch does not know the numbers of its shapes.
            self._learner.shapes.check_all()
        if kind is not None:
            return
        last = state.plan[-1]
        if last.kind == "first" and last.n_passes > 1 and not (state.converged or self._was_stopped):
            warnings.warn(
                Message(
                    f"The dictionary still changed after {parameter('max_iter', found.max_iter)} iterations, by more "
                    f"than {found.tol:g} of its loss: raise {parameter('max_iter')}, or {parameter('tol')}."
                ),
                ConvergenceWarning,
                stacklevel=5,
            )
        if found.verbose:
            write_progress(f"{type(found).__name__}: finished, RMSE {found.rmse_:.6f} after {found.n_iter_} iterations")
        if self._root is not None:
            self._end_descent()
            self._root.call_on_fit_task_end(
                estimator=found, **self._data, reconstruction_attributes=lambda: vars(found).copy()
            )

    def _notify_callbacks(self, state: LearningState, best: PassSums) -> bool:
        estimator = self._estimator
        if self._descent is None or state.stage != self._stage:
            self._end_descent()
            self._stage = state.stage
            self._descent = self._root.subcontext(task_name="descent", max_subtasks=state.plan[state.stage].n_passes)
            self._descent.call_on_fit_task_begin(estimator=estimator, **self._data)
        task = self._descent.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=estimator, **self._data)
        return bool(
            task.call_on_fit_task_end(
                estimator=estimator, **self._data, reconstruction_attributes=lambda: self._attributes(best)
            )
        )

    def _end_descent(self) -> None:
        if self._descent is not None:
            self._descent.call_on_fit_task_end(estimator=self._estimator, **self._data)
            self._descent = None
