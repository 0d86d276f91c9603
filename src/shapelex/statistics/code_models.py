"""Regression of codes on covariates: linear models of the complex weights of atoms."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.stats import false_discovery_control

from shapelex._messages import parameter
from shapelex._typing import ComplexArray
from shapelex._validation import check_count, removed_arguments
from shapelex.exceptions import CodesError, ParameterError, ShapeInputError
from shapelex.spaces import Landmarks, Space
from shapelex.statistics.code_input import CodeInput, read_code_input
from shapelex.statistics.data import AlignedShapes, as_groups, as_real
from shapelex.statistics.formulas import make_design, parse_formula
from shapelex.statistics.linear_model import permuted_sums
from shapelex.statistics.models import ShapeLinearModel, f_statistics, fit_model
from shapelex.statistics.permutations import BLOCKS, Exchange, as_seed, p_values
from shapelex.statistics.results import Result, Sample, format_table, plural
from shapelex.statistics.terms import check_type

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_RESPONSES = ("codes", "")
_SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class CodeLinearModel(Result):
    """Result of :func:`~shapelex.statistics.code_lm`.

    Parameters
    ----------
    formula : str
        The formula.
    fit : ShapeLinearModel
        The linear model of the weights; ``fit.coefficients`` has one row per column of the design matrix, and one
        complex number per atom.
    table : DataFrame
        Analysis of variance of all weights together, indexed by term: ``Df``, ``SS``, ``MS``, ``Rsq``, ``F`` and
        ``P``.
    atoms : DataFrame
        The same for the weight of each atom: ``term``, ``atom``, ``SS``, ``Rsq``, ``F``, ``P`` and ``P_fdr``, corrected
        over the atoms of a term.
    dictionary : ndarray of complex, shape (n_atoms, n_coordinates), or None
        The atoms, where the model of the codes was given.
    space : Space or None
        Space of the atoms.
    sample : Sample
        Shapes that were used.
    """

    formula: str
    fit: ShapeLinearModel
    table: "pd.DataFrame"
    atoms: "pd.DataFrame"
    dictionary: ComplexArray | None
    space: Space | None
    sample: Sample

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the tests of single atoms.

        Returns
        -------
        pandas.DataFrame
            Columns ``term``, ``atom``, ``SS``, ``Rsq``, ``F``, ``P`` and ``P_fdr``.
        """
        return self.atoms.copy()

    def predict(self, data: Any) -> ComplexArray:
        """Predict weights for new values of the covariates.

        Parameters
        ----------
        data : DataFrame or dict
            A value of every covariate of the formula for each prediction.

        Returns
        -------
        ndarray of complex, shape (n_predicted, n_atoms)
            Weights in the common pose.
        """
        return self.fit.predict(data, n_bootstrap=0).shapes

    def predict_shapes(self, data: Any) -> ComplexArray:
        """Predict weights, and rebuild shapes from them.

        Parameters
        ----------
        data : DataFrame or dict
            A value of every covariate of the formula for each prediction.

        Returns
        -------
        ndarray of complex, shape (n_predicted, n_coordinates)
            Configurations in a common pose.

        Raises
        ------
        ShapeInputError
            If the atoms are not known, because `model` was not given.
        """
        if self.dictionary is None:
            raise ShapeInputError(
                f"the atoms are not known: give the dictionary of the codes, by {parameter('model=')} of code_lm."
            )
        return np.asarray(self.predict(data) @ self.dictionary)

    def plot(self, ax: "Axes | None" = None, *, max_atoms: int = 15) -> "Axes":
        """Draw the share of the variation of each weight that each term explains.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.
        max_atoms : int, default 15
            Maximum number of atoms: those of which the terms explain most.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; filled marks are significant after correction.
        """
        from shapelex.statistics.atom_differences_plot import plot_explained_weights

        return plot_explained_weights(self.atoms, alpha=_SIGNIFICANT, max_atoms=max_atoms, ax=ax)

    def _headline(self) -> str:
        found = int(np.count_nonzero(self.atoms["P_fdr"] <= _SIGNIFICANT))
        return (
            f"{self.formula}: {plural(self.n_used, 'shape')}, {plural(self.atoms['atom'].nunique(), 'atom')}, "
            f"{plural(self.fit.settings['permutations'], 'permutation')}; {plural(found, 'pair')} of term and atom "
            f"below a false discovery rate of {_SIGNIFICANT:g}."
        )

    def _body(self) -> str:
        tested = self.atoms[self.atoms["P"].notna()].sort_values(["P_fdr", "P", "atom"], kind="stable")
        parts = [format_table(self.table)]
        if len(tested):
            parts += ["", "Single atoms, the smallest P first:", format_table(tested.head(20), index=False)]
        return "\n".join(parts)


@removed_arguments(blocks=BLOCKS)
def code_lm(
    formula: str,
    codes: Any,
    data: Any = None,
    *,
    model: Any = None,
    permutations: int = 999,
    random_state: Any = 0,
    type: Literal[1, 2, 3] = 1,  # noqa: A002
    strata: Any = None,
    unit: Any = "auto",
) -> CodeLinearModel:
    r"""Regress the complex weights of atoms on covariates, with P by residual permutation.

    A rotation of a shape multiplies all weights of its code by the same phase, so weights of different shapes cannot be
    compared as they are. Each code is therefore first multiplied by the phase that rotates the reconstruction of its
    shape as near as possible to the mean of all reconstructions; where `model` is not given, by the phase that rotates
    the vector of its weights onto their mean. After that, real and imaginary parts of all weights are the response of a
    linear model,

    .. math:: SS = \sum_j \lVert (H_\text{full} - H_\text{reduced}) \alpha_j \rVert^2,

    which is a sum over atoms j. Its terms are tested for all atoms together, and for each atom.

    Parameters
    ----------
    formula : str
        Such as ``"codes ~ log(size) + species"``, as in :func:`~shapelex.statistics.shape_lm`. Variables are columns of
        `data`, or of stored codes.
    codes : SparseCodes, StoredCodes or array_like of complex, shape (n_shapes, n_atoms)
        Codes, such as ``model.encode(shapes)`` or what :func:`shapelex.read_codes` returns.
    data : DataFrame or mapping, optional
        Covariates, one row per shape.
    model : fitted dictionary, optional
        Dictionary of the codes, which defines the common pose, and rebuilds predicted shapes.
    permutations : int, default 999
        Number of random permutations; 0 for no P.
    random_state : int, Generator or RandomState, default 0
        Seed of the permutations.
    type : {1, 2, 3}, default 1
        Type of the sums of squares, as in :func:`~shapelex.statistics.shape_lm`.
    strata : str or array_like, optional
        What is exchanged, as in :func:`~shapelex.statistics.shape_lm`.
    unit : str, array_like or None, default "auto"
        As in :func:`~shapelex.statistics.shape_lm`: the model is one of the average weights of units.

    Returns
    -------
    CodeLinearModel
        ``.table`` for all weights together, ``.atoms`` for single atoms, ``.predict(data)``, ``.plot()``.

    Raises
    ------
    CodesError
        If these are not codes of two atoms or more, or those of another model.
    ParameterError
        If the formula cannot be read, does not begin with ``codes ~``, contains other functions than those of
        :func:`~shapelex.statistics.shape_lm`, or has too many terms.
    ShapeInputError
        If a column does not exist or is constant.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> dose = np.linspace(0, 1, 40)
    >>> weights = np.array([1, 0.5, 0.3]) + 0.1 * (rng.normal(size=(40, 3)) + 1j * rng.normal(size=(40, 3)))
    >>> weights[:, 1] += 0.5j * dose
    >>> fit = sx.statistics.code_lm("codes ~ dose", weights, {"dose": dose})
    >>> float(fit.table.loc["dose", "P"]), fit.atoms.sort_values("F")["atom"].tolist()[-1]
    (0.001, 1)
    """
    check_count(permutations, 0, "permutations")
    sum_type, seed = check_type(type), as_seed(random_state)
    given = read_code_input(codes, model, data)
    if given.n_atoms < 2:
        raise CodesError("codes must be over at least two atoms.")
    left, _, right = str(formula).partition("~")
    if left.strip() not in _RESPONSES or not right.strip():
        raise ParameterError(
            f"{parameter('formula')} must begin with 'codes ~', such as 'codes ~ log(size) + species', got {formula!r}."
        )
    parsed, names = parse_formula(f"shape ~ {right}", given)
    needed = {name: given.columns[name] for name in names}
    if strata is not None:
        needed["strata"] = given.column(strata, "strata")
    used = _complete(given, needed, unit)
    exchange = Exchange(len(used.table), None if strata is None else as_groups(used.table.pop("strata"))[0])
    design = make_design(parsed, used.table, centered_contrasts=sum_type == 3)
    fit = fit_model(formula, used, design, exchange, permutations=permutations, seed=seed, sum_type=sum_type)
    return CodeLinearModel(
        formula=formula,
        fit=fit,
        table=fit.table,
        atoms=_atom_table(fit, given.n_atoms, permutations, seed),
        dictionary=given.atoms,
        space=given.space,
        sample=fit.sample,
    )


def _complete(given: CodeInput, needed: "dict[str, pd.Series]", unit: Any) -> AlignedShapes:
    """Return weights in the common pose of the shapes that have all covariates, or their averages over units."""
    import pandas as pd

    rows, dropped, remarks, units = given.complete(needed, unit)
    posed = given.in_common_pose()[rows]
    table = pd.DataFrame({name: column.to_numpy()[rows] for name, column in needed.items()}, index=rows)
    # Weights are plain numbers: the product of landmarks is the plain one.
    space, mean = Landmarks(given.n_atoms), posed.mean(axis=0)
    return AlignedShapes(as_real(posed), table, rows, dropped, space, mean, tuple(remarks)).averaged(units)


def _atom_table(fit: ShapeLinearModel, n_atoms: int, permutations: int, seed: int) -> "pd.DataFrame":
    """Return the analysis of variance of the weight of each atom."""
    import pandas as pd

    names, rows = list(fit.design.terms), []
    df_residual = int(fit.table.loc["residuals", "Df"])
    for atom in range(n_atoms):
        weights = fit.shapes.coordinates[:, 2 * atom : 2 * atom + 2]
        total = float(np.sum((weights - weights.mean(axis=0)) ** 2))
        if total == 0:
            rows += [{"term": name, "atom": atom, "SS": 0.0} for name in names]
            continue
        sums = permuted_sums(weights, fit.terms, permutations, seed)
        statistics = f_statistics(sums, fit.terms, df_residual, {})
        rows += [
            {"term": name, "atom": atom, "SS": float(sums.terms[place, 0]), "Rsq": float(sums.terms[place, 0]) / total,
             "F": float(statistics[place, 0]), "P": float(p)}
            for place, (name, p) in enumerate(zip(names, p_values(statistics), strict=True))
        ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["term", "atom", "SS", "Rsq", "F", "P"])
    table["P_fdr"] = np.nan
    for name in names:
        is_tested = (table["term"] == name) & table["P"].notna()
        if is_tested.any():
            table.loc[is_tested, "P_fdr"] = false_discovery_control(table.loc[is_tested, "P"], method="bh")
    # The terms in the order of the formula.
    return pd.concat([table[table["term"] == name] for name in names], ignore_index=True) if names else table
