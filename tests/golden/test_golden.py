"""Results of public calls that do not learn stay what they were: ``calls.npz`` and ``commands.json``.

``python -m tests.golden --write`` writes both files. A commit that does so says which results changed, and why.
"""

import json
from functools import cache

import numpy as np
import pytest

from tests.golden import commands
from tests.golden.calls import FILES, cases

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

TOLERANCE = 1e-10
"""Largest difference, relative to the largest number of an array; some are computed in single precision."""

SINGLE_PRECISION = {"distances diffusion": 1e-4, "distances reciprocal": 1e-4}


@cache
def records():
    found = {}
    with np.load(FILES / "calls.npz") as file:
        for name in file.files:
            call, space, part = name.split("/")
            found.setdefault(f"{call}/{space}", {})[part] = file[name]
    return found


def assert_equal_to_rounding(found, expected, tolerance, part):
    found = np.asarray(found)
    assert found.shape == expected.shape, part
    if expected.dtype.kind in "fc":
        size = np.abs(expected[np.isfinite(expected)]).max(initial=0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * size, err_msg=part)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=part)


@pytest.mark.parametrize("case", cases(), ids="-".join)
def test_call(case):
    found, expected = case.run(), records()["/".join(case)]
    assert list(found) == list(expected)
    for part, value in expected.items():
        assert_equal_to_rounding(found[part], value, SINGLE_PRECISION.get(part, TOLERANCE), part)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    commands.make_files(folder)
    return folder


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_command(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    expected = json.loads((FILES / "commands.json").read_text(encoding="utf-8"))[name]
    commands.assert_same(commands.run(name), expected, name)
