"""What the page holds: numbers keep their value, texts stay data, samples are fair, time series follow the motion."""

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.report.packing import dump_json, quantize
from shapelex.report.payload import make_payload
from shapelex.report.sampling import N_WORST, choose_shapes
from shapelex.report.shapes import read_shapes
from tests.report.made_data import make_shapes
from tests.report.visits import array_of, payload_of


@given(st.integers(0, 2**32 - 1), st.floats(1e-30, 1e30))
def test_quantized_shapes_are_off_by_half_a_step_at_most(seed, scale):
    rng = np.random.default_rng(seed)
    shapes = scale * (rng.normal(size=(3, 5)) + 1j * rng.normal(size=(3, 5))) * rng.uniform(1e-3, 1, size=(3, 1))
    integers, steps = quantize(shapes)
    back = integers[..., 0] * steps[:, None].astype(float) + 1j * integers[..., 1] * steps[:, None].astype(float)
    off = np.maximum(np.abs((back - shapes).real), np.abs((back - shapes).imag))
    assert (off <= 0.5001 * steps[:, None]).all()
    largest = np.maximum(np.abs(shapes.real), np.abs(shapes.imag)).max(axis=1)
    assert (steps <= 1.0001 * largest / 32767).all()


@given(st.lists(st.text() | st.floats(allow_nan=False, allow_infinity=False) | st.none()))
def test_json_says_the_same_without_markup(value):
    text = dump_json(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value


def test_numbers_that_json_does_not_know_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        dump_json([float("nan")])


@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.sampled_from(["labels", "series", "one series", "errors"]),
    st.integers(0, 99),
)
def test_samples_have_the_asked_size_and_differ(n_kept, n_shapes, by, seed):
    rng = np.random.default_rng(seed)
    labels = [f"label {value}" for value in rng.integers(0, 9, n_shapes)] if by == "labels" else None
    sequence = {"series": rng.integers(0, 5, n_shapes), "one series": np.zeros(n_shapes, int)}.get(by)
    errors = rng.uniform(size=n_shapes)
    rows, _ = choose_shapes(n_kept, errors, labels, sequence)
    assert len(rows) == min(n_kept, n_shapes)
    assert (np.diff(rows) > 0).all()
    assert set(np.argsort(-errors)[: min(N_WORST, n_kept // 4)]) <= set(rows)
    if labels is not None and n_kept >= 40:
        assert {labels[row] for row in rows} == set(labels)


def test_labels_keep_their_shares(rng):
    labels = ["many"] * 8000 + ["some"] * 1900 + ["few"] * 100
    rows, words = choose_shapes(1000, rng.uniform(size=10_000), labels)
    shares = {name: sum(labels[row] == name for row in rows) / 1000 for name in ("many", "some", "few")}
    assert shares == pytest.approx({"many": 0.8, "some": 0.19, "few": 0.01}, abs=0.02)
    assert "by label" in words


@pytest.fixture(scope="module")
def worms() -> tuple[sx.ShapeSet, sx.ShapeDictionary]:
    shapes = sx.datasets.make_worms(40, 2, 12, random_state=0)
    return shapes, sx.ShapeDictionary(5, 2, random_state=0, tol=1e-2).fit(shapes)


def times_of(
    model: sx.ShapeDictionary, X: Any, max_shapes: int = 1000, **told: Any
) -> tuple[dict[str, Any], list[int]]:
    """Return what the page has of time, and the rows that it holds."""
    columns = {"ids": None, "labels": None, "sequence": None, "frames": None} | told
    payload = make_payload(model, read_shapes(X, model.space_, **columns), title="", max_shapes=max_shapes)
    return payload["times"], payload["shapes"]["rows"]


def test_codes_follow_the_motion_and_lie_in_the_tracked_pose(worms: Any) -> None:
    shapes, model = worms
    times, rows = times_of(model, shapes)
    result = sx.sequences.encode_sequence(shapes, model)
    np.testing.assert_array_equal(array_of(times["support"]), result.codes.support)
    weights = array_of(times["weights"]) @ [1, 1j]
    dense = np.zeros((len(shapes), 5), dtype=complex)
    np.put_along_axis(dense, result.codes.support, weights, axis=1)
    np.testing.assert_allclose(dense, result.weights, atol=1e-6)
    np.testing.assert_allclose(array_of(times["error"]), result.errors, atol=1e-6)
    # The rotation brings each shape to its sum in the tracked pose.
    tracked = shapes.space.preshape(shapes.configurations) * np.exp(-1j * array_of(times["rotation"]))[:, None]
    np.testing.assert_allclose(np.linalg.norm(tracked - dense @ model.atoms_, axis=1), result.errors, atol=1e-5)
    shares = [float(share) for share in re.findall(r"([\d.]+)\u202f%", times["words"])]
    assert shares[0] == pytest.approx(100 * result.flicker, rel=5e-3)
    assert shares[2] >= shares[0]
    assert rows == list(range(80))


def test_frame_rates_are_those_of_the_set_or_given(worms: Any) -> None:
    shapes, model = worms
    assert times_of(model, shapes)[0]["rates"] == [None, None]
    assert times_of(model, shapes, fps=25.0)[0]["rates"] == [25, 25]
    rates = np.where(shapes.sequence == 0, 30.0, np.nan)
    told = shapes.replace(metadata={**shapes.metadata, "fps": rates})
    times, _ = times_of(model, told)
    assert times["rates"] == [30, None]
    assert times["unit"] == "frame"


def test_repeated_frames_are_coded_one_by_one(worms: Any) -> None:
    shapes, model = worms
    times, _ = times_of(model, shapes, frames=np.zeros(80))
    assert times["words"].startswith("The shapes are coded one by one, each in the pose of the page:")
    codes = model.encode(shapes)
    np.testing.assert_array_equal(array_of(times["support"]), codes.support)
    np.testing.assert_allclose(np.abs(array_of(times["weights"]) @ [1, 1j]), np.abs(codes.coefs), atol=1e-6)


def test_columns_keep_their_values_and_repeated_ones_are_groups(landmarks, tmp_path):
    model, X = landmarks
    rows = np.arange(60)
    metadata = {
        "sex": np.array(["m", "f"] * 30),
        "file": np.array([f"{row}.png" for row in rows]),
        "replicate": rows % 4,
        "frame": rows % 50,
        "size": np.where(rows == 1, np.nan, 0.5),
        "constant": np.array(["same"] * 60),
        "is_left": rows % 2 == 0,
        "huge": 2**60 + rows,
        "exact": 3 * rows - 7,
    }
    shapes = sx.ShapeSet(X, model.space_, labels=["only", ""] * 30, metadata=metadata)
    payload = payload_of(sx.report.write_report(model, shapes, tmp_path / "page"))
    assert [one["column"] for one in payload["groups"]] == ["label", "sex", "replicate", "is_left"]
    packed = {column["name"]: column for column in payload["columns"]}
    numbers = {"replicate", "frame", "size", "exact"}
    assert {name for name, column in packed.items() if column["kind"] == "number"} == numbers
    assert packed["exact"]["integer"]
    assert not packed["size"]["integer"]
    for name, values in metadata.items():
        column = packed[name]
        if name in numbers:
            np.testing.assert_array_equal(array_of(column["values"]), values)
        else:
            assert [column["names"][number] for number in array_of(column["numbers"])] == list(map(str, values))


@pytest.mark.parametrize(
    ("options", "search"),
    [({"effort": 4}, "effort 4"), ({"n_swaps": 12}, "12 swaps of atoms"), ({}, "none"), ({"batch_size": 10}, "none")],
)
def test_the_search_is_told(tmp_path, options, search):
    model = sx.ShapeDictionary(n_atoms=6, n_nonzero=3, max_iter=0, random_state=0, **options).fit(make_shapes(8))
    page = sx.report.write_report(model, make_shapes(8), tmp_path / "page")
    assert ["Search", search] in payload_of(page)["settings"]
