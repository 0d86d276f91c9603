"""What learning minimizes, as a function of what a pass over the shapes finds."""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import FloatArray
from shapelex.learning.statistics import Statistics

# Logarithms of losses stay finite.
_LEAST_LOSS = 1e-30


@dataclass(frozen=True, eq=False)
class Objective:
    """The objective ``Π_s RMSE_s^share_s + tie · mean_j d_F²(atom_j, nearest shape)``.

    ``RMSE_s² = mean_k dist²(x_k, approximation_k)``, where the approximations have at most ``s`` atoms; `shares` are
    positive and add up to 1. With one sparsity, the first term is the root of the paper's loss (section 4, "Shape
    Dictionary"); with several, it is their weighted geometric mean, so that an improvement by one percent counts the
    same at each. The second term is a penalty on the distance from every atom to its nearest shape: among dictionaries
    that approximate equally well, and there are many, it prefers atoms that look like shapes.

    The first term is concave in the losses. An update lowers the tangent at the current losses, which bounds the
    objective from above, and with it the objective. In it, the weight of the statistics of a sparsity is proportional
    to ``share / loss``, and the penalty is one more sample for each atom: its nearest shape, coded by this atom alone.
    The weight of these samples goes to zero with the losses: a set that some dictionary approximates perfectly gets
    that dictionary.
    """

    shares: FloatArray
    tie: float

    def value(self, losses: FloatArray, mean_nearest_distance2: float) -> float:
        """Return the objective."""
        return self._mean_rmse(losses) + self.tie * mean_nearest_distance2

    def combine(self, statistics: list[Statistics], losses: FloatArray) -> Statistics:
        """Return the sums that an update needs: the last statistics, plus shares of those of lower sparsities.

        Usage and weight are those of the last ones.
        """
        if len(statistics) == 1:
            return statistics[0]
        factors = self.factors(losses)
        gram = sum(factor * part.gram for factor, part in zip(factors, statistics, strict=True))
        products = sum(factor * part.products for factor, part in zip(factors, statistics, strict=True))
        return Statistics(np.asarray(gram), np.asarray(products), statistics[-1].usage, statistics[-1].weight)

    def factors(self, losses: FloatArray) -> FloatArray:
        """Return the weights of the statistics of the sparsities in an update, relative to the last one."""
        if len(losses) == 1:
            return self.shares
        least = np.maximum(losses, _LEAST_LOSS)
        factors: FloatArray = self.shares / self.shares[-1] * (least[-1] / least)
        return factors

    def nearest_weight(self, losses: FloatArray, n_atoms: int) -> float:
        """Return the weight of the sample that ties each atom to its nearest shape, if the shapes weigh 1 together."""
        if len(losses) == 1:
            return float(2 * self.tie * np.sqrt(losses[0]) / n_atoms)
        least = max(float(losses[-1]), _LEAST_LOSS)
        return 2 * self.tie * least / (float(self.shares[-1]) * self._mean_rmse(losses)) / n_atoms

    def _mean_rmse(self, losses: FloatArray) -> float:
        if len(losses) == 1:
            return float(np.sqrt(losses[0]))
        return float(np.exp(0.5 * (self.shares @ np.log(np.maximum(losses, _LEAST_LOSS)))))
