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

from shapelex._typing import ComplexArray
from shapelex.exceptions import CheckpointError, CheckpointWarning, reason_of
from shapelex.learning.descent import LearningState, make_plan
from shapelex.learning.one_pass import PassSums
from shapelex.learning.options import LearningOptions
from shapelex.shapes.storage import Shapes
from shapelex.store.archive import Arrays, as_plain
from shapelex.store.checkpoint_file import previous_path, read_checkpoint, write_checkpoint

logger = logging.getLogger("shapelex")

# Short iterations are written at most so often, and once more at the end.
_LEAST_SECONDS = 1.0

_FINGERPRINT = "fingerprint"

# How far the norms of atoms may be from 1, in either precision.
_ROUNDING = 1e-3


class Checkpoint:
    """The checkpoint of one fit; its `fingerprint` is what :func:`describe_fit` returns."""

    def __init__(self, path: str | Path, shapes: Shapes, options: LearningOptions, random_state: Any) -> None:
        self.path = Path(path)
        if not self.path.absolute().parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self.path.absolute().parent} to write {self.path.name} to.")
        self.fingerprint = describe_fit(shapes, options, random_state)
        self.sizes = (options.n_atoms, shapes.shape[1])
        self._waiting: tuple[dict[str, Any], Arrays] | None = None
        self._n_failures = 0
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
        try:
            _restore(state, generator, numbers, arrays, self.sizes)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{self.path} is damaged, though its checksum is right ({reason_of(error)}): remove it to start again."
            ) from error
        logger.info("resumes from checkpoint %s", path)

    def save(self, state: LearningState, generator: np.random.Generator) -> None:
        """Write the state after a pass, unless the last one was written just before."""
        self._waiting = _describe(state, generator)
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
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return
        numbers, arrays = waiting
        try:
            write_checkpoint(self.path, {**numbers, _FINGERPRINT: self.fingerprint}, arrays)
            self._failure = None
        except OSError as error:
            self._n_failures += 1
            self._failure = error
            logger.warning("checkpoint %s could not be written: %s", self.path, error)
        self._last_time = time.monotonic()


def describe_fit(shapes: Shapes, options: LearningOptions, random_state: Any) -> dict[str, Any]:
    """Return what tells one fit from another, as JSON values.

    Threads and device do not count, nor does a `random_state` that is not a seed; `max_iter` only where it changes the
    plan, which a longer fit of one stage does not.
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
        "random_state": int(random_state) if isinstance(random_state, int | np.integer) else None,
    }
    for field in fields(options):
        if field.name not in ("n_threads", "device", "max_iter"):
            value = getattr(options, field.name)
            described[field.name] = _digest(value) if isinstance(value, np.ndarray) else as_plain(value)
    plan = make_plan(options, has_more=True)
    is_longer = len(plan) == 1 or options.batch_size is not None
    described["max_iter"] = None if is_longer else max(stage.n_passes for stage in plan) - 1
    return described


def _digest(array: np.ndarray[Any, Any]) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest()


def _describe(state: LearningState, generator: np.random.Generator) -> tuple[dict[str, Any], Arrays]:
    """Return a state as JSON values and arrays."""
    numbers: dict[str, Any] = {"generator": _plain_state(generator.bit_generator.state)}
    arrays: Arrays = {}
    for field in fields(state):
        value = getattr(state, field.name)
        if isinstance(value, PassSums):
            for part in fields(value):
                _put(numbers, arrays, f"{field.name}_{part.name}", getattr(value, part.name))
        elif value is not None:
            _put(numbers, arrays, field.name, value)
    return numbers, arrays


def _put(numbers: dict[str, Any], arrays: Arrays, name: str, value: Any) -> None:
    if isinstance(value, np.ndarray):
        arrays[name] = value
    elif value is not None:
        numbers[name] = [*value] if isinstance(value, list) else value


def _restore(
    state: LearningState,
    generator: np.random.Generator,
    numbers: Mapping[str, Any],
    arrays: Mapping[str, Any],
    sizes: tuple[int, int],
) -> None:
    """Set a state to what :func:`_describe` returned; what makes no sense is a ValueError or the like."""
    for field in fields(state):
        name = field.name
        if name in ("found", "current", "best", "memory"):
            if f"{name}_gram" in arrays:
                names = {part.name: f"{name}_{part.name}" for part in fields(PassSums)}
                values = {part: arrays.get(key, numbers.get(key)) for part, key in names.items()}
                _check_sums(name, values, sizes)
                setattr(state, name, PassSums(**values))
        elif name in ("atoms", "coded", "start"):
            setattr(state, name, _check_atoms(name, arrays.get(name), sizes))
        else:
            default = getattr(state, name)
            if type(numbers[name]) is not type(default):
                raise ValueError(f"its {name} must be of type {type(default).__name__}, got {numbers[name]!r:.40}")
            setattr(state, name, numbers[name])
    _check_numbers("curve", state.curve)
    if state.atoms is None or (state.found or state.memory) is None or min(state.stage, state.n_passes) < 0:
        raise ValueError("it must have atoms, and what a pass found")
    generator.bit_generator.state = _state_with_arrays(numbers["generator"])


def _check_atoms(name: str, atoms: Any, sizes: tuple[int, int]) -> ComplexArray | None:
    """Return a dictionary, or None; refuse what is not one."""
    if atoms is None:
        return None
    if atoms.shape != sizes or atoms.dtype.kind != "c":
        raise ValueError(f"its {name} must have shape {sizes}, got {atoms.dtype} {atoms.shape}")
    if not (np.abs(np.linalg.norm(atoms, axis=1) - 1) < _ROUNDING).all():
        raise ValueError(f"its {name} must have norm 1")
    found: ComplexArray = atoms
    return found


def _check_sums(name: str, values: Mapping[str, Any], sizes: tuple[int, int]) -> None:
    """Refuse sums that no pass finds."""
    n_atoms, _ = sizes
    for part, shape, kind in (("gram", (n_atoms, n_atoms), "c"), ("products", sizes, "c"), ("usage", (n_atoms,), "f")):
        array = values[part]
        if array.shape != shape or array.dtype.kind != kind or not np.isfinite(array).all():
            raise ValueError(f"its {name}_{part} must be finite, of shape {shape}, got {array.dtype} {array.shape}")
    for part in ("atoms", "start"):
        _check_atoms(f"{name}_{part}", values[part], sizes)
    _check_numbers(name, [values["weight"], values["loss"], *values["curve"]])
    if not (values["usage"] >= 0).all():
        raise ValueError(f"its {name}_usage must not be negative")


def _check_numbers(name: str, values: list[Any]) -> None:
    """Refuse what is not finite and positive, or not a number."""
    if not all(type(value) in (int, float) and 0 <= value < np.inf for value in values):
        raise ValueError(f"its {name} must be finite and not negative, got {values!r:.60}")


def _plain_state(value: Any) -> Any:
    """Return the state of a generator as JSON values: arrays become lists."""
    if isinstance(value, Mapping):
        return {name: _plain_state(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return [int(entry) for entry in value]
    return int(value) if isinstance(value, np.integer) else value


def _state_with_arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _state_with_arrays(part) for name, part in value.items()}
    return np.array(value, dtype=np.uint64) if isinstance(value, list) else value
