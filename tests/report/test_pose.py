"""The common pose: as the shapes lie, or flat."""

import numpy as np

import shapelex as sx
from shapelex.report.pose import common_pose


def triangles(rng, spread: float) -> np.ndarray:
    """Tall triangles that point up, turned by so much."""
    Z = np.array([-1, 1, 5j]) + 0.1 * (rng.normal(size=(50, 3)) + 1j * rng.normal(size=(50, 3)))
    return np.exp(1j * spread * rng.normal(size=(50, 1))) * Z


def test_shapes_that_lie_alike_stay_upright(rng):
    space = sx.Landmarks(3)
    pose = common_pose(space.preshape(triangles(rng, 0.2)), space)
    assert abs(np.angle(pose[2] / 1j)) < 0.1


def test_shapes_that_lie_anyhow_are_laid_flat(rng):
    space = sx.Landmarks(3)
    pose = common_pose(space.preshape(triangles(rng, 10)), space)
    assert min(abs(np.angle(pose[2])), abs(np.angle(-pose[2]))) < 0.05


def test_pose_turns_with_the_shapes(rng):
    space = sx.Landmarks(3)
    Z = space.preshape(triangles(rng, 0.2))
    np.testing.assert_allclose(common_pose(np.exp(1j) * Z, space), np.exp(1j) * common_pose(Z, space), atol=1e-12)
