"""Checkpoints of a fit: when they are written, and whether one belongs to this fit.

In come the states that a learner offers after its iterations; out go files, and the state to resume from.
"""

import hashlib
import logging
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.exceptions import CheckpointError, CheckpointWarning, reason_of
from shapelex.learning.options import LearningOptions
from shapelex.learning.states import LearnerState
from shapelex.shapes.collection import Shapes
from shapelex.store.archive import as_plain
from shapelex.store.checkpoint_file import previous_path, read_checkpoint, write_checkpoint

logger = logging.getLogger("shapelex")

# Short iterations are written at most so often, and once more at the end.
_LEAST_SECONDS = 1.0

_FINGERPRINT = "fingerprint"


class Checkpoint:
    """The checkpoint of one fit; its `fingerprint` is what :func:`describe_fit` returns."""

    def __init__(self, path: str | Path, fingerprint: Mapping[str, Any]) -> None:
        self.path = Path(path)
        if not self.path.absolute().parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self.path.absolute().parent} to write {self.path.name} to.")
        self.fingerprint = dict(fingerprint)
        self._waiting: LearnerState | None = None
        self._n_failures = 0
        self._failure: OSError | None = None
        self._last_time = time.monotonic()

    def load(self) -> LearnerState | None:
        """Return the state to resume from, None without a checkpoint; refuse one that is damaged or of another fit."""
        path = self.path if self.path.exists() else previous_path(self.path)
        if not path.exists():
            return None
        numbers, arrays = read_checkpoint(path)
        theirs = numbers.pop(_FINGERPRINT, {})
        if not isinstance(theirs, dict):
            raise CheckpointError(f"{path} is damaged: it does not say what it belongs to; remove it to start again.")
        names = sorted({*self.fingerprint, *theirs})
        differing = [name for name in names if self.fingerprint.get(name) != theirs.get(name)]
        if differing:
            told = ", ".join(
                f"{name} {theirs.get(name)!r} there, {self.fingerprint.get(name)!r} here" for name in differing
            )
            raise CheckpointError(
                f"{path} is the checkpoint of another fit ({told}): give the shapes and parameters it was made with, "
                "another checkpoint path, or remove it to start again."
            )
        logger.info("resumes from checkpoint %s", path)
        return LearnerState(numbers, arrays)

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Turn what a learner raises on a state that makes no sense into an error of the checkpoint."""
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{self.path} is damaged, though its checksum is right ({reason_of(error)}): remove it to start again."
            ) from error

    def save(self, state: LearnerState) -> None:
        """Write the state after an iteration, unless the last one was written just before."""
        self._waiting = state
        if time.monotonic() - self._last_time >= _LEAST_SECONDS:
            self.flush()

    def finish(self) -> None:
        """Write the last state of a complete fit, and warn if it could not be written."""
        self.flush()
        if self._failure is not None:
            warnings.warn(
                f"The fit is complete, but its checkpoint {self.path} could not be written {self._n_failures} times, "
                f"including the last ({self._failure}): save the model elsewhere.",
                CheckpointWarning,
                stacklevel=5,
            )

    def flush(self) -> None:
        """Write the last state, if it is not yet on disk; a state that cannot be written does not stop the fit."""
        state, self._waiting = self._waiting, None
        if state is None:
            return
        try:
            write_checkpoint(self.path, {**state.numbers, _FINGERPRINT: self.fingerprint}, state.arrays)
            self._failure = None
        except OSError as error:
            self._n_failures += 1
            self._failure = error
            logger.warning("checkpoint %s could not be written: %s", self.path, error)
        self._last_time = time.monotonic()


def describe_fit(shapes: Shapes, options: LearningOptions, batch_size: int | None, random_state: Any) -> dict[str, Any]:
    """Return what tells one fit from another, as JSON values.

    Threads and device do not count, nor `max_iter` where there is one descent, nor a `random_state` that is no seed.
    """
    described: dict[str, Any] = {
        "n_shapes": len(shapes),
        "dtype": str(shapes.dtype),
        "shapes": shapes.digest(),
        "sample_weight": None if shapes.weights is None else _digest(shapes.weights),
        "space": repr(shapes.space),
        # Spaces with different Gram matrices may look the same in words.
        "gram": _digest(shapes.space.gram),
        "shift": _digest(shapes.space.shift),
        "batch_size": batch_size,
        "random_state": int(random_state) if isinstance(random_state, int | np.integer) else None,
    }
    left_out = {"n_threads", "device"} | ({"max_iter"} if options.n_restarts == 1 else set())
    for field in fields(options):
        if field.name not in left_out:
            value = getattr(options, field.name)
            described[field.name] = _digest(value) if isinstance(value, np.ndarray) else as_plain(value)
    return described


def _digest(array: np.ndarray[Any, Any]) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest()
