"""A better dictionary to start a descent from: swaps of atoms, tried on a sample of the shapes.

In comes a first dictionary; out goes one from which the descent ends lower. Alternating updates only reach the nearest
local minimum, and which one that is depends on the first dictionary more than on anything else.
"""

from collections.abc import Iterator

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey
from shapelex.learning.problem import LearningProblem
from shapelex.learning.sampling import draw_index, draw_rows
from shapelex.learning.update import mutual_coherences
from shapelex.shapes.collection import ArrayShapes, Shapes

SAMPLE_ROWS = 2000
"""Number of shapes that swaps are tried on, or 20 for each atom if that is more."""

WEIGHT_PRICE = 0.01
"""A swap is judged by the objective times ``1 + 0.01 mean_k |a_k|²``: accuracy that needs large opposite weights of
nearly equal atoms is not worth having."""

# Updates before the first swap, and after each swap before it is judged.
_SETTLING_UPDATES = 12
_TRIAL_UPDATES = 3


def explore(
    shapes: Shapes, options: LearningOptions, atoms: ComplexArray, generator: np.random.Generator
) -> Iterator[Survey]:
    """Swap atoms for badly approximated shapes, and keep the swaps that lower the objective.

    A swap draws a shape in proportion to its weight and its squared distance to its approximation, and puts it in the
    place of an atom drawn in inverse proportion to its worth, ``Σ_k |a_kj|²`` times the squared distance to the
    nearest other atom: what the codes use it for that no other atom could do. Then come 3 updates, and the swap is kept
    if the objective, with the price of large weights, is lower than before. All of it uses a random sample of the
    shapes.

    Yields
    ------
    Survey
        The best dictionary so far on the sample: after the first updates, and after every swap that was tried.
    """
    chosen = draw_rows(shapes, max(SAMPLE_ROWS, 20 * options.n_atoms), generator)
    sample = ArrayShapes(shapes.take(chosen), shapes.space, shapes.weights_of(chosen), shapes.name)
    sample.keep_scales()
    if shapes.is_remote:
        options = options.for_local_shapes()
    problem = LearningProblem(sample, options, keeps_values=True)
    best = _settle(problem, problem.survey(atoms), _SETTLING_UPDATES)
    yield best
    rounding = float(64 * np.finfo(atoms.dtype).eps) ** 2
    for _ in range(options.swap_count):
        if best.loss <= rounding:
            break
        trial = _settle(problem, problem.survey(_swap(best, sample, generator)), _TRIAL_UPDATES)
        if _judge(problem, trial) < _judge(problem, best):
            best = trial
        yield best


def _settle(problem: LearningProblem, found: Survey, n_updates: int) -> Survey:
    for _ in range(n_updates):
        following, _ = problem.improve(found)
        if following is found:
            break
        found = following
    return found


def _judge(problem: LearningProblem, found: Survey) -> float:
    mean_energy = float(found.statistics.gram.diagonal().real.sum()) / found.statistics.weight
    return problem.objective(found) * (1 + WEIGHT_PRICE * mean_energy)


def _swap(found: Survey, sample: ArrayShapes, generator: np.random.Generator) -> ComplexArray:
    assert found.values is not None
    energies = found.statistics.gram.diagonal().real
    worth = energies * (1 - mutual_coherences(found.atoms).max(axis=1) ** 2)
    outgoing = draw_index(1 / np.maximum(worth, worth.max() * 1e-6 + np.finfo(worth.dtype).tiny), generator)
    incoming = draw_index(sample.weights_of(slice(None)) * found.values, generator)
    atoms = found.atoms.copy()
    atoms[outgoing] = sample.preshape_rows(np.array([incoming]))[0]
    return atoms
