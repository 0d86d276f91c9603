"""Measures of shapes against formulas, brute force and scikit-image."""

import numpy as np
import pytest

import shapelex as sx

T = np.exp(2j * np.pi * np.arange(2000) / 2000)
RECTANGLE = np.concatenate([
    np.linspace(0, 4, 40, endpoint=False), 4 + 1j * np.linspace(0, 3, 30, endpoint=False),
    3j + np.linspace(4, 0, 40, endpoint=False), 1j * np.linspace(3, 0, 30, endpoint=False),
])  # fmt: skip


def closed(*rows, **options):
    return sx.ShapeSet(np.array(rows), sx.Landmarks(len(rows[0]), closed=True), **options)


@pytest.mark.parametrize("move", [1, 0.6 + 0.8j, 100 * np.exp(2j)])
@pytest.mark.parametrize("reverse", [False, True])
def test_measures_of_a_disc_an_ellipse_and_a_rectangle_are_those_of_their_formulas(move, reverse):
    size, turn = abs(move), slice(None, None, -1 if reverse else 1)
    disc, ellipse = sx.measure(closed(*(move * (z[turn] + 7 - 3j) for z in (2 * T, 3 * T.real + 1j * T.imag)))).to_dict(
        "records"
    )
    disc_measures = {"area": 4 * np.pi * size**2, "perimeter": 4 * np.pi * size, "circularity": 1, "aspect_ratio": 1,
                     "solidity": 1, "convexity": 1, "feret_max": 4 * size, "feret_min": 4 * size,
                     "mean_curvature": 1 / (2 * size), "bending_energy": np.pi / size}  # fmt: skip
    for name, value in disc_measures.items():
        assert disc[name] == pytest.approx(value, rel=1e-5), name
    assert disc["eccentricity"] == pytest.approx(0, abs=1e-3)
    ellipse_measures = {"area": 3 * np.pi * size**2, "perimeter": 13.364893220555258 * size, "aspect_ratio": 3,
                        "eccentricity": np.sqrt(8) / 3, "solidity": 1, "feret_max": 6 * size,
                        "feret_min": 2 * size}  # fmt: skip
    for name, value in ellipse_measures.items():
        assert ellipse[name] == pytest.approx(value, rel=1e-5), name
    (card,) = sx.measure(closed(move * RECTANGLE[turn])).to_dict("records")
    card_measures = {"area": 12 * size**2, "perimeter": 14 * size, "circularity": 48 * np.pi / 196,
                     "aspect_ratio": 4 / 3, "solidity": 1, "convexity": 1, "feret_max": 5 * size,
                     "feret_min": 3 * size, "mean_curvature": 2 * np.pi / (14 * size)}  # fmt: skip
    for name, value in card_measures.items():
        assert card[name] == pytest.approx(value, rel=1e-9), name


def test_diameters_and_hulls_are_those_of_brute_force():
    rows = np.random.default_rng(0).normal(size=(60, 9, 2)) @ [1, 1j]
    # Points of whole numbers lie on lines, and repeat.
    rows[30:] = rows[30:].real.round() + 1j * rows[30:].imag.round()
    found = sx.measure(closed(*rows))
    angles = np.exp(1j * np.linspace(0, np.pi, 20_001))
    along = (rows[:, :, None] * angles).real
    widths = along.max(axis=1) - along.min(axis=1)
    np.testing.assert_allclose(found["feret_max"], widths.max(axis=1), rtol=1e-6)
    np.testing.assert_allclose(found["feret_min"], widths.min(axis=1), atol=2e-3)
    # The mean width of a convex figure is its perimeter over π.
    perimeters = np.pi * widths[:, :-1].mean(axis=1)
    np.testing.assert_allclose(found["convexity"] * found["perimeter"], perimeters, rtol=1e-6)


def test_measures_of_a_mask_are_those_of_scikit_image_within_pixels():
    measure = pytest.importorskip("skimage.measure")
    y, x = np.mgrid[:120, :160]
    mask = ((x - 80) ** 2 / 60**2 + (y - 60) ** 2 / 30**2 < 1) & ~((x > 80) & (abs(y - 60) < 8))
    (found,) = sx.measure(sx.outlines_from_mask(mask, 400).to_shape_set()).to_dict("records")
    (expected,) = measure.regionprops(mask.astype(int))
    for name in ("area", "eccentricity", "solidity"):
        assert found[name] == pytest.approx(expected[name], rel=0.02), name
    assert found["feret_max"] == pytest.approx(expected.feret_diameter_max, abs=2)
    assert found["aspect_ratio"] == pytest.approx(expected.axis_major_length / expected.axis_minor_length, rel=0.02)


def test_open_curves_have_a_length_and_a_curvature_and_splines_are_measured_as_curves():
    arc = 5 * np.exp(1j * np.linspace(0, np.pi, 500))
    table = sx.measure(arc[None])
    assert list(table.columns) == ["length", "mean_curvature", "bending_energy"]
    np.testing.assert_allclose(table.to_numpy()[0], [5 * np.pi, 1 / 5, np.pi / 5], rtol=1e-2)
    space = sx.BSpline(12, closed=True)
    (spline,) = sx.measure(sx.ShapeSet(space.fit(2 * T)[None], space)).to_dict("records")
    assert spline["area"] == pytest.approx(4 * np.pi, rel=1e-2)


def test_lengths_are_in_the_unit_of_the_set_where_it_is_known_and_else_a_remark_says_so():
    rows = [4 * T, 4 * T]
    plain = sx.measure(closed(*rows))
    assert "No scale is known" in plain.attrs["remarks"][0]
    scaled = sx.measure(closed(*rows, metadata={"scale": [0.5, np.nan]}, ids=["a", "b"]))
    assert scaled.loc["a", "feret_max"] == pytest.approx(4)
    assert scaled.loc["a", "area"] == pytest.approx(4 * np.pi, rel=1e-4)
    assert scaled.loc["a", "mean_curvature"] == pytest.approx(1 / 2)
    assert scaled.loc["a", "circularity"] == scaled.loc["b", "circularity"]
    assert np.isnan(scaled.loc["b", "feret_max"])
    assert "1 of 2 shapes have no scale" in scaled.attrs["remarks"][0]
    pixels = {"area": [10, 10], "physical_area": [40.0, 40.0], "unit": ["µm", "µm"]}
    measured = sx.measure(closed(*rows, metadata=pixels))
    assert measured.attrs == {"unit": "µm", "remarks": []}
    assert measured["feret_max"].tolist() == pytest.approx([16, 16])
    converted = sx.measure(closed(*rows, metadata={**pixels, "units": ["µm", "µm"]}))
    assert converted.attrs == {"unit": "µm", "remarks": []}
    assert converted["feret_max"].tolist() == pytest.approx([8, 8])
    missing = closed(T, np.where(T.real > 0.9, np.nan, T), missing="allow")
    assert np.isnan(sx.measure(missing).iloc[1]).all()


def test_sets_in_files_are_measured_in_blocks(tmp_path):
    shapes = sx.ShapeSet(np.random.default_rng(0).normal(size=(50, 6, 2)), sx.Landmarks(6, closed=True))
    sx.write(shapes, tmp_path / "x.npz")
    found = sx.measure(sx.open_shapes(tmp_path / "x.npz"))
    np.testing.assert_array_equal(found.to_numpy(), sx.measure(shapes).to_numpy())


def test_shapes_on_a_line_have_no_area():
    (found,) = sx.measure(closed(np.array([0, 1, 2, 3], complex))).to_dict("records")
    assert found["area"] == found["feret_min"] == 0
    assert found["feret_max"] == 3
    assert np.isnan(found["solidity"])
