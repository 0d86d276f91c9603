"""Modularity: whether landmarks form modules that vary more within than between.

Input: landmarks and their modules. Output: the covariance ratio with P by permutation of landmarks.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, FloatArray, IntArray
from shapelex._validation import check_count
from shapelex.exceptions import ShapeInputError
from shapelex.spaces import Landmarks
from shapelex.statistics.data import AlignedShapes, as_groups, read_input
from shapelex.statistics.permutations import Exchange, as_seed, p_values
from shapelex.statistics.results import Result, Sample, plural, sample_of

if TYPE_CHECKING:
    import pandas as pd

_ROTATIONS = 90


@dataclass(frozen=True, eq=False, repr=False)
class CovarianceRatio(Result):
    """Modularity of landmarks; the result of :func:`~shapelex.statistics.covariance_ratio`.

    Parameters
    ----------
    ratio : float
        The covariance ratio: covariation between modules relative to that within them, averaged over pairs of modules.
    p : float
        Share of random assignments of landmarks to modules of the same sizes whose ratio is as small.
    pairs : DataFrame
        Ratio of each pair of modules.
    random : ndarray of float, shape (1 + permutations,)
        Ratios of the random assignments; the first is the observed one.
    sample : Sample
        Shapes that were used and left out.
    """

    ratio: float
    p: float
    pairs: "pd.DataFrame"
    random: FloatArray
    sample: Sample

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the ratios of all pairs of modules.

        Returns
        -------
        pandas.DataFrame
            Columns ``first``, ``second`` and ``ratio``.
        """
        return self.pairs.copy()

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the ratios of random assignments as a histogram, with the observed one.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_permuted

        return plot_permuted(self.random, "covariance ratio", ax)

    def _headline(self) -> str:
        return (
            f"Covariance ratio of {plural(self.n_used, 'shape')}: {self.ratio:.4g}, P = {self.p:.3g} "
            f"({plural(len(self.random) - 1, 'permutation')} of landmarks)."
        )


def covariance_ratio(
    shapes: Any, modules: ArrayLike, *, permutations: int = 999, random_state: Any = 0, aligned: bool = False
) -> CovarianceRatio:
    r"""Test whether landmarks form modules, which covary less with each other than within, by the covariance ratio.

    For covariance matrices :math:`S_{11}, S_{22}` within two modules, with zeros on their diagonals, and
    :math:`S_{12}` between them [1]_,

    .. math:: CR = \sqrt{\frac{\lVert S_{12} \rVert^2}{\lVert S_{11}^* \rVert \, \lVert S_{22}^* \rVert}}.

    It depends on the orientation of the aligned shapes, as x and y are separate variables: the ratio is computed for
    90 orientations in steps of one degree, and the one nearest to their average is taken. Values below 1 speak for
    modules.

    Parameters
    ----------
    shapes : ShapeSet or array_like
        Landmarks.
    modules : array_like of shape (n_points,)
        Module of each landmark.
    permutations, random_state, aligned
        As in :func:`~shapelex.statistics.shape_lm`; landmarks are permuted between modules.

    Returns
    -------
    CovarianceRatio
        The ratio with its P value.

    Raises
    ------
    ShapeInputError
        If there are fewer than two modules, a module has one landmark, or the shapes are not landmarks.

    References
    ----------
    .. [1] D. C. Adams, "Evaluating modularity in morphometric data: challenges with the RV coefficient and a new test
       measure", Methods in Ecology and Evolution 7 (2016), 565-572.

    Examples
    --------
    >>> import shapelex as sx
    >>> worms = sx.datasets.make_worms(30, random_state=0)
    >>> modules = ["head"] * 10 + ["tail"] * (worms.shape[1] - 10)
    >>> found = sx.statistics.covariance_ratio(worms, modules, permutations=49)
    >>> len(found.pairs)
    1
    """
    import pandas as pd

    check_count(permutations, 0, "permutations")
    given = read_input(shapes)
    if not isinstance(given.space, Landmarks):
        raise ShapeInputError(f"modules are sets of landmarks, but the shapes are in {given.space!r}.")
    values = np.asarray(modules)
    n_points = given.space.n_coordinates
    if values.shape != (n_points,):
        raise ShapeInputError(
            f"{parameter('modules')} must have one entry for each of the {n_points} landmarks, got shape "
            f"{values.shape}."
        )
    codes, names = as_groups(pd.Series(values))
    if len(names) < 2 or np.bincount(codes).min() < 2:
        raise ShapeInputError(f"{parameter('modules')} must be at least two modules of at least two landmarks each.")
    used = given.use({}, aligned)
    covariances = rotated_covariances(used)
    ratios = np.array([pair_ratios(one, codes).mean() for one in covariances])
    chosen = covariances[int(np.argmin(np.abs(ratios - ratios.mean())))]
    orders = Exchange(n_points).chunks(permutations, as_seed(random_state))
    found = np.array([pair_ratios(chosen, codes[order]).mean() for chunk in orders for order in chunk])
    pairs = list(combinations(names, 2))
    table = pd.DataFrame(pairs, columns=["first", "second"]).assign(ratio=pair_ratios(chosen, codes))
    return CovarianceRatio(float(found[0]), float(p_values(-found)), table, found, sample_of(used))


def rotated_covariances(shapes: AlignedShapes) -> list[FloatArray]:
    """Return cross-products of the coordinates in many orientations, with zeros on the diagonal."""
    rows = shapes.coordinates - shapes.coordinates.mean(axis=0)
    complexes = rows.view(np.complex128)
    found: list[FloatArray] = []
    for angle in np.radians(np.arange(_ROTATIONS) * 90 / _ROTATIONS):
        turned = np.ascontiguousarray(np.exp(1j * angle) * complexes).view(np.float64)
        products = turned.T @ turned
        np.fill_diagonal(products, 0.0)
        found.append(products**2)
    return found


def pair_ratios(squares: FloatArray, codes: IntArray) -> FloatArray:
    """Return the covariance ratio of each pair of modules, from squared cross-products of coordinates."""
    indicator = np.eye(int(codes.max()) + 1)[np.repeat(codes, 2)]
    sums = indicator.T @ squares @ indicator
    first, second = np.triu_indices(len(sums), 1)
    ratios: FloatArray = np.sqrt(sums[first, second] / np.sqrt(sums[first, first] * sums[second, second]))
    return ratios
