"""Torch devices that the tests of this machine run on."""

from importlib.util import find_spec

import pytest

DEVICES = ["torch"]
if find_spec("torch") is not None:
    import torch

    # The problems are small, and the tests themselves run side by side.
    torch.set_num_threads(1)
    if torch.cuda.is_available():
        DEVICES.append("cuda")

# The fixture of this name, in conftest.py, skips where torch is not installed.
on_devices = pytest.mark.parametrize("device", DEVICES, indirect=True)
on_all_devices = pytest.mark.parametrize("device", ["cpu", *DEVICES], indirect=True)
