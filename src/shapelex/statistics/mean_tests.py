"""Do two groups have the same mean shape? Goodall, Hotelling, James, and the λ_min test of Amaral, Dryden and Wood."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from shapelex._messages import parameter
from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex._validation import check_count
from shapelex.estimators.base import as_generator
from shapelex.exceptions import ShapeInputError
from shapelex.geometry import distance, mean_shape
from shapelex.spaces import Space
from shapelex.statistics.data import ShapeInput, read_input
from shapelex.statistics.grouping import Grouping
from shapelex.statistics.permutations import Exchange, p_values
from shapelex.statistics.results import Result, Sample, format_value, plural
from shapelex.statistics.two_sample import (
    goodall_f,
    hotelling_f,
    hotelling_t2,
    james_p,
    james_t2,
    lambda_min,
    moved_to_common_mean,
    replicate_blocks,
    spanned_rows,
    tangent_coordinates,
    two_samples,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_NAMES = {"goodall": "Goodall", "hotelling": "Hotelling T²", "james": "James", "lambda_min": "λ_min"}
# Share of bootstrap samples that may be without a statistic.
_MOST_SINGULAR = 0.01


@dataclass(frozen=True)
class TwoSampleTest:
    """One test of two mean shapes; entries are also taken by name, as in ``test["F"]``.

    Parameters
    ----------
    name : str
        Name of the test.
    statistic : float
        Goodall's F, T² of Hotelling or James, or λ_min.
    F : float
        The statistic as an F ratio; NaN for James and λ_min, which have none.
    Df : tuple of int
        Degrees of freedom of F, or of the χ² distribution that the statistic is compared with in tables.
    P : float
        P of the permutations; NaN where there were none.
    P_bootstrap : float
        P of the bootstrap samples; NaN where there were none, or too few distinct shapes in them.
    P_table : float
        P of the F or χ² distribution.
    reason : str
        Why the test could not be computed; empty where it was.
    """

    name: str
    statistic: float
    F: float
    Df: tuple[int, ...]
    P: float
    P_bootstrap: float
    P_table: float
    reason: str = ""

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None


@dataclass(frozen=True, eq=False, repr=False)
class MeanTest(Result):
    """Result of :func:`~shapelex.statistics.mean_test`.

    Parameters
    ----------
    goodall, hotelling, james, lambda_min : TwoSampleTest
        The four tests.
    goodall_separate : float
        Goodall's F from full Procrustes distances to the two separate mean shapes, in place of one tangent space.
    distance : float
        Geodesic Procrustes distance rho between the full mean shapes.
    means : ndarray of complex, shape (2, n_coordinates)
        Mean pre-shapes of both groups, the second rotated onto the first.
    sizes : tuple of int
        Number of shapes in each group.
    space : Space
        Space of the shapes.
    names : tuple of str
        Names of the groups.
    permutations, bootstrap : int
        Number of permutations, and of bootstrap samples.
    sample : Sample
        Shapes that were used, numbered through both groups.
    """

    goodall: TwoSampleTest
    hotelling: TwoSampleTest
    james: TwoSampleTest
    lambda_min: TwoSampleTest
    goodall_separate: float
    distance: float
    means: ComplexArray
    sizes: tuple[int, int]
    space: Space
    names: tuple[str, str]
    permutations: int
    bootstrap: int
    sample: Sample

    @property
    def tests(self) -> tuple[TwoSampleTest, ...]:
        """The four tests, in the order in which they are printed."""
        return self.goodall, self.hotelling, self.james, self.lambda_min

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the tests as a table.

        Returns
        -------
        pandas.DataFrame
            Indexed by test, with ``statistic``, ``F``, ``Df``, ``P``, ``P_bootstrap`` and ``P_table``.
        """
        import pandas as pd

        names = ("statistic", "F", "Df", "P", "P_bootstrap", "P_table")
        return pd.DataFrame(
            {name: [one[name] for one in self.tests] for name in names},
            index=pd.Index([one.name for one in self.tests], name="test"),
        )

    def plot(self, ax: "Axes | None" = None, *, lines: bool | None = None) -> "Axes":
        """Draw both mean shapes over each other, with the displacements from the first to the second.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.
        lines : bool, optional
            Whether a line is drawn through the points; by default not for landmarks that are not closed.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.difference_plot import plot_difference

        return plot_difference(self.means, self.space, self.names, lines=lines, ax=ax)

    def _headline(self) -> str:
        first, second = self.names
        return (
            f"Two-sample tests of mean shape: {first} ({plural(self.sizes[0], 'shape')}) and {second} "
            f"({plural(self.sizes[1], 'shape')}), distance rho between the means {self.distance:.6g}, "
            f"{plural(self.permutations, 'permutation')}, {plural(self.bootstrap, 'bootstrap sample')}."
        )

    def _body(self) -> str:
        table = self.to_dataframe()
        table["Df"] = [", ".join(map(str, df)) for df in table["Df"]]
        cells = table.apply(lambda column: [format_value(value, str(column.name)) for value in column])
        reasons = [f"{one.name}: {one.reason}" for one in self.tests if one.reason]
        return "\n".join([cells.to_string(), *reasons])


def mean_test(
    a: Any,
    b: Any,
    *,
    permutations: int = 999,
    bootstrap: int = 999,
    random_state: int | np.random.Generator | None = 0,
    names: Sequence[str] = ("a", "b"),
    unit: str | None = "auto",
) -> MeanTest:
    r"""Test whether two groups of shapes have the same mean shape, for landmarks and for curves.

    All shapes are rotated onto their common full Procrustes mean and projected into its tangent space. With the means
    :math:`\bar v_1, \bar v_2` of the tangent vectors, the numbers of shapes :math:`n_1, n_2` and
    :math:`n = n_1 + n_2`,

    .. math::

        F_\text{Goodall} = \frac{\frac{n_1 n_2}{n} |\bar v_1 - \bar v_2|^2}{\frac{1}{n - 2} \sum |v - \bar v|^2},
        \qquad
        T^2 = \frac{n_1 n_2}{n} (\bar v_1 - \bar v_2)^T S^{-1} (\bar v_1 - \bar v_2),

    where S is the pooled covariance. James's statistic has :math:`S_1 / n_1 + S_2 / n_2` in place of
    :math:`S n / (n_1 n_2)`, so that the groups may differ in covariance. λ_min compares the mean shapes without a
    common tangent space [1]_. All are computed from products of shapes alone, so they do not depend on the basis of the
    space.

    Permutations exchange shapes between the groups. Bootstrap samples are drawn within each group, after both groups
    were moved to their common mean along geodesics [1]_. Goodall's F in tables assumes isotropic variation; its
    permutations do not.

    Parameters
    ----------
    a, b : ShapeSet or array_like of complex, shape (n_shapes, n_coordinates)
        The two groups, each of at least two shapes. Shapes with missing landmarks are left out.
    permutations : int, default 999
        Number of random permutations.
    bootstrap : int, default 999
        Number of bootstrap samples.
    random_state : int, Generator or None, default 0
        Seed of permutations and bootstrap samples.
    names : sequence of two str, default ("a", "b")
        Names of the groups.
    unit : str or None, default "auto"
        Column of sets that says which shapes belong together and are not independent: their mean shapes are compared.
        By default the units of each set, see ``ShapeSet.study``; None takes shapes as independent.

    Returns
    -------
    MeanTest
        ``.goodall``, ``.hotelling``, ``.james`` and ``.lambda_min``, each with ``F``, ``Df``, ``P``, ``P_bootstrap``
        and ``P_table``, and ``.distance``. Hotelling's test needs :math:`n_1 + n_2 \ge p + 2` shapes, where
        :math:`p = 2 N - 4` is the dimension of the shape space of N coordinates; that of James more than p in each
        group, λ_min more than :math:`N - 2`. Where there are fewer, the numbers of that test are NaN, and its
        ``reason`` says why.

    Raises
    ------
    ShapeInputError
        If a group has fewer than two shapes, or the groups are not in the same space.

    References
    ----------
    .. [1] G. J. A. Amaral, I. L. Dryden and A. T. A. Wood, "Pivotal bootstrap methods for k-sample problems in
       directional statistics and shape analysis", Journal of the American Statistical Association 102 (2007), 695–707.
    .. [2] C. Goodall, "Procrustes methods in the statistical analysis of shape", Journal of the Royal Statistical
       Society B 53 (1991), 285–339.
    .. [3] I. L. Dryden and K. V. Mardia, Statistical Shape Analysis, with Applications in R, 2nd ed., Wiley, 2016,
       chapter 9.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> noise = 0.05 * (rng.normal(size=(40, 5)) + 1j * rng.normal(size=(40, 5)))
    >>> shapes = np.array([0, 1, 1.5 + 0.5j, 1 + 1j, 1j]) + noise
    >>> shapes[:20, 2] += 0.1
    >>> test = sx.statistics.mean_test(shapes[:20], shapes[20:], bootstrap=0)
    >>> test.goodall.Df, test.hotelling.Df, test.goodall.P
    ((6, 228), (6, 33), 0.001)
    """
    check_count(permutations, 0, "permutations")
    check_count(bootstrap, 0, "bootstrap")
    first_name, second_name = (str(name) for name in names)
    first, second = read_input(a, name="a"), read_input(b, name="b")
    if first.space != second.space:
        raise ShapeInputError(f"a and b must be in the same space, got {first.space} and {second.space}.")
    groups, sample, noun = _complete_shapes(first, second, unit)
    sizes = len(groups[0]), len(groups[1])
    rng = as_generator(random_state)
    whitened = first.space.whitened_preshapes(np.concatenate(groups), "a and b")
    study = _Study(spanned_rows(whitened, first.space), np.arange(sum(sizes)) < sizes[0], first.space)
    draws = np.concatenate([study.permuted(permutations, rng), study.resampled(bootstrap, rng)], axis=1)
    tests = {name: study.test(name, draws[place], permutations) for place, name in enumerate(_NAMES)}
    means = np.stack([mean_shape(group, space=first.space) for group in groups])
    product = first.space.inner(means[1], means[0])
    means[1] *= product / abs(product) if abs(product) else 1
    grouping = Grouping(np.repeat([0, 1], sizes), (first_name, second_name), "group", None, unit=noun)
    remarks = (*sample.remarks, *grouping.remarks(permutations))
    return MeanTest(
        **tests,
        goodall_separate=_goodall_separate(groups, means, first.space),
        distance=float(distance(means[0], means[1], kind="geodesic", space=first.space)),
        means=means,
        sizes=sizes,
        space=first.space,
        names=(first_name, second_name),
        permutations=permutations,
        bootstrap=bootstrap,
        sample=Sample(sample.rows, sample.dropped, remarks),
    )


def _goodall_separate(groups: list[ComplexArray], means: ComplexArray, space: Space) -> float:
    n_first, n_second = map(len, groups)
    pairs = zip(groups, means, strict=True)
    within = sum(float(np.sum(distance(group, mean, space=space) ** 2)) for group, mean in pairs)
    between = n_first * n_second / (n_first + n_second) * float(distance(means[0], means[1], space=space)) ** 2
    return between * (n_first + n_second - 2) / within if within > 0 else np.inf if between > 0 else 0.0


def _complete_shapes(first: ShapeInput, second: ShapeInput, unit: Any) -> tuple[list[ComplexArray], Sample, str]:
    """Return the shapes of both groups that miss nothing, or means of units, what they are, and the rows of both."""
    groups: list[ComplexArray] = []
    dropped: dict[int, str] = {}
    start, rows, noun = 0, [], "shapes"
    remarks = dict.fromkeys((*first.remarks, *second.remarks))
    for given, name in ((first, "a"), (second, "b")):
        is_whole = ~np.isnan(given.configurations).any(axis=1)
        if given.units(unit) is None:
            groups.append(given.configurations[is_whole])
        else:
            used = given.use({}, unit=unit)
            groups.append(used.to_configurations(used.coordinates))
            remarks[f"{name}: {used.remarks[-1]}"] = None
            noun = used.noun
        dropped |= dict.fromkeys((start + np.flatnonzero(~is_whole)).tolist(), f"missing landmarks in {name}")
        rows.append(start + np.flatnonzero(is_whole))
        start += len(given)
        if len(groups[-1]) < 2:
            raise ShapeInputError(
                f"{parameter(name)} must have at least two shapes without missing landmarks, got {len(groups[-1])}."
            )
    if dropped:
        remarks[f"{len(dropped)} of {start} shapes left out: missing landmarks."] = None
    return groups, Sample(np.concatenate(rows), dropped, tuple(remarks)), noun


class _Study:
    """Statistics of two groups, as they are and in replicates.

    Parameters
    ----------
    rows : ndarray of complex, shape (n_shapes, n_spanned)
        Shapes as unit rows.
    is_first : ndarray of bool, shape (n_shapes,)
        Which of them are in the first group.
    space : Space
        Space of the shapes.
    """

    def __init__(self, rows: ComplexArray, is_first: BoolArray, space: Space) -> None:
        self.rows, self.is_first = rows, is_first.astype(np.float64)
        self.n_shapes, self.sizes = len(rows), (int(is_first.sum()), int((~is_first).sum()))
        self.n_dimensions = 2 * space.n_coordinates - 4
        self.coordinates = tangent_coordinates(rows, np.ones(self.n_shapes))
        self.reasons = self._find_reasons(space)

    def _find_reasons(self, space: Space) -> dict[str, str]:
        """Return the tests that cannot be computed, with the reasons."""
        p, fewest = self.n_dimensions, min(self.sizes)
        reasons = {}
        if p < 1:
            reasons["goodall"] = f"{space} has no shapes that differ."
        if self.n_shapes < p + 2:
            reasons["hotelling"] = (
                f"not computed: {p} dimensions need {p + 2} shapes in all, there are {self.n_shapes}."
            )
        if fewest <= p:
            reasons["james"] = (
                f"not computed: {p} dimensions need {p + 1} shapes in each group, the smaller has {fewest}."
            )
        if fewest <= space.n_coordinates - 2:
            reasons["lambda_min"] = (
                f"not computed: {space.n_coordinates} coordinates need {space.n_coordinates - 1} shapes in each group, "
                f"the smaller has {fewest}."
            )
        centered = self.coordinates.copy()
        for is_in in (self.is_first == 1, self.is_first == 0):
            centered[is_in] -= centered[is_in].mean(axis=0)
        if not {"hotelling", "james", "lambda_min"} <= reasons.keys():
            n_varying = int(np.linalg.matrix_rank(centered, rtol=1e-10)) if self.n_shapes else 0
            if n_varying < p:
                flat = f"not computed: the shapes vary in {n_varying} of {p} dimensions only."
                reasons = dict.fromkeys(("hotelling", "james", "lambda_min"), flat) | reasons
        return reasons

    def permuted(self, permutations: int, rng: np.random.Generator) -> FloatArray:
        """Return the statistics of the groups as they are, and of permutations: (n_statistics, 1 + permutations)."""
        parts = []
        for indices in Exchange(self.n_shapes).chunks(permutations, rng):
            first = self.is_first[indices]
            # Permutations leave the common mean as it is.
            parts.append(self._statistics(self.rows, first, 1 - first, lambda _: self.coordinates))
        return np.concatenate(parts, axis=1)

    def resampled(self, bootstrap: int, rng: np.random.Generator) -> FloatArray:
        """Return the statistics of bootstrap samples of groups that were moved to one mean."""
        if not bootstrap:
            return np.empty((len(_NAMES), 0))
        n_first, n_second = self.sizes
        rows = moved_to_common_mean(self.rows, self.is_first)
        first = np.zeros((bootstrap, self.n_shapes))
        second = np.zeros_like(first)
        first[:, self.is_first == 1] = rng.multinomial(n_first, np.full(n_first, 1 / n_first), size=bootstrap)
        second[:, self.is_first == 0] = rng.multinomial(n_second, np.full(n_second, 1 / n_second), size=bootstrap)
        return self._statistics(rows, first, second, lambda weights: tangent_coordinates(rows, weights))

    def _statistics(
        self, rows: ComplexArray, first: FloatArray, second: FloatArray, at_mean: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        found = np.full((len(_NAMES), len(first)), np.nan)
        needs_matrices = not {"hotelling", "james"} <= self.reasons.keys()
        n_numbers = self.n_shapes * self.coordinates.shape[1] * 2
        for block in replicate_blocks(len(first), n_numbers):
            samples = two_samples(
                at_mean((first + second)[block]), first[block], second[block], scatters=needs_matrices
            )
            for place, (name, compute) in enumerate(_STATISTICS.items()):
                if name in self.reasons:
                    continue
                usable = self._has_enough(name, first[block], second[block])
                if usable.any():
                    chosen = samples if usable.all() else _take(samples, usable)
                    found[place, np.arange(len(first))[block][usable]] = compute(
                        chosen, rows, first[block][usable], second[block][usable]
                    )
        return found

    def _has_enough(self, name: str, first: FloatArray, second: FloatArray) -> BoolArray:
        """Return which replicates have enough different shapes for a covariance that can be inverted."""
        n_first, n_second = (np.count_nonzero(weights, axis=1) for weights in (first, second))
        if name == "hotelling":
            return np.asarray(n_first + n_second >= self.n_dimensions + 2)
        n_needed = {"james": self.n_dimensions + 1, "lambda_min": self.n_dimensions // 2 + 1}.get(name, 0)
        return np.asarray(np.minimum(n_first, n_second) >= n_needed)

    def test(self, name: str, statistics: FloatArray, permutations: int) -> TwoSampleTest:
        """Return a test from the statistics of permutations, the observed one first, and of bootstrap samples."""
        observed, title, p = float(statistics[0]), _NAMES[name], self.n_dimensions
        if name in self.reasons:
            return TwoSampleTest(title, np.nan, np.nan, (), np.nan, np.nan, np.nan, self.reasons[name])
        ratio = np.nan
        df: tuple[int, ...] = (p,)
        if name == "goodall":
            ratio, df = observed, (p, (self.n_shapes - 2) * p)
        if name == "hotelling":
            ratio, df = hotelling_f(observed, self.n_shapes, p)
        if name == "james":
            first = self.is_first[None]
            table = james_p(two_samples(self.coordinates, first, 1 - first, scatters=True), observed)
        elif len(df) == 2:
            table = float(stats.f.sf(ratio, *df))
        else:
            table = float(stats.chi2.sf(observed, p))
        drawn = np.concatenate([statistics[:1], statistics[permutations + 1 :]])
        is_singular = np.isnan(drawn)
        bootstrap_p = np.nan
        if is_singular.mean() <= _MOST_SINGULAR:
            # Samples without a statistic count against the difference.
            bootstrap_p = float(p_values(np.where(is_singular, np.inf, drawn)))
        return TwoSampleTest(
            title, observed, float(ratio), df, float(p_values(statistics[: permutations + 1])), bootstrap_p, table
        )


def _take(samples: Any, usable: BoolArray) -> Any:
    scatters = None if samples.scatters is None else tuple(one[usable] for one in samples.scatters)
    return type(samples)(samples.difference[usable], samples.within[usable], scatters, samples.sizes)


_STATISTICS: dict[str, Callable[..., FloatArray]] = {
    "goodall": lambda samples, _rows, _first, _second: goodall_f(samples),
    "hotelling": lambda samples, _rows, _first, _second: hotelling_t2(samples),
    "james": lambda samples, _rows, _first, _second: james_t2(samples),
    "lambda_min": lambda _samples, rows, first, second: lambda_min(rows, first, second),
}
