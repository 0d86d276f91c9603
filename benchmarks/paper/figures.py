"""The figures of the paper, for one dataset, and the one that has all RMSE curves."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.measure import ALIGN_FIRST, OURS, SetResult
from shapelex._typing import FloatArray, IntArray
from shapelex.coding import SparseCodes, encode
from shapelex.files.provenance import write_sidecar
from shapelex.plotting import (
    plot_atoms,
    plot_code,
    plot_combination,
    plot_loss,
    plot_mean,
    plot_reconstructions,
    plot_rmse_curves,
    save_figure,
    style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_FORMATS = ("png", "svg")

_MOST_ATOMS = 20  # of a large dictionary, as in the paper
_DPI = 160


def draw_set(result: SetResult, folder: Path, run: Mapping[str, Any]) -> dict[str, str]:
    """Draw all figures of one dataset.

    Parameters
    ----------
    result : SetResult
        What was measured.
    folder : Path
        Where the figures go.
    run : mapping
        Description of the run.

    Returns
    -------
    dict
        File names without extension, by what they show: ``"dictionaries"``, ``"learning"``, ``"combination"``.
    """
    makers = {
        "dictionaries": _draw_dictionaries,
        "learning": _draw_learning,
        "combination": _draw_combination,
    }
    names = {}
    with style():
        for subject, make in makers.items():
            names[subject] = f"dataset-{result.paper_set.name}-{subject}"
            _save(make(result), folder / names[subject], run)
    return names


def draw_curves(results: Sequence[SetResult], folder: Path, run: Mapping[str, Any]) -> str | None:
    """Draw the RMSE curves of all datasets that have them (figure 5 of the paper).

    Parameters
    ----------
    results : sequence of SetResult
        What was measured.
    folder : Path
        Where the figure goes.
    run : mapping
        Description of the run.

    Returns
    -------
    str or None
        File name without extension; None where no dataset has curves.
    """
    from matplotlib.figure import Figure

    drawn = [result for result in results if result.curves]
    if not drawn:
        return None
    columns = min(3, len(drawn))
    rows = -(-len(drawn) // columns)
    with style():
        figure = Figure(figsize=(2.6 * columns, 2.3 * rows), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes in grid[len(drawn) :]:
            axes.set_axis_off()
        for axes, result in zip(grid, drawn, strict=False):
            plot_rmse_curves(result.curves, fontsize=7, ax=axes)
            _mark_paper(axes, result)
            axes.set_title(f"{result.paper_set.name}: {result.paper_set.title}")
        _save(figure, folder / "rmse-curves", run)
    return "rmse-curves"


def choose_examples(errors: FloatArray, n_examples: int = 4) -> IntArray:
    """Choose shapes to show: at evenly spaced quantiles of the error, the best and the worst left out.

    Parameters
    ----------
    errors : ndarray of float, shape (n_shapes,)
        Error of each shape.
    n_examples : int, default 4
        How many.

    Returns
    -------
    ndarray of int, shape (n_examples,)
        Rows, by growing error.

    Examples
    --------
    >>> import numpy as np
    >>> choose_examples(np.array([0.5, 0.1, 0.4, 0.2, 0.3]), 2).tolist()
    [1, 0]
    """
    order = np.argsort(errors, kind="stable")
    quantiles = np.linspace(0.05, 0.95, n_examples)
    chosen: IntArray = order[np.rint(quantiles * (len(errors) - 1)).astype(int)]
    return chosen


def choose_combination(result: SetResult) -> tuple[int, SparseCodes]:
    """Choose a shape to show as a sum of three atoms, and code it.

    Among the better coded half of the shapes: the one whose second and third atom count most beside the first, as long
    as the weights do not fight each other.

    Parameters
    ----------
    result : SetResult
        What was measured.

    Returns
    -------
    row : int
        The shape.
    code : SparseCodes
        Its code.
    """
    model = result.dictionary
    n_nonzero = min(3, result.paper_set.n_nonzero)
    candidates = np.linspace(0, len(result.shapes) - 1, min(len(result.shapes), 2000)).astype(int)
    method = "auto" if result.paper_set.n_atoms <= _MOST_ATOMS else "ormp"
    codes = encode(result.shapes[candidates], model.atoms_, n_nonzero, method=method, space=model.space_)
    moduli = np.sort(np.abs(codes.coefs), axis=1)[:, ::-1]
    turns = np.abs(np.sin(np.angle(codes.coefs) - np.angle(codes.coefs[:, :1]))).max(axis=1)
    interest = np.where(moduli.sum(axis=1) <= 2.0, moduli[:, -1] / moduli[:, 0] + 0.5 * turns, -1.0)
    sums = codes.toarray() @ model.atoms_
    space = result.paper_set.space
    errors = space.norm(space.preshape(result.shapes[candidates]) - sums)
    interest[errors > np.median(errors)] = -2.0
    best = int(np.argmax(interest))
    return int(candidates[best]), codes[best : best + 1]


def _draw_dictionaries(result: SetResult) -> "Figure":
    from matplotlib.figure import Figure

    paper_set, shapes = result.paper_set, result.shapes
    height = 4.6 if paper_set.n_atoms <= _MOST_ATOMS // 2 else 7.6
    figure = Figure(figsize=(7.6, height), layout="constrained")
    halves: Any = figure.subfigures(2, 1, hspace=0.04)
    chosen = choose_examples(result.dictionary.errors(shapes))
    for half, (name, model) in zip(
        halves, {OURS: result.dictionary, ALIGN_FIRST: result.align_first}.items(), strict=True
    ):
        left, right = half.subplots(1, 2, width_ratios=[1.7, 1])
        # Where all atoms fit in, they keep the numbers by which other figures name them.
        is_whole = paper_set.n_atoms <= _MOST_ATOMS
        shown = np.arange(paper_set.n_atoms) if is_whole else np.argsort(-model.usage_, kind="stable")[:_MOST_ATOMS]
        some = f"{paper_set.n_atoms} atoms" if is_whole else f"{len(shown)} most used of {paper_set.n_atoms} atoms"
        left.set_title(f"{name}: {some}, with their use")
        plot_atoms(
            model.atoms_[shown], model.space_, usage=model.usage_[shown], numbers=is_whole, points=paper_set.points,
            n_columns=5, fontsize=7, linewidth=1.1, ax=left,
        )  # fmt: skip
        right.set_title(f"four reconstructions, RMSE {100 * result.measured[name].rmse:.2f} %")
        plot_reconstructions(
            shapes[chosen], model.reconstruct(shapes[chosen]), model.space_, n_columns=2, fontsize=7, ax=right
        )
        for axes in (left, right):
            axes.set_anchor("N")
    return figure


def _draw_learning(result: SetResult) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 2.3), layout="constrained")
    panels = figure.subplots(1, 3 if result.curves else 2)
    plot_mean(result.shapes, result.paper_set.space, max_shapes=40, ax=panels[0])
    panels[0].set_title("mean shape")
    panels[0].set_anchor("N")
    plot_loss(result.loss_curve, fontsize=7, ax=panels[1])
    panels[1].set_title("while learning")
    if result.curves:
        plot_rmse_curves(result.curves, fontsize=7, ax=panels[2])
        _mark_paper(panels[2], result)
        panels[2].set_title(f"{result.paper_set.n_atoms} atoms, learned for each sparsity")
    return figure


def _draw_combination(result: SetResult) -> "Figure":
    from matplotlib.figure import Figure

    row, code = choose_combination(result)
    model = result.dictionary
    figure = Figure(figsize=(7.6, 2.1), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 3.2])
    plot_code(code, ax=left)
    left.set_title("complex weights")
    plot_combination(code, model.atoms_, model.space_, original=result.shapes[row], ax=right)
    right.set_title(f"shape {row} as a sum of atoms, scaled and turned")
    for axes in (left, right):
        axes.set_anchor("N")
    return figure


def _mark_paper(axes: Any, result: SetResult) -> None:
    """Mark the paper's own number, where the data are the same."""
    paper_set = result.paper_set
    if paper_set.is_same_data:
        look = {"marker": "x", "markersize": 5, "markeredgewidth": 1.2, "color": "black", "zorder": 5}
        axes.plot([paper_set.n_nonzero], [paper_set.paper_rmse], linestyle="none", **look)


def _save(figure: "Figure", stem: Path, run: Mapping[str, Any]) -> None:
    """Write a figure in every format, and beside each file the description of the run."""
    for extension in FIGURE_FORMATS:
        write_sidecar(save_figure(figure, stem.with_name(f"{stem.name}.{extension}"), dpi=_DPI), run)
