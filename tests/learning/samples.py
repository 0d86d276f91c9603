"""Rows, codes, planted dictionaries and interruptions for the tests of learning."""

import logging

import numpy as np

from shapelex.coding import SparseCodes
from shapelex.learning.descent import Learner, LearningOptions
from shapelex.shapes.opening import as_shapes
from shapelex.spaces.base import PlainRows


def plain_shapes(rows, sample_weight=None):
    """Return whitened rows as a collection to learn from."""
    return as_shapes(rows, PlainRows(rows.shape[-1]), sample_weight)


def learn(rows, n_atoms, n_nonzero, *, generator=None, sample_weight=None, callback=None, **options):
    """Return the best dictionary of whitened rows; `options` are those of a learner."""
    options = LearningOptions(n_atoms, n_nonzero, **options)
    learner = Learner(plain_shapes(rows, sample_weight), options, np.random.default_rng(generator))
    for _ in learner.passes():
        if callback is not None and callback(learner):
            break
    return learner.finish()


def interrupt_when(is_time, monkeypatch):
    """Interrupt a fit after the first pass for which a function of the learner says so."""

    def tell(message, extra):
        if is_time(extra["iteration"]):
            raise KeyboardInterrupt

    monkeypatch.setattr(logging.getLogger("shapelex"), "debug", tell)


def random_rows(n_rows, n_coordinates, seed=0, dtype=complex):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_coordinates)) + 1j * rng.normal(size=(n_rows, n_coordinates))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(dtype)


def random_codes(n_rows, n_atoms, n_nonzero, seed=0, dtype=complex):
    """Codes with random supports, some of them shorter than others."""
    rng = np.random.default_rng(seed)
    support = np.argsort(rng.random((n_rows, n_atoms)), axis=1)[:, :n_nonzero].astype(np.int32)
    coefs = rng.normal(size=support.shape) + 1j * rng.normal(size=support.shape)
    short = rng.random(n_rows) < 0.2
    support[short, -1], coefs[short, -1] = -1, 0
    return SparseCodes(support, coefs.astype(dtype), n_atoms)


def planted(n_rows=400, n_atoms=6, n_coordinates=8, n_nonzero=2, noise=0.0, seed=0):
    """Return rows that are sparse sums of planted atoms, and the atoms."""
    rng = np.random.default_rng(seed)
    atoms = random_rows(n_atoms, n_coordinates, seed + 1)
    codes = random_codes(n_rows, n_atoms, n_nonzero, seed + 2).toarray()
    rows = codes @ atoms
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows + noise * (rng.normal(size=rows.shape) + 1j * rng.normal(size=rows.shape))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), atoms


def clustered(n_rows=200, n_coordinates=10, seed=0):
    """Rows about a few centers, as shapes of a population are."""
    rng = np.random.default_rng(seed)
    centers = random_rows(3, n_coordinates, seed)
    rows = centers[rng.integers(3, size=n_rows)] + 0.4 * random_rows(n_rows, n_coordinates, seed + 1)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
