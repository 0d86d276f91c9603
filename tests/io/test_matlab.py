"""Worm Tracker 2 files: what SciPy writes is read back, and damaged or hostile files are refused."""

import struct
import zlib

import h5py
import numpy as np
import pytest
from scipy.io import savemat

import shapelex as sx
from tests.io.conftest import check_refused, check_set


def frames():
    points = np.random.default_rng(5).normal(size=(7, 4, 2)).cumsum(axis=1)
    points[3] = np.nan
    return points


def worm(points):
    skeleton = {"x": points[..., 0].T, "y": points[..., 1].T}
    return {
        "morphology": {"length": np.ones(7)},
        "posture": {"note": "text", "cell": np.array([1, "a"], dtype=object), "skeleton": skeleton},
    }


def save_version_7_3(path, points):
    with h5py.File(path, "w", userblock_size=512) as file:
        for axis, name in enumerate("xy"):
            file[f"worm/posture/skeleton/{name}"] = points[..., axis]
    content = path.read_bytes()
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + content[128:])


@pytest.mark.parametrize("version", ["7", "6", "7.3"])
def test_skeletons_become_frames(tmp_path, version):
    path = tmp_path / "clip.mat"
    if version == "7.3":
        save_version_7_3(path, frames())
        check_refused("no variable", sx.read, path, variable="worm.path")
    else:
        savemat(path, {"info": "x" * 50, "worm": worm(frames())}, do_compression=version == "7")
    shapes = sx.read(path)
    check_set(shapes, frames()[[0, 1, 2, 4, 5, 6]] @ [1, 1j], frame=[0, 1, 2, 4, 5, 6], sequence=[0] * 6)
    assert sx.read(path, max_gap=0).sequence.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("packs", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c16"])
def test_other_variables_by_name_in_every_type(tmp_path, dtype, packs):
    path, points = tmp_path / "clip.mat", np.random.default_rng(0).integers(0, 99, size=(7, 4, 2))
    whole = points @ [1, 1j]
    layouts = (
        [(whole, None), (whole.T, "pn")] if dtype == "c16" else [(points, None), (points.transpose(1, 2, 0), "pcn")]
    )
    for values, axes in layouts:
        savemat(path, {"before": 1, "marks": values.astype(dtype), "marksafter": 2}, do_compression=packs)
        np.testing.assert_array_equal(sx.read(path, variable="marks", axes=axes).configurations, whole)


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("absent", "no variable 'absent'"),
        ("worm", "no fields x and y, but morphology, posture"),
        ("worm.posture.absent", "field 'absent'"),
        ("worm.posture.note", "no array of numbers"),
        ("worm.posture.cell", "no array of numbers"),
        ("worm.morphology.length", "must be real"),
    ],
)
def test_variables_that_hold_no_points(tmp_path, variable, words):
    path = tmp_path / "clip.mat"
    savemat(path, {"worm": worm(frames())})
    check_refused(words, sx.read, path, variable=variable)


def test_files_that_declare_much_are_refused(tmp_path):
    path = tmp_path / "clip.mat"
    savemat(path, {"worm": np.zeros((1, 10 << 20))}, do_compression=True)
    assert path.stat().st_size < 200_000
    check_refused("swells", sx.read, path)
    shape = struct.pack("<IIii", 5, 8, 2**31 - 1, 2**31 - 1)
    body = struct.pack("<IIII", 6, 8, 2, 0) + shape + struct.pack("<II", 1, 4) + b"worm" + bytes(4)
    element = struct.pack("<II", 14, len(body)) + body
    packed = zlib.compress(element)
    for content in (element, struct.pack("<II", 15, len(packed)) + packed):
        path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM" + content)
        check_refused(r"clip\.mat", sx.read, path)
