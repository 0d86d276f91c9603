"""The registry: a coder runs on the backends that it has an implementation for, and is refused on others."""

import subprocess
import sys

import numpy as np
import pytest

import shapelex as sx
from shapelex.coding import encode_rows
from shapelex.coding.coders import CODERS, Coder
from shapelex.exceptions import DeviceError
from tests.coding_oracles import random_rows
from tests.devices import on_all_devices, on_devices


def first_atom_numba(inputs, outputs, width):
    """Code every row by the first atom alone."""
    outputs.support[:], outputs.support[:, 0] = -1, 0
    outputs.coefs[:], outputs.coefs[:, 0, :1] = 0, inputs.correlations[:, :2].view(outputs.coefs.dtype)
    outputs.left[:] = 1 - (inputs.correlations[:, :2] ** 2).sum(axis=1)


class FirstAtomTorch:
    """The same on a torch device."""

    values_per_row = 0

    def __init__(self, problem):
        self.n_nonzero = problem.n_nonzero

    def code(self, block):
        support = block.correlations.real.new_full((len(block.rows), self.n_nonzero), -1).int()
        coefs = block.rows.new_zeros((len(block.rows), 1, self.n_nonzero))
        support[:, 0], coefs[:, 0, 0] = 0, block.correlations[:, 0]
        return support, coefs


def register(monkeypatch, **implementations):
    monkeypatch.setitem(CODERS, "first", Coder(lambda *sizes: 100.0, is_nested=False, **implementations))


def problem():
    rng = np.random.default_rng(0)
    return random_rows(rng, 30, 6), random_rows(rng, 4, 6)


@on_all_devices
def test_a_registered_coder_runs_on_every_backend_that_it_has(device, monkeypatch):
    register(monkeypatch, numba=first_atom_numba, torch=FirstAtomTorch)
    rows, atoms = problem()
    codes = encode_rows(rows, atoms, 2, method="first", device=device)
    np.testing.assert_array_equal(codes.support, np.tile([0, -1], (30, 1)))
    np.testing.assert_allclose(codes.coefs[:, 0], rows @ atoms[0].conj() / np.linalg.norm(atoms[0]) ** 2)
    model = sx.ShapeDictionary(4, 2, coder="first", max_iter=0, device=device).fit(rows)
    assert set(np.unique(model.encode(rows).support)) == {-1, 0}


@on_devices
def test_a_coder_without_a_torch_implementation_is_refused_there(device, monkeypatch):
    register(monkeypatch, numba=first_atom_numba)
    rows, atoms = problem()
    words = '^coder="first" has no implementation for the torch backend: use device="cpu", or coder="ormp"'
    with pytest.raises(DeviceError, match=words):
        sx.encode(rows, atoms, 2, method="first", device=device)
    with pytest.raises(DeviceError, match=words):
        sx.ShapeDictionary(4, 2, coder="first", device=device).fit(rows)
    assert len(encode_rows(rows, atoms, 2, method="first")) == 30


def test_a_coder_without_a_numba_implementation_is_refused_on_the_cpu(monkeypatch):
    register(monkeypatch, torch=FirstAtomTorch)
    rows, atoms = problem()
    with pytest.raises(DeviceError, match='numba backend: use device="cuda"'):
        encode_rows(rows, atoms, 2, method="first")


def test_coding_on_the_cpu_loads_no_torch():
    code = (
        "import sys, numpy as np, shapelex as sx\n"
        "sx.encode(np.eye(4, 5) + 1j, np.eye(3, 5) + 0j, 2)\n"
        "assert 'shapelex.coding.torch.device_coder' in sys.modules\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
