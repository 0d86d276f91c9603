"""A set of shapes and what to learn from it: the objective of a dictionary, and one step that lowers it.

In come shapes and options; out go surveyed dictionaries. Nothing here is random.
"""

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.coding import SparseCodes
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey, survey
from shapelex.learning.statistics import Statistics
from shapelex.learning.update import DUPLICATE_COHERENCE, RELAXATION, normalized, replace_atoms, update_mod
from shapelex.shapes.collection import Shapes

# Shorter and shorter steps towards an update that would raise the objective, before none is taken.
_STEPS = (0.5, 0.25, 0.125, 0.0625)

# Copies to rounding are duplicates even where shapes are approximated perfectly.
_LEAST_DUPLICATE_DISTANCE2 = 1e-8


class LearningProblem:
    """The objective of a set of shapes, see :class:`~shapelex.learning.objective.Objective`, and its descent."""

    def __init__(self, shapes: Shapes, options: LearningOptions, *, keeps_values: bool = False) -> None:
        self.shapes = shapes
        self.options = options
        self.keeps_values = keeps_values

    def survey(self, atoms: ComplexArray) -> Survey:
        """Code all shapes over a dictionary, and return what the next update needs."""
        return survey(self.shapes, atoms, self.options, keeps_values=self.keeps_values)

    def objective(self, found: Survey) -> float:
        """Return the value that the descent lowers."""
        return self.options.objective.value(found.losses, found.mean_nearest_distance2)

    def improve(self, current: Survey) -> tuple[Survey, int]:
        """Update the atoms, replace idle ones, and return the surveyed dictionary and how many were replaced.

        After a population, the update goes beyond the least-squares dictionary where that lowers the objective; without
        one it ends there, as in the paper. Where the distance is not the full one and no step lowers the objective, it
        returns `current` itself.
        """
        updated = self.update(current)
        replaced, n_replaced = replace_atoms(
            updated,
            current.statistics.usage,
            current.worst,
            self.shapes.space,
            duplicate_coherence=self._duplicate_coherence(current),
        )
        if n_replaced == 0 and self.options.n_trials != 0:
            beyond = normalized(updated + RELAXATION * (updated - current.atoms), updated)
            following = self.survey(beyond)
            if self.objective(following) < self.objective(current):
                return following, 0
        following = self.survey(replaced)
        if self.options.distance == "full":
            return following, n_replaced
        # The reweighted update solves a linear model of the other distances, which may promise too much.
        limit = self.objective(current)
        if self.objective(following) <= limit:
            return following, n_replaced
        for step in _STEPS:
            nearer = normalized(current.atoms + step * (updated - current.atoms), current.atoms)
            following = self.survey(nearer)
            if self.objective(following) <= limit:
                return following, 0
        return current, 0

    def _duplicate_coherence(self, current: Survey) -> float:
        """Return the coherence above which two atoms are duplicates.

        Atoms that stand for shapes alone may be close where all shapes are: they are duplicates where they are closer
        than a quarter of the distance from the shapes to them.
        """
        if self.options.sparsities[0] > 1:
            return DUPLICATE_COHERENCE
        square = max(current.losses[0] / 16, _LEAST_DUPLICATE_DISTANCE2)
        return max(DUPLICATE_COHERENCE, float(np.sqrt(max(1 - square, 0.0))))

    def update(self, current: Survey) -> ComplexArray:
        """Return the least-squares dictionary of the codes that a pass found, with the penalty."""
        statistics = current.combined
        if len(current.nearest):
            statistics += self._penalty(current)
        return update_mod(statistics, current.atoms)

    def _penalty(self, current: Survey) -> Statistics:
        """Return the statistics of the nearest shapes as further samples, each coded by its atom alone."""
        n_atoms = self.options.n_atoms
        coefs = np.vecdot(current.atoms, current.nearest)[:, None].astype(current.atoms.dtype)
        codes = SparseCodes._from_coder(np.arange(n_atoms, dtype=np.int32)[:, None], coefs, n_atoms)
        weight = self.options.objective.nearest_weight(current.losses, n_atoms) * current.statistics.weight
        return Statistics.of(current.nearest, codes, np.full(n_atoms, weight))
