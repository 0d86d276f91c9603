"""Which atoms do groups use differently? Tests of the use and of the weight of each atom."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import false_discovery_control

from shapelex._messages import parameter
from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count
from shapelex.estimators.base import as_generator
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.spaces import Space
from shapelex.statistics.code_input import read_code_input
from shapelex.statistics.grouping import Grouping, read_groups
from shapelex.statistics.permutations import at_least
from shapelex.statistics.results import Result, Sample, format_table, plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MEASURES = ("use", "weight")


@dataclass(frozen=True, eq=False, repr=False)
class AtomTests(Result):
    """Result of :func:`atom_tests`.

    Attributes
    ----------
    table : DataFrame
        One row per atom and measure, see :meth:`to_dataframe`.
    groups : tuple of str
        Names of the groups.
    counts : tuple of int
        Number of shapes, or of strata where these are compared, in each group.
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
            (share of the variation that the groups explain), ``P`` and ``P_fdr``. NaN where nothing can be compared.
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
            Axes to draw on; the current ones of pyplot when not given.
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
        """Draw the typical shape of each group, rebuilt from the atoms that differ, over each other.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; the current ones of pyplot when not given.
        magnify : float, optional
            Factor by which the differences between two groups are magnified.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.difference_plot import plot_difference

        _, space = self._known_atoms()
        return plot_difference(self.typical_shapes(), space, self.groups, magnify=magnify, ax=ax)

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
        Shapes are exchanged within the same value of this column only, such as the animal, and compared within it.
        Where each stratum has one group, strata are exchanged, and the shapes of each are averaged first.
    model : fitted dictionary, optional
        Dictionary of the codes, such as :class:`~shapelex.ShapeDictionary`: its atoms are drawn, and typical shapes
        rebuilt from them.
    data : DataFrame or mapping, optional
        Further columns, one row per shape.
    permutations : int, default 999
        Number of random permutations.
    bootstrap : int, default 999
        Number of bootstrap samples for the intervals of the differences: of shapes within groups, or of strata.
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
        If these are no codes, or those of another model.
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
    grouping, sample = read_groups(given.columns, groups, strata)
    rng = as_generator(random_state)
    moduli = np.abs(given.weights[sample.rows])
    measured = {"use": (moduli > 0).astype(np.float64), "weight": np.where(moduli > 0, moduli, np.nan)}
    values = np.concatenate([grouping.averaged(measured[name]) for name in MEASURES], axis=1)
    ratios, p = _permutation_tests(grouping, values, permutations, rng)
    differences = _differences(grouping, values, bootstrap, confidence, rng)
    posed, group_of_shape = given.in_common_pose()[sample.rows], grouping.group_of_shapes()
    mean_weights = np.stack([posed[group_of_shape == group].mean(axis=0) for group in range(len(grouping.names))])
    return AtomTests(
        table=_make_table(grouping, values, ratios, p, differences),
        groups=grouping.names,
        counts=tuple(grouping.counts.tolist()),
        alpha=alpha,
        confidence=confidence,
        permutations=permutations,
        bootstrap=bootstrap,
        mean_weights=mean_weights,
        atoms=given.atoms,
        space=given.space,
        sample=Sample(sample.rows, sample.dropped, (*sample.remarks, *grouping.remarks(permutations))),
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


@dataclass(frozen=True)
class _Differences:
    """Differences between two groups for each column: the pair, the estimate and its interval."""

    pairs: IntArray
    estimates: FloatArray
    low: FloatArray
    high: FloatArray


def _differences(
    grouping: Grouping, values: FloatArray, bootstrap: int, confidence: float, rng: np.random.Generator
) -> _Differences:
    """Return the largest difference between two groups of each column; of two groups, the second minus the first."""
    n_drawn_from = grouping.n_units if grouping.strata is None else int(grouping.strata.max()) + 1
    means = _group_means(grouping, np.ones((1, n_drawn_from)), values)[0]
    n_columns = values.shape[1]
    if len(grouping.names) == 2:
        pairs = np.tile([1, 0], (n_columns, 1))
    else:
        known = np.where(np.isnan(means), -np.inf, means), np.where(np.isnan(means), np.inf, means)
        pairs = np.stack([known[0].argmax(axis=0), known[1].argmin(axis=0)], axis=1)
    columns = np.arange(n_columns)

    def difference(estimates: FloatArray) -> FloatArray:
        return estimates[..., pairs[:, 0], columns] - estimates[..., pairs[:, 1], columns]

    low = high = np.full(n_columns, np.nan)
    drawn = [difference(_group_means(grouping, copies, values)) for copies in grouping.resampled(bootstrap, rng)]
    if drawn:
        tails = 50 * (1 - confidence), 50 * (1 + confidence)
        samples = np.concatenate(drawn)
        # Samples in which a group has no entry say nothing about its average.
        usable = np.isfinite(samples).mean(axis=0) > 0.5
        low, high = (np.full(n_columns, np.nan) for _ in tails)
        low[usable], high[usable] = np.nanpercentile(samples[:, usable], tails, axis=0)
    return _Differences(pairs, difference(means), low, high)


def _group_means(grouping: Grouping, copies: FloatArray, values: FloatArray) -> FloatArray:
    """Return averages of groups for each column, (n_samples, n_groups, n_columns).

    `copies` says how often each unit counts: (n_samples, n_units), or how often each stratum counts where there are
    strata. With strata, averages are those of the additive model of groups and strata, up to a constant: differences
    between them are differences within strata.
    """
    is_known = ~np.isnan(values)
    filled = np.where(is_known, values, 0)
    groups = (grouping.groups[:, None] == np.arange(len(grouping.names))).astype(np.float64)
    if grouping.strata is None:
        weighted = np.swapaxes(copies[:, :, None] * groups, 1, 2)
        counts = weighted @ is_known.astype(np.float64)
        return np.where(counts > 0, weighted @ filled / np.maximum(counts, 1), np.nan)
    return _adjusted_means(grouping.strata, groups, copies, filled, is_known)


def _adjusted_means(
    strata: IntArray, groups: FloatArray, copies: FloatArray, filled: FloatArray, is_known: BoolArray
) -> FloatArray:
    """Solve the normal equations of groups within strata, which are sums over strata."""
    in_stratum = (strata[:, None] == np.arange(int(strata.max()) + 1)).astype(np.float64)
    counts = np.einsum("ks,kg,kj->sjg", in_stratum, groups, is_known.astype(np.float64), optimize=True)
    sums = np.einsum("ks,kg,kj->sjg", in_stratum, groups, filled, optimize=True)
    n_in_stratum = np.maximum(counts.sum(axis=2), 1)
    matrices = counts[..., None] * np.eye(groups.shape[1]) - (
        counts[..., :, None] * counts[..., None, :] / n_in_stratum[..., None, None]
    )
    sides = sums - counts * (sums.sum(axis=2) / n_in_stratum)[..., None]
    normal = np.tensordot(copies, matrices, axes=1)
    solved = (np.linalg.pinv(normal, rcond=1e-9, hermitian=True) @ np.tensordot(copies, sides, axes=1)[..., None])[
        ..., 0
    ]
    has_entries = np.tensordot(copies, counts, axes=1) > 0
    return np.swapaxes(np.where(has_entries, solved, np.nan), 1, 2)


def _make_table(
    grouping: Grouping, values: FloatArray, ratios: FloatArray, p: FloatArray, differences: _Differences
) -> "pd.DataFrame":
    import pandas as pd

    n_atoms = values.shape[1] // len(MEASURES)
    is_tested = ~np.isnan(p)
    corrected = np.full(len(p), np.nan)
    if is_tested.any():
        corrected[is_tested] = false_discovery_control(p[is_tested], method="bh")
    is_known = ~np.isnan(values)
    spread = np.zeros(len(p))
    n_known = is_known.sum(axis=0)
    averages = {}
    for group, name in enumerate(grouping.names):
        members = grouping.groups == group
        count = is_known[members].sum(axis=0)
        mean = np.where(count > 0, np.where(is_known[members], values[members], 0).sum(axis=0) / np.maximum(count, 1),
                        np.nan)  # fmt: skip
        spread += np.nansum((values[members] - mean) ** 2, axis=0)
        averages[f"mean_{name}"] = mean
    deviation = np.sqrt(spread / np.maximum(n_known - len(grouping.names), 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        standardized = np.where(deviation > 0, differences.estimates / deviation, np.nan)
    names = np.array(grouping.names)
    table = pd.DataFrame({
        "atom": np.tile(np.arange(n_atoms), len(MEASURES)),
        "measure": np.repeat(MEASURES, n_atoms),
        "n": n_known,
        **averages,
        "contrast": [f"{names[first]} − {names[second]}" for first, second in differences.pairs],
        "difference": differences.estimates,
        "low": differences.low,
        "high": differences.high,
        "d": standardized,
        "eta2": ratios,
        "P": p,
        "P_fdr": corrected,
    })  # fmt: skip
    return table.sort_values(["atom", "measure"], kind="stable", ignore_index=True)
