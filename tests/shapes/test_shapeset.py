"""Sets of shapes: what they check, how they are cut and joined, and who takes them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score

import shapelex as sx
from shapelex.exceptions import (
    CoordinateCountError,
    EmptySetError,
    NonFiniteError,
    ShapeInputError,
    UnsupportedBySpaceError,
)
from tests.strategies import stacks

TRIANGLES = np.array([[0, 1, 1j], [0, 2, 2j], [0, 1, 3j], [1, 1j, -1]])


@pytest.fixture
def worms() -> sx.ShapeSet:
    return sx.ShapeSet(
        TRIANGLES,
        sx.Landmarks(3, closed=True),
        ids=["a", "b", "c", "d"],
        labels=["x", "", "y", "x"],
        sequence=[0, 0, 1, 1],
        metadata={"frame": [3, 4, 0, 1], "scale": [0.5, np.nan, 1, 2], "image": ["p", "q", "", "r"]},
        notes=["looked at"],
        provenance={"command": "draw"},
    )


class TestMaking:
    def test_defaults(self, worms):
        shapes = sx.ShapeSet(TRIANGLES)
        assert (shapes.space, shapes.shape, shapes.closed) == (sx.Landmarks(3), (4, 3), False)
        assert shapes.ids.tolist() == ["0", "1", "2", "3"]
        assert (shapes.labels, shapes.sequence, dict(shapes.metadata)) == (None, None, {})
        assert sx.ShapeSet(TRIANGLES[0]).shape == (1, 3)
        assert sx.ShapeSet(worms).space == worms.space

    @pytest.mark.parametrize("key", [slice(None), slice(1, 3), [0, 2]])
    def test_arrays_are_closed_to_writing(self, worms, key):
        part = worms[key]
        for array in (part.configurations, part.ids, part.labels, part.sequence, part.metadata["scale"]):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]
        with pytest.raises(AttributeError):
            worms.labels = None

    @pytest.mark.parametrize(
        ("changes", "error", "words"),
        [
            ({"configurations": [[np.nan, 1j, 1]]}, NonFiniteError, "NaN in row 0"),
            ({"space": sx.BSpline(4)}, CoordinateCountError, "3 coordinates per shape, but the space has 4"),
            ({"space": "landmarks"}, TypeError, "space must be a space"),
            ({"ids": ["a"]}, ShapeInputError, "ids must have one entry for each of the 4 shapes"),
            ({"labels": [["a"] * 4]}, ShapeInputError, "labels must have one entry"),
            ({"sequence": [0.5, 1, 2, 3]}, ShapeInputError, "sequence must be integers"),
            ({"metadata": {"tree": [1, 2]}}, ShapeInputError, r"metadata\['tree'\]"),
            ({"metadata": {"when": np.zeros(4, dtype="M8[s]")}}, ShapeInputError, "text, numbers or booleans"),
            ({"missing": "negative"}, ValueError, "missing must be one of"),
        ],
    )
    def test_refuses(self, changes, error, words):
        with pytest.raises(error, match=words):
            sx.ShapeSet(**{"configurations": TRIANGLES} | changes)

    @pytest.mark.parametrize("labels", [["a", None, "b", np.nan], np.array(["a", None, "b", np.nan], dtype=object)])
    def test_absent_labels_are_empty(self, labels):
        assert sx.ShapeSet(TRIANGLES, labels=labels).labels.tolist() == ["a", "", "b", ""]

    def test_missing_landmarks(self):
        shapes = sx.ShapeSet([[0, complex(np.nan, 1), 1j]], missing="allow")
        assert shapes.is_missing.tolist() == [[False, True, False]]
        assert np.isnan(shapes.configurations[0, 1].imag)
        with pytest.raises(NonFiniteError, match="row 0: only NaN stands for a missing landmark"):
            sx.ShapeSet([[0, np.inf, 1j]], missing="allow")


class TestCutting:
    def test_number_gives_a_configuration(self, worms):
        np.testing.assert_array_equal(worms[-1], TRIANGLES[-1])
        np.testing.assert_array_equal(list(worms), TRIANGLES)

    @pytest.mark.parametrize("key", [slice(1, 3), [1, 2], np.array([False, True, True, False]), np.array([-3, -2])])
    def test_rows(self, worms, key):
        columns = {"ids": ["b", "c"], "labels": ["", "y"], "sequence": [0, 1]}
        metadata = {"frame": [4, 0], "scale": [np.nan, 1], "image": ["q", ""]}
        assert worms[key].equals(sx.ShapeSet(TRIANGLES[1:3], worms.space, **columns, metadata=metadata))
        assert worms[key].notes == worms.notes

    @pytest.mark.parametrize("key", [[], slice(0, 0), np.zeros(4, dtype=bool)])
    def test_nothing(self, worms, key):
        assert len(worms[key]) == 0
        assert worms[key].space == worms.space
        assert "0 shapes" in worms[key].summary()

    @pytest.mark.parametrize(
        ("key", "error", "words"),
        [
            *((key, TypeError, "A set is indexed by") for key in ("a", [0.5], ([0], [1]), [[0, 1]], None)),
            ([True, False], IndexError, "mask has 2 entries"),
            *((key, IndexError, "4 is out of bounds") for key in (4, [0, 4])),
        ],
    )
    def test_other_keys(self, worms, key, error, words):
        with pytest.raises(error, match=words):
            worms[key]


class TestJoining:
    @given(stacks(n_shapes=5), st.integers(0, 5))
    def test_cut_and_joined_is_the_same(self, stack, place):
        space, Z = stack
        shapes = sx.ShapeSet(Z, space, sequence=np.arange(5), metadata={"number": np.arange(5) / 3})
        assert (shapes[:place] + shapes[place:]).equals(shapes)

    def test_what_cannot_be_joined(self, worms):
        with pytest.raises(ShapeInputError, match=r"in the same space, but set 0 is in .*closed=True.* set 1"):
            worms + sx.ShapeSet(TRIANGLES)
        with pytest.raises(EmptySetError):
            sx.ShapeSet.concatenate([])
        for other in (np.ones((1, 3)), 1, [[0, 1, 1j]]):
            with pytest.raises(TypeError, match=r"concatenates two sets.*ShapeSet\(X, space\)"):
                worms + other

    def test_columns_of_one_set_only(self, worms):
        labels, metadata = ["x", "", "y", "x", ""], {"frame": [3, 4, 0, 1, -1], "scale": [0.5, np.nan, 1, 2, np.nan]}
        both = worms + sx.ShapeSet(TRIANGLES[:1], worms.space, ids=["a"])
        X, metadata["image"] = TRIANGLES[[0, 1, 2, 3, 0]], ["p", "q", "", "r", ""]
        sequence = [0, 0, 1, 1, -1]
        assert both.ids.tolist() == ["a", "b", "c", "d", "a:2"]
        assert both.equals(sx.ShapeSet(X, worms.space, [*"abcda"], labels, sequence, metadata))

    def test_columns_of_other_kinds_become_text(self):
        first, second = (sx.ShapeSet(TRIANGLES[:1], metadata={"tree": [tree]}) for tree in (1, "T02"))
        assert (first + second).metadata["tree"].tolist() == ["1", "T02"]

    @given(st.lists(st.lists(st.integers(-1, 4), min_size=1, max_size=5), min_size=1, max_size=4))
    def test_time_series_keep_apart(self, parts):
        sets = [sx.ShapeSet(np.ones((len(part), 3)) * [0, 1, 1j], sequence=part) for part in parts]
        found = sx.ShapeSet.concatenate(sets).sequence.tolist()
        keys = [(place, number) for place, part in enumerate(parts) for number in part]
        numbers = {}
        for (place, number), joined in zip(keys, found, strict=True):
            assert (joined == -1) == (number == -1)
            if number != -1 and (place, number) not in numbers:
                # A series keeps its number, unless another one has it already.
                assert joined == (number if number not in numbers.values() else max(numbers.values()) + 1)
            numbers[place, number] = joined
        own = [number for number in numbers.values() if number != -1]
        assert len(set(own)) == len(own)


class TestEquality:
    @pytest.mark.parametrize(
        "changes",
        [
            {"configurations": TRIANGLES + 1},
            {"space": sx.Landmarks(3)},
            {"ids": list("abce")},
            {"labels": None},
            {"sequence": None},
            {"metadata": {}},
            {"metadata": {"frame": [3, 4, 0, 1], "scale": [0.5, 1, 1, 2], "image": ["p", "q", "", "r"]}},
        ],
    )
    def test_every_part_counts(self, worms, changes):
        assert worms.equals(worms.replace(notes=(), provenance={}))
        assert pickle.loads(pickle.dumps(worms)).equals(worms)
        assert not worms.equals(worms.replace(**changes))
        assert not worms.equals(TRIANGLES)


def test_a_set_as_a_table(worms):
    table = worms.to_dataframe()
    coordinates = ["x1", "y1", "x2", "y2", "x3", "y3"]
    assert list(table.columns) == ["id", "label", "sequence", "frame", "scale", "image", *coordinates]
    assert list(worms.to_dataframe("blocks").columns)[6:] == ["x1", "x2", "x3", "y1", "y2", "y3"]


def test_summary(worms):
    for line in (
        "4 shapes in Landmarks(n_points=3, closed=True), closed",
        "2 labels: x 2, y 1; 1 shape without a label",
        "2 time series of 2 shapes",
        "direction: all turn counter-clockwise",
        "note: looked at",
    ):
        assert line in worms.summary().splitlines()
    rows = [[0, 1, 1j], [0, 1j, 1], [0, 1, 1j], [0, np.nan, 1j], [2, 2, 2]]
    for words in (
        "missing: 1 landmark in 1 shape",
        "direction: 2 turn counter-clockwise, 1 clockwise",
    ):
        assert words in sx.ShapeSet(rows, worms.space, missing="allow").summary()


def test_summary_shows_all_notes_but_those_of_many_records():
    notes = [f"left out: record {n}" for n in range(9)] + [f"remark {n}" for n in range(9)]
    lines = sx.ShapeSet([[0, 1, 1j]] * 3, notes=notes).summary().splitlines()
    assert sum(line.startswith("note: remark") for line in lines) == 9
    assert lines[-1].startswith("and 3 more notes on records left out: shapelex info FILE --json")


def make_set(space, seed=0, n_shapes=24):
    rng = np.random.default_rng(seed)
    return sx.ShapeSet(rng.normal(size=(n_shapes, space.n_coordinates, 2)) @ [1, 1j], space)


CURVES = sx.BSpline(6)
QUICK = {"n_atoms": 4, "n_nonzero": 2, "max_iter": 2, "random_state": 0}


@pytest.mark.parametrize(
    "use",
    [
        sx.mean_shape,
        sx.pairwise_distances,
        lambda X, space: sx.encode(X, make_set(CURVES).configurations[:4], 2, space=space),
        lambda X, space: sx.ShapeDictionary(**QUICK, space=space).fit(X),
        lambda X, space: sx.compare(X, ["complex PCA", "tangent PCA"], n_nonzero=[1, 2], space=space),
        lambda X, space: sx.suggest(X, [3, 4], n_nonzero=[1, 2], stability=False, space=space),
        lambda X, space: sx.OutlineRegistration(space=space).fit(X),
        lambda X, space: sx.ProcrustesKernel(space=space).fit(X),
    ],
)
def test_a_set_is_not_used_in_another_space(use):
    for space, other in ((CURVES, sx.Landmarks(6)), (sx.Landmarks(6), CURVES)):
        with pytest.raises(ShapeInputError, match="is used in"):
            use(make_set(other), space=space)


def test_cross_validation_takes_the_space_of_a_set():
    shapes = make_set(CURVES)
    expected = cross_val_score(sx.ShapeDictionary(**QUICK, space=CURVES), shapes.configurations, cv=3)
    np.testing.assert_array_equal(cross_val_score(sx.ShapeDictionary(**QUICK), shapes, cv=3), expected)


def test_sets_in_two_spaces_are_refused():
    splines, landmarks = make_set(CURVES), make_set(sx.Landmarks(6))
    model = sx.ShapeDictionary(4, 2, max_iter=2, random_state=0).fit(splines)
    assert (model.space_, model.space) == (CURVES, None)
    for function in (
        lambda: model.transform(landmarks),
        lambda: CURVES.preshape(landmarks),
        lambda: sx.distance(splines, landmarks),
        lambda: sx.register(splines, to=landmarks),
    ):
        with pytest.raises(ShapeInputError, match=r"is in .*Landmarks"):
            function()
    # Closed and open landmarks have one product.
    sx.Landmarks(6).preshape(make_set(sx.Landmarks(6, closed=True)))


def test_missing_landmarks_are_not_those_of_curves():
    curves, landmarks = make_set(CURVES), make_set(sx.Landmarks(6, closed=True))
    model = sx.ShapeDictionary(3, 1, max_iter=20, random_state=0, tol=1)
    atoms, mask = landmarks.configurations[:3], np.ones((24, 6), dtype=bool)
    for function in (
        lambda X: sx.mean_shape(X, missing="allow"),
        lambda X: sx.align_to_mean(X, missing="allow"),
        lambda X: sx.distance(X, atoms[0], missing="allow"),
        lambda X: sx.pairwise_distances(X, missing="allow"),
        lambda X: sx.encode(X, atoms, 1, mask=mask),
        lambda X: sx.impute(X, model, n_repeats=1, max_rounds=1),
    ):
        function(landmarks)
        with pytest.raises(UnsupportedBySpaceError, match=r"BSpline\(n_points=6.* fit the curve"):
            function(curves)
    fitted = model.fit(landmarks)
    with pytest.raises(ShapeInputError, match="X is in BSpline"):
        sx.impute(curves, fitted)
    with pytest.raises(ShapeInputError, match="reference is in BSpline"):
        sx.impute(landmarks, fitted, reference=curves)


def test_centroid_size_is_that_of_landmarks_or_the_mean_along_a_curve():
    square, space = np.array([0, 2, 2 + 2j, 2j]), sx.BSpline(12)
    for closed in (False, True):
        shapes = sx.ShapeSet([square, 3 * square + 7, [np.nan, 1, 1j, 2]], sx.Landmarks(4, closed), missing="allow")
        np.testing.assert_allclose(shapes.centroid_size, np.array([1, 3, np.nan]) * np.sqrt(8))
    curve = space.fit(np.exp(2j * np.pi * np.arange(100) / 100) * 5 + 3)
    np.testing.assert_allclose(sx.ShapeSet([curve], space).centroid_size, [5], rtol=1e-3)
