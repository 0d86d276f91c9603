"""Shapes that a model predicts, with confidence regions by the bootstrap of residuals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_count, check_number, did_you_mean, is_data_frame
from shapelex.estimators.base import as_generator
from shapelex.exceptions import ParameterError, ParameterTypeError, ShapeInputError, reason_of
from shapelex.spaces import Space
from shapelex.statistics.results import Result, Sample, plural

if TYPE_CHECKING:
    import pandas as pd

    from shapelex.statistics.models import ShapeLinearModel

_MOST_ENTRIES = 1 << 23


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Result):
    """Predicted shapes with their confidence regions.

    Parameters
    ----------
    shapes : ndarray of complex, shape (n_predicted, n_coordinates)
        Predicted configurations, in the pose of the aligned shapes.
    data : DataFrame
        Covariates of each prediction.
    radii : ndarray of float, shape (n_predicted,)
        Radius of the region: the share `confidence` of the bootstrap predictions lies within this Procrustes
        distance; NaN without bootstrap.
    covariances : ndarray of float, shape (n_predicted, n_coordinates, 2, 2), or None
        Covariance of each coordinate of the configurations (x and y of each landmark) over the bootstrap samples.
    confidence : float
        Level of the regions.
    n_bootstrap : int
        Number of bootstrap samples.
    space : Space
        Space of the configurations.
    sample : Sample
        Shapes that the model used and left out.
    """

    shapes: ComplexArray
    data: "pd.DataFrame"
    radii: FloatArray
    covariances: FloatArray | None
    confidence: float
    n_bootstrap: int
    space: Space
    sample: Sample

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the covariates of the predictions, with the radii of their regions.

        Returns
        -------
        pandas.DataFrame
            One prediction per row.
        """
        return self.data.assign(radius=self.radii)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the predicted shapes over each other, with the confidence ellipses of landmarks.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; those of a new figure when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from shapelex.statistics.figures import plot_predictions

        return plot_predictions(self, ax)

    def _headline(self) -> str:
        regions = (
            f", {100 * self.confidence:g} % regions of {plural(self.n_bootstrap, 'bootstrap sample')}"
            if self.n_bootstrap
            else ""
        )
        return f"{plural(len(self.shapes), 'predicted shape')}{regions}."


def predict_shapes(
    fit: "ShapeLinearModel", data: Any, confidence: float, n_bootstrap: int, random_state: Any
) -> Prediction:
    """Return the shapes that a model predicts for new covariates."""
    frame = new_covariates(fit, data)
    if not 0 < check_number(confidence, "confidence") < 1:
        raise ParameterError(f"{parameter('confidence')} must lie between 0 and 1, got {confidence}.")
    check_count(n_bootstrap, 0, "n_bootstrap")
    operator = design_rows(fit, frame) @ fit.solver
    rows = operator @ fit.shapes.coordinates
    radii, covariances = np.full(len(rows), np.nan), None
    if n_bootstrap:
        distances, covariances = _bootstrap(fit, operator, n_bootstrap, as_generator(random_state))
        radii = np.quantile(distances, confidence, axis=0)
    shapes = fit.shapes.to_configurations(rows)
    return Prediction(shapes, frame, radii, covariances, float(confidence), n_bootstrap, fit.shapes.space, fit.sample)


def new_covariates(fit: "ShapeLinearModel", data: Any) -> "pd.DataFrame":
    """Return a table with all covariates of a model; single values are repeated."""
    import pandas as pd

    if not is_data_frame(data):
        if not isinstance(data, Mapping):
            raise ParameterTypeError(
                f"{parameter('data')} must be a data frame, or a dict of columns, got {type(data).__name__}."
            )
        columns = {str(name): np.atleast_1d(values) for name, values in data.items()}
        n_rows = max(map(len, columns.values()), default=1)
        columns = {name: np.repeat(one, n_rows) if len(one) == 1 else one for name, one in columns.items()}
        if any(len(one) != n_rows for one in columns.values()):
            raise ShapeInputError(f"{parameter('data')} must have columns of one length, or single values.")
        data = pd.DataFrame(columns)
    for name in fit.shapes.table.columns:
        if name not in data:
            close = did_you_mean(str(name), map(str, data.columns))
            meant = f" (is {close!r} meant?)" if close else ""
            raise ShapeInputError(f"{parameter('data')} must have a column {name!r}{meant}, a covariate of the model.")
        if name in fit.design.categorical:
            known = set(fit.shapes.table[name].astype(str))
            strange = [str(value) for value in data[name] if str(value) not in known]
            if strange:
                raise ShapeInputError(
                    f"{parameter('data')} has {name}={strange[0]!r}, which the model has not seen: it knows "
                    f"{', '.join(sorted(known))}."
                )
    frame: pd.DataFrame = data[list(fit.shapes.table.columns)].reset_index(drop=True)
    for name in frame.columns:
        if fit.shapes.table[name].dtype.kind == "O":
            frame[name] = pd.Series([str(value) for value in frame[name]], dtype=object)
    return frame


def design_rows(fit: "ShapeLinearModel", frame: "pd.DataFrame") -> FloatArray:
    """Return the rows of the design matrix for a table of covariates."""
    if not len(fit.shapes.table.columns):
        return np.ones((max(len(frame), 1), 1))
    try:
        rows = fit.design.rows_for(frame)
    except Exception as error:
        raise ShapeInputError(f"{parameter('data')} cannot be used: {reason_of(error)}.") from error
    if not np.isfinite(rows).all():
        raise ShapeInputError(f"{parameter('data')} must give finite numbers in all terms of {fit.formula!r}.")
    return rows


def _bootstrap(
    fit: "ShapeLinearModel", operator: FloatArray, n_bootstrap: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return distances of bootstrap predictions from the prediction, and covariances of their coordinates."""
    residuals = fit.residuals
    n_rows, n_columns = residuals.shape
    n_new, n_coordinates = len(operator), n_columns // 2
    distances = np.empty((n_bootstrap, n_new))
    moments = np.zeros((n_new, n_coordinates, 2, 2))
    step = max(1, _MOST_ENTRIES // (n_new * max(n_rows, n_columns)))
    for start in range(0, n_bootstrap, step):
        n_drawn = min(step, n_bootstrap - start)
        weights = np.zeros((n_drawn, n_new, n_rows))
        drawn = rng.integers(n_rows, size=(n_drawn, n_rows))
        # Row `drawn[i]` takes the place of row `i`: its residual enters with the weights of row `i`.
        for sample in range(n_drawn):
            np.add.at(weights[sample].T, drawn[sample], operator.T)
        changes = weights @ residuals
        distances[start : start + n_drawn] = np.linalg.norm(changes, axis=2)
        points = fit.shapes.to_configurations(changes.reshape(-1, n_columns)).reshape(n_drawn, n_new, n_coordinates)
        parts = np.stack([points.real, points.imag], axis=-1)
        moments += np.einsum("bnci,bncj->ncij", parts, parts)
    return distances, moments / n_bootstrap
