"""What is known of the shapes, from arrays or from a set of shapes."""

from types import SimpleNamespace

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import CoordinateCountError, NonFiniteError, ShapeInputError
from shapelex.report.shapes import read_shapes

SPACE = sx.Landmarks(6)
NOTHING = {"ids": None, "labels": None, "sequence": None, "frames": None}


@pytest.fixture
def configurations(rng) -> np.ndarray:
    return sx.from_points(rng.normal(size=(3, 6, 2)))


def test_rows_are_names_where_there_are_none(configurations):
    shapes = read_shapes(configurations, SPACE, **NOTHING)
    assert shapes.ids == ["0", "1", "2"]
    assert shapes.labels is shapes.sequence is shapes.frames is None


def test_columns_become_text_and_numbers(configurations):
    shapes = read_shapes(
        configurations,
        SPACE,
        ids=np.array([5, 6, 7]),
        labels=["a", None, float("nan")],
        sequence=list("yxy"),
        frames=[1, 2, 5],
    )
    assert shapes.ids == ["5", "6", "7"]
    assert shapes.labels == ["a", "", ""]
    assert shapes.sequence.tolist() == [0, 1, 0]
    assert shapes.sequence_names == ["y", "x"]
    assert shapes.frames.tolist() == [1, 2, 5]


def test_labels_that_are_all_empty_are_none(configurations):
    assert read_shapes(configurations, SPACE, **NOTHING | {"labels": ["", None, ""]}).labels is None


def test_frames_alone_are_one_series(configurations):
    assert read_shapes(configurations, SPACE, **NOTHING | {"frames": [3, 4, 5]}).sequence.tolist() == [0, 0, 0]


def test_a_set_of_shapes_brings_its_columns(configurations):
    given = SimpleNamespace(
        configurations=configurations,
        space=SPACE,
        ids=list("abc"),
        labels=list("xyz"),
        sequence=[1, 1, 1],
        metadata={"frame": [4, 5, 6]},
    )
    shapes = read_shapes(given, SPACE, **NOTHING | {"labels": list("uvw")})
    assert shapes.ids == ["a", "b", "c"]
    assert shapes.labels == ["u", "v", "w"]
    assert shapes.frames.tolist() == [4, 5, 6]


def test_shapes_of_no_series(configurations):
    shapes = read_shapes(configurations, SPACE, **NOTHING | {"sequence": [-1, 4, 4]})
    assert shapes.sequence.tolist() == [-1, 0, 0]
    assert shapes.sequence_names == ["4"]
    assert read_shapes(configurations, SPACE, **NOTHING | {"sequence": [-1, -1, -1]}).sequence is None


@pytest.mark.parametrize(
    "metadata", [{"frame": [1, np.nan, 2]}, {"frame": list("abc")}, {"frame": [0, 1, -1]}, {}, None]
)
def test_times_of_a_set_that_cannot_be_used_are_left_out(configurations, metadata):
    given = SimpleNamespace(configurations=configurations, sequence=[0, 0, 0], metadata=metadata)
    assert read_shapes(given, SPACE, **NOTHING).frames is None


def test_a_set_of_another_space_is_refused(configurations):
    given = SimpleNamespace(configurations=configurations, space=sx.BSpline(6), ids=None)
    with pytest.raises(ShapeInputError, match="is used in"):
        read_shapes(given, SPACE, **NOTHING)


@pytest.mark.parametrize("column", ["ids", "labels", "sequence", "frames"])
@pytest.mark.parametrize("values", [[1, 2], "abc", np.ones((2, 2))])
def test_columns_of_another_length_are_refused(configurations, column, values):
    with pytest.raises(ShapeInputError, match=rf"{column} must have one entry for each of the 3 shapes"):
        read_shapes(configurations, SPACE, **NOTHING | {column: values})


@pytest.mark.parametrize("frames", [[1, 2, np.inf], [1, 2, np.nan], ["a", "b", "c"]])
def test_frames_must_be_numbers(configurations, frames):
    with pytest.raises(ShapeInputError, match="frames must be"):
        read_shapes(configurations, SPACE, **NOTHING | {"frames": frames})


def test_shapes_of_another_size_and_broken_ones_are_refused(configurations):
    with pytest.raises(CoordinateCountError):
        read_shapes(configurations[:, :5], SPACE, **NOTHING)
    with pytest.raises(NonFiniteError):
        read_shapes(np.append(configurations[:, :5], [[np.nan]] * 3, axis=1), SPACE, **NOTHING)


def test_missing_and_binary_entries(configurations):
    pd = pytest.importorskip("pandas")

    shapes = read_shapes(configurations, SPACE, **NOTHING | {"labels": [pd.NA, b"b", "c"], "ids": pd.Series([1, 2, 3])})
    assert shapes.labels == ["", "b", "c"]
    assert shapes.ids == ["1", "2", "3"]
