"""Where a learner stands, as plain numbers and arrays: all it needs to go on to the same bits.

Passes over the shapes are functions of the dictionary alone, so that codes and statistics need not be kept: the first
pass after a resumption makes them again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shapelex.learning.passes import Survey
from shapelex.learning.statistics import Statistics

Moment = Literal["step", "iteration", "end"]
"""When a state is offered: within an iteration (after a swap or a batch), after one, or at the end of a descent."""


@dataclass(frozen=True)
class LearnerState:
    """A state that can be written to a file.

    Parameters
    ----------
    numbers : mapping
        JSON values.
    arrays : mapping of str to ndarray
        Arrays.
    """

    numbers: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray[Any, Any]]


Saver = Callable[[Moment, int, Callable[[], LearnerState]], None]
"""Takes the moment, the number of iterations made, and a function that describes the state."""


def describe_generator(generator: np.random.Generator) -> dict[str, Any]:
    """State of a generator as JSON values.

    Parameters
    ----------
    generator : numpy.random.Generator
        The generator.

    Returns
    -------
    dict
        Its state; arrays are lists.
    """
    return describe_state(generator.bit_generator.state)


def describe_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """State of a bit generator as JSON values.

    Parameters
    ----------
    state : mapping
        As NumPy gives it.

    Returns
    -------
    dict
        The same; arrays are lists.
    """
    described: dict[str, Any] = _without_arrays(dict(state))
    return described


def restore_generator(generator: np.random.Generator, state: Mapping[str, Any]) -> None:
    """Put a generator into a described state.

    Parameters
    ----------
    generator : numpy.random.Generator
        A generator of the same kind.
    state : mapping
        Made by :func:`describe_generator`.
    """
    generator.bit_generator.state = generator_state(state)


def generator_state(described: Any) -> Any:
    """State as NumPy takes it.

    Parameters
    ----------
    described : mapping
        Made by :func:`describe_generator`.

    Returns
    -------
    dict
        With arrays where lists were.
    """
    if isinstance(described, Mapping):
        return {name: generator_state(value) for name, value in described.items()}
    return np.array(described, dtype=np.uint64) if isinstance(described, list) else described


def _without_arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_arrays(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return [int(entry) for entry in value]
    return int(value) if isinstance(value, np.integer) else value


def describe_statistics(statistics: Statistics, prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Statistics as numbers and arrays.

    Parameters
    ----------
    statistics : Statistics
        The sums.
    prefix : str
        What their names begin with.

    Returns
    -------
    numbers, arrays : dict
        The parts.
    """
    arrays = {"gram": statistics.gram, "products": statistics.products, "counts": statistics.usage}
    return {f"{prefix}_sum": statistics.weight}, {f"{prefix}_{name}": array for name, array in arrays.items()}


def restore_statistics(state: LearnerState, prefix: str) -> Statistics:
    """Statistics from numbers and arrays.

    Parameters
    ----------
    state : LearnerState
        Holds them.
    prefix : str
        What their names begin with.

    Returns
    -------
    Statistics
        The sums.
    """
    gram, products, counts = (state.arrays[f"{prefix}_{name}"] for name in ("gram", "products", "counts"))
    return Statistics(gram, products, counts, state.numbers[f"{prefix}_sum"])


def describe_survey(found: Survey) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is kept of the best survey.

    Parameters
    ----------
    found : Survey
        A surveyed dictionary.

    Returns
    -------
    numbers, arrays : dict
        The parts.
    """
    numbers, arrays = describe_statistics(found.statistics, "best")
    numbers |= {
        "best_loss": found.loss,
        "best_mean_nearest_distance2": found.mean_nearest_distance2,
        "best_weight": found.weight,
    }
    return numbers, arrays | {"best_atoms": found.atoms, "best_usage": found.usage}


def restore_survey(state: LearnerState) -> Survey:
    """Survey of the best dictionary, without worst and nearest shapes.

    Parameters
    ----------
    state : LearnerState
        Holds it.

    Returns
    -------
    Survey
        What is kept of it.
    """
    atoms = state.arrays["best_atoms"]
    return Survey(
        atoms=atoms,
        loss=state.numbers["best_loss"],
        mean_nearest_distance2=state.numbers["best_mean_nearest_distance2"],
        statistics=restore_statistics(state, "best"),
        usage=state.arrays["best_usage"],
        weight=state.numbers["best_weight"],
        worst=atoms[:0],
        nearest=atoms[:0],
        details=None,
    )
