"""Pictures of shapes, dictionaries and codes: shapes or models in, matplotlib Axes out.

Every ``plot_`` function takes ``ax=`` and draws on that one axes; without it, on the current axes of pyplot. None shows
or saves anything: :func:`save_figure` saves. All use one style sheet, see :func:`style`. matplotlib is loaded by the
first call, and comes with ``pip install "shapelex[plot]"``.
"""

from shapelex.plotting.codes import plot_code, plot_combination
from shapelex.plotting.confusion import plot_confusion
from shapelex.plotting.dictionaries import plot_atoms, plot_reconstructions
from shapelex.plotting.distances import plot_distances
from shapelex.plotting.errors import plot_loss, plot_rmse_curves
from shapelex.plotting.geometry import plot_geodesic, plot_mean
from shapelex.plotting.panels import letter_panels
from shapelex.plotting.saving import save_figure
from shapelex.plotting.shapes import plot_shape, plot_shapes
from shapelex.plotting.style import figure_size, style
from shapelex.plotting.suggestions import plot_suggestion

__all__ = [
    "figure_size",
    "letter_panels",
    "plot_atoms",
    "plot_code",
    "plot_combination",
    "plot_confusion",
    "plot_distances",
    "plot_geodesic",
    "plot_loss",
    "plot_mean",
    "plot_reconstructions",
    "plot_rmse_curves",
    "plot_shape",
    "plot_shapes",
    "plot_suggestion",
    "save_figure",
    "style",
]
