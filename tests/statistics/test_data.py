"""Shapes as aligned rows, with the columns of an analysis and the rows left out."""

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from shapelex.exceptions import CodesError, ShapeInputError
from shapelex.statistics.data import as_complex, as_groups, read_input
from tests.conftest import custom_space


def random_shapes(rng, n_shapes=12, n_points=7, spread=0.2):
    mean = np.exp(2j * np.pi * np.arange(n_points) / n_points) * (1 + 0.3 * np.arange(n_points))
    noise = rng.normal(size=(n_shapes, n_points, 2)) @ [1, 1j]
    return mean + spread * noise


def posed(rng, X):
    """Return the same shapes in other sizes, poses and places."""
    factors = np.exp(rng.normal(size=(len(X), 1)) + 2j * np.pi * rng.random((len(X), 1)))
    return factors * X + rng.normal(size=(len(X), 2)) @ np.array([[1], [1j]])


def aligned(X, **data):
    return read_input(X, data).use({})


def test_rows_are_the_mean_plus_tangent_vectors(space, rng):
    mean = rng.normal(size=(space.n_coordinates, 2)) @ [1, 1j]
    noise = rng.normal(size=(10, space.n_coordinates, 2)) @ [1, 1j]
    shapes = sx.ShapeSet(mean + 0.1 * noise, space, preparation=None)
    found = aligned(shapes)
    rows, base = as_complex(found.coordinates), space.whitened_preshapes(found.mean)[0]
    vectors = rows - base
    assert np.abs(vectors @ base.conj()).max() < 1e-12
    # At the partial mean, the tangent vectors average to zero.
    assert np.abs(vectors.mean(axis=0)).max() < 1e-9
    full = sx.distance(shapes.configurations, found.mean, space=space)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), full, atol=1e-12)
    back = found.to_configurations(found.coordinates)
    np.testing.assert_allclose(space.inner(back, back).real, (found.coordinates**2).sum(axis=1), atol=1e-12)


def test_aligned_shapes_are_taken_as_they_are(rng):
    X, space = rng.normal(size=(6, 5, 2)) @ [1, 1j], custom_space()
    found = read_input(sx.ShapeSet(X, space)).use({}, aligned=True)
    expected = (X.conj() @ space.gram @ X.T).real
    np.testing.assert_allclose(found.coordinates @ found.coordinates.T, expected, atol=1e-10)
    np.testing.assert_allclose(found.to_configurations(found.coordinates), X, atol=1e-10)


def test_size_is_the_centroid_size_of_the_raw_shapes(rng):
    X = posed(rng, random_shapes(rng))
    np.testing.assert_allclose(read_input(X).columns["size"], sx.ShapeSet(X).centroid_size)
    own = read_input(X, {"size": np.arange(12)})
    assert own.columns["size"].tolist() == list(range(12))
    assert "not the centroid size" in own.remarks[0]


def test_rows_left_out_are_named(rng):
    X = random_shapes(rng).copy()
    X[3, 2] = np.nan
    shapes = sx.ShapeSet(X, labels=["a"] * 11 + [""], missing="allow", metadata={"age": [1.0] * 5 + [np.nan] * 7})
    given = read_input(shapes)
    assert given.use({}).dropped == {3: "missing landmarks"}
    used = given.use({"label": given.columns["label"]})
    assert used.dropped == {3: "missing landmarks", 11: "no label"}
    assert used.remarks == ("2 of 12 shapes left out: missing landmarks in row 3; no label in row 11.",)
    assert used.rows.tolist() == [row for row in range(12) if row not in (3, 11)]
    assert len(used.coordinates) == len(used.table) == 10
    with pytest.raises(ValueError, match="all 12 shapes miss something"):
        given.use({"none": pd.Series([None] * 12)})


def test_columns_come_from_the_set_and_the_table(rng):
    shapes = sx.ShapeSet(random_shapes(rng), labels=["a", "b"] * 6, metadata={"site": np.arange(12)})
    given = read_input(shapes, pd.DataFrame({"site": np.arange(12)[::-1], "age": 1.0}, index=np.arange(5, 17)))
    assert {"size", "id", "label", "labels", "site", "age"} == set(given.columns)
    assert given.columns["site"].tolist() == list(range(12))[::-1]
    with pytest.raises(ValueError, match=r"names 'labl'.*did you mean 'label'\?"):
        given.column("labl", "groups")
    with pytest.raises(ValueError, match="one entry for each of the 12 shapes"):
        given.column([1, 2], "groups")
    with pytest.raises(ValueError, match=r"one row for each of the 12 shapes.*ShapeSet\.join"):
        read_input(shapes, {"age": [1, 2]})
    with pytest.raises(TypeError, match="data must be a data frame"):
        read_input(shapes, [1, 2])


def test_kinds_of_input_agree(rng, tmp_path):
    X = random_shapes(rng)
    points = np.stack([X.real, X.imag], axis=-1)
    stored = sx.open_shapes(sx.write(sx.ShapeSet(X), tmp_path / "shapes.npz"))
    expected = aligned(X).coordinates
    for other in (points, sx.ShapeSet(X), stored, list(X[:, None, :])):
        np.testing.assert_array_equal(aligned(other).coordinates, expected)


def test_outlines_that_are_not_registered_are_remarked(rng):
    shapes = sx.ShapeSet(random_shapes(rng), sx.Landmarks(7, closed=True))
    assert "not registered" in read_input(shapes).remarks[0]
    found = sx.register(shapes)
    registered = shapes.replace(configurations=found.configurations, preparation=found.preparation)
    assert not read_input(registered).remarks


def test_types_of_pandas_become_text_and_numbers(rng):
    table = pd.DataFrame(
        {
            "text": pd.array(["a", "b", None] * 4, dtype="string"),
            "whole": pd.array([*range(11), None], dtype="Int64"),
            "flag": pd.array([True, False, None] * 4, dtype="boolean"),
            "mixed": [1, "x"] * 6,
            "day": pd.date_range("2020-01-01", periods=12),
        }
    )
    given = read_input(random_shapes(rng), table)
    for name, n_used, kind in (("text", 8, "O"), ("whole", 11, "i"), ("flag", 8, "b"), ("mixed", 12, "O")):
        used = given.use({name: given.columns[name]})
        assert (len(used.table), used.table[name].dtype.kind) == (n_used, kind)
    assert as_groups(given.use({"mixed": given.columns["mixed"]}).table["mixed"])[1] == ["1", "x"]
    with pytest.raises(ValueError, match="'day' must be text or numbers, got datetime64"):
        given.use({"day": given.columns["day"]})


@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1e-160, 1e150, 1e200])
def test_numbers_whose_squares_cannot_be_computed_are_refused(rng, unit):
    plain, groups = rng.normal(size=(20, 5, 2)) @ [1, 1j], np.arange(20) % 2
    X = unit * plain
    distances = unit * np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0)))
    statistics, words = sx.statistics, "must have a largest entry between 1e-140 and"
    with pytest.raises(ShapeInputError, match=f"shapes {words}"):
        statistics.shape_lm("shape ~ group", X, {"group": groups}, aligned=True)
    with pytest.raises(ShapeInputError, match=f"shapes {words}"):
        statistics.disparity(X, groups, aligned=True)
    with pytest.raises(ShapeInputError, match=f"distances {words}"):
        statistics.permanova(distances, groups)
    with pytest.raises(ShapeInputError, match=f"b {words}"):
        statistics.two_block_pls(plain, X.real)
    with pytest.raises(CodesError, match=f"codes {words}"):
        statistics.code_lm("codes ~ group", X, {"group": groups})
