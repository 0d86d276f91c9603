"""Whether the atoms of a dictionary are found again when it is learned from other shapes of the same kind."""

import logging
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.exceptions import ParameterError
from shapelex.geometry.matching import DictionaryStability, matched_distances
from shapelex.learning.descent import Learner, LearningState
from shapelex.learning.options import LearningOptions
from shapelex.learning.sampling import draw_rows, take_part
from shapelex.learning.start import initial_atoms
from shapelex.shapes.storage import ArrayShapes, Shapes

logger = logging.getLogger("shapelex")

SAMPLE_ROWS = 4000
"""Number of shapes that both halves have together at most, or 20 for each atom if that is more."""

# Pairs of random draws of shapes whose matched distances are averaged.
_N_CHANCE_PAIRS = 20


@dataclass(frozen=True, eq=False)
class TrainingSample:
    """Some of the shapes of a fit in memory, and how it learned from them: all that is needed to learn from halves.

    All draws of :func:`measure_stability` follow from `seed`.
    """

    shapes: ArrayShapes
    options: LearningOptions
    seed: int

    @classmethod
    def draw(cls, shapes: Shapes, options: LearningOptions, generator: np.random.Generator) -> "TrainingSample":
        """Draw a sample; the generator stays in its state, so that what follows does not depend on it."""
        seed = int(deepcopy(generator).integers(2**63))
        chosen = draw_rows(shapes, max(SAMPLE_ROWS, 20 * options.n_atoms), np.random.default_rng((seed, 0)))
        # The runs are independent: none begins with given atoms.
        options = options if isinstance(options.init, str) else replace(options, init="auto")
        return cls(take_part(shapes, chosen), options, seed)

    def halves(self, generator: np.random.Generator) -> tuple[ArrayShapes, ArrayShapes]:
        """Return the shapes in two random halves."""
        order, middle = generator.permutation(len(self.shapes)), len(self.shapes) // 2
        return take_part(self.shapes, np.sort(order[:middle])), take_part(self.shapes, np.sort(order[middle:]))


def measure_stability(atoms: ComplexArray, sample: TrainingSample) -> DictionaryStability:
    """Learn dictionaries from two halves of the sample and compare whitened atoms with them, and them with each other.

    Progress is logged at level DEBUG, with the attributes ``iteration`` and ``half`` of the records.
    """
    generator = np.random.default_rng((sample.seed, 1))
    n_atoms, n_shapes = len(atoms), len(sample.shapes)
    nothing, nan = np.full(n_atoms, np.nan), float("nan")
    unknown = DictionaryStability(nothing, nothing, nan, nan, n_shapes)
    if n_shapes < 2 * n_atoms:
        return unknown
    halves = sample.halves(generator)
    try:
        pairs = [[initial_atoms(half, n_atoms, "random", generator) for half in halves] for _ in range(_N_CHANCE_PAIRS)]
    except ParameterError:
        # A half has fewer shapes than atoms.
        return unknown
    draws = [draw for pair in pairs for draw in pair]
    # Where a half has too few distinct shapes, the last ones are repeats.
    if any(len(np.unique(draw, axis=0)) < n_atoms for draw in draws):
        return unknown
    first, second = (_learn_half(number, half, sample, generator) for number, half in enumerate(halves))
    return DictionaryStability(
        distances=(matched_distances(atoms, first) + matched_distances(atoms, second)) / 2,
        chance=np.mean([matched_distances(atoms, draw) for draw in draws], axis=0),
        between_halves=float(matched_distances(first, second).mean()),
        chance_between_halves=float(np.mean([matched_distances(*pair).mean() for pair in pairs])),
        n_shapes=n_shapes,
    )


def _learn_half(number: int, half: ArrayShapes, sample: TrainingSample, generator: np.random.Generator) -> ComplexArray:
    def report(state: LearningState) -> None:
        logger.debug(
            "stability: half %d of 2, RMSE %.6f", number + 1, state.rmse, extra={"iteration": state, "half": number}
        )

    return Learner(half, sample.options, generator, report).run().atoms
