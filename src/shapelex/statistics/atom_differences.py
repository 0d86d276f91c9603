"""Which atoms do groups use differently? Tests of the use and of the weight of each atom."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import false_discovery_control

from shapelex._messages import parameter
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count
from shapelex.estimators.base import as_generator
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.geometry import rotate_onto
from shapelex.spaces import Space
from shapelex.statistics.code_input import read_code_input
from shapelex.statistics.group_estimates import GroupEstimates, estimate_groups
from shapelex.statistics.grouping import Grouping, read_groups
from shapelex.statistics.permutations import at_least
from shapelex.statistics.results import Result, Sample, format_table, plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MEASURES = ("use", "weight")


@dataclass(frozen=True, eq=False, repr=False)
class AtomTests(Result):
    """Result of :func:`~shapelex.statistics.atom_tests`.

    Parameters
    ----------
    table : DataFrame
        One row per atom and measure, see :meth:`to_dataframe`.
    means : DataFrame
        One row per atom, measure and group: ``n``, ``mean``, ``low`` and ``high``, the bootstrap interval.
    groups : tuple of str
        Names of the groups.
    counts : tuple of int
        Number of shapes, or of units, in each group.
    alpha : float
        Share of false discoveries that is accepted.
    confidence : float
        Confidence of the intervals.
    permutations, bootstrap : int
        Number of permutations, and of bootstrap samples.
    mean_weights : ndarray of complex, shape (n_groups, n_atoms)
        Average weights of each group after all shapes were rotated onto the mean shape.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates), or None
        The dictionary, where it is known.
    space : Space or None
        Space of the atoms.
    sample : Sample
        Shapes that were used.
    """

    table: "pd.DataFrame"
    means: "pd.DataFrame"
    groups: tuple[str, ...]
    counts: tuple[int, ...]
    alpha: float
    confidence: float
    permutations: int
    bootstrap: int
    mean_weights: ComplexArray
    atoms: ComplexArray | None
    space: Space | None
    sample: Sample

    @property
    def differing(self) -> IntArray:
        """Numbers of the atoms of which use or weight differs at the level `alpha`."""
        found: IntArray = np.unique(self.table.loc[self.table["P_fdr"] <= self.alpha, "atom"].to_numpy())
        return found

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the tests as a table.

        Returns
        -------
        pandas.DataFrame
            One row per atom and measure: ``atom``, ``measure`` (``use`` or ``weight``), ``n``, one column of averages
            per group, ``contrast`` (the two groups of which the difference is given), ``difference``, ``low`` and
            ``high`` (its bootstrap interval), ``d`` (the difference in standard deviations within groups), ``eta2``
            (share of the variation that the groups explain), ``P`` and ``P_fdr``. NaN where nothing can be compared,
            and for intervals of groups with a single shape that uses the atom (``means`` has ``n`` of each group).
        """
        return self.table.copy()

    def typical_shapes(self) -> ComplexArray:
        """Rebuild the typical shape of each group from the atoms that differ.

        Atoms that differ have the average weight of the group, all others the average weight of all groups.

        Returns
        -------
        ndarray of complex, shape (n_groups, n_coordinates)
            Configurations in a common pose.

        Raises
        ------
        ShapeInputError
            If the atoms are not known, because `model` was not given.
        """
        atoms, _ = self._known_atoms()
        weights = np.broadcast_to(self.mean_weights.mean(axis=0), self.mean_weights.shape).copy()
        weights[:, self.differing] = self.mean_weights[:, self.differing]
        return np.asarray(weights @ atoms)

    def plot(self, ax: "Axes | None" = None, *, max_atoms: int = 15) -> "Axes":
        """Draw the differences between the groups with their intervals, the smallest P on top.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.
        max_atoms : int, default 15
            Maximum number of atoms.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; atoms are drawn beside them where `model` was given.
        """
        from shapelex.statistics.atom_differences_plot import plot_atom_differences

        return plot_atom_differences(self, max_atoms=max_atoms, ax=ax)

    def plot_typical(self, ax: "Axes | None" = None, *, magnify: float | None = None) -> "Axes":
        """Draw the typical shape of each group, rebuilt from the atoms that differ, over each other at one size.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.
        magnify : float, optional
            Factor by which the differences between two groups are magnified.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.difference_plot import plot_difference

        _, space = self._known_atoms()
        shapes = self.typical_shapes()
        turned = rotate_onto(shapes, shapes.mean(axis=0), space)
        return plot_difference(turned, space, self.groups, magnify=magnify, ax=ax)

    def _known_atoms(self) -> tuple[ComplexArray, Space]:
        if self.atoms is None or self.space is None:
            raise ShapeInputError(
                f"the atoms are not known: give the dictionary of the codes, by {parameter('model=')} of atom_tests."
            )
        return self.atoms, self.space

    def _headline(self) -> str:
        sizes = ", ".join(f"{name} ({count})" for name, count in zip(self.groups, self.counts, strict=True))
        differing = self.differing.tolist()
        which = f": {', '.join(map(str, differing))}" if differing else ""
        return (
            f"{len(differing)} of {plural(self.mean_weights.shape[1], 'atom')} differ between {sizes} in use or weight "
            f"at a false discovery rate of {self.alpha:g}{which}; {plural(self.permutations, 'permutation')}."
        )

    def _body(self) -> str:
        order = self.table.sort_values(["P_fdr", "P", "atom"], kind="stable")
        shown = order[order["P"].notna()]
        return format_table(shown.head(30), index=False) if len(shown) else "No atom can be compared."


def atom_tests(
    codes: Any,
    groups: Any,
    strata: Any = None,
    *,
    unit: Any = "auto",
    model: Any = None,
    data: Any = None,
    permutations: int = 999,
    bootstrap: int = 999,
    alpha: float = 0.05,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
) -> AtomTests:
    r"""Test which atoms groups of shapes use differently.

    Two things are compared for each atom. Its *use* is the share of the shapes of a group that use it. Its *weight* is
    the average modulus of its weight among the shapes that use it: how large it is where it is used. Neither depends on
    the position, size or rotation in which a shape was given. P comes from permutations of the groups; the statistic is
    the ratio of the variation between groups to that within. All P of the table together are corrected for the false
    discovery rate by the method of Benjamini and Hochberg [1]_.

    Atoms of one code compete: a shape that uses one atom more may use another one less. Read the atoms that differ
    together, for example as the typical shapes that they build.

    Parameters
    ----------
    codes : SparseCodes, StoredCodes or array_like of complex, shape (n_shapes, n_atoms)
        Codes, such as ``model.encode(shapes)`` or what :func:`shapelex.read_codes` returns.
    groups : str or array_like of shape (n_shapes,)
        Group of each shape: values, or the name of a column of the stored codes or of `data`. Shapes without a group
        are left out.
    strata : str or array_like of shape (n_shapes,), optional
        Shapes are exchanged within the same value of this column only, such as the tank, and compared within it.
    unit : str, array_like or None, default "auto"
        Which shapes are not independent, as in :func:`~shapelex.statistics.shape_lm`: the use of an atom is then the
        average over units. By default the time series, images or files that stored codes name.
    model : fitted dictionary, optional
        Dictionary of the codes, such as :class:`~shapelex.ShapeDictionary`: its atoms are drawn, and typical shapes
        rebuilt from them.
    data : DataFrame or mapping, optional
        Further columns, one row per shape.
    permutations : int, default 999
        Number of random permutations.
    bootstrap : int, default 999
        Number of bootstrap samples for the intervals of the differences: of units within groups; of strata, if there
        are at least six; of units within groups and strata, if there are fewer.
    alpha : float, default 0.05
        Share of false discoveries that is accepted among the atoms named as differing.
    confidence : float, default 0.95
        Confidence of the intervals.
    random_state : int, Generator or None, default 0
        Seed of permutations and bootstrap samples.

    Returns
    -------
    AtomTests
        ``.table``, ``.differing``, ``.typical_shapes()``, ``.plot()`` and ``.plot_typical()``.

    Raises
    ------
    CodesError
        If these are not codes, or are those of another model.
    ShapeInputError
        If there are fewer than two groups, a group has fewer than two shapes, or there is no such column.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate: a practical and powerful approach to
       multiple testing", Journal of the Royal Statistical Society B 57 (1995), 289–300.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> weights = rng.uniform(0.5, 1, size=(40, 3)) * (rng.uniform(size=(40, 3)) < 0.5)
    >>> weights[:20, 1] = 0.9
    >>> test = sx.statistics.atom_tests(weights, ["a"] * 20 + ["b"] * 20)
    >>> test.differing
    array([1])
    """
    check_count(permutations, 1, "permutations")
    check_count(bootstrap, 0, "bootstrap")
    for name, value in (("alpha", alpha), ("confidence", confidence)):
        if not 0 < value < 1:
            raise ParameterError(f"{parameter(name)} must be between 0 and 1, got {value}.")
    given = read_code_input(codes, model, data)
    grouping, sample = read_groups(given, groups, strata, unit)
    rng = as_generator(random_state)
    moduli = np.abs(given.weights[sample.rows])
    measured = {"use": (moduli > 0).astype(np.float64), "weight": np.where(moduli > 0, moduli, np.nan)}
    values = np.concatenate([grouping.averaged(measured[name]) for name in MEASURES], axis=1)
    ratios, p = _permutation_tests(grouping, values, permutations, rng)
    estimates = estimate_groups(grouping, values, bootstrap, confidence, rng)
    posed = grouping.averaged(given.in_common_pose()[sample.rows])
    mean_weights = np.stack([posed[grouping.groups == group].mean(axis=0) for group in range(len(grouping.names))])
    remarks = [
        *sample.remarks,
        *grouping.remarks(permutations),
        *(grouping.remarks_on_intervals() if bootstrap else []),
    ]
    return AtomTests(
        table=_make_table(grouping, values, ratios, p, estimates),
        means=_table_of_means(grouping, values, estimates),
        groups=grouping.names,
        counts=tuple(grouping.counts.tolist()),
        alpha=alpha,
        confidence=confidence,
        permutations=permutations,
        bootstrap=bootstrap,
        mean_weights=mean_weights,
        atoms=given.atoms,
        space=given.space,
        sample=Sample(sample.rows, sample.dropped, tuple(remarks)),
    )


def _permutation_tests(
    grouping: Grouping, values: FloatArray, permutations: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the share of variation between groups of each column of `values`, and its P.

    NaN entries do not count; both are NaN where a column does not vary, or only one group has entries.
    """
    centered = grouping.within_strata(values)
    is_known = ~np.isnan(centered)
    filled = np.where(is_known, centered, 0)
    totals = np.einsum("kj,kj->j", filled, filled)
    scale = np.nanmax(np.abs(np.where(is_known, values, 0)), axis=0) ** 2
    varies = totals > 1e-12 * np.maximum(scale, np.finfo(np.float64).tiny)
    n_reached, n_drawn, observed = np.zeros(values.shape[1]), 0, np.zeros(values.shape[1])
    for indicators in grouping.indicators(permutations, rng):
        shares = _explained(indicators, filled, is_known.astype(np.float64)) / np.where(varies, totals, 1)
        if not n_drawn:
            observed = shares[0]
            has_groups = np.count_nonzero(indicators[0] @ is_known, axis=0) > 1
        n_reached += at_least(shares, observed).sum(axis=0)
        n_drawn += len(shares)
    can_compare = varies & has_groups
    return np.where(can_compare, observed, np.nan), np.where(can_compare, n_reached / n_drawn, np.nan)


def _explained(indicators: FloatArray, filled: FloatArray, is_known: FloatArray) -> FloatArray:
    """Return the squares between groups of columns of average 0 within strata: (n_permutations, n_columns)."""
    sums, counts = indicators @ filled, indicators @ is_known
    return np.asarray(np.sum(sums**2 / np.maximum(counts, 1), axis=1))


def _make_table(
    grouping: Grouping, values: FloatArray, ratios: FloatArray, p: FloatArray, estimates: GroupEstimates
) -> "pd.DataFrame":
    import pandas as pd

    n_atoms = values.shape[1] // len(MEASURES)
    is_tested = ~np.isnan(p)
    corrected = np.full(len(p), np.nan)
    if is_tested.any():
        corrected[is_tested] = false_discovery_control(p[is_tested], method="bh")
    n_known = (~np.isnan(values)).sum(axis=0)
    spread = np.nansum((values - estimates.means[grouping.groups]) ** 2, axis=0)
    deviation = np.sqrt(spread / np.maximum(n_known - len(grouping.names), 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        standardized = np.where(deviation > 0, estimates.differences / deviation, np.nan)
    names = np.array(grouping.names)
    table = pd.DataFrame({
        "atom": np.tile(np.arange(n_atoms), len(MEASURES)),
        "measure": np.repeat(MEASURES, n_atoms),
        "n": n_known,
        **{f"mean_{name}": means for name, means in zip(names, estimates.means, strict=True)},
        "contrast": [f"{names[first]} − {names[second]}" for first, second in estimates.pairs],
        "difference": estimates.differences,
        "low": estimates.interval[0],
        "high": estimates.interval[1],
        "d": standardized,
        "eta2": ratios,
        "P": p,
        "P_fdr": corrected,
    })  # fmt: skip
    return table.sort_values(["atom", "measure"], kind="stable", ignore_index=True)


def _table_of_means(grouping: Grouping, values: FloatArray, estimates: GroupEstimates) -> "pd.DataFrame":
    import pandas as pd

    n_atoms, n_groups = values.shape[1] // len(MEASURES), len(grouping.names)
    is_known = ~np.isnan(values)
    table = pd.DataFrame({
        "atom": np.tile(np.arange(n_atoms), len(MEASURES) * n_groups),
        "measure": np.tile(np.repeat(MEASURES, n_atoms), n_groups),
        "group": np.repeat(grouping.names, values.shape[1]),
        "n": np.concatenate([is_known[grouping.groups == group].sum(axis=0) for group in range(n_groups)]),
        "mean": estimates.means.ravel(),
        "low": estimates.means_interval[0].ravel(),
        "high": estimates.means_interval[1].ravel(),
    })  # fmt: skip
    return table.sort_values(["atom", "measure"], kind="stable", ignore_index=True)
