"""Kendall's shape space: distances, alignment, geodesics and means of configurations."""

from shapelex.geometry.alignment import align_onto, optimal_rotation, real_gram, rotate_onto
from shapelex.geometry.distances import distance, pairwise_distances
from shapelex.geometry.geodesics import exp, geodesic, horizontal_projection, log, parallel_transport
from shapelex.geometry.means import align_to_mean, mean_shape
from shapelex.geometry.registration.outlines import Registration, register

__all__ = [
    "Registration",
    "align_onto",
    "align_to_mean",
    "distance",
    "exp",
    "geodesic",
    "horizontal_projection",
    "log",
    "mean_shape",
    "optimal_rotation",
    "pairwise_distances",
    "parallel_transport",
    "real_gram",
    "register",
    "rotate_onto",
]
