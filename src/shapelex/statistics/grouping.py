"""Groups that are compared, and what may be exchanged between them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp, factorial, lgamma, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import FloatArray, IntArray
from shapelex.exceptions import ShapeInputError
from shapelex.statistics.data import Columns, as_groups, between_units, tell_choice, unit_means
from shapelex.statistics.permutations import Exchange
from shapelex.statistics.results import Sample

if TYPE_CHECKING:
    import pandas as pd


_MOST_NAMED = 5
FEWEST_DRAWN = 6
"""Fewest strata that are drawn as a whole in a bootstrap sample: samples of fewer vary too little."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of units: of shapes, unless several shapes are one unit, whose averages are compared.

    Attributes
    ----------
    groups : ndarray of int, shape (n_units,)
        Group of each unit.
    names : tuple of str
        Names of the groups.
    column : str
        Name of the column that has the groups.
    strata : ndarray of int, shape (n_units,), or None
        Stratum of each unit, within which units are exchanged.
    unit_of : ndarray of int, shape (n_shapes,), or None
        Unit of each shape, where a unit is several shapes.
    unit : str
        What a unit is, in the plural.
    """

    groups: IntArray
    names: tuple[str, ...]
    column: str
    strata: IntArray | None
    unit_of: IntArray | None = None
    unit: str = "shapes"

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.groups)

    @property
    def counts(self) -> IntArray:
        """Number of units of each group."""
        return np.bincount(self.groups, minlength=len(self.names))

    @property
    def exchange(self) -> Exchange:
        """What permutations exchange."""
        return Exchange(self.n_units, self.strata)

    def averaged(self, values: Any) -> Any:
        """Return the averages over units of values with one row per shape; NaN entries do not count."""
        return values if self.unit_of is None else unit_means(values, self.unit_of)

    def contrasts(self) -> FloatArray:
        """Return an orthonormal basis of the differences between groups, within strata: (n_units, n_contrasts).

        Its rows stay an orthonormal basis when they are exchanged as permutations exchange units.
        """
        members = (self.groups[:, None] == np.arange(len(self.names))).astype(np.float64)
        left, singular, _ = np.linalg.svd(self.within_strata(members), full_matrices=False)
        basis: FloatArray = left[:, singular > 1e-9 * max(float(singular.max()), 1.0)]
        return basis

    def within_strata(self, values: FloatArray) -> FloatArray:
        """Return values of units minus their averages over the stratum, or over all units where there are no strata.

        NaN entries stay NaN, and do not count.
        """
        strata = np.zeros(self.n_units, dtype=np.int64) if self.strata is None else self.strata
        return np.asarray(values - unit_means(values, strata)[strata])

    def indicators(self, permutations: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield which units are in each group, shape (n_permutations, n_groups, n_units); the real groups are first."""
        for indices in self.exchange.chunks(permutations, rng):
            groups = self.groups[indices]
            yield (groups[:, None, :] == np.arange(len(self.names))[None, :, None]).astype(np.float64)

    @property
    def n_strata(self) -> int:
        """Number of strata, 0 where there are none."""
        return 0 if self.strata is None else int(self.strata.max()) + 1

    @property
    def draws_strata(self) -> bool:
        """Whether bootstrap samples are of strata, not of units."""
        return self.n_strata >= FEWEST_DRAWN

    def cells(self) -> IntArray:
        """Return the set of units of each unit within which bootstrap samples are drawn: its group and stratum."""
        return self.groups if self.strata is None else self.groups + len(self.names) * self.strata

    def resampled(self, n_samples: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield bootstrap samples, as numbers of copies of each unit, or of each stratum where there are many of them.

        Units are drawn within groups, and within strata.
        """
        n_copied = self.n_strata if self.draws_strata else self.n_units
        step = max(1, (1 << 20) // (len(self.names) * n_copied))
        for start in range(0, n_samples, step):
            size = min(step, n_samples - start)
            if self.draws_strata:
                yield rng.multinomial(n_copied, np.full(n_copied, 1 / n_copied), size=size).astype(np.float64)
                continue
            copies, cells = np.zeros((size, self.n_units)), self.cells()
            for cell in np.unique(cells).tolist():
                count = int(np.count_nonzero(cells == cell))
                copies[:, cells == cell] = rng.multinomial(count, np.full(count, 1 / count), size=size)
            yield copies

    def remarks_on_intervals(self) -> list[str]:
        """Return what a reader of bootstrap intervals should know."""
        if self.unit != "shapes" and self.counts.min() < FEWEST_DRAWN:
            return [
                f"The intervals are of bootstrap samples of {self.unit}, of which a group has only "
                f"{self.counts.min()}: they are too narrow."
            ]
        if self.strata is not None and not self.draws_strata:
            return [
                f"The intervals are of bootstrap samples of shapes within groups and strata, as there are only "
                f"{self.n_strata} strata: they hold for these strata, not for others."
            ]
        return []

    @property
    def least_p(self) -> tuple[int, float]:
        """Number of different divisions into these groups, and the share of those that differ as much as the present.

        Groups of equal sizes can be exchanged as a whole, which changes no statistic of the differences between them.
        """
        within = np.zeros(self.n_units, dtype=np.int64) if self.strata is None else self.strata
        log_count = 0.0
        for stratum in np.unique(within).tolist():
            sizes = np.unique(self.groups[within == stratum], return_counts=True)[1].tolist()
            log_count += lgamma(sum(sizes) + 1) - sum(lgamma(size + 1) for size in sizes)
        count = round(exp(min(log_count, 40.0)))
        alike = Counter(self.counts.tolist()).values() if self.strata is None else ()
        return count, prod(map(factorial, alike)) / count

    def remarks(self, permutations: int) -> list[str]:
        """Return a remark where there are fewer different divisions into groups than permutations."""
        count, least = self.least_p
        few = f"Only {count} different divisions of the {self.unit} into these groups exist"
        return [f"{few}: P cannot be much below {least:.2g}."] if count <= permutations else []


def read_groups(given: Columns, groups: Any, strata: Any, unit: Any) -> tuple[Grouping, Sample]:
    """Return the groups of the shapes that have a group, a stratum and a unit, and which shapes these are."""
    import pandas as pd

    needed = {"groups": given.column(groups, "groups")}
    if strata is not None:
        needed["strata"] = given.column(strata, "strata")
    rows, dropped, remarks, units = given.complete(needed, unit)
    own = str(needed["groups"].name)
    titles = {"groups": own, "strata": f"strata {own}"}
    chosen = pd.DataFrame({titles[name]: column.iloc[rows] for name, column in needed.items()})
    unit, unit_of = "shapes", None
    if units is not None:
        chosen, unit_of = between_units(chosen, units)
        unit = units.noun
        remarks.append(tell_choice(units))
    grouping = group_units(chosen[own], chosen.get(titles["strata"]), unit)
    return replace(grouping, unit_of=unit_of), Sample(rows, dropped, tuple(remarks))


def group_units(groups: "pd.Series", strata: "pd.Series | None" = None, unit: str = "shapes") -> Grouping:
    """Return the groups of units; refuse fewer than two groups, and groups of fewer than two units."""
    numbers, names = as_groups(groups)
    if len(names) < 2:
        raise ShapeInputError(
            f"{parameter('groups')} must have at least two different values, got {names[0]!r} alone: choose a column "
            "that divides the shapes."
        )
    within = None if strata is None else as_groups(strata)[0]
    if within is not None and len(np.unique(np.stack([within, numbers]), axis=1).T) == within.max() + 1:
        raise ShapeInputError(
            f"{parameter('strata')} must each have several groups, to be exchanged within, but have one each: where "
            f"these shapes belong together, give this column as {parameter('unit=')}."
        )
    counts = np.bincount(numbers, minlength=len(names))
    if counts.min() < 2:
        lonely = [repr(name) for name, count in zip(names, counts.tolist(), strict=True) if count < 2]
        more = f" and {len(lonely) - _MOST_NAMED} more" if len(lonely) > _MOST_NAMED else ""
        independent = "" if unit == "shapes" else f"; {parameter('unit', None)} treats shapes as independent"
        raise ShapeInputError(
            f"{parameter('groups')} must have at least two {unit} in each group, but {', '.join(lonely[:_MOST_NAMED])}"
            f"{more} {'has' if len(lonely) == 1 else 'have'} one: leave these groups out, or join them with others"
            f"{independent}."
        )
    return Grouping(numbers, tuple(names), str(groups.name), within, unit=unit)
