"""Pictures of shapes, dictionaries and codes: arrays and a space in, matplotlib Axes out.

Every function takes ``ax=`` and draws on that one axes; without it, on the current axes of pyplot. None shows or saves
anything. matplotlib is loaded by the first call, and comes with ``pip install "shapelex[plot]"``.
"""

from shapelex.plotting.codes import plot_code, plot_combination
from shapelex.plotting.dictionaries import plot_atoms, plot_reconstructions
from shapelex.plotting.distances import plot_distances
from shapelex.plotting.errors import plot_loss, plot_rmse_curves
from shapelex.plotting.geometry import plot_geodesic, plot_mean
from shapelex.plotting.shapes import plot_shape, plot_shapes
from shapelex.plotting.suggestions import plot_suggestion

__all__ = [
    "plot_atoms",
    "plot_code",
    "plot_combination",
    "plot_distances",
    "plot_geodesic",
    "plot_loss",
    "plot_mean",
    "plot_reconstructions",
    "plot_rmse_curves",
    "plot_shape",
    "plot_shapes",
    "plot_suggestion",
]
