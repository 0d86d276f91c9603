"""Checkpoints of a fit: when they are written, and whether one belongs to this fit."""

import hashlib
import logging
import time
import warnings
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.exceptions import CheckpointError, CheckpointWarning, reason_of
from shapelex.learning.descent import LearningState, make_plan
from shapelex.learning.one_pass import PassSums
from shapelex.learning.options import LearningOptions
from shapelex.shapes.storage import Shapes
from shapelex.store.archive import as_plain
from shapelex.store.checkpoint_file import previous_path, read_checkpoint, write_checkpoint

logger = logging.getLogger("shapelex")

# Short iterations are written at most so often, and once more at the end.
_LEAST_SECONDS = 1.0


class Checkpoint:
    """The checkpoint of one fit; its `fingerprint` is what :func:`describe_fit` returns."""

    def __init__(self, path: str | Path, shapes: Shapes, options: LearningOptions, random_state: Any) -> None:
        self.path = Path(path)
        if not self.path.absolute().parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self.path.absolute().parent} to write {self.path.name} to.")
        self.fingerprint = describe_fit(shapes, options, random_state)
        self._waiting: dict[str, Any] | None = None
        self._failure: OSError | None = None
        self._last_time = time.monotonic()

    def load(self, state: LearningState, generator: np.random.Generator) -> None:
        """Put a state and a generator where an earlier run was; refuse a damaged checkpoint, and that of another fit.

        Without a checkpoint they stay as they are.
        """
        path = self.path if self.path.exists() else previous_path(self.path)
        if not path.exists():
            return
        numbers, arrays = read_checkpoint(path)
        try:
            theirs, generator_state = numbers.pop("fingerprint"), numbers.pop("generator")
            told = [
                f"{name} {theirs.get(name)!r} there, {self.fingerprint.get(name)!r} here"
                for name in sorted({*self.fingerprint, *theirs})
                if self.fingerprint.get(name) != theirs.get(name)
            ]
            if not told:
                _restore(state, {**numbers, **arrays})
                generator.bit_generator.state = generator_state
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

    def save(self, state: LearningState, generator: np.random.Generator) -> None:
        """Write the state after a pass, unless the last one was written just before."""
        self._waiting = {"generator": _as_lists(generator.bit_generator.state), **_describe(state)}
        if time.monotonic() - self._last_time >= _LEAST_SECONDS:
            self.flush()

    def finish(self) -> None:
        """Write the last state, and warn if it could not be written."""
        self.flush()
        if self._failure is not None:
            warnings.warn(
                f"The checkpoint {self.path} could not be written ({self._failure}): save the model elsewhere.",
                CheckpointWarning,
                stacklevel=6,
            )

    def flush(self) -> None:
        """Write the last state, if it is not yet on disk; a state that cannot be written does not stop the fit."""
        if self._waiting is None:
            return
        arrays = {name: value for name, value in self._waiting.items() if isinstance(value, np.ndarray)}
        numbers = {name: value for name, value in self._waiting.items() if name not in arrays}
        self._waiting = self._failure = None
        try:
            write_checkpoint(self.path, {**numbers, "fingerprint": self.fingerprint}, arrays)
        except OSError as error:
            self._failure = error
            logger.warning("checkpoint %s could not be written: %s", self.path, error)
        self._last_time = time.monotonic()


def describe_fit(shapes: Shapes, options: LearningOptions, random_state: Any) -> dict[str, Any]:
    """Return what tells one fit from another, as JSON values.

    Threads and device do not count, nor does a `random_state` that is not a seed; `max_iter` only where it changes the
    plan, which a longer fit of one stage does not.
    """
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
    return {
        name: _digest(value) if isinstance(value, np.ndarray) else as_plain(value)
        for name, value in described.items()
        if name not in ("n_threads", "device")
    }


def _digest(array: np.ndarray[Any, Any]) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest()


def _describe(part: LearningState | PassSums, prefix: str = "") -> dict[str, Any]:
    """Return the arrays and JSON values of a state; names of those of sums begin with that of their field."""
    described: dict[str, Any] = {}
    for field in fields(part):
        value = getattr(part, field.name)
        if isinstance(value, PassSums):
            described |= _describe(value, f"{field.name}.")
        elif value is not None and field.name != "plan":
            # Later passes go on with the list.
            described[prefix + field.name] = [*value] if isinstance(value, list) else value
    return described


def _restore(state: LearningState, described: dict[str, Any]) -> None:
    """Set a state to what :func:`_describe` returned; what is not a state is a TypeError or the like."""
    for name in ("found", "current", "best", "memory"):
        own = {key.removeprefix(f"{name}."): described.pop(key) for key in [*described] if key.startswith(f"{name}.")}
        if own:
            described[name] = PassSums(**own)
    restored = LearningState(state.plan, **described)
    if restored.atoms is None or not 0 <= restored.stage < len(state.plan):
        raise ValueError("it must have atoms, and a stage of the fit")
    vars(state).update(vars(restored))


def _as_lists(value: Any) -> Any:
    """Return the state of a generator as JSON values: arrays become lists."""
    if isinstance(value, Mapping):
        return {name: _as_lists(part) for name, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
