"""Torch devices that the tests of this machine run on."""

import pytest

try:
    import torch

    # The problems are small, and the tests themselves run side by side.
    torch.set_num_threads(1)
    DEVICES = ["torch", *(["cuda"] if torch.cuda.is_available() else [])]
except ImportError:
    DEVICES = [pytest.param("torch", marks=pytest.mark.skip(reason="torch is not installed"))]

on_devices = pytest.mark.parametrize("device", DEVICES)
