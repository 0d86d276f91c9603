import numpy as np
import pytest
from hypothesis import given, settings

import shapelex as sx
from shapelex.exceptions import ConvergenceWarning, NonFiniteError, UnsupportedBySpaceError
from tests import strategies
from tests.geometry.test_means import cluster

KINDS = ["full", "partial", "geodesic"]


def with_holes(Z, seed, share=0.2, least=5):
    """Return landmarks of which some are NaN; every shape keeps `least`, and the first one all."""
    rng = np.random.default_rng(seed)
    keys = rng.random(Z.shape)
    hidden = (keys < share) & (np.argsort(np.argsort(-keys, axis=1), axis=1) >= least)
    hidden[0] = False
    return np.where(hidden, np.nan, Z)


def slow_distance(z, w, kind="full"):
    """Compare on the landmarks that both have."""
    shared = ~np.isnan(z) & ~np.isnan(w)
    return sx.distance(z[shared], w[shared], kind)


@given(strategies.seeds, strategies.kinds, strategies.phases, strategies.sizes, strategies.offsets)
def test_distances_are_those_of_the_shared_landmarks(seed, kind, phase, size, offset):
    Z = with_holes(strategies.random_configurations(sx.Landmarks(11), 4, seed), seed, least=8)
    W = with_holes(strategies.random_configurations(sx.Landmarks(11), 4, seed + 1), seed + 1, least=8)
    moved = size * (phase * W + offset)
    expected = [slow_distance(z, w, kind) for z, w in zip(Z, W, strict=True)]
    np.testing.assert_allclose(sx.distance(Z, moved, kind, missing="allow"), expected, atol=1e-9)
    expected = [[slow_distance(z, w, kind) for w in W] for z in Z]
    np.testing.assert_allclose(sx.pairwise_distances(Z, moved, kind, missing="allow"), expected, atol=1e-9)
    assert np.ndim(sx.distance(Z[0], W[1], kind, missing="allow")) == 0


def test_pairwise_distances_of_a_set():
    Z = with_holes(cluster(sx.Landmarks(9), 1, n_shapes=800), 1, least=8)
    distances, rows = sx.pairwise_distances(Z, missing="allow"), [5, 630, 799]
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_array_equal(np.diag(distances), 0)
    np.testing.assert_allclose(sx.pairwise_distances(Z[rows], Z, missing="allow"), distances[rows], atol=1e-12)


def test_near_shapes_are_measured_without_cancellation():
    z = strategies.random_configurations(sx.Landmarks(9), 1, 0)[0]
    near = z.copy()
    near[3] += 1e-9
    near[5] = np.nan
    expected = slow_distance(z, near)
    assert 1e-11 < expected < 1e-8
    assert sx.distance(z, near, missing="allow") == pytest.approx(expected, rel=1e-4)
    assert sx.pairwise_distances(z[None], near[None], missing="allow")[0, 0] == pytest.approx(expected, rel=1e-4)


def test_nothing_missing_gives_what_it_always_gave():
    Z = cluster(sx.Landmarks(8), 2)
    for kind in KINDS:
        np.testing.assert_allclose(
            sx.pairwise_distances(Z, kind=kind, missing="allow"), sx.pairwise_distances(Z, kind=kind), atol=1e-12
        )
        np.testing.assert_allclose(sx.mean_shape(Z, kind, missing="allow"), sx.mean_shape(Z, kind), atol=1e-12)
        np.testing.assert_allclose(sx.align_to_mean(Z, kind, missing="allow"), sx.align_to_mean(Z, kind), atol=1e-12)


@settings(max_examples=15)
@given(strategies.seeds, strategies.kinds, strategies.phases, strategies.sizes, strategies.offsets)
def test_the_mean_is_that_of_shapes_completed_by_it(seed, kind, phase, size, offset):
    Z = with_holes(cluster(sx.Landmarks(9), seed, n_shapes=7), seed)
    mean = sx.mean_shape(Z, kind, missing="allow")
    moved = np.concatenate([Z[:1], size * (phase * Z[1:2] + offset), Z[2:]])
    np.testing.assert_allclose(sx.mean_shape(moved, kind, missing="allow"), mean, atol=1e-7)
    completed = []
    for z in Z:
        known = ~np.isnan(z)
        base, goal = mean[known] - mean[known].mean(), z[known] - z[known].mean()
        laid = np.vdot(base, goal) / np.vdot(base, base) * (mean - mean[known].mean()) + z[known].mean()
        completed.append(np.where(known, z, laid))
    assert sx.distance(sx.mean_shape(completed, kind), mean) < 1e-10
    aligned = sx.align_to_mean(Z, kind, missing="allow")
    np.testing.assert_array_equal(np.isnan(aligned), np.isnan(Z))
    np.testing.assert_allclose(aligned, np.where(np.isnan(Z), np.nan, sx.rotate_onto(completed, mean)), atol=1e-10)


def test_real_points_stored_shapes_and_weights():
    Z = with_holes(cluster(sx.Landmarks(9), 4), 4)
    points = np.stack([Z.real, Z.imag], axis=-1)
    points[np.isnan(Z), 1] = 5.0  # one NaN of the two is enough
    weights = [1, 2, 0, 1, 1, 3]
    expected = sx.mean_shape(Z, weights=weights, missing="allow")
    for same in (points, [Z[:2], Z[2:]]):
        np.testing.assert_array_equal(sx.mean_shape(same, weights=weights, missing="allow"), expected)


def test_says_when_it_did_not_converge():
    Z = with_holes(cluster(sx.Landmarks(9), 6), 6, share=0.4)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        sx.mean_shape(Z, missing="allow", max_iter=2)


class TestErrors:
    Z = with_holes(cluster(sx.Landmarks(9), 7), 7)

    @pytest.mark.parametrize("function", [sx.pairwise_distances, sx.mean_shape, sx.align_to_mean])
    def test_nan_stays_an_error_unless_allowed(self, function):
        with pytest.raises(NonFiniteError, match="NaN"):
            function(self.Z)
        with pytest.raises(ValueError, match="missing must be one of 'error', 'allow', got 'drop'"):
            function(self.Z, missing="drop")

    @pytest.mark.parametrize(
        ("place", "value", "words"),
        [
            ((2, 2), np.inf, "infinite coordinates in row 2"),
            ((3, slice(2, None)), np.nan, "fewer than three landmarks in row 3"),
            ((slice(None), 4), np.nan, "for landmark 4: leave these columns out"),
        ],
    )
    def test_what_no_mean_can_be_made_of(self, place, value, words):
        Z = self.Z.copy()
        Z[place] = value
        with pytest.raises(NonFiniteError, match=words):
            sx.mean_shape(Z, missing="allow")

    def test_pairs_that_share_too_few_landmarks(self):
        # So many that the pair is in a later block.
        Z = cluster(sx.Landmarks(6), 8, n_shapes=800)
        Z[798, 3:], Z[799, :2] = np.nan, np.nan
        with pytest.raises(NonFiniteError, match="shapes 798 and 799 share fewer than three landmarks"):
            sx.pairwise_distances(Z, missing="allow")
        with pytest.raises(NonFiniteError, match="z and w share fewer than three landmarks in row 0"):
            sx.distance(*Z[-2:], missing="allow")

    def test_curves_have_no_landmarks_to_leave_out(self):
        with pytest.raises(UnsupportedBySpaceError, match=r"space\.fit\(points, t\)"):
            sx.mean_shape(self.Z, space=sx.BSpline(9), missing="allow")


def test_two_landmarks_are_a_shape_of_two():
    assert sx.distance([0, 1 + 0j], [0, 1j], missing="allow") < 1e-15
