"""Summaries against slow and obvious counts."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.report.summaries import summarize_atoms, summarize_errors, summarize_groups


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
