"""Checkpoints of a fit: when they are written, and whether one belongs to this fit."""

import hashlib
import json
import logging
import time
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.exceptions import CheckpointError, CheckpointWarning, reason_of
from shapelex.files.archive import as_plain
from shapelex.files.checkpoint_file import previous_path, read_checkpoint, write_checkpoint
from shapelex.learning.descent import Learner, LearningState, make_plan
from shapelex.learning.one_pass import PassSums

logger = logging.getLogger("shapelex")

# Short iterations are written at most so often, and once more at the end.
_LEAST_SECONDS = 1.0
# Parts of the state of a learner that are sums of a pass, or nothing.
_SUMS = ("found", "current", "best", "memory")


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
                vars(self.learner).update(vars(_restored({**numbers, **arrays}, len(self.learner.plan))))
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


def _restored(described: dict[str, Any], n_stages: int) -> LearningState:
    """Return the state that :func:`_described` was given; what is not a state is a TypeError or the like."""
    for name in _SUMS:
        own = {key.removeprefix(f"{name}."): described.pop(key) for key in [*described] if key.startswith(f"{name}.")}
        if own:
            described[name] = PassSums(**own)
    state = LearningState(**described)
    if state.atoms is None or not 0 <= state.stage < n_stages:
        raise ValueError("it must have atoms, and a stage of the fit")
    return state
