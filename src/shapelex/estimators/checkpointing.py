"""Checkpoints of a fit: when they are written, and whether one belongs to this fit.

In come the states that a learner offers; out go files, and the state to go on from.
"""

import hashlib
import logging
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._validation import check_count
from shapelex.exceptions import CheckpointError, CheckpointWarning
from shapelex.io.checkpoint_file import previous_path, read_checkpoint, write_checkpoint
from shapelex.learning import LearnerState, LearningOptions, RowBlocks
from shapelex.learning.states import Moment
from shapelex.spaces import Space

logger = logging.getLogger("shapelex")

# Swaps and batches are written at most so often: a state within an iteration saves seconds at best.
_LEAST_SECONDS = 1.0

_FINGERPRINT = "fingerprint"


class Checkpoint:
    """The checkpoint of one fit.

    Parameters
    ----------
    path : str or Path
        Where it is, or will be.
    every : int
        Iterations between two of them.
    fingerprint : mapping
        What the fit is made of, see :func:`describe_fit`.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    """

    def __init__(self, path: str | Path, every: int, fingerprint: Mapping[str, Any]) -> None:
        self.path = Path(path)
        if not self.path.absolute().parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self.path.absolute().parent} to write {self.path.name} to.")
        self.every = check_count(every, 1, "checkpoint_every")
        self.fingerprint = dict(fingerprint)
        self._n_failures = 0
        self._failure: OSError | None = None
        self._last_time = time.monotonic()

    def load(self) -> LearnerState | None:
        """State to go on from.

        Returns
        -------
        LearnerState or None
            None where there is no checkpoint.

        Raises
        ------
        CheckpointError
            If it is damaged, or of another fit.
        """
        path = self.path if self.path.exists() else previous_path(self.path)
        if not path.exists():
            return None
        numbers, arrays = read_checkpoint(path)
        theirs = numbers.pop(_FINGERPRINT, {})
        names = sorted({*self.fingerprint, *theirs})
        differing = [name for name in names if self.fingerprint.get(name) != theirs.get(name)]
        if differing:
            told = ", ".join(
                f"{name} {theirs.get(name)!r} there, {self.fingerprint.get(name)!r} here" for name in differing
            )
            raise CheckpointError(
                f"{path} is the checkpoint of another fit ({told}): give the shapes and parameters it was made with, "
                "another checkpoint path, or remove it to start anew."
            )
        logger.info("goes on from checkpoint %s", path)
        return LearnerState(numbers, arrays)

    def save(self, moment: Moment, n_iterations: int, describe: Callable[[], LearnerState]) -> None:
        """Write a state if it is time to; what cannot be written does not stop the fit.

        Parameters
        ----------
        moment : {"step", "iteration", "end"}
            What was just done.
        n_iterations : int
            Iterations made.
        describe : callable
            Gives the state.
        """
        if moment == "iteration" and n_iterations % self.every:
            return
        if moment == "step" and (self.every > 1 or time.monotonic() - self._last_time < _LEAST_SECONDS):
            return
        state = describe()
        try:
            write_checkpoint(self.path, {**state.numbers, _FINGERPRINT: self.fingerprint}, state.arrays)
            self._failure = None
        except OSError as error:
            self._n_failures += 1
            self._failure = error
            logger.warning("checkpoint %s could not be written: %s", self.path, error)
        self._last_time = time.monotonic()

    def finish(self) -> None:
        """Warn where the last checkpoint of the fit is not on disk."""
        if self._failure is not None:
            warnings.warn(
                f"The fit is complete, but its checkpoint {self.path} could not be written {self._n_failures} times, "
                f"the last one included ({self._failure}): save the model elsewhere.",
                CheckpointWarning,
                stacklevel=5,
            )


def describe_fit(
    source: RowBlocks, space: Space, options: LearningOptions, batch_size: int | None, random_state: Any
) -> dict[str, Any]:
    """What tells one fit from another, as JSON values.

    Parameters
    ----------
    source : RowBlocks
        The shapes; the first and the last one stand for all.
    space : Space
        Their space.
    options : LearningOptions
        What to learn. Threads and device do not count, nor `max_iter` where there is one descent.
    batch_size : int or None
        Size of the batches.
    random_state : object
        Counts where it is a seed.

    Returns
    -------
    dict
        Names and values.
    """
    ends = source.take(np.unique([0, source.n_samples - 1]))
    described: dict[str, Any] = {
        "n_shapes": source.n_samples,
        "dtype": str(ends.dtype),
        "first and last shape": _digest(ends),
        "sample_weight": None if source.sample_weight is None else _digest(source.sample_weight),
        "space": repr(space),
        "batch_size": batch_size,
        "random_state": int(random_state) if isinstance(random_state, int | np.integer) else None,
    }
    left_out = {"n_threads", "device"} | ({"max_iter"} if options.n_restarts == 1 else set())
    for field in fields(options):
        if field.name not in left_out:
            value = getattr(options, field.name)
            described[field.name] = _digest(value) if isinstance(value, np.ndarray) else _as_plain(value)
    return described


def _digest(array: np.ndarray[Any, Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def _as_plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
