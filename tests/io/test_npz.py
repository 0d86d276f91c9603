"""Arrays in ``.npz`` and ``.npy`` files: what they hold, and what is refused."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given

import shapelex as sx
from tests.io.conftest import check_refused, check_set
from tests.strategies import stacks

POINTS = np.arange(24.0).reshape(2, 6, 2)


@pytest.fixture
def save(tmp_path):
    def save_arrays(name="set.npz", **arrays):
        np.savez(tmp_path / name, **arrays)
        return tmp_path / name

    return save_arrays


class TestPlainArrays:
    @pytest.mark.parametrize(
        ("kind", "closed", "space"),
        [
            (None, None, sx.Landmarks(6)),
            ("landmarks", True, sx.Landmarks(6, closed=True)),
            ("bspline", True, sx.BSpline(6)),
            ("hermite", False, sx.HermiteSpline(3)),
            ("hermite", True, sx.HermiteSpline(3, closed=True)),
        ],
    )
    def test_kinds(self, save, kind, closed, space):
        told = {} if kind is None else {"kind": kind, "closed": closed}
        shapes = sx.read(save(points=POINTS, **told))
        check_set(shapes, sx.from_points(POINTS), space=space)

    def test_columns(self, save):
        path = save(points=POINTS, labels=["", "b"], sequence=[4, 4], frame=[1, 7], names=["p", "q"], odd=[1, 2, 3])
        shapes = sx.read(path)
        check_set(shapes, labels=["", "b"], sequence=[4, 4], frame=[1, 7], ids=["p", "q"])
        assert "odd" not in shapes.metadata
        assert any("odd" in note for note in shapes.notes)

    def test_missing(self, save):
        points = POINTS.copy()
        points[1, 2] = np.nan
        path = save(points=points)
        check_refused("missing landmarks, first in shape 1", sx.read, path)
        assert sx.read(path, missing="allow").is_missing.sum() == 1
        check_refused(r'missing="negative" has no meaning', sx.read, path, missing="negative", error=ValueError)

    @pytest.mark.parametrize(
        ("arrays", "words"),
        [
            ({"shapes": POINTS}, 'no array "points".* but shapes'),
            ({"points": POINTS[0]}, "got dtype float64, shape"),
            ({"points": POINTS, "kind": "circle"}, "must be one of landmarks"),
            ({"points": POINTS[:, :5], "kind": "hermite"}, "as many tangents as points"),
            ({"points": POINTS, "closed": [True, False]}, '"closed" must be one boolean'),
            ({"points": POINTS, "labels": ["a"]}, "labels must have one entry"),
            ({"points": np.array([["a"]])}, "got dtype <U1"),
            ({"points": np.zeros((0, 6, 2))}, "no shape"),
            ({"points": POINTS, "header": np.frombuffer(b"{", dtype=np.uint8)}, "its header is not JSON"),
            ({"points": POINTS, "evil": np.array([print], dtype=object)}, "objects"),
        ],
    )
    def test_refuses(self, save, arrays, words):
        check_refused(words, sx.read, save(**arrays))


class TestRoundTrip:
    @given(stacks(n_shapes=3))
    def test_every_space(self, tmp_path_factory, stack):
        space, Z = stack
        path = tmp_path_factory.mktemp("sets") / "set.npz"
        # Names of metadata may be those of arrays in the file.
        metadata = {"points": [1, 2, 3], "a/b": ["x", "", "y"], "ok": [True, False, True], "metadata_0": [4, 5, 6]}
        shapes = sx.ShapeSet(Z, space, metadata={**metadata, "allow_pickle": [7, 8, 9]})
        if isinstance(space, sx.BasisSpace):
            check_refused("holds functions", sx.write, shapes, path)
        else:
            assert sx.read(sx.write(shapes, path)).equals(shapes)

    def test_notes_missing_and_provenance(self, tmp_path):
        shapes = sx.ShapeSet([[0, np.nan, 1j]], missing="allow", notes=["cut"], provenance={"microscope": "B"})
        path = sx.write(shapes, tmp_path / "set.npz", command="draw --all")
        copy = sx.read(path, missing="allow")
        assert copy.equals(shapes)
        assert copy.notes == ("cut",)
        assert copy.provenance["source"]["shapelex"] == sx.__version__
        assert copy.provenance["source"]["command"] == "draw --all"
        assert copy.provenance["source"]["source"] == {"microscope": "B"}
        with np.load(path) as plain:
            assert {"points", "closed", "kind", "ids"} <= set(plain.files)


def test_files_of_other_kinds_are_refused(tmp_path):
    path = sx.write(sx.ShapeSet([[0, 1, 1j]]), tmp_path / "newer.npz")
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes()) | {"version": 99}
    np.savez(path, **arrays | {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)})
    rows = np.random.default_rng(0).normal(size=(9, 4, 2))
    sx.ShapeDictionary(2, 1, coder="ormp", max_iter=1).fit(rows).save(tmp_path / "model.npz")
    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(member, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 6, 2)})
    with zipfile.ZipFile(tmp_path / "absurd.npz", "w") as archive:
        archive.writestr("points.npy", member.getvalue())
    for name, words in (
        ("newer.npz", "format version 99.*upgrade shapelex"),
        ("model.npz", "it is a model file: in Python, shapelex.load reads it"),
        ("absurd.npz", "does not fit"),
    ):
        check_refused(words, sx.read, tmp_path / name)


def test_npy_files(tmp_path):
    path, expected = tmp_path / "set.npy", sx.from_points(POINTS)
    for array in (POINTS, expected, POINTS.astype(np.int16), np.asfortranarray(POINTS)):
        np.save(path, array)
        np.testing.assert_array_equal(sx.read(path).configurations, expected)
    np.save(path, sx.to_columns(expected, "blocks"))
    check_refused(r'does not say where x and y are: give layout="blocks"', sx.read, path)
    np.testing.assert_array_equal(sx.read(path, layout="blocks").configurations, expected)
    shapes = sx.ShapeSet(expected)
    assert sx.read(sx.write(shapes, path, overwrite=True)).equals(shapes)
    check_refused("would be lost", sx.write, shapes.replace(space=sx.BSpline(6)), tmp_path / "b.npy")
