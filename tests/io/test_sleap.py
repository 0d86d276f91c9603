"""SLEAP's export for analysis: orders of the axes, tracks or none, scores, and what is refused."""

import json

import numpy as np
import pytest

import shapelex as sx
from tests.io.conftest import check_refused, check_set, notes_of

h5py = pytest.importorskip("h5py")

# (frame, track, node, xy): the second fly is lost in the third frame.
TRACKS = np.random.default_rng(0).uniform(0, 500, (4, 2, 5, 2))
TRACKS[2, 1] = np.nan
SCORES = np.full(TRACKS.shape[:3], 0.9)
SCORES[1, 0, 3] = 0.2
NODES = ["head", "thorax", "abdomen", "wingL", "wingR"]
LETTERS = {"frame": "f", "track": "t", "node": "n", "xy": "c"}
ORDER = ("track", "xy", "node", "frame")


def save(path, order=ORDER, tracks=("fly_a", "fly_b"), values=TRACKS, scores=SCORES, nodes=NODES, dims=False, **told):
    """Write a file as SLEAP does, with axes in an order that it names or not."""
    letters = "".join(LETTERS[name] for name in order)
    with h5py.File(path, "w") as file:
        found = file.create_dataset("tracks", data=np.einsum(f"ftnc->{letters}", values), compression="gzip")
        if dims:
            found.attrs["dims"] = json.dumps(order)
        if scores is not None:
            file["point_scores"] = np.einsum(f"ftn->{letters.replace('c', '')}", scores)
        file["track_occupancy"] = ~np.isnan(values).all(axis=(2, 3))
        file["node_names"] = np.array(nodes, dtype="S")
        # SLEAP writes an empty list as numbers.
        file["track_names"] = np.array(tracks, dtype="S") if len(tracks) else np.zeros(0)
        file.attrs.update(told)
    return path


@pytest.mark.parametrize(
    ("order", "told"),
    [
        (ORDER, {}),
        (ORDER, {"dims": True}),
        (("frame", "track", "node", "xy"), {"dims": True}),
        (("frame", "node", "xy", "track"), {"transpose": False}),
        (("xy", "frame", "node", "track"), {"dims": True}),
    ],
)
def test_orders_of_axes(tmp_path, order, told):
    shapes = sx.read(save(tmp_path / "flies.analysis.h5", order, **told))
    check_set(shapes, formats=["sleap"], individual=["fly_a"] * 4 + ["fly_b"] * 3, frame=[0, 1, 2, 3, 0, 1, 3])
    assert shapes.sequence.tolist() == [0] * 4 + [1] * 3
    assert shapes.ids[-1] == "flies:fly_b:3"
    np.testing.assert_array_equal(shapes[-1], TRACKS[3, 1] @ [1, -1j])
    for words in ("1 of 8 frames: left out", "likelihood=0.6", "in this order: head, thorax, abdomen, wingL, wingR"):
        assert words in notes_of(shapes)


def test_scores_cut_off(tmp_path):
    shapes = sx.read(save(tmp_path / "a.h5"), likelihood=0.5, missing="allow", max_gap=0)
    assert np.argwhere(shapes.is_missing).tolist() == [[1, 3]]
    assert shapes.sequence.tolist() == [0] * 4 + [1, 1, 2]
    check_refused("no likelihoods", sx.read, save(tmp_path / "b.h5", scores=None), likelihood=0.5)


def test_animals_that_were_not_tracked_are_no_series(tmp_path):
    shapes = sx.read(save(tmp_path / "a.h5", tracks=()))
    check_set(shapes, sequence=None, individual=["1"] * 4 + ["2"] * 3)
    assert "2 animals a frame: the file has no names of tracks" in notes_of(shapes)
    one = sx.read(save(tmp_path / "b.h5", tracks=(), values=TRACKS[:, :1], scores=SCORES[:, :1]))
    assert one.sequence.tolist() == [0] * 4
    assert "individual" not in one.metadata


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"nodes": NODES[:3]}, "3 names of landmarks"),
        ({"tracks": ("a", "b", "c")}, "3 names of tracks"),
        ({"order": ("frame", "track", "node", "xy")}, "does not fit"),
        ({"scores": SCORES[:2]}, "point_scores is"),
    ],
)
def test_refuses(tmp_path, told, words):
    check_refused(words, sx.read, save(tmp_path / "a.h5", **told))
