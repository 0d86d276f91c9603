"""What all pictures share: axes, files, and what happens without matplotlib."""

import sys
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import shapelex as sx
from tests.plotting.conftest import make_suggestion

CIRCLE = np.exp(2j * np.pi * np.arange(40) / 40)
Z = np.array([CIRCLE + a * CIRCLE**-2 + b * CIRCLE**-1 for a, b in ((0.1, 0.5), (0.2, 0.4), (0.3, 0.6))])
SPACE = sx.Landmarks(40, closed=True)
CALLS = {
    "plot_shape": ((Z[0], SPACE), {"points": True}),
    "plot_shapes": ((Z, SPACE), {"labels": ["α", "β", "γ"]}),
    "plot_atoms": ((Z, SPACE), {"usage": [0.1, 0.2, 0.3]}),
    "plot_reconstructions": ((Z, Z[::-1], SPACE), {}),
    "plot_code": (([0.5, -0.2j, 0.1],), {}),
    "plot_combination": (([0.5, -0.2j, 0.1], Z, SPACE), {"original": Z[0]}),
    "plot_loss": (([0.3, 0.2],), {"label": "fit"}),
    "plot_rmse_curves": (({"ours": {1: 0.2, 2: 0.1}},), {}),
    "plot_geodesic": ((Z[0], Z[1], SPACE), {}),
    "plot_mean": ((Z, SPACE), {"points": True}),
    "plot_suggestion": ((make_suggestion(),), {}),
    "plot_confusion": ((["a", "b", "b"], ["a", "b", "a"]), {}),
    "plot_distances": ((sx.pairwise_distances(Z),), {}),
    "plot_ethogram": ((["α", "α", "β", "γ", "β"],), {"sequence": [0, 0, 0, 1, 1], "fps": 2}),
    "plot_weights": (([[0.5, 0.2j], [0.4, 0.3j], [0.3, 0]],), {"fps": 2}),
    "plot_phases": (([[0.5, 0.2], [0.4, 0.3], [0.3, 7.0]],), {"frames": [0, 1, 4]}),
    "plot_phase_portrait": ((CIRCLE,), {"fps": 2}),
    "plot_kymograph": ((Z.imag,), {}),
    "plot_transitions": (([[0, 0.9, 0.1], [1, 0, 0], [0.5, 0.5, 0]],), {"shares": [0.5, 0.3, 0.2]}),
}


def test_every_public_function_is_called_here():
    assert set(CALLS) == {name for name in sx.plotting.__all__ if name.startswith("plot_")}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("layout", [None, "constrained", "tight"])
def test_pictures_are_drawn_on_the_given_axes_and_saved(name, layout, tmp_path):
    arguments, options = CALLS[name]
    before = plt.get_fignums()
    whole = Figure(figsize=(3.4, 2.4), layout=layout)
    figure = whole.subfigures(1, 2)[1] if layout == "constrained" else whole
    ax = figure.subplots()
    assert getattr(sx.plotting, name)(*arguments, ax=ax, **options) is ax
    assert plt.get_fignums() == before
    path = tmp_path / f"{name}.{ {None: 'png', 'constrained': 'svg', 'tight': 'pdf'}[layout] }"
    whole.savefig(path)
    assert path.stat().st_size > 1000
    if path.suffix == ".svg":
        ET.parse(path)


@pytest.mark.parametrize("name", CALLS)
def test_without_axes_the_current_ones_are_used(name):
    arguments, options = CALLS[name]
    before = plt.get_fignums()
    figure, (_, second) = plt.subplots(1, 2)
    try:
        assert getattr(sx.plotting, name)(*arguments, **options) is second
        assert plt.get_fignums() == [*before, figure.number]
    finally:
        plt.close(figure)


@pytest.mark.parametrize("name", CALLS)
def test_axes_are_axes(name):
    arguments, options = CALLS[name]
    with pytest.raises(TypeError, match="ax must be matplotlib Axes, or None for the current ones, got Figure"):
        getattr(sx.plotting, name)(*arguments, ax=Figure(), **options)


@pytest.mark.parametrize("name", CALLS)
def test_missing_matplotlib_names_the_extra(name, monkeypatch):
    for module in [module for module in sys.modules if module.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    arguments, options = CALLS[name]
    with pytest.raises(ImportError, match=r'needs matplotlib.*pip install "shapelex\[plot\]"'):
        getattr(sx.plotting, name)(*arguments, **options)
