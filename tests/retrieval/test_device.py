"""Retrieval of tensors on their device; here the CPU stands in where there is no GPU."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import CollapsedShapeError, NonFiniteError
from shapelex.retrieval.nearest import free_changes, nearest_shapes
from shapelex.shapes.collection import ArrayShapes
from shapelex.shapes.tensors import TensorShapes
from tests import strategies
from tests.devices import on_devices

SPACES = [
    sx.Landmarks(7),
    sx.Landmarks(20, closed=True),
    sx.BSpline(9),
    sx.HermiteSpline(5, closed=True),
    sx.BSpline(8, closed=False),
]


def tensor_shapes(Z, space, device):
    import torch

    return TensorShapes(torch.from_numpy(Z).to("cpu" if device == "torch" else device), space, "shapes")


@on_devices
@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("mirror", [False, True])
def test_tensors_give_the_same_as_arrays(device, space, mirror):
    Z = strategies.random_configurations(space, 40, 0)
    queries = space.preshape(strategies.random_configurations(space, 3, 1))
    found = nearest_shapes(queries, tensor_shapes(Z, space, device), 6, mirror)
    expected = nearest_shapes(queries, ArrayShapes(Z, space), 6, mirror)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], atol=1e-12)
    assert free_changes(space, mirror)["reflection"] == mirror


@on_devices
def test_bad_rows_are_named(device):
    space = sx.Landmarks(20, closed=True)
    Z = strategies.random_configurations(space, 10, 0)
    queries = space.preshape(Z[:1])
    for value, error in ((np.nan, NonFiniteError), (1.0, CollapsedShapeError)):
        bad = Z.copy()
        bad[4] = value
        with pytest.raises(error, match="in row 4"):
            nearest_shapes(queries, tensor_shapes(bad, space, device), 3, mirror=True)


@on_devices
@pytest.mark.parametrize("how", [None, "diffusion"])
def test_tensors_give_tensors(device, how):
    import torch

    space = sx.Landmarks(20, closed=True)
    Z = strategies.random_configurations(space, 12, 0)
    where = "cpu" if device == "torch" else device
    found = sx.retrieve(torch.from_numpy(Z[:2]).to(where), Z, 4, space=space, rerank=how)
    for tensor, expected in zip(found, sx.retrieve(Z[:2], Z, 4, space=space, rerank=how), strict=True):
        assert tensor.device.type == where
        np.testing.assert_allclose(tensor.cpu().numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("device", ["cuda"])
def test_results_are_tensors_on_the_same_gpu(device):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    space = sx.Landmarks(20, closed=True)
    Z = strategies.random_configurations(space, 40, 0)
    indices, distances = sx.retrieve(Z[:3], torch.from_numpy(Z).to(device), 5, space=space)
    assert indices.device.type == distances.device.type == device
    expected = sx.retrieve(Z[:3], Z, 5, space=space)
    np.testing.assert_array_equal(indices.cpu().numpy(), expected[0])
