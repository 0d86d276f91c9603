"""Whether the atoms of a dictionary are found again when it is learned from other shapes of the same kind."""

import logging

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.geometry.matching import DictionaryStability, matched_distances
from shapelex.learning.descent import Learner
from shapelex.learning.options import LearningOptions
from shapelex.learning.sampling import take_part
from shapelex.learning.start import initial_atoms
from shapelex.shapes.storage import ArrayShapes

logger = logging.getLogger("shapelex")

STABILITY_ROWS = 4000
"""Number of shapes that both halves have together at most, or 20 for each atom if that is more."""

# Pairs of random draws of shapes whose matched distances are averaged.
_N_CHANCE_PAIRS = 20


def measure_stability(
    atoms: ComplexArray, shapes: ArrayShapes, options: LearningOptions, seed: int
) -> DictionaryStability:
    """Learn dictionaries from two halves of some shapes; compare whitened atoms with them, and them with each other.

    Progress is logged at level DEBUG, with the attributes ``iteration`` and ``half`` of the records. All draws follow
    from `seed`.
    """
    generator = np.random.default_rng((seed, 1))
    n_atoms, n_shapes = len(atoms), len(shapes)
    order = generator.permutation(n_shapes)
    try:
        halves = [take_part(shapes, np.sort(half)) for half in (order[: n_shapes // 2], order[n_shapes // 2 :])]
        pairs = [[initial_atoms(half, n_atoms, "random", generator) for half in halves] for _ in range(_N_CHANCE_PAIRS)]
    except (ParameterError, ShapeInputError):
        # A half has fewer shapes than atoms, or none that has a certain landmark.
        pairs = []
    draws = [draw for pair in pairs for draw in pair]
    # Where a half has too few distinct shapes, the last ones are repeats.
    if not draws or any(len(np.unique(draw, axis=0)) < n_atoms for draw in draws):
        nothing, nan = np.full(n_atoms, np.nan), float("nan")
        return DictionaryStability(nothing, nothing, nan, nan, n_shapes)
    learned = []
    for number, half in enumerate(halves):
        learner = Learner(half, options, generator)
        for _ in learner.passes():
            message, known = "stability: half %d of 2, RMSE %.6f", {"iteration": learner, "half": number}
            logger.debug(message, number + 1, learner.rmse, extra=known)
        learned.append(learner.finish().atoms)
    first, second = learned
    return DictionaryStability(
        distances=(matched_distances(atoms, first) + matched_distances(atoms, second)) / 2,
        chance=np.mean([matched_distances(atoms, draw) for draw in draws], axis=0),
        between_halves=float(matched_distances(first, second).mean()),
        chance_between_halves=float(np.mean([matched_distances(*pair).mean() for pair in pairs])),
        n_shapes=n_shapes,
    )
