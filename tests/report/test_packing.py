"""Numbers keep their value, and texts stay data."""

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelex.report.packing import dump_json, pack_array, quantize


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed["base64"]), dtype=packed["dtype"]).reshape(packed["shape"])


@pytest.mark.parametrize("dtype", ["int16", "int32", "float32", "float64"])
def test_packed_arrays_come_back(dtype, rng):
    array = (100 * rng.normal(size=(3, 4))).astype(dtype)
    assert np.array_equal(unpack(pack_array(array, dtype)), array)


def test_complex_numbers_become_pairs(rng):
    array = rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))
    back = unpack(pack_array(array, "float64"))
    assert np.array_equal(back[..., 0] + 1j * back[..., 1], array)


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
