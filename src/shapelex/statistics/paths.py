"""Trajectories: how shape changes in groups through an ordered series of points, such as ages or sexes.

Input: a fitted model with groups and points. Output: lengths and directions of the paths, with P values.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray, FloatArray
from shapelex.exceptions import ShapeInputError
from shapelex.spaces import Space
from shapelex.statistics.data import as_groups
from shapelex.statistics.group_pairs import (
    angles_between,
    groups_of,
    mean_operator,
    null_basis,
    permuted_vectors,
    square,
)
from shapelex.statistics.models import ShapeLinearModel
from shapelex.statistics.permutations import p_values
from shapelex.statistics.results import Result, Sample, format_table, plural

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories(Result):
    """Paths of groups through shape space; the result of :func:`~shapelex.statistics.trajectories`.

    Parameters
    ----------
    lengths : Series
        Length of the path of each group, as Procrustes distance.
    table : DataFrame
        One row per pair of groups: ``length``, the difference of lengths, ``angle`` between directions in degrees and,
        with more than two points, ``shape``, the Procrustes distance between the paths; each with its P value.
    means : ndarray of complex, shape (n_groups, n_points, n_coordinates)
        Least-squares means as configurations.
    points : list of str
        Names of the points, in their order.
    null : str
        Null model whose residuals were permuted.
    fit : ShapeLinearModel
        The model.
    space : Space
        Space of the configurations.
    sample : Sample
        Shapes that were used and left out.
    """

    lengths: "pd.Series"
    table: "pd.DataFrame"
    means: ComplexArray
    points: list[str]
    null: str
    fit: ShapeLinearModel
    space: Space
    sample: Sample

    @property
    def groups(self) -> list[str]:
        """Names of the groups."""
        return [str(name) for name in self.lengths.index]

    @property
    def angles(self) -> "pd.DataFrame":
        """Angles between the directions of the paths in degrees, as a square table."""
        return square(self.table, "angle", self.groups)

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the table of all pairs of groups.

        Returns
        -------
        pandas.DataFrame
            One pair per row.
        """
        return self.table.copy()

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the paths in the plane of the first two principal components of the means, over the shapes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_trajectories

        return plot_trajectories(self, ax)

    def _headline(self) -> str:
        return (
            f"Paths of {plural(len(self.lengths), 'group')} through {' → '.join(self.points)}, null model {self.null}, "
            f"{plural(self.fit.settings['permutations'], 'permutation')}."
        )

    def _body(self) -> str:
        return f"{format_table(self.lengths.to_frame())}\n\n{format_table(self.table)}"


def trajectories(
    fit: ShapeLinearModel, groups: Any, points: Any, *, null: ShapeLinearModel | str | None = None
) -> Trajectories:
    """Compare how shape changes in groups through the same series of points (phenotypic trajectories).

    The path of a group goes through the least-squares means of its points, in their order. Paths are compared by their
    lengths, by the angle between their directions (first principal axes, from the first to the last point) and, with
    more than two points, by their form [1]_.

    Parameters
    ----------
    fit : ShapeLinearModel
        A model with the terms ``groups * points``.
    groups : str or array_like of shape (n_used,)
        Column of the model with the groups, or a value for each shape that was used.
    points : str or array_like of shape (n_used,)
        Column of the model with the points, or such values. Their order is that of an ordered or plain pandas
        categorical, else of numbers or of the alphabet.
    null : ShapeLinearModel or str, optional
        Null model, as in :func:`~shapelex.statistics.pairwise`; by default without the last term of the model.

    Returns
    -------
    Trajectories
        Lengths, angles and their differences with P values.

    Raises
    ------
    ShapeInputError
        If there are fewer than two groups or points, or a group lacks a point.

    References
    ----------
    .. [1] M. L. Collyer and D. C. Adams, "Phenotypic trajectory analysis: comparison of shape change patterns in
       evolution and ecology", Hystrix 24 (2013), 75-83.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> leaves = sx.datasets.make_leaves(15, random_state=0)
    >>> data = {"plant": leaves.labels, "age": np.arange(60) // 20}
    >>> fit = sx.statistics.shape_lm("shape ~ plant * C(age)", leaves, data, permutations=99)
    >>> paths = sx.statistics.trajectories(fit, "plant", "age")
    >>> paths.points
    ['0', '1', '2']
    """
    import pandas as pd

    first, second = groups_of(fit, groups), groups_of(fit, points)
    (codes, names), (places, point_names) = as_groups(first), as_groups(second)
    n_groups, n_points = len(names), len(point_names)
    for what, values in (("groups", names), ("points", point_names)):
        if len(values) < 2:
            raise ShapeInputError(f"{parameter(what)} must have at least two values, got {', '.join(values)}.")
    cells = codes * n_points + places
    counts = np.bincount(cells, minlength=n_groups * n_points).reshape(n_groups, n_points)
    if (counts == 0).any():
        group, point = np.argwhere(counts == 0)[0]
        raise ShapeInputError(
            f"every group needs shapes at every point, but {names[group]} has none at {point_names[point]}."
        )
    operator = mean_operator(fit, cells)
    basis, null_name = null_basis(fit, null)
    pairs = np.array(list(combinations(range(n_groups), 2))).T
    lengths, angles, forms = [], [], []
    for vectors in permuted_vectors(fit, operator, basis):
        paths = vectors.reshape(len(vectors), n_groups, n_points, -1)
        lengths.append(np.linalg.norm(np.diff(paths, axis=2), axis=3).sum(axis=2))
        directions = path_directions(paths)
        angles.append(angles_between(directions[:, pairs[0]], directions[:, pairs[1]]))
        if n_points > 2:
            forms.append(path_distances(paths)[:, pairs[0], pairs[1]])
    all_lengths = np.concatenate(lengths).T
    found = {"length": np.abs(all_lengths[pairs[0]] - all_lengths[pairs[1]]), "angle": np.concatenate(angles).T}
    if forms:
        found["shape"] = np.concatenate(forms).T
    columns: dict[str, Any] = {"first": [names[i] for i in pairs[0]], "second": [names[i] for i in pairs[1]]}
    for name, one in found.items():
        columns[name], columns[f"P_{name}"] = one[:, 0], p_values(one)
    means = fit.shapes.to_configurations(operator @ fit.shapes.coordinates)
    return Trajectories(
        pd.Series(all_lengths[:, 0], index=names, name="length"),
        pd.DataFrame(columns),
        means.reshape(n_groups, n_points, -1),
        point_names,
        null_name,
        fit,
        fit.shapes.space,
        fit.sample,
    )


def path_directions(paths: FloatArray) -> FloatArray:
    """Return the first principal axis of each path ``(…, n_points, p)``, from its first to its last point."""
    if paths.shape[-2] == 2:
        steps: FloatArray = paths[..., 1, :] - paths[..., 0, :]
        return steps
    centered = paths - paths.mean(axis=-2, keepdims=True)
    # The axes of n_points points follow from their products with each other.
    values, vectors = np.linalg.eigh(centered @ np.swapaxes(centered, -1, -2))
    del values
    axes = np.einsum("...i,...ip->...p", vectors[..., -1], centered)
    forward = np.einsum("...p,...p->...", axes, paths[..., -1, :] - paths[..., 0, :])
    oriented: FloatArray = np.where(forward < 0, -1.0, 1.0)[..., None] * axes
    return oriented


def path_distances(paths: FloatArray) -> FloatArray:
    """Return Procrustes distances between the paths of each permutation: centered, scaled, rotated onto their mean.

    Paths are ``(n_permutations, n_groups, n_points, p)``.
    """
    centered = paths - paths.mean(axis=2, keepdims=True)
    lengths = np.linalg.norm(centered, axis=(2, 3), keepdims=True)
    scaled = centered / np.where(lengths > 0, lengths, 1.0)
    mean = scaled.mean(axis=1, keepdims=True)
    # Rotations act on p dimensions, but only the few that the points span matter: U Vᵀ of the product with the mean.
    left, _, right = np.linalg.svd(np.swapaxes(scaled, -1, -2) @ mean, full_matrices=False)
    turned = (scaled @ left) @ right
    steps = turned[:, :, None] - turned[:, None, :]
    distances: FloatArray = np.linalg.norm(steps, axis=(3, 4))
    return distances
