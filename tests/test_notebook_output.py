"""What notebooks show of sets, codes, models and results: HTML that is well formed, small and safe."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import shapelex as sx

CIRCLE = np.exp(2j * np.pi * np.arange(12) / 12)
QUICK = {"n_swaps": 0, "max_iter": 2, "tol": 1.0, "random_state": 0}


def make_shapes(n_shapes=20, **columns):
    rng = np.random.default_rng(0)
    X = CIRCLE + 0.1 * rng.normal(size=(n_shapes, 2)) @ [CIRCLE**2, CIRCLE**3]
    return sx.ShapeSet(X, sx.Landmarks(12, closed=True), **columns)


def pictures(html):
    """Return the SVG paths of well-formed HTML."""
    return [path.get("d") for path in ET.fromstring(html).iter("path")]


class TestShapeSets:
    def test_every_shape_of_a_small_set_is_drawn(self):
        html = make_shapes(3, ids=["a", "b", "c"], labels=["x", "x", ""])._repr_html_()
        paths = pictures(html)
        assert len(paths) == 3
        assert all(re.fullmatch(r"M(\d+\.\d \d+\.\dL?){12}Z", path) for path in paths)
        assert "ShapeSet(3 shapes" in html
        assert ">a x</figcaption>" in html
        assert "currentColor" in html

    def test_a_large_set_is_sampled(self):
        html = make_shapes(1000)._repr_html_()
        assert len(pictures(html)) == 24
        assert "24 of 1000 shapes" in html
        assert len(html) < 30_000

    def test_names_are_escaped(self):
        html = make_shapes(1, ids=['<script>"&'], notes=["<b>"])._repr_html_()
        assert "<script>" not in html
        assert "<b>" not in html
        assert next(ET.fromstring(html).iter("figcaption")).get("title") == '<script>"&'

    def test_pictures_stand_upright_and_keep_proportions(self):
        html = sx.ShapeSet([[0, 2, 2 + 1j, 1j]], sx.Landmarks(4, closed=True))._repr_html_()
        assert pictures(html) == ["M4.0 52.0L68.0 52.0L68.0 20.0L4.0 20.0Z"]

    @pytest.mark.parametrize("space", [sx.BSpline(8), sx.HermiteSpline(5), sx.BSpline(8, closed=False)], ids=repr)
    def test_curves_are_drawn_as_curves(self, space):
        shapes = sx.ShapeSet(np.random.default_rng(0).normal(size=(2, space.n_coordinates, 2)), space)
        paths = pictures(shapes._repr_html_())
        assert paths[0].count("L") > 90
        assert paths[0].endswith("Z") == space.closed

    def test_spaces_without_points_and_empty_or_lazy_sets_have_no_pictures(self):
        space = sx.CustomSpace(np.eye(4), np.ones(4))
        assert pictures(sx.ShapeSet(np.eye(4, dtype=complex), space)._repr_html_()) == []
        assert pictures(make_shapes(2)[:0]._repr_html_()) == []
        dask_array = pytest.importorskip("dask.array")
        assert "<svg" not in sx.ShapeSet(dask_array.ones((4, 3), dtype=complex))._repr_html_()


def test_codes_show_their_first_rows():
    html = sx.SparseCodes(np.zeros((20, 1), dtype=int), np.ones((20, 1)), n_atoms=2)._repr_html_()
    assert "n_samples=20" in html
    assert html.count("<tr") == 1 + 8
    assert "8 of 20 rows" in html


@pytest.mark.parametrize(
    ("model", "captions"),
    [
        (sx.ShapeDictionary(3, 2, **QUICK), [r"atom 0, \d+ %", r"atom 1, \d+ %", r"atom 2, \d+ %"]),
        (sx.AlignFirstDictionary(2, 1, **QUICK), ["atom 0", "atom 1"]),
        (sx.TangentPCA(2), ["mean"]),
        (sx.ComplexPCA(1), ["component 0"]),
        (sx.ShapeDictionaryClassifier(1, 1, **QUICK), ["x: atom 0", "y: atom 0"]),
        (sx.ProcrustesKernel(), []),
    ],
    ids=lambda one: type(one).__name__ if not isinstance(one, list) else "",
)
def test_models_show_what_they_learned(model, captions):
    assert "<figcaption" not in model._repr_mimebundle_()["text/html"]
    model.fit(make_shapes(labels=["x", "y"] * 10), ["x", "y"] * 10)
    for html in (model._repr_mimebundle_()["text/html"], model._repr_html_()):
        found = re.findall(r"<figcaption[^>]*>([^<]*)<", html)
        assert len(found) == len(captions)
        assert all(re.fullmatch(*pair) for pair in zip(captions, found, strict=True))
