"""A better place to start a descent from: swaps of atoms, tried out on a sample of the shapes.

In comes a first dictionary; out goes one from which the descent ends lower. Alternating updates only ever reach
the nearest local minimum, and which one that is depends on the first dictionary more than on anything else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.learning.initialization import draw_index
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey
from shapelex.learning.problem import LearningProblem
from shapelex.learning.sources import RowBlocks
from shapelex.learning.update import mutual_coherences

SAMPLE_ROWS = 2000
"""Shapes that swaps are tried out on, or 20 for each atom if that is more."""

WEIGHT_PRICE = 0.01
"""A swap is judged by the objective times ``1 + 0.01 mean_k |a_k|²``: accuracy that is bought with large opposite
weights of atoms that nearly agree is not worth having."""

# Updates before the first swap, and after each swap before it is judged.
_SETTLING_UPDATES = 12
_TRIAL_UPDATES = 3


@dataclass(frozen=True)
class Exploration:
    """How far an exploration came.

    Parameters
    ----------
    n_swaps : int
        Swaps tried.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The best dictionary so far.
    first_state : mapping
        State of the generator before the sample was drawn.
    """

    n_swaps: int
    atoms: ComplexArray
    first_state: Mapping[str, Any]


def explore(
    source: RowBlocks,
    options: LearningOptions,
    atoms: ComplexArray,
    generator: np.random.Generator,
    reached: Exploration | None = None,
) -> Iterator[Survey]:
    """Swap atoms for badly reconstructed shapes, and keep the swaps that lower the objective.

    A swap draws a shape in proportion to its weight and its squared distance to its reconstruction, and puts it in the
    place of an atom drawn in inverse proportion to its worth, ``Σ_k |a_kj|²`` times the squared distance to the
    nearest other atom: what the codes make of it that no other atom could. Then come 3 updates, and the swap stays if
    the objective, with the price of large weights, is lower than before. All of it sees a random sample of the
    shapes only.

    Parameters
    ----------
    source : RowBlocks
        The shapes.
    options : LearningOptions
        What to learn; ``swap_count`` swaps are tried.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        First dictionary.
    generator : numpy.random.Generator
        The source of chance.
    reached : Exploration, optional
        Where an earlier exploration was cut off; the generator is in the state of that moment.

    Yields
    ------
    Survey
        The best dictionary so far on the sample: after the first updates, and after every swap that was tried.
    """
    n_rows = max(SAMPLE_ROWS, 20 * options.n_atoms)
    if reached is None:
        problem = LearningProblem(_sample(source, n_rows, generator), options, with_details=True)
        best = _settle(problem, problem.survey(atoms), _SETTLING_UPDATES)
        yield best
    else:
        # The same sample again, and then on from the state of the moment.
        state = generator.bit_generator.state
        generator.bit_generator.state = dict(reached.first_state)
        problem = LearningProblem(_sample(source, n_rows, generator), options, with_details=True)
        generator.bit_generator.state = state
        best = problem.survey(reached.atoms)
    sample = problem.source
    rounding = float(64 * np.finfo(atoms.dtype).eps) ** 2
    for _ in range(0 if reached is None else reached.n_swaps, options.swap_count):
        if best.loss <= rounding:
            break
        swapped = _swap(best, sample, generator)
        trial = _settle(problem, problem.survey(swapped), _TRIAL_UPDATES)
        if _judge(problem, trial) < _judge(problem, best):
            best = trial
        yield best


def _sample(source: RowBlocks, n_rows: int, generator: np.random.Generator) -> RowBlocks:
    chosen = source.draw(n_rows, generator)
    return RowBlocks.from_rows(source.take(chosen), source.weights_of(chosen))


def _settle(problem: LearningProblem, found: Survey, n_updates: int) -> Survey:
    for _ in range(n_updates):
        following, _ = problem.improve(found)
        if following is None:
            break
        found = following
    return found


def _judge(problem: LearningProblem, found: Survey) -> float:
    mean_energy = float(found.statistics.gram.diagonal().real.sum()) / found.statistics.weight
    return problem.objective(found) * (1 + WEIGHT_PRICE * mean_energy)


def _swap(found: Survey, sample: RowBlocks, generator: np.random.Generator) -> ComplexArray:
    assert found.details is not None
    energies = found.statistics.gram.diagonal().real
    worth = energies * (1 - mutual_coherences(found.atoms).max(axis=1) ** 2)
    outgoing = draw_index(1 / np.maximum(worth, worth.max() * 1e-6 + np.finfo(worth.dtype).tiny), generator)
    incoming = draw_index(sample.weights(0, sample.n_samples) * found.details.values, generator)
    atoms = found.atoms.copy()
    atoms[outgoing] = sample.read(incoming, incoming + 1)[0]
    return atoms
