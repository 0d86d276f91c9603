"""Random permutations of shapes or units, also within strata, and the P values that follow.

Input: what may be exchanged. Output: index arrays in chunks, the identity first, the same for the same seed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import lgamma, log
from typing import Any

import numpy as np

from shapelex._typing import BoolArray, FloatArray, IntArray
from shapelex.estimators.base import as_generator

# Indices of a chunk: enough for fast matrix products, and few enough for any number of shapes.
_CHUNK_ENTRIES = 1 << 20
_MOST_PER_CHUNK = 256
# Statistics that are equal up to rounding count as equal.
_SAME = 1e-9

BLOCKS = "unit= names the shapes that belong together, and tests compare the means of units"
"""What to use instead of the removed argument ``blocks``."""


@dataclass(frozen=True, eq=False)
class Exchange:
    """Units that are exchanged with each other.

    Parameters
    ----------
    n_units : int
        Number of units.
    strata : ndarray of int, shape (n_units,), optional
        Stratum of each unit: units are exchanged within their stratum only.
    """

    n_units: int
    strata: IntArray | None = None

    def chunks(self, permutations: int, random_state: Any) -> Iterator[IntArray]:
        """Yield index arrays ``(n_chunk, n_units)``: in row ``b``, unit ``i`` gets what unit ``index[b, i]`` had.

        There are ``1 + permutations`` rows in all, and the first one of the first chunk is the identity. The size of
        the chunks depends on the number of units alone.
        """
        rng = as_generator(random_state)
        n_most = int(np.clip(_CHUNK_ENTRIES // max(self.n_units, 1), 1, _MOST_PER_CHUNK))
        for start in range(0, permutations + 1, n_most):
            indices = self._draw(min(n_most, permutations + 1 - start), rng)
            if start == 0:
                indices[0] = np.arange(self.n_units)
            yield indices

    def log_count(self) -> float:
        """Return the logarithm of the number of different permutations."""
        sizes = [self.n_units] if self.strata is None else np.unique(self.strata, return_counts=True)[1].tolist()
        return sum(lgamma(size + 1) for size in sizes)

    def _draw(self, n_drawn: int, rng: np.random.Generator) -> IntArray:
        indices = np.broadcast_to(np.arange(self.n_units), (n_drawn, self.n_units)).copy()
        if self.strata is None:
            return rng.permuted(indices, axis=1, out=indices)
        for stratum in np.unique(self.strata).tolist():
            members = np.flatnonzero(self.strata == stratum)
            indices[:, members] = rng.permuted(indices[:, members], axis=1)
        return indices


def at_least(statistics: FloatArray, observed: FloatArray | float) -> BoolArray:
    """Return which statistics of permutations are at least the observed one, ties up to rounding included."""
    # F is infinite where a model leaves no residuals, and infinity minus infinity is not a bound.
    margin = np.where(np.isinf(observed), 0.0, _SAME * np.abs(observed))
    found: BoolArray = statistics >= observed - margin
    return found


def p_values(statistics: FloatArray) -> FloatArray:
    """Return ``(1 + b) / (1 + permutations)``: the share of statistics that reach the first, observed one.

    Statistics are along the last axis. P is NaN where there is no permutation, or the observed statistic is NaN.
    """
    observed = statistics[..., :1]
    found: FloatArray = at_least(statistics, observed).mean(axis=-1)
    if statistics.shape[-1] < 2:
        return np.full_like(found, np.nan)
    return np.where(np.isnan(observed[..., 0]), np.nan, found)


def effect_sizes(statistics: FloatArray) -> FloatArray:
    """Return the observed logarithms of statistics in standard deviations from the mean of the permuted ones."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(statistics)
        spread = logs.std(axis=-1)
        sizes: FloatArray = (logs[..., 0] - logs.mean(axis=-1)) / np.where(spread > 0, spread, np.nan)
    return sizes


def remark_on_count(exchange: Exchange, permutations: int, unit: str = "shapes") -> list[str]:
    """Return a remark where there are fewer different permutations than were asked for."""
    if permutations and exchange.log_count() < log(permutations + 1):
        count = round(float(np.exp(exchange.log_count())))
        return [
            f"Only {count} different permutations of the {unit} exist: P cannot be much below 1/{count}, and repeats "
            "make it vary between seeds."
        ]
    return []


def as_seed(random_state: Any) -> int:
    """Return a seed from which the same permutations can be drawn repeatedly, for several analyses of one model."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        as_generator(random_state)
        return int(random_state)
    return int(as_generator(random_state).integers(2**63 - 1))
