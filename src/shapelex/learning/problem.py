"""A set of shapes and what to learn from it: the objective of a dictionary, and one step that lowers it.

In come whitened rows and options; out go surveyed dictionaries. Nothing here is random.
"""

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.coding import SparseCodes
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey
from shapelex.learning.replacement import replace_atoms
from shapelex.learning.sources import RowBlocks
from shapelex.learning.statistics import Statistics
from shapelex.learning.surveyors import surveyor
from shapelex.learning.update import normalized, sweep_ksvd, update_mod

# Shorter and shorter steps towards an update that would raise the objective, before none is taken.
_STEPS = (0.5, 0.25, 0.125, 0.0625)


class LearningProblem:
    """The objective ``sqrt(mean_k dist²(x_k, reconstruction_k)) + tie mean_j d_F²(atom_j, nearest shape)``.

    The first part is the root of the paper's loss (eq. dico). The second ties every atom to the shape it is nearest to:
    among dictionaries that reconstruct equally well, and there are many, it prefers atoms that look like shapes. In
    the update it is one more sample for each atom: its nearest shape, coded by this atom alone. Where the
    loss goes to zero, so does the tie: a set that some dictionary reconstructs perfectly gets that dictionary.

    Parameters
    ----------
    source : RowBlocks
        The shapes.
    options : LearningOptions
        What to learn and how.
    with_details : bool, default False
        Whether surveys keep codes and distances of all shapes; K-SVD needs them in any case.
    """

    def __init__(self, source: RowBlocks, options: LearningOptions, *, with_details: bool = False) -> None:
        self.source = source
        self.options = options
        self._with_details = with_details or options.update == "ksvd"
        self._survey = surveyor(source, options)

    def survey(self, atoms: ComplexArray) -> Survey:
        """Code all shapes over a dictionary.

        Parameters
        ----------
        atoms : ndarray of complex, shape (n_atoms, n_coordinates)
            The dictionary.

        Returns
        -------
        Survey
            What one pass finds out.
        """
        options = self.options
        return self._survey(
            atoms,
            options.n_nonzero,
            coder=options.coder,
            distance=options.distance,
            with_nearest=options.tie > 0,
            with_details=self._with_details,
        )

    def objective(self, found: Survey) -> float:
        """Value that the descent lowers.

        Parameters
        ----------
        found : Survey
            A surveyed dictionary.

        Returns
        -------
        float
            Its loss, plus the tie of its atoms to shapes.
        """
        return float(np.sqrt(found.loss) + self.options.tie * found.mean_nearest_distance2)

    def improve(self, current: Survey) -> tuple[Survey | None, int]:
        """Make one update.

        Parameters
        ----------
        current : Survey
            A surveyed dictionary.

        Returns
        -------
        following : Survey or None
            The next dictionary, surveyed; None where the distance is not the full one and no step lowers the
            objective.
        n_replaced : int
            Idle atoms that were replaced.
        """
        updated = self._update(current)
        replaced, n_replaced = replace_atoms(updated, current.usage, current.worst)
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
        return None, 0

    def _update(self, current: Survey) -> ComplexArray:
        if self.options.update == "mod" and len(current.nearest) == 0:
            return update_mod(current.statistics, current.atoms)
        codes, weights = self._tied_samples(current)
        if self.options.update == "mod":
            tie = Statistics.of(current.nearest, codes, weights)
            return update_mod(current.statistics + tie, current.atoms)
        assert current.details is not None
        atoms, _ = sweep_ksvd(
            np.concatenate([self.source.read(0, self.source.n_samples), current.nearest]),
            SparseCodes.concatenate([current.details.codes, codes]),
            current.atoms,
            np.concatenate([current.details.slope_weights, weights]),
        )
        return atoms

    def _tied_samples(self, current: Survey) -> tuple[SparseCodes, FloatArray]:
        """Return codes and weights of the nearest shapes as further samples, each coded by its atom alone."""
        n_tied = len(current.nearest)
        support = np.full((n_tied, self.options.n_nonzero), -1, dtype=np.int32)
        coefs = np.zeros((n_tied, self.options.n_nonzero), dtype=current.atoms.dtype)
        support[:, 0] = np.arange(n_tied)
        if n_tied:
            coefs[:, 0] = np.vecdot(current.atoms, current.nearest)
        # The root is concave: its tangent at the current loss bounds it from above, so an update that lowers the
        # tangent lowers the objective.
        share = 2 * self.options.tie * np.sqrt(current.loss) / self.options.n_atoms
        weights = np.full(n_tied, share * current.weight)
        return SparseCodes(support, coefs, self.options.n_atoms), weights
