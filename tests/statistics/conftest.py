"""Simulated shapes with covariates, codes of simulated leaves made once, and slow linear models to compare with."""

import numpy as np
import pytest

import shapelex as sx


@pytest.fixture(scope="session")
def coded_leaves():
    leaves = sx.datasets.make_leaves(60, random_state=0)
    model = sx.ShapeDictionary(n_atoms=6, n_nonzero=3, n_restarts=1, max_iter=10, tol=0.1, random_state=0).fit(leaves)
    return leaves, model, model.encode(leaves)


def make_shapes(rng, n_shapes=24, n_points=6, effect=0.0, spread=0.1, groups=2, **columns):
    """Return landmarks in random poses, with an effect of the first of several groups."""
    mean = np.exp(2j * np.pi * np.arange(n_points) / n_points) * (1 + 0.4 * (np.arange(n_points) % 3))
    codes = np.arange(n_shapes) % groups
    change = rng.normal(size=(groups, n_points, 2)) @ [1, 1j]
    X = mean + effect * change[codes] + spread * (rng.normal(size=(n_shapes, n_points, 2)) @ [1, 1j])
    factors = np.exp(0.3 * rng.normal(size=(n_shapes, 1)) + 2j * np.pi * rng.random((n_shapes, 1)))
    metadata = {"group": np.array(list("abcdefgh"))[codes], **columns}
    return sx.ShapeSet(factors * X + rng.normal(size=(n_shapes, 1)), metadata=metadata)


def mirrored_faces(rng, asymmetry=0.0):
    """Return two images each of twelve faces of eight landmarks: 0, 1, 2 mirror 3, 4, 5."""
    half = np.array([-1 - 1j, -2 + 1j, -1 + 2j])
    face = np.concatenate([half, -half.conj(), [0.5j, -1.5j]])
    own = 0.1 * (rng.normal(size=(12, 3, 2)) @ [1, 1j])
    change = np.concatenate([own, -own.conj(), 0.05j * rng.normal(size=(12, 2))], axis=1)
    shift = asymmetry * np.array([1j, 0, 0, 0, 0, 0, 0, 0])
    X = np.repeat(face + change + shift, 2, axis=0) + 0.02 * (rng.normal(size=(24, 8, 2)) @ [1, 1j])
    return X * np.exp(1j * rng.normal(size=(24, 1)))


def projection(columns):
    """Return the dense projection onto the span of columns."""
    return columns @ np.linalg.pinv(columns)


def slow_statistics(Y, reduced, with_term, full, indices):
    """Return sums of squares of a term and of residuals for permuted residuals of its reduced model, one by one."""
    lower, upper, whole = projection(reduced), projection(with_term), projection(full)
    fitted = lower @ Y
    residuals = Y - fitted
    found = []
    for index in indices:
        permuted = fitted + residuals[index]
        term = np.sum(((upper - lower) @ permuted) ** 2)
        found.append((term, np.sum((permuted - whole @ permuted) ** 2)))
    return np.array(found).T


def indicator(values):
    """Return a column of ones for each value."""
    return (np.asarray(values)[:, None] == np.unique(values)).astype(float)
