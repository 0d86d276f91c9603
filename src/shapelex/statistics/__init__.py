"""Statistics of shapes: linear models, comparisons of groups, allometry, disparity, trajectories, symmetry."""

from shapelex.statistics.atom_differences import AtomTests, atom_tests
from shapelex.statistics.distance_anova import Permanova, permanova
from shapelex.statistics.local_differences import LocalTest, local_test
from shapelex.statistics.mean_tests import MeanTest, TwoSampleTest, mean_test

__all__ = [
    "AtomTests",
    "LocalTest",
    "MeanTest",
    "Permanova",
    "TwoSampleTest",
    "atom_tests",
    "local_test",
    "mean_test",
    "permanova",
]
