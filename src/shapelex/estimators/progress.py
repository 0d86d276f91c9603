"""Progress of a fit, reported to the log, to standard error and to scikit-learn's callbacks.

scikit-learn has callbacks since 1.9; with older versions there are none.
"""

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from shapelex._validation import check_count
from shapelex.learning import LearningState

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
    """Reports the progress of a fit; called after every pass over the shapes.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted.
    verbose : bool or int
        False or 0 reports nothing, True or 1 every tenth pass and the end, 2 every pass, on standard error.
    data : dict
        ``X``, ``y`` and ``metadata`` of the fit, for the callbacks.
    n_stages : int
        Number of stages of the fit.
    fitted_attributes : callable
        Returns, for a state of the fit, the attributes of an estimator that stops there.
    """

    def __init__(
        self,
        estimator: Any,
        verbose: bool | int,
        data: dict[str, Any],
        n_stages: int,
        fitted_attributes: Callable[[LearningState], dict[str, Any]],
    ) -> None:
        self._estimator = estimator
        self._verbose = verbose
        self._data = data
        self._fitted_attributes = fitted_attributes
        self._root: Any = None
        self._descent: Any = None
        self._stage = 0
        self.was_stopped = False
        if getattr(estimator, "_skl_callbacks", None):
            self._root = estimator._init_callback_context(max_subtasks=n_stages)
            self._root.call_on_fit_task_begin(estimator=estimator, **data)

    def __call__(self, state: LearningState) -> bool:
        """Report one pass; return whether a callback asks to stop."""
        message = (
            f"{type(self._estimator).__name__}: stage {state.stage + 1}/{state.n_stages}, iteration "
            f"{state.iteration}/{state.most_passes - 1}, RMSE {state.rmse:.6f}, best {state.best_rmse:.6f}"
        )
        logger.debug(message, extra={"iteration": state})
        if self._verbose > 1 or (self._verbose == 1 and state.iteration % 10 == 0 and state.kind != "swap"):
            write_progress(message)
        self.was_stopped = self._root is not None and self._notify_callbacks(state)
        return self.was_stopped

    def finish(self) -> None:
        """Report the end of the fit, also to the callbacks."""
        if self._verbose > 0:
            found = self._estimator
            write_progress(f"{type(found).__name__}: finished, RMSE {found.rmse_:.6f} after {found.n_iter_} iterations")
        if self._root is not None:
            self._end_descent()
            self._root.call_on_fit_task_end(
                estimator=self._estimator, **self._data, reconstruction_attributes=lambda: vars(self._estimator).copy()
            )

    def _notify_callbacks(self, state: LearningState) -> bool:
        if self._descent is None or state.stage != self._stage:
            self._end_descent()
            self._stage = state.stage
            self._descent = self._root.subcontext(task_name="descent", max_subtasks=state.most_passes)
            self._descent.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        task = self._descent.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return bool(
            task.call_on_fit_task_end(
                estimator=self._estimator,
                **self._data,
                reconstruction_attributes=lambda: self._fitted_attributes(state),
            )
        )

    def _end_descent(self) -> None:
        if self._descent is not None:
            self._descent.call_on_fit_task_end(estimator=self._estimator, **self._data)
            self._descent = None
