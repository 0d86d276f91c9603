"""Outlines of scikit-learn's digits."""

import sys

import numpy as np
import pytest
from scipy import ndimage
from sklearn.datasets import load_digits

import shapelex as sx
from shapelex.exceptions import UnsupportedBySpaceError


@pytest.fixture(scope="module")
def digits() -> sx.ShapeSet:
    return sx.datasets.load_digits_outlines()


def test_all_but_broken_digits_are_there(digits):
    assert digits.space == sx.Landmarks(64, closed=True)
    assert len(digits) == 1793
    assert digits.notes == ("4 digits in several parts left out",)
    rows = digits.ids.astype(int)
    assert len(set(rows)) == len(rows)
    np.testing.assert_array_equal(digits.labels, load_digits().target[rows].astype(str))


def test_outlines_enclose_the_ink(digits):
    images = load_digits().images
    points = np.asarray(digits)
    assert min(points.real.min(), points.imag.min()) > -1.5
    assert max(points.real.max(), points.imag.max()) < 8.5
    areas = np.imag(np.conj(points) * np.roll(points, -1, axis=1)).sum(axis=1) / 2
    inked = np.array([np.count_nonzero(ndimage.binary_fill_holes(images[int(row)] > 6)) for row in digits.ids])
    assert areas.min() > 10
    assert np.median(np.abs(areas / inked - 1)) < 0.1
    assert np.corrcoef(areas, inked)[0, 1] > 0.9
    assert (points[:, 0].imag >= points.imag.max(axis=1)).all()


def test_splines_broken_digits_and_equal_bits(monkeypatch):
    few = load_digits()
    # The first twenty, and one that falls apart.
    for name in ("images", "target"):
        few[name] = few[name][[*range(20), 1078]]
    monkeypatch.setattr("sklearn.datasets.load_digits", lambda: few)
    space = sx.BSpline(20)
    splines = sx.datasets.load_digits_outlines(space=space, only_whole=False)
    assert splines.space == space
    assert splines.shape == (21, 20)
    assert splines.metadata["largest_part"][-1] < 0.8
    assert (splines.metadata["largest_part"][:-1] == 1).all()
    again = sx.datasets.load_digits_outlines(space=space, only_whole=False)
    assert splines.configurations.tobytes() == again.configurations.tobytes()
    dense = np.asarray(sx.datasets.load_digits_outlines(400, only_whole=False))
    curves = space.sample(splines, space.parameters(400))
    assert np.median(np.abs(dense - curves)) < 0.15
    assert len(sx.datasets.load_digits_outlines()) == 20


def test_what_is_refused(monkeypatch):
    with pytest.raises(UnsupportedBySpaceError, match="closed=True"):
        sx.datasets.load_digits_outlines(space=sx.BSpline(20, closed=False))
    with pytest.raises(ValueError, match="n_points"):
        sx.datasets.load_digits_outlines(2)
    monkeypatch.setitem(sys.modules, "skimage.measure", None)
    with pytest.raises(ImportError, match=r"shapelex\[io\]"):
        sx.datasets.load_digits_outlines()
