"""Progress of a fit, reported to the log, to standard error and to scikit-learn's callbacks.

scikit-learn has callbacks since 1.9; with older versions there are none.
"""

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from shapelex._validation import check_count
from shapelex.learning import Iteration, LearningOptions

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
    options : LearningOptions
        Gives the number of descents, and the maximum number of updates per descent.
    fitted_attributes : callable
        Returns, for an iteration, the attributes of an estimator that stops there.
    """

    def __init__(
        self,
        estimator: Any,
        verbose: bool | int,
        data: dict[str, Any],
        options: LearningOptions,
        fitted_attributes: Callable[[Iteration], dict[str, Any]],
    ) -> None:
        self._estimator = estimator
        self._verbose = verbose
        self._data = data
        self._max_iter = options.max_iter
        self._fitted_attributes = fitted_attributes
        self._root: Any = None
        self._descent: Any = None
        self._restart = 0
        self._tenths = 0
        self._searched_with = " with one atom per shape" if len(options.sparsities) > 1 else ""
        self.was_stopped = False
        if getattr(estimator, "_skl_callbacks", None):
            self._root = estimator._init_callback_context(max_subtasks=options.n_restarts)
            self._root.call_on_fit_task_begin(estimator=estimator, **data)

    def __call__(self, iteration: Iteration) -> bool:
        """Report one pass; return whether a callback asks to stop."""
        if iteration.n_trials is not None:
            self._report_trials(iteration)
            return False
        message = (
            f"{type(self._estimator).__name__}: restart {iteration.restart + 1}/{iteration.n_restarts}, iteration "
            f"{iteration.iteration}/{iteration.max_iter}, RMSE {iteration.rmse:.6f}, best {iteration.best_rmse:.6f}"
        )
        logger.debug(message, extra={"iteration": iteration})
        if self._verbose > 1 or (self._verbose == 1 and iteration.iteration % 10 == 0):
            write_progress(message)
        self.was_stopped = self._root is not None and self._notify_callbacks(iteration)
        return self.was_stopped

    def _report_trials(self, iteration: Iteration) -> None:
        assert iteration.explored is not None
        tenths = int(10 * iteration.explored)
        message = (
            f"{type(self._estimator).__name__}: restart {iteration.restart + 1}/{iteration.n_restarts}, first "
            f"dictionary, {10 * tenths} %: {iteration.n_trials} swaps and crossovers tried, RMSE of the sample "
            f"{iteration.rmse:.6f}{self._searched_with if iteration.explored < 1 else ''}"
        )
        logger.debug(message, extra={"iteration": iteration})
        if self._verbose > 1 or (self._verbose == 1 and tenths > self._tenths):
            write_progress(message)
        self._tenths = tenths

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

    def _notify_callbacks(self, iteration: Iteration) -> bool:
        if self._descent is None or iteration.restart != self._restart:
            self._end_descent()
            self._restart = iteration.restart
            self._descent = self._root.subcontext(task_name="descent", max_subtasks=self._max_iter + 1)
            self._descent.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        task = self._descent.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return bool(
            task.call_on_fit_task_end(
                estimator=self._estimator,
                **self._data,
                reconstruction_attributes=lambda: self._fitted_attributes(iteration),
            )
        )

    def _end_descent(self) -> None:
        if self._descent is not None:
            self._descent.call_on_fit_task_end(estimator=self._estimator, **self._data)
            self._descent = None
