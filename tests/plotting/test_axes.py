"""What all pictures share: axes, files, sets and models as arguments, refusals, and no matplotlib."""

import sys
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

import shapelex as sx
from shapelex.exceptions import CodesError, CoordinateCountError, RealLayoutError, ShapeInputError
from tests.plotting.conftest import (
    TIDY,
    check_text_is_apart,
    drawn,
    labels,
    make_blobs,
    make_suggestion,
    marks,
    numbers,
)

Z, SPACE = make_blobs()
FEW = Z[:3]
CALLS = {
    "plot_shape": ((FEW[0], SPACE), {"points": True}),
    "plot_shapes": ((FEW, SPACE), {"labels": ["α", "β", "γ"]}),
    "plot_atoms": ((FEW, SPACE), {"usage": [0.1, 0.2, 0.3]}),
    "plot_reconstructions": ((FEW, FEW[::-1], SPACE), {}),
    "plot_code": (([0.5, -0.2j, 0.1],), {}),
    "plot_combination": (([0.5, -0.2j, 0.1], FEW, SPACE), {"original": FEW[0]}),
    "plot_loss": (([0.3, 0.2],), {"label": "fit"}),
    "plot_rmse_curves": (({"ours": {1: 0.2, 2: 0.1}},), {}),
    "plot_geodesic": ((FEW[0], FEW[1], SPACE), {}),
    "plot_mean": ((FEW, SPACE), {"points": True}),
    "plot_suggestion": ((make_suggestion(),), {}),
    "plot_confusion": ((["a", "b", "b"], ["a", "b", "a"]), {}),
    "plot_distances": ((sx.pairwise_distances(FEW),), {}),
    "plot_ethogram": ((["α", "α", "β", "γ", "β"],), {"sequence": [0, 0, 0, 1, 1], "fps": 2}),
    "plot_weights": (([[0.5, 0.2j], [0.4, 0.3j], [0.3, 0]],), {"fps": 2}),
    "plot_phases": (([[0.5, 0.2], [0.4, 0.3], [0.3, 7.0]],), {"frames": [0, 1, 4]}),
    "plot_phase_portrait": ((Z[0],), {"fps": 2}),
    "plot_kymograph": ((FEW.imag,), {}),
    "plot_transitions": (([[0, 0.9, 0.1], [1, 0, 0], [0.5, 0.5, 0]],), {"shares": [0.5, 0.3, 0.2]}),
}


def test_every_public_function_is_called_here():
    assert set(CALLS) == {name for name in sx.plotting.__all__ if name.startswith("plot_")}


LAYOUTS = [(None, "png"), ("constrained", "svg"), ("tight", "pdf")]


@pytest.mark.parametrize(("place", "name"), list(enumerate(CALLS)))
def test_pictures_are_drawn_on_the_given_axes_or_the_current_ones_and_saved(place, name, tmp_path, monkeypatch):
    arguments, options = CALLS[name]
    draw = getattr(sx.plotting, name)
    before = plt.get_fignums()
    layout, ending = LAYOUTS[place % 3]
    whole = Figure(figsize=(3.4, 2.4), layout=layout)
    figure = whole.subfigures(1, 2)[1] if layout == "constrained" else whole
    ax = figure.subplots()
    assert draw(*arguments, ax=ax, **options) is ax
    assert plt.get_fignums() == before
    path = tmp_path / f"{name}.{ending}"
    whole.savefig(path)
    assert path.stat().st_size > 1000
    if ending == "svg":
        ET.parse(path)
    figure, (_, second) = plt.subplots(1, 2)
    try:
        assert draw(*arguments, **options) is second
        assert plt.get_fignums() == [*before, figure.number]
    finally:
        plt.close(figure)
    with pytest.raises(TypeError, match="ax must be matplotlib Axes, or None for the current ones, got Figure"):
        draw(*arguments, ax=Figure(), **options)
    for module in [module for module in sys.modules if module.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'needs matplotlib.*pip install "shapelex\[plot\]"'):
        draw(*arguments, **options)


SHAPES = sx.ShapeSet(
    Z,
    SPACE,
    metadata={
        "treatment": ["heat", "", "cold"] * 3,
        "dose": [3.0, 1.0, np.nan] + [2.0] * 6,
        "plate": [1, 2, 2] * 3,
        "units": ["mm"] * 9,
    },
)
MODEL = sx.ShapeDictionary(3, 1, random_state=0, max_iter=2, tol=1.0).fit(SHAPES)
TABLE = sx.pairwise_distances(np.random.default_rng(0).normal(size=(5, 6, 2)))
CHANGES = [[0.2, 0.7, 0.1], [0.5, 0.0, 0.5], [0.97, 0.03, 0.0]]
BOUTS = pd.DataFrame({"sequence": ["a"], "state": ["x"], "first_frame": [2], "last_frame": [1]})
ONES = np.ones((3, 2))

REFUSED = {
    CodesError: [
        ("plot_code", (np.zeros(4),), {}, "uses no atom"),
        ("plot_code", (np.ones((2, 3)),), {}, r"shape \(2, 3\)"),
        ("plot_code", ([1, np.nan],), {}, "finite"),
        ("plot_code", (1.0,), {}, "one shape"),
        ("plot_combination", ([0, 0.3j, 0, 1, 0.5], Z, SPACE), {}, "code is over 5 atoms, but 9 were given"),
        ("plot_phase_portrait", (np.ones((3, 3)),), {}, "shape"),
        ("plot_phase_portrait", ([np.nan, np.nan],), {}, "no finite"),
        ("plot_phase_portrait", (1j * ONES,), {}, "shape"),
        ("plot_weights", (0 * ONES,), {}, "no atom"),
        ("plot_weights", (np.ones(3),), {}, "n_frames, n_atoms"),
        ("plot_weights", (np.nan * ONES,), {}, "finite"),
        ("plot_weights", (ONES,), {"atoms": [2]}, "from 0 to 1"),
        ("plot_weights", (ONES,), {"atoms": []}, "from 0 to 1"),
        ("plot_phases", (np.zeros(3),), {}, "n_frames"),
        ("plot_phases", (1j * ONES,), {}, "real"),
        ("plot_phases", ([[np.nan]],), {}, "no finite"),
    ],
    NotFittedError: [
        ("plot_atoms", (sx.ShapeDictionary(),), {}, "not fitted"),
        ("plot_reconstructions", (sx.ShapeDictionary(), Z), {}, "not fitted"),
    ],
    CoordinateCountError: [("plot_shape", (Z[0], sx.BSpline(8)), {}, "8")],
    RealLayoutError: [("plot_shape", (np.zeros((5, 2)),), {}, r"\(5, 2\)")],
    ShapeInputError: [
        ("plot_shape", (Z[:2], SPACE), {}, "z must be one configuration, got 2"),
        ("plot_shapes", (Z, SPACE), {"labels": ["a", "b"]}, "one for each of the 9 shapes, got 2"),
        ("plot_shapes", (SHAPES,), {"color": "treatmnt"}, "neither a column of the shapes, which have id, treatment"),
        ("plot_shapes", (SHAPES,), {"color": [1, 2]}, r"one value for each of the 9 shapes, got shape \(2,\)"),
        ("plot_shapes", (sx.ShapeSet(Z, SPACE),), {"scale_bar": True}, r'whose unit is known.*scale_bar="mm"'),
        ("plot_shapes", (MODEL,), {}, r"got a ShapeDictionary: plot_atoms\(model\) draws its atoms"),
        ("plot_atoms", (sx.TangentPCA().fit(Z),), {}, "TangentPCA has none: give a ShapeDictionary"),
        ("plot_atoms", (MODEL, SPACE), {}, "space must be left out with a model"),
        *(
            ("plot_atoms", (Z, SPACE), {"usage": usage}, "usage must be")
            for usage in ([0.1, 0.2], [[0.1] * 9], [0.1j] * 9, [-0.1] * 9, [np.nan] * 9)
        ),
        ("plot_combination", ([1, 0], Z[:2], SPACE), {"original": Z}, "original must be one configuration, got 9"),
        ("plot_reconstructions", (Z, Z[:1], SPACE), {}, "one for each of the 9 shapes of X, got 1"),
        ("plot_reconstructions", (SHAPES, MODEL), {}, r"the model comes first: plot_reconstructions\(model, X\)"),
        ("plot_geodesic", (Z[0], Z, SPACE), {}, "w must be one configuration, got 9"),
        ("plot_confusion", (["a"], ["a", "b"]), {}, r"one class for each shape, got shapes \(1,\) and \(2,\)"),
        ("plot_confusion", ([], []), {}, "one class for each shape"),
        ("plot_confusion", (["a", "b"], ["a", "a"]), {"classes": ["a"]}, "'b' is missing"),
        *(
            ("plot_distances", (bad,), {}, "distances must be a table of real numbers")
            for bad in (np.zeros(3), np.zeros((2, 2), dtype=complex), np.zeros((0, 2)))
        ),
        ("plot_distances", (TABLE,), {"labels": ["a"] * 4}, "got 4 for shape"),
        ("plot_distances", (TABLE[:, :3],), {"labels": ["a"] * 5}, "one for each row and column"),
        ("plot_ethogram", ([[0, 1]],), {}, "one number or name per frame"),
        ("plot_ethogram", ([0.5, 1.0],), {}, "one number or name per frame"),
        ("plot_ethogram", ([-1, -1],), {}, "nothing to draw"),
        ("plot_ethogram", (["", ""],), {}, "nothing to draw"),
        ("plot_ethogram", ([0, 1],), {"sequence": [0]}, "each of the 2 frames"),
        ("plot_ethogram", ([0, 1],), {"frames": [3, 3]}, "more than once"),
        ("plot_ethogram", (BOUTS.drop(columns="sequence"),), {}, "no column sequence"),
        ("plot_ethogram", (BOUTS,), {}, "whole numbers in order"),
        ("plot_kymograph", (np.ones(3),), {}, "n_frames"),
        ("plot_kymograph", (np.ones((3, 1)),), {}, "two points"),
        ("plot_kymograph", ([[np.nan] * 2],), {}, "no finite"),
        ("plot_transitions", (ONES,), {}, "square"),
        ("plot_transitions", ([[0, -1], [1, 0]],), {}, "negative"),
        ("plot_transitions", (CHANGES,), {"shares": [1, 2]}, "each of the 3 states"),
        ("plot_transitions", (CHANGES,), {"shares": [0, 0, 0]}, "each of the 3 states"),
    ],
    ValueError: [
        ("plot_atoms", (Z, SPACE), {"pose": "upright"}, "pose must be one of 'mean', 'principal', 'given'"),
        ("plot_geodesic", (Z[0], Z[1], SPACE), {"n_shapes": 1}, "n_shapes must be at least 2"),
        *(("plot_loss", (bad,), {}, "loss_curve must be") for bad in ([], [[1.0]], [-1.0], [np.nan], [1j])),
        ("plot_rmse_curves", ({},), {}, "at least one error"),
        ("plot_rmse_curves", ({"ours": {}},), {}, "at least one error"),
        ("plot_rmse_curves", ({"method": ["a"], "rmse": [0.1]},), {}, "lacks n_nonzero"),
        ("plot_rmse_curves", ({"ours": [0.1, 0.2]},), {}, "by sparsity"),
        ("plot_rmse_curves", ({**TIDY, "rmse": [0.1]},), {}, "6 of method, 6 of n_nonzero, 1 of rmse"),
        ("plot_rmse_curves", ({"ours": {1: 0.0}},), {}, "positive"),
        ("plot_rmse_curves", ([1, 2],), {}, "lacks method, n_nonzero, rmse"),
    ],
}
ROWS = [pytest.param(error, *row, id=f"{row[0]}-{row[-1]}") for error, rows in REFUSED.items() for row in rows]


@pytest.mark.parametrize(("error", "name", "arguments", "options", "words"), ROWS)
def test_what_cannot_be_drawn_is_refused(ax, error, name, arguments, options, words):
    with pytest.raises(error, match=words):
        getattr(sx.plotting, name)(*arguments, ax=ax, **options)
    assert not ax.lines


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def colors(ax):
    return [to_hex(line.get_color()) for line in ax.lines if line.get_gid() != "scale bar"]


def test_categories_have_a_legend_and_sort_the_shapes(ax):
    assert SHAPES.plot(color="treatment", labels=SHAPES.ids, ax=ax) is ax
    assert legend(ax) == ["cold", "heat", "(none)"]
    assert ax.get_legend().get_title().get_text() == "treatment"
    assert labels(ax)[:9] == ["2", "5", "8", "0", "3", "6", "1", "4", "7"]
    assert len(set(colors(ax))) == 3
    check_text_is_apart(ax)


def test_few_whole_numbers_are_categories_and_others_have_a_color_bar(ax):
    assert legend(SHAPES.plot(color="plate", ax=ax)) == ["1", "2"]
    figure = Figure(layout="constrained")
    panel = SHAPES.plot(color="dose", ax=figure.subplots())
    bar = figure.axes[1]
    assert bar.get_xlabel() == "dose"
    assert bar.get_xlim() == (1.0, 3.0)
    # Sorted, the least first and the missing one last, in gray.
    assert len(set(colors(panel))) == 4
    assert colors(panel)[-1] == "#9a9a9a"


def test_values_colors_and_columns(ax):
    assert legend(SHAPES.plot(color=list("aabbaabba"), ax=ax)) == ["a", "b"]
    assert set(colors(SHAPES.plot(color="red", ax=Figure().subplots()))) == {"#ff0000"}
    assert set(colors(SHAPES.plot(color=(0.0, 0.0, 1.0), ax=Figure().subplots()))) == {"#0000ff"}
    # A column is meant where there is one.
    named = SHAPES.replace(metadata={"red": ["x", "y", "z"] * 3})
    assert legend(named.plot(color="red", ax=Figure().subplots())) == ["x", "y", "z"]


def test_large_sets_are_thinned_and_say_so(rng, ax):
    big = sx.ShapeSet(rng.normal(size=(100, 4, 2)))
    assert len(drawn(big.plot(ax=ax))) == 60
    assert ax.get_title() == "60 of 100 shapes"
    assert len(drawn(big.plot(overlay=True, ax=Figure().subplots()))) == 100
    assert len(drawn(sx.ShapeSet([big.configurations] * 2).plot(color=range(200), ax=Figure().subplots()))) == 50


def test_panel_letters():
    figure = Figure(figsize=(5, 3), layout="constrained")
    panels = figure.subplots(2, 2)
    sx.plotting.plot_shape([0, 1, 1j], ax=panels[0, 0])
    sx.plotting.letter_panels(panels)
    letters = [panel.texts[-1] for panel in panels.ravel()]
    assert [letter.get_text() for letter in letters] == ["A", "B", "C", "D"]
    figure.draw_without_rendering()
    left = [letter.get_window_extent().x0 for letter in letters]
    assert left[0] == pytest.approx(left[2], abs=8)
    assert letters[0].get_window_extent().y0 == pytest.approx(letters[1].get_window_extent().y0, abs=1)
    with pytest.raises(ValueError, match="letters must be one for each of the 4 panels, got 2"):
        sx.plotting.letter_panels(panels, "ab")


def test_scale_bar_where_the_unit_is_known(ax):
    SHAPES.plot(ax=ax)
    (bar,) = [line for line in ax.lines if line.get_gid() == "scale bar"]
    (text,) = [text.get_text() for text in ax.texts if text.get_gid() == "scale bar"]
    length, unit = text.split()
    assert (unit, np.ptp(bar.get_xdata())) == ("mm", pytest.approx(float(length)))
    check_text_is_apart(ax)
    assert not SHAPES.plot(scale_bar=False, ax=Figure().subplots()).texts
    mixed = SHAPES.replace(metadata={"units": ["mm"] * 8 + ["m"]})
    assert not mixed.plot(ax=Figure().subplots()).texts
    (text,) = mixed.plot(scale_bar="cm", ax=Figure().subplots()).texts
    assert text.get_text().endswith(" cm")


def test_models_draw_themselves():
    by_hand = sx.plotting.plot_atoms(MODEL.atoms_, MODEL.space_, usage=MODEL.usage_, ax=Figure().subplots())
    for ax in (MODEL.plot(ax=Figure().subplots()), sx.plotting.plot_atoms(MODEL, ax=Figure().subplots())):
        assert (labels(ax), numbers(ax)) == (labels(by_hand), numbers(by_hand))
        np.testing.assert_allclose(drawn(ax), drawn(by_hand))
    ax = sx.plotting.plot_reconstructions(MODEL, SHAPES, ax=Figure().subplots())
    by_hand = sx.plotting.plot_reconstructions(SHAPES, MODEL.reconstruct(SHAPES), ax=Figure().subplots())
    np.testing.assert_allclose(drawn(ax), drawn(by_hand))
    sx.plotting.plot_reconstructions(MODEL, SHAPES, max_shapes=4, ax=(few := Figure().subplots()))
    assert few.get_title() == "4 of 9 shapes, by error"
    errors = [float(text.removesuffix(" %")) for text in labels(few)]
    assert errors == sorted(errors)
    for other in (sx.AlignFirstDictionary(2, 1, random_state=0), sx.RiemannianDictionary(2, random_state=0)):
        other.set_params(max_iter=1).fit(SHAPES)
        assert sorted(numbers(other.plot(ax=Figure().subplots()))) == [0, 1]


def test_landmarks_alone_with_numbers(ax):
    sx.plotting.plot_shapes(SHAPES.configurations, SHAPES.space, points="numbers", linestyle="none", ax=ax)
    assert not drawn(ax)
    assert [len(one) for one in marks(ax)] == [14] * 9
    # Of the first shape alone, from 1.
    assert [text.get_text() for text in ax.texts if text.get_gid() == "landmark"] == [str(k) for k in range(1, 15)]
    # One pale cell behind each, so that shapes do not run together.
    assert len(ax.patches) == 9
