"""Bilateral symmetry: variation among individuals, directional and fluctuating asymmetry, and measurement error.

Input: shapes with individuals, and sides or pairs of landmarks. Output: an analysis of variance, and the symmetric and
asymmetric components.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count
from shapelex.exceptions import ParameterError, ShapeInputError, UnsupportedBySpaceError
from shapelex.geometry import distance, mean_shape
from shapelex.spaces import Landmarks, Space
from shapelex.statistics.data import AlignedShapes, Columns, ShapeInput, as_groups, read_input, tangent_rows, unit_means
from shapelex.statistics.formulas import make_design, parse_formula
from shapelex.statistics.linear_model import moved_products, orthonormal_basis, reduce_columns
from shapelex.statistics.model_checks import RESIDUALS
from shapelex.statistics.models import ShapeLinearModel, fit_model
from shapelex.statistics.permutations import Exchange, as_seed, p_values
from shapelex.statistics.results import Result, Sample, format_table, plural, sample_of

if TYPE_CHECKING:
    import pandas as pd

INDIVIDUAL, SIDE, BOTH = "individual", "side", "individual:side"
REPLICATES = "individual:side:replicate"


@dataclass(frozen=True, eq=False, repr=False)
class Symmetry(Result):
    """Analysis of bilateral symmetry; the result of :func:`~shapelex.statistics.symmetry`.

    Parameters
    ----------
    table : DataFrame
        Analysis of variance with the columns ``Df``, ``SS``, ``MS``, ``Rsq``, ``F`` and ``P``, indexed by
        ``individual`` (variation among individuals), ``side`` (directional asymmetry), ``individual:side``
        (fluctuating asymmetry), ``individual:side:replicate`` (measurement error, with replicates) and ``total``.
    kind : str
        ``"object"`` or ``"matching"``.
    individuals : list of str
        Names of the individuals.
    symmetric : ndarray of complex, shape (n_individuals, n_coordinates)
        Symmetric component: mean shape of both sides of each individual.
    asymmetric : ndarray of complex, shape (n_individuals, n_coordinates)
        Asymmetric component: difference between the sides of each individual, added to the mean shape.
    asymmetry : Series
        Length of that difference for each individual, directional asymmetry included.
    fluctuating : Series
        The same without directional asymmetry.
    fit : ShapeLinearModel
        The underlying model.
    space : Space
        Space of the configurations.
    sample : Sample
        Shapes that were used and left out.
    """

    table: "pd.DataFrame"
    kind: str
    individuals: list[str]
    symmetric: ComplexArray
    asymmetric: ComplexArray
    asymmetry: "pd.Series"
    fluctuating: "pd.Series"
    fit: ShapeLinearModel
    space: Space
    sample: Sample

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the analysis of variance with the terms as a column.

        Returns
        -------
        pandas.DataFrame
            One term per row.
        """
        return self.table.rename_axis("term").reset_index()

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the mean shapes of both sides over each other, with their difference enlarged.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_asymmetry

        return plot_asymmetry(self, ax)

    def _headline(self) -> str:
        how = "landmark pairs of one object" if self.kind == "object" else "matching sides"
        return (
            f"Bilateral symmetry ({how}) of {plural(len(self.individuals), 'individual')}, "
            f"{plural(self.n_used, 'shape')}, {plural(self.fit.settings['permutations'], 'permutation')}."
        )

    def _body(self) -> str:
        return format_table(self.table)


def symmetry(
    shapes: Any,
    individual: Any,
    side: Any = None,
    replicate: Any = None,
    pairs: ArrayLike | None = None,
    *,
    data: Any = None,
    permutations: int = 999,
    random_state: Any = 0,
) -> Symmetry:
    """Analyze bilateral symmetry of objects with paired landmarks, or of matching left and right parts.

    Object symmetry: every shape is joined by its mirror image with the landmarks of `pairs` exchanged. Matching
    symmetry: `side` says which shapes are left and right. The model is ``individual * side``; with replicates,
    individuals and sides are tested against their interaction, and the interaction against the replicates [1]_, [2]_.

    Parameters
    ----------
    shapes : ShapeSet or array_like
        The shapes, as in :func:`~shapelex.statistics.shape_lm`.
    individual : str or array_like of shape (n_shapes,)
        Column or values: individual of each shape.
    side : str or array_like of shape (n_shapes,), optional
        Side of each shape, for matching symmetry: two values.
    replicate : str or array_like of shape (n_shapes,), optional
        Number of the repeated measurement of each shape. It only says that there are replicates; without it, several
        shapes of one individual and side are taken as replicates, and a remark says so.
    pairs : array_like of int, shape (n_pairs, 2), optional
        Numbers of the landmarks, from 0, that correspond to each other on both sides, for object symmetry; all others
        lie on the midline.
    data, permutations, random_state
        As in :func:`~shapelex.statistics.shape_lm`.

    Returns
    -------
    Symmetry
        The analysis of variance, and the components of each individual.

    Raises
    ------
    ParameterError
        If neither or both of `side` and `pairs` are given.
    ShapeInputError
        If sides or pairs cannot be used, or an individual has no shape of one side.

    Notes
    -----
    Individuals and sides are tested by exchanging the averages of individual and side: within a side for individuals,
    between the sides of an individual for sides. The interaction is tested by residual permutation.

    Objects are aligned and projected twice: as they are, and again with their mirror images. In matching symmetry, the
    shapes of the second side are mirrored if their mean is then closer to that of the first side, and a remark says so.

    References
    ----------
    .. [1] C. P. Klingenberg and G. S. McIntyre, "Geometric morphometrics of developmental instability: analyzing
       patterns of fluctuating asymmetry with Procrustes methods", Evolution 52 (1998), 1363-1375.
    .. [2] C. P. Klingenberg, M. Barluenga and A. Meyer, "Shape analysis of symmetric structures: quantifying variation
       among individuals and asymmetry", Evolution 56 (2002), 1909-1920.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> face = np.array([-1, 1, 1j, -1j])
    >>> X = face + 0.05 * rng.normal(size=(20, 4, 2)) @ [1, 1j]
    >>> found = sx.statistics.symmetry(X, np.repeat(np.arange(10), 2), replicate=np.tile([1, 2], 10), pairs=[[0, 1]])
    >>> found.table["Df"].tolist()
    [9, 1, 9, 20, 39]
    """
    check_count(permutations, 0, "permutations")
    if (side is None) == (pairs is None):
        raise ParameterError(
            f"give {parameter('pairs')} for objects with paired landmarks, or {parameter('side')} for left and right "
            "parts, and not both."
        )
    given = read_input(shapes, data)
    needed = {INDIVIDUAL: given.column(individual, "individual")}
    for name, value in ((SIDE, side), ("replicate", replicate)):
        if value is not None:
            needed[name] = given.column(value, name)
    remarks: list[str] = []
    if pairs is not None:
        used = _with_mirror_images(given.use(needed), _check_pairs(pairs, given.space), given.space)
    else:
        given, remarks = _mirrored_sides(given, needed[SIDE])
        used = given.use(needed)
        used = _with_codes(used, as_groups(used.table[SIDE]))
    most = _check_cells(used, needed[INDIVIDUAL])
    has_replicates = replicate is not None or most > 1
    if has_replicates and replicate is None:
        remarks.append(
            f"Some individuals have up to {most} shapes of a side: these are taken as replicates, which say how large "
            "the measurement error is."
        )
    seed = as_seed(random_state)
    fit = _fit(used, has_replicates, permutations, seed)
    table = fit.table.rename(index={RESIDUALS: REPLICATES if has_replicates else BOTH})
    if permutations:
        for term, strata in ((INDIVIDUAL, SIDE), (SIDE, INDIVIDUAL)):
            table.loc[term, "P"] = _exchange_cells(used, term, strata, permutations, seed)
    return _collect(used, fit, table, "matching" if pairs is None else "object", remarks)


def _exchange_cells(used: AlignedShapes, term: str, strata: str, permutations: int, seed: int) -> float:
    """Return P of individuals or of sides against their interaction.

    Without differences between individuals, the averages of individual and side can be exchanged between individuals
    within a side; without directional asymmetry, between the sides of an individual. The interaction is computed from
    the same permuted data.
    """
    individuals, sides = (as_groups(used.table[name])[0] for name in (INDIVIDUAL, SIDE))
    cells = individuals * 2 + sides
    _, first, counts = np.unique(cells, return_index=True, return_counts=True)
    exchange = Exchange(len(first), (individuals if strata == INDIVIDUAL else sides)[first])
    ones = np.ones((len(cells), 1))
    own = np.eye(int(individuals.max()) + 1)[individuals] if term == INDIVIDUAL else sides[:, None].astype(np.float64)
    other = sides[:, None].astype(np.float64) if term == INDIVIDUAL else np.eye(int(individuals.max()) + 1)[individuals]
    lower = orthonormal_basis(np.hstack([ones, other]))
    top = orthonormal_basis(own, lower)
    bottom = orthonormal_basis(np.eye(int(cells.max()) + 1)[cells], np.hstack([lower, top]))
    rows = reduce_columns(used.coordinates - used.coordinates.mean(axis=0))
    # The basis is the same for all rows of a cell.
    basis, ratios = np.hstack([top, bottom])[first] * counts[:, None], []
    for products in moved_products(basis, unit_means(rows, cells), exchange, permutations, seed):
        squares = np.einsum("kbp,kbp->kb", products, products)
        above, below = squares[: top.shape[1]].sum(axis=0), squares[top.shape[1] :].sum(axis=0)
        ratios.append(above / np.maximum(below, np.finfo(float).tiny))
    return float(p_values(np.concatenate(ratios)))


def _check_cells(used: AlignedShapes, individual: "pd.Series") -> int:
    """Return the largest number of shapes of an individual and side; refuse individuals with one side only."""
    (codes, names), (sides, _) = as_groups(used.table[INDIVIDUAL]), as_groups(used.table[SIDE])
    counts = np.zeros((len(names), 2))
    np.add.at(counts, (codes, sides), 1)
    if len(names) < 2:
        raise ShapeInputError(f"{parameter('individual')} must name at least two individuals, got {names[0]}.")
    if (counts == 0).any():
        is_lacking = (counts == 0).any(axis=1)
        lacking = [names[place] for place in np.flatnonzero(is_lacking)]
        verb, them = ("has", "it") if len(lacking) == 1 else ("have", "them")
        values = set(used.table[INDIVIDUAL].to_numpy()[is_lacking[codes]].tolist())
        lost = [f"shape {row} ({why})" for row, why in used.dropped.items() if individual.iloc[row] in values]
        because = f" after {', '.join(lost[:5])} {'was' if len(lost) == 1 else 'were'} left out" if lost else ""
        raise ShapeInputError(
            f"every individual needs shapes of both sides, but {', '.join(lacking[:5])} {verb} one side only{because}: "
            f"leave {them} out{', or fill in missing landmarks by sx.impute' if lost else ''}."
        )
    return int(counts.max())


def _fit(used: AlignedShapes, has_replicates: bool, permutations: int, seed: int) -> ShapeLinearModel:
    table = used.table[[INDIVIDUAL, SIDE]].astype(str).astype("category")
    formula = f"shape ~ {INDIVIDUAL} {'*' if has_replicates else '+'} {SIDE}"
    parsed, names = parse_formula(formula, Columns(table))
    design = make_design(parsed, table[names])
    error = {INDIVIDUAL: BOTH, SIDE: BOTH} if has_replicates else {}
    plain = AlignedShapes(used.coordinates, table, used.rows, used.dropped, used.space, used.mean, used.remarks)
    return fit_model(formula, plain, design, Exchange(len(table)), permutations=permutations, seed=seed, error=error)


def _check_pairs(pairs: ArrayLike, space: Space) -> IntArray:
    if not isinstance(space, Landmarks):
        raise UnsupportedBySpaceError(f"{parameter('pairs')} are landmarks, but the shapes are in {space!r}.")
    found = np.asarray(pairs)
    n_points = space.n_coordinates
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
        raise ShapeInputError(f"{parameter('pairs')} must be integers of shape (n_pairs, 2), got shape {found.shape}.")
    if found.min() < 0 or found.max() >= n_points:
        raise ShapeInputError(
            f"{parameter('pairs')} must be numbers of landmarks between 0 and {n_points - 1}, got {found.min()} to "
            f"{found.max()}: they count from 0."
        )
    if len(np.unique(found)) != found.size:
        raise ShapeInputError(f"{parameter('pairs')} must name each landmark at most once.")
    order = np.arange(n_points)
    order[found[:, 0]], order[found[:, 1]] = found[:, 1], found[:, 0]
    return order


def _with_mirror_images(used: AlignedShapes, order: IntArray, space: Space) -> AlignedShapes:
    """Return aligned shapes followed by their mirror images with exchanged landmarks, aligned and projected again."""
    import pandas as pd

    rows = used.to_configurations(used.coordinates)
    both = np.concatenate([rows, rows.conj()[:, order]])
    coordinates, mean = tangent_rows(both, space)
    table = pd.concat([used.table, used.table], ignore_index=True)
    table[SIDE] = np.repeat(["1", "2"], len(rows))
    return AlignedShapes(coordinates, table, np.concatenate([used.rows] * 2), used.dropped, space, mean, used.remarks)


def _with_codes(used: AlignedShapes, sides: tuple[IntArray, list[str]]) -> AlignedShapes:
    codes, names = sides
    if len(names) != 2:
        raise ShapeInputError(f"{parameter('side')} must have two values, got {', '.join(names)}.")
    table = used.table.assign(**{SIDE: np.array(names)[codes]})
    return AlignedShapes(used.coordinates, table, used.rows, used.dropped, used.space, used.mean, used.remarks)


def _mirrored_sides(given: ShapeInput, side: "pd.Series") -> tuple[ShapeInput, list[str]]:
    """Return the shapes with those of the second side mirrored, where their mean is then closer to the first."""
    is_whole = ~np.isnan(given.configurations).any(axis=1) & ~side.isna().to_numpy()
    codes = np.full(len(given), -1)
    codes[is_whole], names = as_groups(side[is_whole])
    if len(names) != 2:
        raise ShapeInputError(f"{parameter('side')} must have two values, got {', '.join(names)}.")
    if np.iscomplexobj(given.space.gram):
        return given, []
    means = [mean_shape(given.configurations[codes == one], space=given.space) for one in (0, 1)]
    as_given, mirrored = (float(distance(means[0], other, space=given.space)) for other in (means[1], means[1].conj()))
    if mirrored >= as_given:
        return given, []
    rows = np.where((codes == 1)[:, None], given.configurations.conj(), given.configurations)
    remark = (
        f"The shapes of side {names[1]} were mirrored: the distance between the mean shapes of the sides is then "
        f"{mirrored:.3g} instead of {as_given:.3g}."
    )
    return ShapeInput(given.columns, rows, given.space, given.remarks), [remark]


def _collect(
    used: AlignedShapes, fit: ShapeLinearModel, table: "pd.DataFrame", kind: str, remarks: list[str]
) -> Symmetry:
    import pandas as pd

    codes, names = as_groups(used.table[INDIVIDUAL])
    sides = as_groups(used.table[SIDE])[0]
    counts = np.zeros((len(names), 2))
    np.add.at(counts, (codes, sides), 1)
    sums = np.zeros((len(names), 2, used.coordinates.shape[1]))
    np.add.at(sums, (codes, sides), used.coordinates)
    means: FloatArray = sums / counts[:, :, None]
    differences = means[:, 0] - means[:, 1]
    average = used.coordinates.mean(axis=0)
    own = differences - differences.mean(axis=0)
    sample = sample_of(used, *remarks)
    n_given = len(used.rows) // 2 if kind == "object" else len(used.rows)
    return Symmetry(
        table,
        kind,
        names,
        used.to_configurations(means.mean(axis=1)),
        used.to_configurations(average + differences),
        pd.Series(np.linalg.norm(differences, axis=1), index=names, name="asymmetry"),
        pd.Series(np.linalg.norm(own, axis=1), index=names, name="fluctuating"),
        fit,
        used.space,
        Sample(sample.rows[:n_given], sample.dropped, sample.remarks),
    )
