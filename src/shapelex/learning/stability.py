"""Whether the atoms of a dictionary are found again when it is learned from other shapes of the same kind.

In come atoms and a sample of the shapes that they were learned from; out go the distances from the atoms to their
matches in dictionaries learned from two halves of the sample, and the distance between random shapes to compare with.
"""

import logging
from copy import deepcopy
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

from shapelex._typing import ComplexArray, FloatArray
from shapelex.geometry.distances import pairwise_row_distances
from shapelex.learning.descent import Learner
from shapelex.learning.incomplete_shapes import IncompleteShapes
from shapelex.learning.initialization import initial_atoms
from shapelex.learning.online import OnlineLearner
from shapelex.learning.options import LearningOptions
from shapelex.learning.sampling import count_copies, draw_rows
from shapelex.learning.states import Iteration
from shapelex.shapes.collection import ArrayShapes, Shapes
from shapelex.shapes.thumbnails import html_text
from shapelex.spaces import Space

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger("shapelex")

SAMPLE_ROWS = 4000
"""Number of shapes that both halves have together at most, or 20 for each atom if that is more."""

NAMED_RATIO = 0.5
"""An atom can be named where its distance to its matches is at most this fraction of the distance by chance."""

# Pairs of random draws of shapes whose matched distances are averaged.
_N_CHANCE_PAIRS = 20


@dataclass(frozen=True, eq=False, repr=False)
class DictionaryStability:
    """Distances from the atoms of a dictionary to their matches in dictionaries learned from halves of the shapes.

    Two dictionaries are learned from two random halves of the shapes, with the same options and other seeds, and the
    atoms are matched one to one such that the sum of the squared full Procrustes distances is smallest. An atom whose
    matches are near is a property of the shapes; one whose matches are as far as random shapes is a result of the seed
    or of the particular sample, and should not be named or interpreted. Printed, it is a table.

    Parameters
    ----------
    distances : ndarray of float, shape (n_atoms,)
        Full distance from each atom to its match, averaged over the two halves.
    chance : float
        The same distance for random shapes: mean distance from as many random shapes of one half to their matches among
        as many random shapes of the other, averaged over 20 draws.
    between_halves : float
        Mean distance from the atoms of one half to their matches in the dictionary of the other half.
    n_shapes : int
        Number of shapes in the two halves together.

    Notes
    -----
    All distances are NaN where a half has fewer distinct shapes than the dictionary has atoms: then nothing is known,
    and no atom can be named.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.learning.stability import DictionaryStability
    >>> found = DictionaryStability(np.array([0.02, 0.15]), chance=0.2, between_halves=0.09, n_shapes=300)
    >>> found.can_be_named
    array([ True, False])
    >>> print(found)
    1 of 2 atoms can be named: learned again from halves of 300 shapes, it is at most half as far from its match as
    random shapes are. Mean distance 0.085 (between the halves 0.090), by chance 0.200.
    atom  distance  ratio  can be named
       0     0.020   0.10  yes
       1     0.150   0.75  no
    """

    distances: FloatArray
    chance: float
    between_halves: float
    n_shapes: int

    @property
    def ratio(self) -> FloatArray:
        """Distance of each atom divided by the distance by chance: 0 for an atom that is found again exactly."""
        return self.distances / self.chance

    @property
    def can_be_named(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each atom is found again: its distance is at most half of the distance by chance."""
        return self.distances <= NAMED_RATIO * self.chance

    @property
    def is_known(self) -> bool:
        """Whether there were enough shapes to measure it."""
        return bool(np.isfinite(self.chance))

    def summary(self) -> str:
        """Describe the result in words.

        Returns
        -------
        str
            How many atoms can be named, the mean distances, and the distance by chance; or why nothing is known.
        """
        n_atoms, n_named = len(self.distances), int(self.can_be_named.sum())
        if not self.is_known:
            return (
                f"{self.n_shapes} shapes are too few to tell which of {n_atoms} atoms can be named: each half of the "
                f"shapes must have at least {n_atoms} distinct ones. Learn fewer atoms, or give more shapes."
            )
        are = "it is" if n_named == 1 else "they are"
        match = "its match" if n_named == 1 else "their matches"
        named = f"{n_named} of {n_atoms} atoms can be named: learned again from halves of {self.n_shapes} shapes, "
        named += f"{are} at most half as far from {match} as random shapes are."
        if n_named == 0:
            named = (
                f"None of {n_atoms} atoms can be named: learned again from halves of {self.n_shapes} shapes, all are "
                "more than half as far from their matches as random shapes are."
            )
        return (
            f"{named} Mean distance {self.distances.mean():.3f} (between the halves {self.between_halves:.3f}), by "
            f"chance {self.chance:.3f}."
        )

    def to_dataframe(self) -> "pd.DataFrame":
        """Table of the atoms as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            Columns ``atom``, ``distance``, ``chance``, ``ratio`` and ``can_be_named``; one row per atom.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "atom": np.arange(len(self.distances)),
                "distance": self.distances,
                "chance": self.chance,
                "ratio": self.ratio,
                "can_be_named": self.can_be_named,
            }
        )

    def __repr__(self) -> str:
        n_named, n_atoms = int(self.can_be_named.sum()), len(self.distances)
        if not self.is_known:
            return f"<DictionaryStability: unknown, {self.n_shapes} shapes are too few for {n_atoms} atoms>"
        return (
            f"<DictionaryStability: {n_named} of {n_atoms} atoms can be named, mean distance "
            f"{self.distances.mean():.3f}, chance {self.chance:.3f}>"
        )

    def __str__(self) -> str:
        lines = wrap(self.summary(), 112)
        if self.is_known:
            lines.append("atom  distance  ratio  can be named")
            for atom, (distance, ratio, named) in enumerate(
                zip(self.distances, self.ratio, self.can_be_named, strict=True)
            ):
                lines.append(f"{atom:4}  {distance:8.3f}  {ratio:5.2f}  {'yes' if named else 'no'}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return what notebooks show: the table as it is printed."""
        return html_text(str(self))


@dataclass(frozen=True, eq=False)
class TrainingSample:
    """Some of the shapes of a fit, and how it learned from them: all that is needed to learn from halves of them.

    `configurations` are in memory, NaN where landmarks are missing; `batch_size` is None where every update saw all
    shapes. All draws of :func:`measure_stability` follow from `seed`.
    """

    configurations: ComplexArray
    weights: FloatArray | None
    space: Space
    options: LearningOptions
    batch_size: int | None
    seed: int

    @classmethod
    def draw(
        cls, shapes: Shapes, options: LearningOptions, batch_size: int | None, generator: np.random.Generator
    ) -> "TrainingSample":
        """Draw a sample; the generator stays in its state, so that what follows does not depend on it."""
        seed = int(deepcopy(generator).integers(2**63))
        chosen = draw_rows(shapes, max(SAMPLE_ROWS, 20 * options.n_atoms), np.random.default_rng((seed, 0)))
        return cls(
            configurations=shapes.configurations[chosen]
            if isinstance(shapes, IncompleteShapes)
            else shapes.take(chosen),
            weights=None if shapes.weights is None else shapes.weights[chosen],
            space=shapes.space,
            # The runs are independent: none begins with given atoms.
            options=options if isinstance(options.init, str) else replace(options, init="spread"),
            batch_size=batch_size,
            seed=seed,
        )

    def halves(self, generator: np.random.Generator) -> tuple[ArrayShapes, ArrayShapes]:
        """Return the shapes in two random halves."""
        order, middle = generator.permutation(len(self.configurations)), len(self.configurations) // 2
        return self._take(np.sort(order[:middle])), self._take(np.sort(order[middle:]))

    def _take(self, rows: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> ArrayShapes:
        weights = None if self.weights is None else self.weights[rows]
        chosen = self.configurations[rows]
        kind = IncompleteShapes if np.isnan(chosen).any() else ArrayShapes
        half = kind(chosen, self.space, weights)
        half.keep_scales()
        return half


def measure_stability(atoms: ComplexArray, sample: TrainingSample) -> DictionaryStability:
    """Learn dictionaries from two halves of the sample and compare whitened atoms with them, and them with each other.

    Progress is logged at level DEBUG, with the attributes ``iteration`` and ``half`` of the records.
    """
    generator = np.random.default_rng((sample.seed, 1))
    n_atoms, n_shapes = len(atoms), len(sample.configurations)
    unknown = DictionaryStability(np.full(n_atoms, np.nan), float("nan"), float("nan"), n_shapes)
    if n_shapes < 2 * n_atoms:
        return unknown
    halves = sample.halves(generator)
    if any(count_copies(half) < n_atoms for half in halves):
        return unknown
    by_chance = []
    for _ in range(_N_CHANCE_PAIRS):
        draws = [initial_atoms(half, n_atoms, "random", generator) for half in halves]
        # Where a half has too few distinct shapes, the last ones are repeats.
        if any(len(np.unique(draw, axis=0)) < n_atoms for draw in draws):
            return unknown
        by_chance.append(matched_distances(*draws).mean())
    first, second = (_learn_half(number, half, sample, generator) for number, half in enumerate(halves))
    return DictionaryStability(
        distances=(matched_distances(atoms, first) + matched_distances(atoms, second)) / 2,
        chance=float(np.mean(by_chance)),
        between_halves=float(matched_distances(first, second).mean()),
        n_shapes=n_shapes,
    )


def matched_distances(first: ComplexArray, second: ComplexArray) -> FloatArray:
    """Return the full distances from whitened atoms to their matches, in the matching of least squared distances.

    Examples
    --------
    >>> import numpy as np
    >>> atoms = np.eye(3, dtype=complex)
    >>> matched_distances(atoms, 1j * atoms[[2, 0, 1]])
    array([0., 0., 0.])
    """
    distances = pairwise_row_distances(first, second)
    return np.asarray(distances[linear_sum_assignment(distances**2)], dtype=np.float64)


def _learn_half(number: int, half: ArrayShapes, sample: TrainingSample, generator: np.random.Generator) -> ComplexArray:
    def report(iteration: Iteration) -> None:
        logger.debug(
            "stability: half %d of 2, RMSE %.6f",
            number + 1,
            iteration.rmse,
            extra={"iteration": iteration, "half": number},
        )

    if sample.batch_size is None:
        return Learner(half, sample.options, generator, report).run().atoms
    return OnlineLearner(sample.options, generator, half, sample.batch_size, report).run().atoms
