"""What all pictures share: axes, files, and what happens without matplotlib."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import shapelex as sx
from tests.plotting.suggestions import make_suggestion

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
}


def test_every_public_function_is_called_here():
    assert set(CALLS) == {name for name in sx.plotting.__all__ if name.startswith("plot_")}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("layout", [None, "constrained", "tight"])
def test_pictures_are_saved_in_every_format(name, layout, tmp_path):
    arguments, options = CALLS[name]
    for width in (3.4, 7):
        figure = Figure(figsize=(width, 2.4), layout=layout)
        ax = figure.subplots()
        assert getattr(sx.plotting, name)(*arguments, ax=ax, **options) is ax
        for ending in ("png", "svg", "pdf"):
            path = tmp_path / f"{name}.{ending}"
            figure.savefig(path)
            assert path.stat().st_size > 1000
        ET.parse(tmp_path / f"{name}.svg")


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
def test_given_axes_leave_pyplot_alone(name):
    arguments, options = CALLS[name]
    before = plt.get_fignums()
    getattr(sx.plotting, name)(*arguments, ax=Figure().subplots(), **options)
    assert plt.get_fignums() == before


@pytest.mark.parametrize("name", CALLS)
def test_axes_are_axes(name):
    arguments, options = CALLS[name]
    with pytest.raises(TypeError, match="ax must be matplotlib Axes, or None for the current ones, got Figure"):
        getattr(sx.plotting, name)(*arguments, ax=Figure(), **options)


@pytest.mark.parametrize("name", CALLS)
def test_pictures_fit_into_subfigures(name):
    arguments, options = CALLS[name]
    figure = Figure(figsize=(7, 3), layout="constrained")
    for part in figure.subfigures(1, 2):
        getattr(sx.plotting, name)(*arguments, ax=part.subplots(), **options)
    figure.draw_without_rendering()


@pytest.mark.parametrize("name", CALLS)
def test_missing_matplotlib_names_the_extra(name, monkeypatch):
    for module in [module for module in sys.modules if module.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    arguments, options = CALLS[name]
    with pytest.raises(ImportError, match=r'needs matplotlib.*pip install "shapelex\[plot\]"'):
        getattr(sx.plotting, name)(*arguments, **options)


def test_the_package_loads_without_matplotlib():
    code = (
        "import sys, shapelex as sx; sx.plotting.plot_mean; "
        "print(*(m for m in ('matplotlib', 'sklearn', 'numba') if m in sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
