"""Comparison of nested models of shape.

Input: models of the same shapes. Output: what each adds to the first, with P by permuted residuals of the first.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapelex._messages import parameter
from shapelex.exceptions import ParameterError
from shapelex.statistics.linear_model import orthonormal_basis, permuted_sums
from shapelex.statistics.model_checks import RESIDUALS
from shapelex.statistics.models import TOTAL, ShapeLinearModel, f_statistics
from shapelex.statistics.permutations import p_values
from shapelex.statistics.results import Result, Sample, format_table, plural
from shapelex.statistics.terms import nested_pair

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Result):
    """Comparison of nested models; the result of :func:`~shapelex.statistics.compare_models`.

    Parameters
    ----------
    table : DataFrame
        Indexed by formula: residual degrees of freedom ``ResDf``, ``Df``, residual sum of squares ``RSS``, ``SS``,
        ``MS``, ``Rsq``, ``F`` and ``P``. The first row is the reduced model.
    permutations : int
        Number of permutations.
    sample : Sample
        Shapes that were used and left out.
    """

    table: "pd.DataFrame"
    permutations: int
    sample: Sample

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the comparison with the formulas as a column.

        Returns
        -------
        pandas.DataFrame
            One model per row.
        """
        return self.table.rename_axis("model").reset_index()

    def _headline(self) -> str:
        return (
            f"Models of {plural(self.n_used, 'shape')} compared with the first, "
            f"{plural(self.permutations, 'permutation')} of its residuals."
        )

    def _body(self) -> str:
        return format_table(self.table)


def compare_models(reduced: ShapeLinearModel, *models: ShapeLinearModel) -> ModelComparison:
    r"""Compare a model with models that contain it.

    With residual sums of squares :math:`RSS_0` and :math:`RSS_1`,

    .. math:: F = \frac{(RSS_0 - RSS_1) / (df_0 - df_1)}{RSS_1 / df_1}.

    Parameters
    ----------
    reduced : ShapeLinearModel
        The reduced model.
    *models : ShapeLinearModel
        Models of the same shapes that contain all terms of the reduced one.

    Returns
    -------
    ModelComparison
        The table of the comparison. P is by permutation of the residuals of the reduced model, as many times as in its
        fit and with its seed.

    Raises
    ------
    ParameterError
        If a model does not contain the reduced one, or was fitted to other shapes.

    Examples
    --------
    >>> import shapelex as sx
    >>> leaves = sx.datasets.make_leaves(15, random_state=0)
    >>> one = sx.statistics.shape_lm("shape ~ size", leaves, permutations=99)
    >>> both = sx.statistics.shape_lm("shape ~ size + label", leaves, permutations=99)
    >>> float(sx.statistics.compare_models(one, both).table.loc["shape ~ size + label", "P"])
    0.01
    """
    import pandas as pd

    if not models:
        raise ParameterError(f"{parameter('models')} must hold at least one model to compare with the first.")
    total, first = float(reduced.table.loc[TOTAL, "SS"]), reduced.table.loc[RESIDUALS]
    permutations, seed = reduced.settings["permutations"], reduced.settings["seed"]
    lines = [{"ResDf": int(first["Df"]), "RSS": float(first["SS"])}]
    for model in models:
        _check_pair(reduced, model)
        columns = model.design.matrix
        if orthonormal_basis(reduced.design.matrix, orthonormal_basis(columns)).shape[1]:
            raise ParameterError(
                f"the model {model.formula!r} does not contain {reduced.formula!r}: give nested models."
            )
        pair = nested_pair(model.formula, reduced.design.matrix, columns, columns, model.exchange)
        sums = permuted_sums(reduced.shapes.coordinates, [pair], permutations, seed)
        df_residual = int(model.table.loc[RESIDUALS, "Df"])
        statistics = f_statistics(sums, [pair], df_residual, {})
        added = float(sums.terms[0, 0])
        lines.append(
            {
                "ResDf": df_residual,
                "Df": pair.df,
                "RSS": float(model.table.loc[RESIDUALS, "SS"]),
                "SS": added,
                "MS": added / pair.df if pair.df else np.nan,
                "Rsq": added / total,
                "F": float(statistics[0, 0]),
                "P": float(p_values(statistics)[0]),
            }
        )
    names = [reduced.formula, *(model.formula for model in models)]
    columns_wanted = ["ResDf", "Df", "RSS", "SS", "MS", "Rsq", "F", "P"]
    table = pd.DataFrame(lines, index=pd.Index(names), columns=columns_wanted)
    return ModelComparison(table, permutations, reduced.sample)


def _check_pair(reduced: ShapeLinearModel, model: ShapeLinearModel) -> None:
    mine, theirs = reduced.shapes, model.shapes
    if not np.array_equal(mine.rows, theirs.rows):
        raise ParameterError(
            f"the models must be fitted to the same shapes, but {reduced.formula!r} used {len(mine.rows)} and "
            f"{model.formula!r} {len(theirs.rows)}, as entries of their columns are missing: leave these shapes out."
        )
    if mine.coordinates.shape != theirs.coordinates.shape or not np.allclose(mine.coordinates, theirs.coordinates):
        raise ParameterError("the models must be fitted to the same shapes, but their coordinates or units differ.")
