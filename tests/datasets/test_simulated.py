"""Shapes made in code."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import CollapsedShapeError, CoordinateCountError, ShapeInputError

SPACES = [
    sx.Landmarks(15),
    sx.Landmarks(30, closed=True),
    sx.BSpline(20),
    sx.BSpline(14, closed=False),
    sx.HermiteSpline(6),
    sx.HermiteSpline(8, closed=True),
]


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_the_truth_gives_back_the_shapes(space):
    sample = sx.datasets.make_from_dictionary(50, 7, 3, space=space, random_state=0)
    shapes = np.asarray(sample.shapes)
    assert sample.shapes.space == space
    np.testing.assert_allclose(space.norm(sample.atoms), 1)
    np.testing.assert_allclose(space.norm(shapes), 1)
    np.testing.assert_allclose(np.abs(space.center(shapes)), 0, atol=1e-12)
    np.testing.assert_allclose(sx.decode(sample.codes, sample.atoms), shapes, atol=1e-12)
    assert sample.codes.support.shape == (50, 3)
    assert (np.diff(np.sort(sample.codes.support, axis=1), axis=1) > 0).all()


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_noise_has_the_size_asked_for(space):
    clean, noisy = (
        sx.datasets.make_from_dictionary(4000, 5, 2, space=space, noise=noise, random_state=1) for noise in (0.0, 0.1)
    )
    np.testing.assert_array_equal(clean.atoms, noisy.atoms)
    # Every atom is used alike.
    counts = np.bincount(clean.codes.support.ravel(), minlength=5)
    assert 0.9 * 1600 < counts.min() <= counts.max() < 1.1 * 1600
    rest = np.asarray(noisy.shapes) - np.asarray(clean.shapes)
    assert np.sqrt(np.mean(space.norm(rest) ** 2)) == pytest.approx(0.1, rel=0.03)


def test_own_atoms():
    atoms = np.array([[0, 1, 1 + 1j, 1j], [0, 2, 2 + 1j, 1j], [0, 1, 0.5 + 2j, 1 - 1j]])
    sample = sx.datasets.make_from_dictionary(10, n_nonzero=1, atoms=atoms, space=sx.Landmarks(4), random_state=0)
    np.testing.assert_allclose(sample.atoms, sx.Landmarks(4).preshape(atoms))
    used = sample.atoms[sample.codes.support[:, 0]]
    assert sx.distance(np.asarray(sample.shapes), used).max() < 1e-12
    with pytest.raises(CoordinateCountError, match="atoms has 4"):
        sx.datasets.make_from_dictionary(10, atoms=atoms)


@pytest.mark.parametrize("n_postures", [1, 2, 4, 8])
def test_the_true_weights_are_in_the_angles(n_postures):
    worms = sx.datasets.make_worms(60, 2, 24, n_postures=n_postures, random_state=3)
    assert worms.space == sx.Landmarks(24)
    np.testing.assert_allclose(np.abs(np.diff(np.asarray(worms), axis=1)), 1 / 23)
    postures = sx.datasets.worm_postures(24, n_postures)
    np.testing.assert_allclose(postures @ postures.T / 23, np.eye(n_postures), atol=1e-12)
    np.testing.assert_allclose(postures.mean(axis=1), 0, atol=1e-13)
    angles = np.unwrap(np.angle(np.diff(np.asarray(worms), axis=1)), axis=1)
    found = angles @ postures.T / 23
    told = np.stack([worms.metadata[f"posture_{k + 1}"] for k in range(n_postures)], axis=1)
    np.testing.assert_allclose(found, told, atol=1e-10)
    # Nothing but the heading is left.
    rest = angles - told @ postures
    np.testing.assert_allclose(rest, np.broadcast_to(rest[:, :1], rest.shape), atol=1e-10)


def test_time_series():
    worms = sx.datasets.make_worms(200, 3, random_state=2)
    assert worms.sequence.tolist() == [0] * 200 + [1] * 200 + [2] * 200
    assert worms.metadata["frame"].tolist() == [*range(200)] * 3
    assert len(set(worms.ids)) == 600
    noise = np.asarray(sx.datasets.make_worms(200, 3, noise=0.01, random_state=2)) - np.asarray(worms)
    assert [noise.real.std(), noise.imag.std()] == pytest.approx([0.01, 0.01], rel=0.05)
    shapes = np.asarray(worms)
    steps = sx.distance(shapes[:-1], shapes[1:])
    within = np.diff(worms.sequence) == 0
    anywhere = sx.distance(shapes[:200], shapes[400:])
    # A worm moves little from frame to frame, and a lot over time.
    assert np.median(steps[within]) < 0.5 * np.median(anywhere)
    first, second = (worms.metadata[f"posture_{k}"] for k in (1, 2))
    turned = np.diff(np.angle(first + 1j * second)[:200])
    np.testing.assert_allclose(np.abs((turned + np.pi) % (2 * np.pi) - np.pi), 2 * np.pi / 24, atol=1e-9)


def test_worms_crawl_head_first():
    ahead = []
    for seed in range(20):
        worms = np.asarray(sx.datasets.make_worms(60, random_state=seed))
        moved = worms[12:].mean(axis=1) - worms[:-12].mean(axis=1)
        facing = worms[6:-6, 0] - worms[6:-6, -1]
        ahead.append(np.mean(np.real(np.conj(facing) * moved)))
    assert np.mean(np.array(ahead) > 0) > 0.7


def test_states_last_and_all_occur():
    shapes = sx.datasets.make_behavior(2000, 2, n_states=5, dwell=25, fps=20, random_state=0)
    assert shapes.metadata["frame"].tolist() == [*range(2000)] * 2
    np.testing.assert_allclose(shapes.metadata["time"], shapes.metadata["frame"] / 20)
    states = shapes.metadata["state"]
    assert set(states.tolist()) == set(range(5))
    for series in (0, 1):
        labels = states[shapes.sequence == series]
        bounds = np.flatnonzero(np.diff(labels)) + 1
        lengths = np.diff(bounds)
        assert lengths.min() >= 5
        assert lengths.mean() == pytest.approx(25, rel=0.35)


def crossings(outline: np.ndarray) -> int:
    """Count pairs of edges that cross: both ends of each lie on different sides of the other."""
    start, end = outline, np.roll(outline, -1)
    sides = np.imag(np.conj(end - start)[:, None] * (outline - start[:, None]))
    # An end on the line itself, as of neighboring edges, is on neither side.
    differ = sides * np.roll(sides, -1, axis=1) < -1e-12
    return np.count_nonzero(differ & differ.T)


def test_leaves_are_simple_outlines_of_species_that_follow_each_other():
    assert crossings(np.array([0, 2, 1 + 2j, 1 - 2j])) > 0
    leaves = sx.datasets.make_leaves(12, 6, 80, random_state=1)
    assert leaves.shape == (72, 80)
    assert leaves.space == sx.Landmarks(80, closed=True)
    assert len(set(leaves.labels)) == 6
    assert leaves.labels[:6].tolist() == leaves.labels[6:12].tolist()
    assert len(set(leaves.ids)) == 72
    assert leaves.ids[7] == f"{leaves.labels[7]}-1"
    points = np.asarray(leaves)
    assert (np.imag(np.conj(points) * np.roll(points, -1, axis=1)).sum(axis=1) > 0).all()
    assert [crossings(leaf) for leaf in points] == [0] * 72
    distances = sx.pairwise_distances(leaves)
    np.fill_diagonal(distances, np.inf)
    assert np.mean(leaves.labels[distances.argmin(axis=1)] == leaves.labels) > 0.9


def test_a_random_start_is_told():
    fixed = sx.datasets.make_leaves(4, 3, 400, random_state=4)
    moved = sx.datasets.make_leaves(4, 3, 400, random_start=True, random_state=4)
    assert (fixed.metadata["start"] == 0).all()
    assert np.ptp(moved.metadata["start"]) > 0.5
    for leaf, other, start in zip(fixed, moved, moved.metadata["start"], strict=True):
        back = np.roll(other, round(start * 400))
        assert sx.distance(leaf, back) < 0.02
        assert sx.distance(leaf, other) > 0.05


def test_a_space_to_fit_in():
    space = sx.BSpline(60)
    splines = sx.datasets.make_leaves(2, 6, space=space, random_state=5)
    assert splines.space == space
    points = np.asarray(sx.datasets.make_leaves(2, 6, 300, random_state=5))
    curves = space.sample(splines, space.parameters(300))
    assert np.median(np.abs(curves - points)) < 0.02


def test_deformations_are_those_of_the_kernel_of_the_paper(rng):
    """The kernel of squared distances has rank 4: it adds ``a_0 + a_1 x + a_2 y + a_3 |z|²``."""
    X = rng.normal(size=(1, 9, 2))
    (shape,) = sx.Landmarks(9).preshape(X)
    span = np.stack([shape, np.ones(9), shape.real, shape.imag, np.abs(shape) ** 2], axis=1)
    copies = sx.datasets.deform(X, 4000, amplitude=0.02, random_state=0)
    rest = copies.T - span @ np.linalg.lstsq(span, copies.T, rcond=None)[0]
    np.testing.assert_allclose(rest, 0, atol=1e-13)
    # Of the vectors K g, what moves, turns or scales the shape is lost.
    kernel = np.abs(shape[:, None] - shape) ** 2
    lost = np.linalg.qr(span[:, :2])[0]
    share = np.linalg.norm(kernel - lost @ (lost.conj().T @ kernel)) / np.linalg.norm(kernel)
    moved = copies / (copies @ shape.conj())[:, None] - shape
    assert np.sqrt(np.mean(np.sum(np.abs(moved) ** 2, axis=1))) == pytest.approx(0.02 * share, rel=0.05)


def test_deformed_copies_follow_each_other_and_are_preshapes(rng):
    X = rng.normal(size=(4, 9, 2))
    copies = sx.datasets.deform(X, 6, amplitude=0.05, random_state=1)
    assert copies.shape == (24, 9)
    np.testing.assert_allclose(np.linalg.norm(copies, axis=1), 1)
    np.testing.assert_allclose(copies.mean(axis=1), 0, atol=1e-15)
    nearest = sx.pairwise_distances(copies, X).argmin(axis=1)
    assert nearest.tolist() == [k for k in range(4) for _ in range(6)]
    unchanged = sx.datasets.deform(X, 2, amplitude=0)
    np.testing.assert_allclose(unchanged, np.repeat(sx.Landmarks(9).preshape(X), 2, axis=0), atol=1e-15)
    assert sx.datasets.deform(X.astype(np.float32), 2).dtype == np.complex64


SIMULATIONS = {
    "worms": lambda seed: sx.datasets.make_worms(20, 2, noise=0.01, random_state=seed),
    "behavior": lambda seed: sx.datasets.make_behavior(30, 1, random_state=seed),
    "leaves": lambda seed: sx.datasets.make_leaves(2, 3, random_state=seed),
    "dictionary": lambda seed: sx.datasets.make_from_dictionary(20, noise=0.1, random_state=seed).shapes,
    "deformations": lambda seed: sx.ShapeSet(sx.datasets.deform([[0, 1, 1 + 1j, 1j]], random_state=seed)),
}


@pytest.mark.parametrize("make", SIMULATIONS.values(), ids=SIMULATIONS)
def test_seeds_decide(make):
    first = make(5)
    assert first.equals(make(5))
    assert not first.equals(make(6))
    generator = np.random.default_rng(5)
    assert first.equals(make(generator))
    assert not first.equals(make(generator))


SQUARE = {"X": [[0, 1, 1 + 1j, 1j]]}


@pytest.mark.parametrize(
    ("function", "options", "error", "word"),
    [
        *[("make_from_dictionary", {name: value}, ValueError, name)
          for name, value in [("n_nonzero", 11), ("n_nonzero", 0), ("n_samples", 0), ("n_atoms", 0), ("noise", -0.1)]],
        *[("make_worms", {name: value}, ValueError, name)
          for name, value in [("n_frames", 0), ("n_points", 5), ("n_postures", 9), ("noise", -1)]],
        *[("make_behavior", {name: value}, ValueError, name)
          for name, value in [("n_states", 13), ("dwell", 3), ("noise", -1), ("fps", 0)]],
        *[("make_leaves", {name: value}, ValueError, name) for name, value in
          [("n_species", 7), ("n_species", 0), ("n_per_species", 0), ("variation", np.nan), ("n_points", 2)]],
        ("make_worms", {"noise": "much"}, TypeError, "noise"),
        ("make_worms", {"n_worms": 1.5}, TypeError, "n_worms"),
        ("make_leaves", {"space": sx.Landmarks(50)}, TypeError, "closed=True"),
        ("deform", {**SQUARE, "n_deformations": 0}, ValueError, "n_deformations"),
        ("deform", {**SQUARE, "amplitude": -1}, ValueError, "amplitude"),
        ("deform", {**SQUARE, "amplitude": "large"}, TypeError, "amplitude"),
        ("deform", {"X": np.eye(7)}, ShapeInputError, "X"),
        ("deform", {"X": np.ones((1, 5), dtype=complex)}, CollapsedShapeError, "row 0"),
    ],
)  # fmt: skip
def test_what_is_refused(function, options, error, word):
    with pytest.raises(error, match=word):
        getattr(sx.datasets, function)(**options)
