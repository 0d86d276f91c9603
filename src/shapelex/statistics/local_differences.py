"""Where do groups differ? Tests at every landmark, or along every outline, with family-wise control."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex._validation import check_count
from shapelex.estimators.base import as_generator
from shapelex.exceptions import ParameterError
from shapelex.spaces import Landmarks, Space
from shapelex.statistics.data import STRATUM, as_complex, read_input
from shapelex.statistics.difference_plot import is_points, plot_difference, stretches
from shapelex.statistics.grouping import Grouping, group_units
from shapelex.statistics.permutations import at_least, p_values
from shapelex.statistics.results import Result, Sample, format_table, plural, sample_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_POINTS_OF_CURVE = 100
# Variation along a direction below this share of the largest one counts as none.
_NO_VARIATION = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class LocalTest(Result):
    """Result of :func:`~shapelex.statistics.local_test`.

    Parameters
    ----------
    parameters : ndarray of float, shape (n_points,)
        Curve parameters of the points that were tested; landmarks in their order.
    statistic : ndarray of float, shape (n_points,)
        Lawley–Hotelling trace at each point.
    P : ndarray of float, shape (n_points,)
        P of each point, corrected for the number of points.
    P_uncorrected : ndarray of float, shape (n_points,)
        P of each point on its own.
    means : ndarray of complex, shape (n_groups, n_coordinates)
        Mean shapes of the groups, in a common pose.
    groups : tuple of str
        Names of the groups.
    counts : tuple of int
        Number of shapes, or of units, in each group.
    space : Space
        Space of the shapes.
    alpha : float
        Level below which a point is marked.
    permutations : int
        Number of permutations.
    sample : Sample
        Shapes that were used.
    """

    parameters: FloatArray
    statistic: FloatArray
    P: FloatArray
    P_uncorrected: FloatArray
    means: ComplexArray
    groups: tuple[str, ...]
    counts: tuple[int, ...]
    space: Space
    alpha: float
    permutations: int
    sample: Sample

    @property
    def P_overall(self) -> float:  # noqa: N802 -- P as in all tables
        """P of the hypothesis that the groups differ nowhere: the smallest corrected P."""
        return float(np.min(self.P))

    @property
    def differs(self) -> BoolArray:
        """Which points differ at the level `alpha`, shape (n_points,)."""
        return np.less_equal(self.P, self.alpha)

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the tests as a table.

        Returns
        -------
        pandas.DataFrame
            One row per point: ``point``, counted from 1, ``parameter`` of the curve (not for landmarks that are not
            closed), ``statistic``, ``P`` (corrected), ``P_uncorrected`` and ``differs``; with two groups also ``dx``
            and ``dy``, the displacement from the first mean to the second, in units of the centroid size.
        """
        import pandas as pd

        columns: dict[str, Any] = {
            "point": np.arange(1, len(self.P) + 1),
            **({} if is_points(self.space) else {"parameter": self.parameters}),
            "statistic": self.statistic,
            "P": self.P,
            "P_uncorrected": self.P_uncorrected,
            "differs": self.differs,
        }
        if len(self.groups) == 2:
            steps = np.diff(self.space.sample(self.means, self.parameters), axis=0)[0]
            columns |= {"dx": steps.real, "dy": steps.imag}
        return pd.DataFrame(columns)

    def plot(self, ax: "Axes | None" = None, *, lines: bool | None = None, magnify: float | None = None) -> "Axes":
        """Draw the mean shapes over each other, with the points that differ marked.

        Of two groups, arrows show the displacements from the first mean to the second.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.
        lines : bool, optional
            Whether a line is drawn through the points; by default not for landmarks that are not closed, which are
            numbered instead.
        magnify : float, optional
            Factor by which the differences between two means are magnified; when not given, the smallest round factor
            at which they can be seen.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return plot_difference(
            self.means, self.space, self.groups, parameters=self.parameters, differs=self.differs, lines=lines,
            magnify=magnify, ax=ax,
        )  # fmt: skip

    def _headline(self) -> str:
        kind = "landmarks" if is_points(self.space) else "points of the outline"
        found = int(np.count_nonzero(self.differs))
        sizes = ", ".join(f"{name} ({count})" for name, count in zip(self.groups, self.counts, strict=True))
        return (
            f"{found} of {len(self.P)} {kind} differ between {sizes} at family-wise level {self.alpha:g}, smallest "
            f"P {self.P_overall:.3g}, {plural(self.permutations, 'permutation')}."
        )

    def _body(self) -> str:
        import pandas as pd

        if is_points(self.space):
            table = self.to_dataframe()
            chosen = table[table["differs"]].drop(columns=["P_uncorrected", "differs"])
            if not len(chosen):
                return "No landmark differs."
            return "Landmarks that differ, counted from 1:\n" + format_table(chosen, index=False)
        rows = []
        for places in stretches(self.differs, self.space.closed):
            strongest = int(places[np.argmax(self.statistic[places])])
            rows.append({
                "first": int(places[0]) + 1, "last": int(places[-1]) + 1, "points": len(np.unique(places)),
                "strongest": strongest + 1, "statistic": float(self.statistic[strongest]),
                "P": float(self.P[strongest]),
            })  # fmt: skip
        if not rows:
            return "No point differs."
        return "Stretches that differ, points counted from 1:\n" + format_table(pd.DataFrame(rows), index=False)


def local_test(
    shapes: Any,
    groups: Any,
    *,
    data: Any = None,
    strata: Any = None,
    unit: Any = "auto",
    permutations: int = 999,
    alpha: float = 0.05,
    random_state: int | np.random.Generator | None = 0,
) -> LocalTest:
    r"""Find the landmarks, or the stretches of the outline, at which groups of shapes differ.

    Shapes are rotated onto their common mean, at unit size. At each landmark, or at each of 100 points along a
    curve, the statistic is the Lawley–Hotelling trace :math:`\operatorname{tr}(W^{-1} B)` of the 2 × 2 matrices of
    squares and products within and between groups; with two groups it is proportional to Hotelling's T² of that point.
    The groups of the shapes are permuted, and the P of a point is the share of permutations in which the largest
    statistic *of all points* reaches that of the point. The probability that any point is found where no group
    differs is then at most `alpha`, whatever the dependence between points [1]_.

    Points must correspond between shapes: landmarks do, and outlines after :func:`shapelex.register`. What is tested
    is the position relative to the whole shape: as all points enter the alignment, a large difference at some points
    moves the others a little.

    Parameters
    ----------
    shapes : ShapeSet or array_like of complex, shape (n_shapes, n_coordinates)
        The shapes. Those with missing landmarks, or without a group, are left out.
    groups : str or array_like of shape (n_shapes,)
        Group of each shape: values, or the name of a column of the set or of `data`.
    data : DataFrame or mapping, optional
        Further columns, one row per shape.
    strata : str or array_like of shape (n_shapes,), optional
        Shapes are exchanged within the same value of this column only, such as the tank, and compared within it.
    unit : str, array_like or None, default "auto"
        Which shapes are not independent, as in :func:`~shapelex.statistics.shape_lm`: means of units are compared.
    permutations : int, default 999
        Number of random permutations.
    alpha : float, default 0.05
        Family-wise level at which a point is marked.
    random_state : int, Generator or None, default 0
        Seed of the permutations.

    Returns
    -------
    LocalTest
        Statistic and P of each point, mean shapes, ``.differs``, ``.plot()`` and ``.to_dataframe()``.

    Raises
    ------
    ShapeInputError
        If there are fewer than two groups, a group has fewer than two shapes, or there is no such column.
    ParameterError
        If `alpha` is not between 0 and 1.

    References
    ----------
    .. [1] P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing, Wiley, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> square = np.array([0, 1, 2, 2 + 1j, 2 + 2j, 1 + 2j, 2j, 1j])
    >>> shapes = square + 0.05 * (rng.normal(size=(40, 8)) + 1j * rng.normal(size=(40, 8)))
    >>> shapes[:20, 4] += 0.09 + 0.09j
    >>> test = sx.statistics.local_test(shapes, ["a"] * 20 + ["b"] * 20)
    >>> np.flatnonzero(test.differs)
    array([4])
    """
    check_count(permutations, 1, "permutations")
    if not 0 < alpha < 1:
        raise ParameterError(f"{parameter('alpha')} must be between 0 and 1, got {alpha}.")
    given = read_input(shapes, data)
    used = given.use({"groups": given.column(groups, "groups")}, unit=unit, strata=strata)
    grouping = group_units(used.table["groups"], used.table.get(STRATUM), used.noun)
    space = used.space
    n_points = space.n_coordinates if isinstance(space, Landmarks) else _POINTS_OF_CURVE
    where = space.parameters(n_points)
    rows = as_complex(used.coordinates)
    points = space.sample(space.unwhiten(rows), where)
    observed, statistics, largest = permuted_traces(grouping, points, permutations, as_generator(random_state))
    means = np.stack([rows[grouping.groups == g].mean(axis=0) for g in range(len(grouping.names))])
    corrected = np.array([float(at_least(largest, value).mean()) for value in observed])
    return LocalTest(
        parameters=where,
        statistic=observed,
        P=corrected,
        P_uncorrected=p_values(statistics.T),
        means=space.unwhiten(means),
        groups=grouping.names,
        counts=tuple(grouping.counts.tolist()),
        space=space,
        alpha=alpha,
        permutations=permutations,
        sample=sample_of(used, *grouping.remarks(permutations)),
    )


def permuted_traces(
    grouping: Grouping, points: ComplexArray, permutations: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the trace at each point, that of all permutations, the real groups first, and the largest of each.

    `points` has one row per unit. The statistics are of shape (1 + permutations, n_points).
    """
    parts = np.stack([grouping.within_strata(points.real), grouping.within_strata(points.imag)], axis=-1)
    unit_total = _unit_scatter(parts)
    n_units, n_points, _ = unit_total.shape
    basis = grouping.contrasts()
    found = []
    for indices in grouping.exchange.chunks(permutations, rng):
        # Rows of the basis move with the groups; they stay orthonormal within strata.
        moved = np.swapaxes(basis[indices], 1, 2)
        scores = (moved @ unit_total.reshape(n_units, -1)).reshape(len(indices), -1, n_points, 2)
        between_x, between_y = (np.einsum("pgm,pgm->pm", one, one) for one in (scores[..., 0], scores[..., 1]))
        crossed = np.einsum("pgm,pgm->pm", scores[..., 0], scores[..., 1])
        found.append(_trace_of_ratio(between_x, between_y, crossed))
    statistics = np.concatenate(found)
    return statistics[0], statistics, statistics.max(axis=1)


def _unit_scatter(parts: FloatArray) -> FloatArray:
    """Return positions in coordinates in which their total scatter is the identity; 0 where they do not vary."""
    scatter = np.einsum("kmi,kmj->mij", parts, parts)
    values, vectors = np.linalg.eigh(scatter)
    varies = values > _NO_VARIATION * values.max()
    factors = np.where(varies, 1 / np.sqrt(np.where(varies, values, 1)), 0)
    return np.asarray(np.einsum("kmi,mij->kmj", parts, vectors * factors[:, None, :]))


def _trace_of_ratio(xx: FloatArray, yy: FloatArray, xy: FloatArray) -> FloatArray:
    """Return ``tr((I − B)⁻¹ B)`` of symmetric 2 × 2 matrices B; large where within groups nothing varies."""
    determinant = np.maximum((1 - xx) * (1 - yy) - xy**2, np.finfo(np.float64).tiny)
    return np.asarray((2 - xx - yy) / determinant - 2)
