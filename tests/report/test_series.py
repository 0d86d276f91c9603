"""Time series on the page: codes in a tracked pose, frame rates, and what is said where codes follow no motion."""

import base64
import re
from typing import Any

import numpy as np
import pytest

import shapelex as sx
from shapelex.report.payload import make_payload
from shapelex.report.shapes import read_shapes


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


def unpack(packed: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["base64"]), packed["dtype"]).reshape(packed["shape"])


def test_codes_follow_the_motion_and_lie_in_the_tracked_pose(worms: Any) -> None:
    shapes, model = worms
    times, rows = times_of(model, shapes)
    result = sx.sequences.encode_sequence(shapes, model)
    np.testing.assert_array_equal(unpack(times["support"]), result.codes.support)
    weights = unpack(times["weights"]) @ [1, 1j]
    dense = np.zeros((len(shapes), 5), dtype=complex)
    np.put_along_axis(dense, result.codes.support, weights, axis=1)
    np.testing.assert_allclose(dense, result.weights, atol=1e-6)
    np.testing.assert_allclose(unpack(times["error"]), result.errors, atol=1e-6)
    # The rotation brings each shape to its sum in the tracked pose.
    tracked = shapes.space.preshape(shapes.configurations) * np.exp(-1j * unpack(times["rotation"]))[:, None]
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
    np.testing.assert_array_equal(unpack(times["support"]), codes.support)
    np.testing.assert_allclose(np.abs(unpack(times["weights"]) @ [1, 1j]), np.abs(codes.coefs), atol=1e-6)
