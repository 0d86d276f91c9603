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

# Where torch is not installed, conftest.py skips the tests of all devices but the CPU.
on_devices = pytest.mark.parametrize("device", DEVICES)
on_all_devices = pytest.mark.parametrize("device", ["cpu", *DEVICES])
