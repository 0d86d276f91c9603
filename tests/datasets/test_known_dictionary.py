"""Sums of known atoms."""

import warnings

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import CoordinateCountError

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
    rest = np.asarray(noisy.shapes) - np.asarray(clean.shapes)
    assert np.sqrt(np.mean(space.norm(rest) ** 2)) == pytest.approx(0.1, rel=0.03)


def test_every_atom_is_used_alike():
    sample = sx.datasets.make_from_dictionary(5000, 10, 3, random_state=2)
    counts = np.bincount(sample.codes.support.ravel(), minlength=10)
    assert counts.min() > 0.9 * 1500
    assert counts.max() < 1.1 * 1500


def test_a_dictionary_finds_the_atoms():
    sample = sx.datasets.make_from_dictionary(1500, 6, 2, space=sx.BSpline(16), random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sx.ShapeDictionary(6, 2, random_state=0, max_iter=60).fit(sample.shapes)
    nearest = sx.pairwise_distances(sample.atoms, model.atoms_, space=sample.shapes.space).min(axis=1)
    assert nearest.max() < 0.05


def test_own_atoms():
    atoms = np.array([[0, 1, 1 + 1j, 1j], [0, 2, 2 + 1j, 1j], [0, 1, 0.5 + 2j, 1 - 1j]])
    sample = sx.datasets.make_from_dictionary(10, n_nonzero=1, atoms=atoms, space=sx.Landmarks(4), random_state=0)
    np.testing.assert_allclose(sample.atoms, sx.Landmarks(4).preshape(atoms))
    used = sample.atoms[sample.codes.support[:, 0]]
    assert sx.distance(np.asarray(sample.shapes), used).max() < 1e-12
    with pytest.raises(CoordinateCountError, match="atoms has 4"):
        sx.datasets.make_from_dictionary(10, atoms=atoms)


def test_seeds():
    first, again, other = (sx.datasets.make_from_dictionary(20, noise=0.1, random_state=seed) for seed in (4, 4, 5))
    assert first.shapes.equals(again.shapes)
    assert not first.shapes.equals(other.shapes)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_nonzero": 11}, "n_nonzero must be between 1 and n_atoms=10, got 11"),
        ({"n_nonzero": 0}, "n_nonzero"),
        ({"n_samples": 0}, "n_samples"),
        ({"n_atoms": 0}, "n_atoms"),
        ({"noise": -0.1}, "noise"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        sx.datasets.make_from_dictionary(**options)
