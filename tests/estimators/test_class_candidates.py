import numpy as np
import pytest

import shapelex as sx
from shapelex.estimators import class_candidates
from shapelex.estimators.class_candidates import (
    ClassDictionaries,
    ConvolutionRidge,
    ProcrustesMachine,
    TangentDiscriminant,
    TangentMachine,
)

SPACE = sx.Landmarks(30, closed=True)
CANDIDATES = [TangentDiscriminant, TangentMachine, ProcrustesMachine, ClassDictionaries, ConvolutionRidge]


@pytest.fixture
def shapes(rng):
    circle = np.exp(2j * np.pi * np.arange(30) / 30)
    numbers = np.arange(36) % 3
    weights = 0.05 * (rng.normal(size=(36, 4)) + 1j * rng.normal(size=(36, 4)))
    X = circle + weights @ circle ** np.array([[-3], [-2], [2], [3]])
    return X + np.array([0, 0.3, 0.6])[numbers, None] * circle**-1, numbers


@pytest.mark.parametrize("candidate_type", CANDIDATES)
def test_held_out_scores_are_those_of_a_fit_to_the_others(candidate_type, shapes):
    X, numbers = shapes
    kept, held = np.arange(30), np.arange(30, 36)
    candidate = candidate_type()
    candidate.prepare(X, SPACE, 0)
    found = candidate.held_out_scores(numbers, kept, held)
    assert len(found) == len(candidate.settings)
    assert len({candidate.describe(setting) for setting in candidate.settings}) == len(candidate.settings)
    for scores in found:
        assert scores.shape == (6, 3)
        order = np.argmin if candidate_type is ClassDictionaries else np.argmax
        assert (order(scores, axis=1) == numbers[held]).mean() > 0.5
    alone = candidate_type()
    alone.prepare(X[kept], SPACE, 0)
    alone.fit(numbers[kept], alone.settings[1])
    # Means, kernels and thresholds are those of all shapes in one case, of the kept ones in the other.
    assert np.corrcoef(alone.scores(X[held]).ravel(), found[1].ravel())[0, 1] > 0.9


def test_ridge_of_many_shapes_is_that_of_few(shapes, monkeypatch):
    X, numbers = shapes
    found = []
    for limit in (4000, 20):
        monkeypatch.setattr(class_candidates, "MAX_KERNEL_SHAPES", limit)
        monkeypatch.setattr(class_candidates, "_BLOCK_ROWS", 7)
        candidate = ConvolutionRidge()
        candidate.prepare(X, SPACE, 0)
        candidate.fit(numbers, (True, 10.0))
        found.append(candidate.scores(X))
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_a_constant_feature_changes_nothing(shapes):
    _, numbers = shapes
    circles = np.exp(2j * np.pi * np.arange(30) / 30) * np.ones((36, 1))
    candidate = ConvolutionRidge()
    candidate.prepare(circles, SPACE, 0)
    for scores in candidate.held_out_scores(numbers, np.arange(30), np.arange(30, 36)):
        np.testing.assert_allclose(scores, -1 / 3, atol=0.1)
