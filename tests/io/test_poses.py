"""Poses in NWB files and in projects of SLEAP: times and tracks, what counts of labeled and predicted poses."""

import os
from importlib.util import find_spec

import numpy as np
import pytest

import shapelex as sx
from tests.io.conftest import check_refused, check_set, notes_of

h5py = pytest.importorskip("h5py")

needs_sleap_io = pytest.mark.skipif(
    find_spec("sleap_io") is None and not os.environ.get("CI"), reason="sleap-io is not installed"
)
NODES = ["tail", "nose", "left"]
# (animal, frame, node, xy)
POINTS = np.random.default_rng(0).uniform(0, 500, (2, 5, 3, 2))


def save_nwb(path, animals=("a", "b"), left_out=(), rate=25.0, start=10.0, times=None, **changed):
    """Write a file as ndx-pose does; `left_out` has (animal, frame, node) for which there is no time."""
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.7.0"
        for row, name in enumerate(animals):
            animal = file.create_group(f"processing/behavior/{name}")
            animal.attrs["neurodata_type"] = "PoseEstimation"
            skeleton = animal.create_group("fly")
            skeleton.attrs["neurodata_type"] = "Skeleton"
            skeleton["nodes"] = NODES
            for column, node in enumerate(NODES):
                series = animal.create_group(node)
                series.attrs["neurodata_type"] = "PoseEstimationSeries"
                kept = [frame for frame in range(5) if (row, frame, column) not in left_out]
                series["data"] = changed.get("data", POINTS[row, kept, column])
                series["confidence"] = np.linspace(0.2, 1, 5)[kept]
                if len(kept) == 5 and times is None:
                    series["starting_time"] = start
                    series["starting_time"].attrs["rate"] = rate
                else:
                    series["timestamps"] = start + np.arange(5)[kept] / rate if times is None else np.array(times)[kept]
    return path


def test_animals_of_nwb_are_series_with_the_rate_and_the_order_of_the_file(tmp_path):
    path = save_nwb(tmp_path / "flies.nwb", left_out={(0, 3, 1), (1, 2, 0), (1, 2, 1), (1, 2, 2)})
    shapes = sx.read(path, missing="allow")
    frames = [0, 1, 2, 3, 4, 0, 1, 3, 4]
    check_set(shapes, formats=["nwb"], individual=["a"] * 5 + ["b"] * 4, frame=frames, fps=[25.0] * 9)
    assert shapes.sequence.tolist() == [0] * 5 + [1] * 4
    assert np.argwhere(shapes.is_missing).tolist() == [[3, 1]]
    np.testing.assert_array_equal(shapes[-1], POINTS[1, 4] @ [1, -1j])
    assert "in this order: tail, nose, left" in notes_of(shapes)
    unlikely = sx.read(save_nwb(tmp_path / "b.nwb"), likelihood=0.3, missing="allow")
    assert len(unlikely) == 8


def test_times_that_are_no_frames_are_counted(tmp_path):
    shapes = sx.read(save_nwb(tmp_path / "a.nwb", times=[0, 0.1, 0.25, 0.3, 7.77]))
    check_set(shapes, frame=[0, 1, 2, 3, 4] * 2)
    assert "fps" not in shapes.metadata
    assert "not those of frames at one rate" in notes_of(shapes)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"animals": ()}, "has no poses"),
        ({"data": np.zeros((5, 3))}, "not planar"),
        ({"data": np.zeros((4, 2))}, "4 points, but"),
        ({"rate": 0.0}, "neither timestamps nor"),
        ({"times": [0, 0, 1, 2, 3]}, "not different numbers"),
    ],
)
def test_refuses_nwb(tmp_path, told, words):
    check_refused(words, sx.read, save_nwb(tmp_path / "a.nwb", **told))


def make_frames(sleap_io):
    """Return five frames of each of two videos, with two flies; in frame 2 somebody labeled them."""
    skeleton = sleap_io.Skeleton(list(NODES), name="fly")
    tracks = [sleap_io.Track("a"), sleap_io.Track("b")]
    frames = []
    for video in [sleap_io.Video(filename=f"{name}.mp4", open_backend=False) for name in "vw"]:
        for frame in range(5):
            found = []
            for row, track in enumerate(tracks):
                points, scores = POINTS[row, frame], np.full(3, 0.2 * (frame + 1))
                if frame == 2:
                    # The prediction is elsewhere.
                    found.append(sleap_io.Instance.from_numpy(points, skeleton=skeleton, track=track))
                    points = points + 50
                predict = sleap_io.PredictedInstance.from_numpy
                found.append(predict(points, skeleton=skeleton, track=track, point_scores=scores, score=1.0))
            frames.append(sleap_io.LabeledFrame(video=video, frame_idx=frame, instances=found))
    return frames


def save_project(path):
    """Write a project of SLEAP with one video."""
    import sleap_io

    sleap_io.Labels(make_frames(sleap_io)[:5]).save(str(path))
    return path


@needs_sleap_io
def test_labeled_poses_count_before_predicted_ones(tmp_path):
    import sleap_io

    frames = make_frames(sleap_io)
    save_project(tmp_path / "flies.slp")
    shapes = sx.read(tmp_path / "flies.slp")
    check_set(shapes, formats=["sleap_project"], individual=["a"] * 5 + ["b"] * 5, frame=[*range(5)] * 2)
    np.testing.assert_allclose(shapes.configurations.reshape(2, 5, 3), POINTS @ [1, -1j])
    unlikely = sx.read(tmp_path / "flies.slp", likelihood=0.5, missing="allow")
    assert sorted(unlikely.metadata["frame"].tolist()) == [2, 2, 3, 3, 4, 4]
    sleap_io.Labels(frames).save(str(tmp_path / "two.slp"))
    two = sx.read(tmp_path / "two.slp")
    assert two.sequence.tolist() == np.repeat(range(4), 5).tolist()
    assert two.ids[-1] == "two:video1-b:4"
    for frame in frames:
        for one in frame.instances:
            one.track = None
    sleap_io.Labels(frames[:5]).save(str(tmp_path / "loose.slp"))
    loose = sx.read(tmp_path / "loose.slp", likelihood=0.0)
    assert loose.sequence is None
    assert "poses without a track" in notes_of(loose)
    damaged = (tmp_path / "flies.slp").read_bytes()[:-4000]
    (tmp_path / "cut.slp").write_bytes(damaged)
    check_refused("cut.slp", sx.read, tmp_path / "cut.slp")


@needs_sleap_io
def test_tracks_of_one_name_and_poses_without_a_track_are_all_kept(tmp_path):
    import sleap_io

    frames = make_frames(sleap_io)[:5]
    for frame in frames:
        for one in frame.instances:
            one.track.name = "1"
        found = sleap_io.Instance.from_numpy(POINTS[0, 0], skeleton=frame.instances[0].skeleton)
        frame.instances.append(found)
    sleap_io.Labels(frames).save(str(tmp_path / "same.slp"))
    shapes = sx.read(tmp_path / "same.slp")
    assert len(shapes) == 15
    assert len(set(shapes.metadata["individual"])) == 3


def test_projects_name_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sleap_io", None)
    (tmp_path / "a.slp").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(ImportError, match=r"shapelex\[sleap\]"):
        sx.read(tmp_path / "a.slp")
