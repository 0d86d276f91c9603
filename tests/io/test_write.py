"""Writing: round trips through every format, and files that are not overwritten."""

import gzip
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import EmptySetError, ShapeFileError
from tests.io.conftest import check_refused, check_set

TRIANGLE = sx.ShapeSet([[0, 1, 1j]], ids=["wing"])

either = st.booleans()
finite = st.floats(allow_nan=False, allow_infinity=False)
# Whatever text can hold: formulas, quotes, separators, line ends; no zero byte and no half characters.
texts = st.sampled_from(["=1+1", "@SUM(A1)", '"quoted"', "a,b", "two\nlines", " blank ", "007", ""]) | st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12
)
plain_texts = (
    st.text(string.ascii_letters + string.digits + "=+-@,;'\" #", min_size=1, max_size=12).map(str.strip).filter(bool)
)


@st.composite
def shape_sets(draw, ids=texts, labels=texts, closed=either, missing=False):
    n_shapes, n_points = draw(st.integers(1, 4)), draw(st.integers(3, 6))
    numbers = st.lists(finite, min_size=2 * n_shapes * n_points, max_size=2 * n_shapes * n_points)
    values = np.array(draw(numbers))
    Z = (values[::2] + 1j * values[1::2]).reshape(n_shapes, n_points)
    # The sum of parts loses the sign of zero, which is no part of a shape.
    Z = Z + 0
    if missing:
        Z[draw(st.integers(0, n_shapes - 1)), draw(st.integers(0, n_points - 1))] = complex(np.nan, np.nan)

    def column(values):
        return draw(st.lists(values, min_size=n_shapes, max_size=n_shapes))

    named = column(labels) if draw(st.booleans()) else None
    return sx.ShapeSet(
        Z,
        sx.Landmarks(n_points, closed=draw(closed)),
        ids=draw(st.lists(ids, min_size=n_shapes, max_size=n_shapes, unique=True)),
        labels=named if named and any(named) else None,
        sequence=column(st.integers(0, 5)) if draw(st.booleans()) else None,
        metadata={"frame": column(st.integers(0, 9)), "tree": column(st.sampled_from(["oak", "elm"]))},
        missing="allow" if missing else "error",
    )


open_sets = {"closed": st.just(False)}
plain_sets = {**open_sets, "ids": plain_texts, "labels": plain_texts, "missing": True}
WIDE = [(name, layout) for name in ("a.csv", "a.tsv", "a.csv.gz") for layout in ("interleaved", "blocks")]


class TestRoundTrip:
    @pytest.mark.parametrize(
        ("name", "layout", "kinds"),
        [
            ("a.npz", None, {"missing": True}),
            *((name, layout, open_sets) for name, layout in WIDE),
            ("a.csv", "long", open_sets),
            ("a.tps", None, plain_sets),
            ("a.tps.gz", None, plain_sets),
        ],
    )
    @given(data=st.data())
    def test_sets_come_back(self, tmp_path_factory, name, layout, kinds, data):
        shapes = data.draw(shape_sets(**kinds))
        if layout == "long":
            shapes = shapes.replace(ids=[f"{row} {own}" for row, own in enumerate(shapes.ids)])
        path = tmp_path_factory.getbasetemp() / f"round trip {name}"
        assert sx.write(shapes, path, overwrite=True, **({} if layout is None else {"layout": layout})) == path
        assert sx.read(path, missing="allow").equals(shapes)

    @given(shapes=shape_sets(closed=st.just(True)))
    def test_closed_in_tables(self, tmp_path_factory, shapes):
        path = tmp_path_factory.getbasetemp() / "closed.csv"
        copy = sx.read(sx.write(shapes[[0]], path, overwrite=True))
        # Reading drops a last point that repeats the first.
        if shapes.shape[1] == 3 or shapes.configurations[0, 0] != shapes.configurations[0, -1]:
            check_set(copy, shapes[[0]].configurations, space=shapes.space)

    @given(shapes=shape_sets(ids=st.text(string.ascii_letters, min_size=1), **open_sets))
    def test_nts(self, tmp_path_factory, shapes):
        path = tmp_path_factory.getbasetemp() / "round trip.nts"
        copy = sx.read(sx.write(shapes, path, overwrite=True))
        check_set(copy, shapes.configurations, ids=shapes.ids.tolist())


class TestFiles:
    def test_never_overwrites_unasked(self, tmp_path):
        path = sx.write(TRIANGLE, tmp_path / "a.npz")
        before = path.read_bytes()
        check_refused("overwrite=True", sx.write, TRIANGLE + TRIANGLE, path, error=FileExistsError)
        assert path.read_bytes() == before
        sx.write(TRIANGLE + TRIANGLE, path, overwrite=True)
        assert len(sx.read(path)) == 2

    def test_same_set_same_bytes(self, tmp_path):
        first, second = (sx.write(TRIANGLE, tmp_path / name).read_bytes() for name in ("a.csv.gz", "b.csv.gz"))
        assert first == second
        assert gzip.decompress(first).startswith(b'"id","x1","y1"')

    @pytest.mark.parametrize(
        ("arguments", "options", "error", "words"),
        [
            (("a.doc",), {}, ShapeFileError, r"does not end like a format that is written: npz \(\.npz\)"),
            (("a.ctx",), {}, ShapeFileError, "does not end like a format that is written"),
            (("a.npz", "coco"), {}, ShapeFileError, "only read"),
            (("a.npz", "doc"), {}, ValueError, "format must be one of"),
            (("a.npz",), {"layout": "long"}, TypeError, "npz has no option layout"),
            (("a.csv",), {"layout": "round"}, ValueError, "layout must be one of"),
            (("a.csv",), {"overwrite": "yes"}, TypeError, "overwrite must be True or False"),
            (("no/where/a.npz",), {}, FileNotFoundError, "There is no folder"),
            ((".",), {"format": "npz"}, IsADirectoryError, "is a folder"),
        ],
    )
    def test_refuses(self, tmp_path, arguments, options, error, words):
        path, *rest = arguments
        check_refused(words, sx.write, TRIANGLE, tmp_path / path, *rest, error=error, **options)

    def test_other_things(self, tmp_path):
        words = r"wrap arrays with ShapeSet\(X, space\)"
        check_refused(words, sx.write, TRIANGLE.configurations, tmp_path / "a.npz", error=TypeError)
        check_refused("nothing to write", sx.write, TRIANGLE[:0], tmp_path / "a.npz", error=EmptySetError)
        check_refused("provenance", sx.write, TRIANGLE.replace(provenance={"made": {1, 2}}), tmp_path / "a.npz")
        assert list(tmp_path.iterdir()) == []
