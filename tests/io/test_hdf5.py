"""Skeletons in HDF5: Tierpsy's tables, datasets by name, and links that lead elsewhere."""

from unittest import mock

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats import hdf5 as _hdf5
from shapelex.io.formats.hdf5 import read_records
from tests.io.conftest import as_values, check_refused, check_set

TABLE = [("worm_index_joined", "i4"), ("frame_number", "i4"), ("skeleton_id", "i4")]


def skeletons(n_rows=6, n_points=5):
    return np.random.default_rng(3).normal(size=(n_rows, n_points, 2)).cumsum(axis=1)


def write(folder, **datasets):
    path = folder / "worms.hdf5"
    with h5py.File(path, "w") as file:
        for name, values in datasets.items():
            file[name.replace("__", "/")] = values
    return path


@pytest.mark.parametrize("name", ["coordinates__skeletons", "skeleton", "skeletons", "anything"])
def test_rows_become_frames(tmp_path, name):
    points = skeletons()
    points[2] = np.nan
    shapes = sx.read(write(tmp_path, **{name: points}))
    check_set(shapes, points[[0, 1, 3, 4, 5]] @ [1, 1j], frame=[0, 1, 3, 4, 5], sequence=[0] * 5)
    assert shapes.ids[2] == "worms:3"
    assert not shapes.closed


@pytest.mark.parametrize("has_ids", [True, False])
def test_tierpsy_table_tells_worms_and_frames(tmp_path, has_ids):
    points = skeletons()
    rows = [(2, 10, 0), (2, 11, 1), (2, 30, 2), (8, 19, 3), (8, 20, 4), (8, 21, 5)]
    table = np.array([rows[place] for place in (4, 1, 0, 3, 2, 5)] if has_ids else rows, dtype=TABLE)
    table = table if has_ids else table[["worm_index_joined", "frame_number"]]
    # A table of more rows is not taken for that of the skeletons.
    larger = np.array([(1, frame, frame) for frame in range(9)], dtype=TABLE)
    for tables in ({"trajectories_data": table}, {"trajectories_data": larger, "timeseries_data": table}):
        path = write(tmp_path, coordinates__skeletons=points, **tables)
        shapes = sx.read(path)
        check_set(shapes, points @ [1, 1j], worm=[2, 2, 2, 8, 8, 8], frame=[10, 11, 30, 19, 20, 21])
        assert shapes.sequence.tolist() == [0, 0, 0, 1, 1, 1]
        assert sx.read(path, max_gap=5).sequence.tolist() == [0, 0, 1, 2, 2, 2]
        assert sx.read(path, dataset="coordinates/skeletons").sequence.tolist() == [0] * 6


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
def test_layouts_of_a_named_dataset(tmp_path, values, axes):
    path = write(tmp_path, a__b=values, other=skeletons())
    shapes = sx.read(path, dataset="a/b", closed=True, y_down=True, axes=axes)
    np.testing.assert_allclose(shapes.configurations, skeletons() @ [1, -1j], rtol=1e-6)
    assert shapes.closed


SEVERAL = {"a": skeletons(), "b": skeletons(), "table": np.zeros(3)}


@pytest.mark.parametrize(
    ("datasets", "options", "words"),
    [
        ({"skeletons": np.zeros((3, 4))}, {}, "must be real"),
        ({"skeletons": np.zeros((3, 4, 3))}, {}, "must be real"),
        ({"skeletons": np.zeros((3, 2, 4))}, {}, 'such as axes="pcn"'),
        ({"skeletons": np.zeros(3)}, {}, "must be real"),
        ({"skeletons": np.array([b"abc"])}, {}, "must hold numbers"),
        ({"skeletons": np.zeros(3, dtype=TABLE)}, {}, "must hold numbers"),
        (
            {"skeleton": skeletons(), "trajectories_data": np.array([(1, 2, 3)], dtype=TABLE)},
            {},
            "trajectories_data tells the worm and frame of the 6 rows",
        ),
        (SEVERAL, {}, "/a, /b that may hold points: name one with dataset="),
        (SEVERAL, {"dataset": "c"}, "has no dataset 'c'"),
    ],
)
def test_datasets_that_hold_no_points_are_refused(tmp_path, datasets, options, words):
    check_refused(words, sx.read, write(tmp_path, **datasets), **options)


def test_links_within_the_file_are_followed_and_others_refused(tmp_path):
    (tmp_path / "other").mkdir()
    other, path = write(tmp_path / "other", skeletons=skeletons()), write(tmp_path, inner=skeletons())
    layout = h5py.VirtualLayout(shape=(6, 5, 2), dtype=float)
    layout[:] = h5py.VirtualSource(str(other), "skeletons", shape=(6, 5, 2))
    with h5py.File(path, "a") as file:
        file["near"] = h5py.SoftLink("/inner")
        file["far"] = h5py.ExternalLink(str(other), "/skeletons")
        file["loop"] = h5py.SoftLink("/loop")
        file["nothing"] = h5py.SoftLink("/absent")
        file["step"] = h5py.SoftLink("far")
        file.create_dataset("raw", (6, 5, 2), dtype=float, external=[(str(other), 0, 480)])
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("unwritten", (10**8, 49, 2), dtype=float, chunks=(100, 49, 2), compression="gzip")
    assert len(sx.read(path, dataset="near")) == 6
    for name, words in (
        ("far", "link into another file"), ("step", "link into another file"), ("loop", "without end"),
        ("nothing", "no dataset"), ("raw", "lie in another file"), ("virtual", "lie in another file"),
        ("unwritten", "declares"),
    ):  # fmt: skip
        check_refused(words, sx.read, path, dataset=name)


def read_in_parts(n_bytes=1 << 10, **limits):
    """Read datasets in parts, with limits moved so that small files pass them."""
    return mock.patch.multiple(_hdf5, _HELD_BYTES=0, _MOST_TIMES_READ=np.inf, _BLOCK_BYTES=n_bytes, **limits)


def test_datasets_larger_than_memory(tmp_path):
    points = skeletons(300)
    path = write(tmp_path, skeletons=points)
    with read_in_parts(_MAX_BYTES=points.nbytes // 2):
        np.testing.assert_array_equal(sx.read(path).configurations, points @ [1, 1j])
        with mock.patch.object(_hdf5, "_HELD_BYTES", points.nbytes), pytest.raises(ShapeFileError, match="declares"):
            sx.read(path)


def test_damage_found_on_the_way(tmp_path):
    path = tmp_path / "worms.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("skeletons", data=skeletons(500), chunks=(10, 5, 2), compression="gzip")
        place = file["skeletons"].id.get_chunk_info(30).byte_offset
    content = bytearray(path.read_bytes())
    content[place : place + 40] = b"x" * 40
    path.write_bytes(content)
    with read_in_parts():
        check_refused("dataset '/skeletons' cannot be read", sx.read, path)


@st.composite
def recordings(draw):
    """Return skeletons of several worms, some lost, and perhaps a table that has them in any order."""
    n_rows = draw(st.integers(1, 40))
    chance = np.random.default_rng(draw(st.integers(0, 99)))
    points = chance.normal(size=(n_rows, 3, 2)).round(3)
    points[chance.random(n_rows) < 0.2] = np.nan
    points[chance.random(points.shape) < 0.1] = np.nan
    if draw(st.booleans()):
        return points, None
    rows = chance.permutation(n_rows) if draw(st.booleans()) else np.arange(n_rows)
    table = np.zeros(n_rows, dtype=TABLE)
    table["worm_index_joined"] = chance.integers(0, draw(st.integers(1, 4)), n_rows)
    table["frame_number"] = chance.integers(0, 30, n_rows)
    table["skeleton_id"] = rows
    return points, table


@given(
    recording=recordings(),
    n_bytes=st.integers(1, 800),
    n_chunk=st.integers(0, 9),
    axes=st.sampled_from(["npc", "pcn", "cnp", "np", "pn"]),
    options=st.fixed_dictionaries({"max_gap": st.sampled_from([None, 0, 3]), "y_down": st.booleans()}),
)
def test_rows_in_parts_are_those_of_the_held_dataset(tmp_path_factory, recording, n_bytes, n_chunk, axes, options):
    points, table = recording
    values = points.transpose(["npc".index(letter) for letter in axes]) if "c" in axes else points @ [1, 1j]
    values = values.T if axes == "pn" else values
    path = tmp_path_factory.getbasetemp() / "parts.h5"
    with h5py.File(path, "w") as file:
        chunks = tuple(max(1, min(n_chunk, side)) for side in values.shape) if n_chunk else None
        file.create_dataset("skeletons", data=values, chunks=chunks)
        if table is not None:
            file["trajectories_data"] = table
    held = as_values(read_records(path, axes=axes, **options))
    with read_in_parts(n_bytes):
        assert as_values(read_records(path, axes=axes, **options)) == held
