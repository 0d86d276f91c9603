"""Disparity: how much the shapes of groups vary.

Input: shapes and groups. Output: the Procrustes variance of each group, and differences between groups with P values.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shapelex._messages import parameter
from shapelex._validation import check_choice, check_count, removed_arguments
from shapelex.exceptions import ShapeInputError
from shapelex.statistics.data import as_groups, read_input
from shapelex.statistics.group_pairs import CORRECTIONS, Correction, corrected, permuted_variances, square
from shapelex.statistics.permutations import BLOCKS, Exchange, as_seed, p_values, remark_on_count
from shapelex.statistics.results import Result, Sample, format_table, plural, sample_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Disparity(Result):
    """Variances of groups; the result of :func:`~shapelex.statistics.disparity`.

    Parameters
    ----------
    variances : Series
        Procrustes variance of each group.
    overall : float
        Procrustes variance of all shapes about their mean.
    table : DataFrame
        One row per pair of groups: ``first``, ``second``, ``difference`` of their variances, ``P`` and
        ``P_corrected``.
    counts : Series
        Number of shapes of each group.
    about : str
        ``"group"`` or ``"overall"``: mean that variances are about.
    permutations : int
        Number of permutations.
    correction : str
        Correction for several pairs.
    sample : Sample
        Shapes that were used and left out.
    """

    variances: "pd.Series"
    overall: float
    table: "pd.DataFrame"
    counts: "pd.Series"
    about: str
    permutations: int
    correction: str
    sample: Sample

    @property
    def differences(self) -> "pd.DataFrame":
        """Differences of variances as a square table."""
        return square(self.table, "difference", list(self.variances.index))

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the variances of the groups.

        Returns
        -------
        pandas.DataFrame
            Columns ``group``, ``n`` and ``variance``.
        """
        import pandas as pd

        return pd.DataFrame(
            {"group": self.variances.index, "n": self.counts.to_numpy(), "variance": self.variances.to_numpy()}
        )

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the variances of the groups as bars.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_variances

        return plot_variances(self, ax)

    def _headline(self) -> str:
        mean = "their group means" if self.about == "group" else "the overall mean"
        return (
            f"Procrustes variances of {plural(self.n_used, 'shape')} about {mean}, overall {self.overall:.6g}, "
            f"{plural(self.permutations, 'permutation')}, correction {self.correction}."
        )

    def _body(self) -> str:
        return f"{format_table(self.to_dataframe())}\n\n{format_table(self.table)}"


@removed_arguments(blocks=BLOCKS)
def disparity(
    shapes: Any,
    groups: Any,
    *,
    about: Literal["group", "overall"] = "group",
    data: Any = None,
    permutations: int = 999,
    random_state: Any = 0,
    strata: Any = None,
    unit: Any = "auto",
    correction: Correction = "holm",
    aligned: bool = False,
) -> Disparity:
    """Compare how much the shapes of groups vary.

    The Procrustes variance of a group is the mean squared distance of its shapes from the mean of the group, or from
    the mean of all shapes, in the tangent space [1]_. Squared distances are permuted between groups.

    Parameters
    ----------
    shapes : ShapeSet or array_like
        The shapes, as in :func:`~shapelex.statistics.shape_lm`.
    groups : str, list of str or array_like
        Column or columns whose combinations are the groups, or one value per shape.
    about : {"group", "overall"}, default "group"
        Whether variances are about the mean of each group or about the mean of all shapes.
    data, permutations, random_state, strata, unit
        As in :func:`~shapelex.statistics.shape_lm`.
    correction : {"holm", "fdr", "none"}, default "holm"
        Correction of P for the number of pairs.
    aligned : bool, default False
        As in :func:`~shapelex.statistics.shape_lm`.

    Returns
    -------
    Disparity
        Variances of the groups, and differences between them.

    Raises
    ------
    ShapeInputError
        If there are fewer than two groups, or one has a single shape whose variance about its own mean is zero.

    References
    ----------
    .. [1] M. L. Zelditch, D. L. Swiderski and H. D. Sheets, Geometric Morphometrics for Biologists, 2nd ed., Academic
       Press, 2012.

    Examples
    --------
    >>> import shapelex as sx
    >>> leaves = sx.datasets.make_leaves(15, random_state=0)
    >>> found = sx.statistics.disparity(leaves, "label", permutations=99)
    >>> found.variances.index.tolist() == sorted(set(leaves.labels))
    True
    """
    import pandas as pd

    check_choice(about, ("group", "overall"), "about")
    check_choice(correction, CORRECTIONS, "correction")
    check_count(permutations, 0, "permutations")
    given = read_input(shapes, data)
    used = given.use({"group": given.combined(groups, "groups")}, aligned, unit, strata)
    codes, names = as_groups(used.table["group"])
    counts = np.bincount(codes)
    if len(names) < 2:
        raise ShapeInputError(f"{parameter('groups')} must name at least two groups, got {', '.join(names)}.")
    if about == "group" and counts.min() < 2:
        single = ", ".join(name for name, count in zip(names, counts, strict=True) if count == 1)
        raise ShapeInputError(
            f"the variance of a single shape is not known, but {parameter('groups')} has one shape only in {single}: "
            f"leave it out, or use {parameter('about', 'overall')}."
        )
    rows = used.coordinates - used.coordinates.mean(axis=0)
    overall = float((rows**2).sum() / len(rows))
    if about == "group":
        indicator = np.eye(len(names))[codes]
        rows = rows - (indicator / counts) @ (indicator.T @ rows)
    exchange = Exchange(len(rows), used.split_strata())
    settings = {"permutations": permutations, "seed": as_seed(random_state)}
    variances = permuted_variances(rows, codes, exchange, settings)
    pairs = np.array(list(combinations(range(len(names)), 2))).T
    differences = np.abs(variances[pairs[0]] - variances[pairs[1]])
    shares = p_values(differences)
    table = pd.DataFrame(
        {
            "first": [names[place] for place in pairs[0]],
            "second": [names[place] for place in pairs[1]],
            "difference": differences[:, 0],
            "P": shares,
            "P_corrected": corrected(shares, correction),
        }
    )
    return Disparity(
        pd.Series(variances[:, 0], index=names, name="variance"),
        overall,
        table,
        pd.Series(counts, index=names, name="n"),
        about,
        permutations,
        correction,
        sample_of(used, *remark_on_count(exchange, permutations, used.noun)),
    )
