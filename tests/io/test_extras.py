"""A library that is not installed: the error names the extra that brings it."""

import sys

import pytest

import shapelex as sx
from tests.io.conftest import check_refused


@pytest.mark.parametrize(
    ("library", "name", "content"),
    [
        ("roifile", "cell.roi", b"Iout"),
        ("PIL.Image", "cell.png", b"\x89PNG"),
        ("h5py", "worm.h5", b"\x89HDF"),
        ("h5py", "worm.mat", b"MATLAB 7.3 MAT-file"),
    ],
)
def test_missing_library_names_the_extra(tmp_path, monkeypatch, library, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    monkeypatch.setitem(sys.modules, library, None)
    check_refused(r'pip install "shapelex\[io\]"', sx.read, path, error=ImportError)
