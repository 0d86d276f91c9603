"""The table of what a fitted object consists of: what is written comes back, and what does not fit is named."""

from types import SimpleNamespace

import numpy as np
import pytest

import shapelex as sx
from shapelex.store.schema import Array, Count, Fields, Group, Number, Part

PARTS: tuple[Part, ...] = (
    Count("n_rows_"),
    Array("rows_", "complex", ("n_rows_", "n_coordinates")),
    Array("curve_", "float", ("n_losses",)),
    Array("times_", "float", ("n_losses",)),
    Array("mean_", "complex", ("n_coordinates",), optional=True),
    Group("_inner", SimpleNamespace, "inner_", (Array("inner_sums", "float", ("n_rows_",)), Number("inner_weight"))),
)


def make():
    inner = SimpleNamespace(sums=np.arange(2.0), weight=np.float64(3))
    return SimpleNamespace(
        n_rows_=np.int64(2), rows_=np.ones((2, 4), complex), curve_=np.ones(3), times_=np.zeros(3), _inner=inner
    )


def write(owner):
    fields = Fields(sx.Landmarks(4))
    for part in PARTS:
        part.write(owner, fields)
    return fields


def read(fields):
    made = SimpleNamespace()
    fields.sizes["n_coordinates"] = 4
    for part in PARTS:
        part.read(made, fields)
    return made


def test_what_is_written_comes_back():
    fields = write(make())
    assert sorted(fields.arrays) == ["curve_", "inner_sums", "rows_", "times_"]
    assert fields.results == {"n_rows_": 2, "inner_weight": 3.0}
    made = read(fields)
    assert fields.arrays == {}
    assert made.n_rows_ == 2
    np.testing.assert_array_equal(made.rows_, make().rows_)
    assert made._inner.weight == 3
    assert not hasattr(made, "mean_")


def test_what_nobody_asked_for_is_left():
    fields = write(make())
    fields.arrays |= {"inner_more": np.ones(2), "more": np.ones(2)}
    read(fields)
    assert sorted(fields.arrays) == ["inner_more", "more"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows_": np.ones((3, 4), complex)}, r"rows_ must be complex \(n_rows_=2, n_coordinates=4\), got .*\(3, 4\)"),
        ({"rows_": np.ones(4, complex)}, r"rows_ must be complex \(n_rows_=2, n_coordinates=4\), got .*\(4,\)"),
        ({"rows_": np.ones((2, 4))}, "rows_ must be complex .*got float64"),
        ({"curve_": np.ones((3, 1))}, r"curve_ must be float \(n_losses=any\)"),
        ({"times_": np.zeros(2)}, r"times_ must be float \(n_losses=3\), got float64 \(2,\)"),
        ({"mean_": np.full(4, np.nan + 0j)}, "mean_ must be finite"),
        ({"inner_sums": np.zeros(3)}, r"inner_sums must be float \(n_rows_=2\)"),
        ({"n_rows_": -1}, "n_rows_ must be a count, got -1"),
        ({"n_rows_": True}, "n_rows_ must be a count, got True"),
        ({"inner_weight": float("inf")}, "inner_weight must be a finite number, got inf"),
        ({"inner_weight": "3"}, "inner_weight must be a finite number, got '3'"),
    ],
)
def test_what_does_not_fit_is_named(change, message):
    fields = write(make())
    for name, value in change.items():
        (fields.arrays if isinstance(value, np.ndarray) else fields.results)[name] = value
    with pytest.raises(ValueError, match=message):
        read(fields)


@pytest.mark.parametrize("name", ["rows_", "n_rows_", "inner_sums", "inner_weight"])
def test_what_is_missing_is_named(name):
    fields = write(make())
    (fields.arrays if name in fields.arrays else fields.results).pop(name)
    with pytest.raises(ValueError, match=f"^{name} is missing"):
        read(fields)


def test_optional_group_and_nan():
    part = Group(
        "_inner",
        SimpleNamespace,
        "inner_",
        (Array("inner_sums", "float", ("n_sums",), allows_nan=True), Number("inner_weight", allows_nan=True)),
        optional=True,
    )
    fields, made = Fields(sx.Landmarks(4)), SimpleNamespace()
    part.write(SimpleNamespace(), fields)
    part.read(made, fields)
    assert not hasattr(made, "_inner")
    part.write(SimpleNamespace(_inner=SimpleNamespace(sums=np.array([1, np.nan]), weight=np.nan)), fields)
    part.read(made, fields)
    np.testing.assert_array_equal(made._inner.sums, [1, np.nan])
    assert np.isnan(made._inner.weight)
    fields.results["inner_weight"] = np.inf
    fields.arrays["inner_sums"] = np.ones(2)
    with pytest.raises(ValueError, match="inner_weight must be a finite number"):
        part.read(made, fields)
    with pytest.raises(ValueError, match="inner_sums is missing"):
        part.read(made, fields)
