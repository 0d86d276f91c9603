"""Summaries against slow and obvious counts."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.report.shapes import read_shapes
from shapelex.report.summaries import summarize_atoms, summarize_errors, summarize_groups, summarize_times


@pytest.fixture
def codes(rng) -> sx.SparseCodes:
    support = np.array([rng.permutation(5)[:2] for _ in range(40)])
    coefs = rng.normal(size=(40, 2)) + 1j * rng.normal(size=(40, 2))
    support[::4, 1] = -1
    coefs[::4, 1] = 0
    support[support == 4] = -1
    coefs[support == -1] = 0
    return sx.SparseCodes(support, coefs, 5)


def test_errors():
    errors = np.array([0.0, 0.1, 0.1, 0.4])
    summary = summarize_errors(errors)
    assert summary["rmse"] == pytest.approx(np.sqrt(0.18 / 4))
    assert (summary["median"], summary["largest"]) == (0.1, 0.4)
    assert sum(summary["counts"]) == 4
    assert len(summary["edges"]) == len(summary["counts"]) + 1


def test_errors_that_are_all_zero():
    assert sum(summarize_errors(np.zeros(3))["counts"]) == 3


def test_atoms(codes):
    dense, summary = codes.toarray(), summarize_atoms(codes)
    for atom in range(5):
        moduli = [abs(weight) for weight in dense[:, atom] if weight]
        assert summary["use"][atom] == len(moduli) / 40
        assert summary["typical"][atom] == pytest.approx(np.median(moduli) if moduli else 0)


def test_labels(codes, rng):
    errors = rng.uniform(size=40)
    labels = ["b"] * 10 + ["a"] * 10 + ["c"] * 5 + [""] * 15
    summary, dense = summarize_groups(labels, codes, errors), codes.toarray()
    assert summary["names"] == ["a", "b", "c", ""]
    assert summary["counts"] == [10, 10, 5, 15]
    for name, use, rmse in zip(summary["names"], summary["use"], summary["rmse"], strict=True):
        rows = [row for row, label in enumerate(labels) if label == name]
        assert use == pytest.approx(np.mean(dense[rows] != 0, axis=0), abs=1e-4)
        assert rmse == pytest.approx(np.sqrt(np.mean(errors[rows] ** 2)))


def test_rare_labels_are_counted(codes, rng):
    many = sx.SparseCodes(np.zeros((70, 1), int), np.ones((70, 1)), 2)
    summary = summarize_groups([str(row) for row in range(70)], many, np.ones(70))
    assert len(summary["names"]) == 60
    assert summary["n_left_out"] == 10


def test_times_show_gaps_and_series(codes, rng):
    frames = np.concatenate([np.arange(10), np.arange(10) + 15, np.arange(20)])
    shapes = read_shapes(
        rng.normal(size=(40, 6, 2)), sx.Landmarks(6), ids=None, labels=None, sequence=[7] * 20 + [3] * 20, frames=frames
    )
    summary, moduli = summarize_times(shapes, codes), np.abs(codes.toarray())
    weights = summary["weights"]
    assert weights.shape == (5, 45)
    assert summary["series"] == [0] * 25 + [1] * 20
    gap = (weights == -1).all(axis=0)
    assert np.flatnonzero(gap).tolist() == [10, 11, 12, 13, 14]
    assert [row for row in summary["rows"] if row >= 0] == list(range(40))
    np.testing.assert_allclose(weights[:, ~gap].T, moduli)


def test_long_series_are_averaged(rng):
    codes = sx.SparseCodes(np.zeros((5000, 1), int), np.arange(5000.0)[:, None] + 1, 1)
    shapes = read_shapes(
        rng.normal(size=(5000, 4, 2)), sx.Landmarks(4), ids=None, labels=None, sequence=np.zeros(5000, int), frames=None
    )
    summary = summarize_times(shapes, codes)
    assert summary["weights"].shape == (1, 360)
    assert summary["weights"].mean() == pytest.approx(2500.5, rel=1e-2)
    assert (np.diff(summary["weights"][0]) > 0).all()


def test_more_series_than_columns(rng):
    codes = sx.SparseCodes(np.zeros((800, 1), int), np.ones((800, 1)), 1)
    shapes = read_shapes(
        rng.normal(size=(800, 4, 2)), sx.Landmarks(4), ids=None, labels=None, sequence=np.arange(800) // 2, frames=None
    )
    summary = summarize_times(shapes, codes)
    assert summary["weights"].shape[1] == 360
    assert summary["n_left_out"] == 40
