"""Skeletons in HDF5: Tierpsy's tables, datasets by name, and links that lead elsewhere."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError
from shapelex.io._hdf5 import read_records

TABLE = [("worm_index_joined", "i4"), ("frame_number", "i4"), ("skeleton_id", "i4")]


def skeletons(n_rows: int = 6, n_points: int = 5) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(n_rows, n_points, 2)).cumsum(axis=1)


def write(folder: Path, **datasets: Any) -> Path:
    path = folder / "worms.hdf5"
    with h5py.File(path, "w") as file:
        for name, values in datasets.items():
            file[name.replace("__", "/")] = values
    return path


@pytest.mark.parametrize("name", ["coordinates__skeletons", "skeleton", "skeletons", "anything"])
def test_rows_become_frames(tmp_path: Path, name: str) -> None:
    points = skeletons()
    points[2] = np.nan
    shapes = sx.read(write(tmp_path, **{name: points}))
    np.testing.assert_array_equal(shapes.configurations, points[[0, 1, 3, 4, 5]] @ [1, 1j])
    assert shapes.metadata["frame"].tolist() == [0, 1, 3, 4, 5]
    assert shapes.sequence.tolist() == [0] * 5
    assert shapes.ids[2] == "worms:3"
    assert not shapes.closed


@pytest.mark.parametrize("has_ids", [True, False])
def test_tierpsy_table_tells_worms_and_frames(tmp_path: Path, has_ids: bool) -> None:
    points = skeletons()
    rows = [(8, 20, 4), (2, 11, 1), (2, 10, 0), (8, 19, 3), (2, 30, 2), (8, 21, 5)] if has_ids else []
    rows = rows or [(2, 10, 0), (2, 11, 1), (2, 30, 2), (8, 19, 3), (8, 20, 4), (8, 21, 5)]
    table = np.array(rows, dtype=TABLE)
    table = table if has_ids else table[["worm_index_joined", "frame_number"]]
    path = write(tmp_path, coordinates__skeletons=points, trajectories_data=table)
    shapes = sx.read(path)
    np.testing.assert_array_equal(shapes.configurations, points @ [1, 1j])
    assert shapes.metadata["worm"].tolist() == [2, 2, 2, 8, 8, 8]
    assert shapes.metadata["frame"].tolist() == [10, 11, 30, 19, 20, 21]
    assert shapes.sequence.tolist() == [0, 0, 0, 1, 1, 1]
    assert sx.read(path, max_gap=5).sequence.tolist() == [0, 0, 1, 2, 2, 2]
    assert sx.read(path, dataset="coordinates/skeletons").sequence.tolist() == [0] * 6


def test_table_of_a_larger_file_is_not_taken_for_that_of_the_rows(tmp_path: Path) -> None:
    larger = np.array([(1, frame, frame) for frame in range(9)], dtype=TABLE)
    fitting = np.array(
        [(4, 7), (4, 8), (4, 9), (5, 1), (5, 2), (5, 3)], dtype=[("worm_index", "i4"), ("timestamp", "i4")]
    )
    path = write(tmp_path, coordinates__skeletons=skeletons(), trajectories_data=larger, timeseries_data=fitting)
    shapes = sx.read(path)
    assert shapes.metadata["worm"].tolist() == [4, 4, 4, 5, 5, 5]
    assert shapes.metadata["frame"].tolist() == [7, 8, 9, 1, 2, 3]


def test_rows_without_a_skeleton_in_the_table_are_passed_over(tmp_path: Path) -> None:
    table = np.array([(1, 5, 0), (1, 6, -1), (1, 7, 1)], dtype=TABLE)
    shapes = sx.read(write(tmp_path, skeleton=skeletons(2), trajectories_data=table))
    assert shapes.metadata["frame"].tolist() == [5, 7]


def test_table_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, skeleton=skeletons(), trajectories_data=np.array([(1, 2, 3)], dtype=TABLE))
    with pytest.raises(ShapeFileError, match="trajectories_data tells the worm and frame of the 6 rows"):
        sx.read(path)


def test_incomplete_row_is_an_error_unless_allowed(tmp_path: Path) -> None:
    points = skeletons()
    points[3, 1] = np.nan
    path = write(tmp_path, skeletons=points)
    with pytest.raises(ShapeFileError, match="frame 3: 1 of its 5 landmarks is missing"):
        sx.read(path)
    assert len(sx.read(path, missing="allow")) == 6


@pytest.mark.parametrize(
    ("values", "axes"),
    [
        (skeletons(), None),
        (skeletons().astype("f4"), "npc"),
        (skeletons().swapaxes(1, 2), "ncp"),
        (skeletons().transpose(1, 2, 0), "pcn"),
        (skeletons() @ [1, 1j], None),
        ((skeletons() @ [1, 1j]).T, "pn"),
    ],
)
def test_layouts_of_a_named_dataset(tmp_path: Path, values: np.ndarray, axes: str | None) -> None:
    path = write(tmp_path, a__b=values, other=skeletons())
    shapes = sx.read(path, dataset="a/b", closed=True, y_down=True, axes=axes)
    np.testing.assert_allclose(shapes.configurations, skeletons() @ [1, -1j], rtol=1e-6)
    assert shapes.closed


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.zeros((3, 4)), "must be real"),
        (np.zeros((3, 4, 3)), "must be real"),
        (np.zeros((3, 2, 4)), 'such as axes="pcn"'),
        (np.zeros(3), "must be real"),
        (np.array([b"abc"]), "must hold numbers"),
        (np.zeros(3, dtype=TABLE), "must hold numbers"),
    ],
)
def test_datasets_that_hold_no_points_are_refused(tmp_path: Path, values: np.ndarray, words: str) -> None:
    with pytest.raises(ShapeFileError, match=words):
        sx.read(write(tmp_path, skeletons=values))


@pytest.mark.parametrize(
    ("axes", "error"), [("xyz", ValueError), ("nn", ValueError), (3, ValueError), ("np", ShapeFileError)]
)
def test_axes_that_do_not_fit(tmp_path: Path, axes: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="axes"):
        sx.read(write(tmp_path, skeletons=skeletons()), axes=axes)


def test_which_dataset_must_be_clear(tmp_path: Path) -> None:
    path = write(tmp_path, a=skeletons(), b=skeletons(), table=np.zeros(3))
    with pytest.raises(ShapeFileError, match=r"/a, /b that may hold points: name one with dataset="):
        sx.read(path)
    with pytest.raises(ShapeFileError, match="has no dataset 'c'"):
        sx.read(path, dataset="c")


def test_links_within_the_file_are_followed_and_others_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = write(tmp_path / "other", skeletons=skeletons())
    path = write(tmp_path, inner=skeletons())
    with h5py.File(path, "a") as file:
        file["near"] = h5py.SoftLink("/inner")
        file["far"] = h5py.ExternalLink(str(other), "/skeletons")
        file["loop"] = h5py.SoftLink("/loop")
        file["nothing"] = h5py.SoftLink("/absent")
        file["step"] = h5py.SoftLink("far")
    assert len(sx.read(path, dataset="near")) == 6
    for name in ("far", "step"):
        with pytest.raises(ShapeFileError, match="link into another file"):
            sx.read(path, dataset=name)
    with pytest.raises(ShapeFileError, match="without end"):
        sx.read(path, dataset="loop")
    with pytest.raises(ShapeFileError, match="no dataset"):
        sx.read(path, dataset="nothing")


def test_values_in_other_files_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(10_000))
    path = tmp_path / "worms.h5"
    layout = h5py.VirtualLayout(shape=(6, 5, 2), dtype=float)
    layout[:] = h5py.VirtualSource(str(secret), "skeletons", shape=(6, 5, 2))
    with h5py.File(path, "w") as file:
        file.create_dataset("skeletons", (6, 5, 2), dtype=float, external=[(str(secret), 0, 480)])
        file.create_virtual_dataset("virtual", layout)
    for name in ("skeletons", "virtual"):
        with pytest.raises(ShapeFileError, match="lie in another file"):
            sx.read(path, dataset=name)


def test_declared_but_unwritten_values_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "worms.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("skeletons", (10**8, 49, 2), dtype=float, chunks=(100, 49, 2), compression="gzip")
    with pytest.raises(ShapeFileError, match="declares"):
        sx.read(path)


def test_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "worms.h5"
    path.write_bytes(b"no HDF5")
    with pytest.raises(ShapeFileError, match="cannot be read as HDF5"):
        sx.read(path)


@pytest.mark.realdata
def test_real_skeletons_are_those_of_the_shared_set(data_folder: Path) -> None:
    path = data_folder / "formats/hdf5/wormpose_features.h5"
    # The shared set begins a sequence where five frames or more are missing.
    shapes = sx.read(path, max_gap=4, n_points=20)
    with np.load(data_folder / "celegans_wormpose_midlines_20.npz") as expected:
        np.testing.assert_array_equal(shapes.metadata["frame"], expected["frame"])
        np.testing.assert_array_equal(shapes.sequence, expected["sequence"])
        np.testing.assert_allclose(shapes.configurations, expected["points"] @ [1, 1j], rtol=1e-10)
    assert len(list(read_records(path))) == 720
