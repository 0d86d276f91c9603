"""Error against time of the coders on real dictionaries, and what a price on weights costs.

The width of ``"auto"`` was chosen from a run over all of these sets except the hands, so no row of the curve is an
independent check of it. Every dictionary is learned by the paper's algorithm (ORMP, random first atoms, 30 updates), so
that all coders of a row use the same atoms. Times are medians of the processor time of runs that take turns, on one
thread.
"""

from math import comb
from statistics import median
from time import process_time
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

import measure
import shapelex as sx
from shape_data import open_set

Array = np.ndarray[Any, Any]
SETS = {
    "worms": ("6376_open_worms_6ctrlpts", 5, 10),
    "leaves": ("leaves_Bsplines", 5, 20),
    "cells": ("cells_osteosarcoma_outlines_100", 8, 60),
    "mpeg7": ("mpeg7_outlines_200", 10, 100),
    "mpeg7, large": ("mpeg7_outlines_200", 30, 230),
    "sand": ("sand_outlines_50", 5, 25),
    "mosquito wings": ("mosquito_wing_outlines_100", 6, 40),
    "molars": ("molars_outlines_79", 8, 60),
    "hearts": ("hearts_outlines_80", 10, 60),
    "leaf outlines": ("leaves_kaggle_outlines_200", 20, 150),
}
PENALIZED = {
    "worms": SETS["worms"],
    "leaves": SETS["leaves"],
    "hands": ("hands", 3, 10),
    "mpeg7": SETS["mpeg7"],
}
WIDTHS = (4, 8, 16, 32)
PENALTIES = (0.0, 0.0001, 0.001, 0.01)
MAX_EXACT = 100_000
N_SHAPES = 800

Curve = dict[str, tuple[float, float]]


def main(n_rounds: int = 5) -> None:
    curves: dict[str, Curve] = {}
    for name, chosen in SETS.items():
        problem = _problem(name, chosen)
        if problem is not None:
            curves[name] = _curve(*problem, n_rounds)
    columns = list(dict.fromkeys(label for curve in curves.values() for label in curve))
    measure.print_table(
        "docs/theory/coding.md: RMSE in %, and time relative to ORMP",
        ["RMSE in %, time relative to ORMP", *columns],
        [[_label(name), *(_cell(curve, column) for column in columns)] for name, curve in curves.items()],
        "coding-curve",
    )
    if curves:
        _draw(curves)
    rows = []
    for name, chosen in PENALIZED.items():
        problem = _problem(name, chosen)
        if problem is not None:
            rows.append([f"{name}, {chosen[1]} of {chosen[2]}", *_penalized_cells(*problem)])
    measure.print_table(
        "docs/theory/coding.md: RMSE in % and weight energy with a price on weights",
        ["RMSE in %, weight energy, `weight_penalty`", *(f"`{penalty:g}`" for penalty in PENALTIES)],
        rows,
        "weight-penalty",
    )


def _label(name: str) -> str:
    _, n_nonzero, n_atoms = SETS[name]
    return f"{name}, {n_nonzero} of {n_atoms}"


def _problem(name: str, chosen: tuple[str, int, int]) -> tuple[Array, Any, Array, int] | None:
    """Return shapes, their space, a dictionary and the number of atoms per shape."""
    file, n_nonzero, n_atoms = chosen
    found = open_set(file, f"coding curve, {name}")
    if found is None:
        return None
    learner = sx.ShapeDictionary(
        n_atoms, n_nonzero, space=found.space, coder="ormp", n_swaps=0, init="random",
        max_iter=30, random_state=0, n_jobs=1,
    )  # fmt: skip
    with catch_warnings():
        simplefilter("ignore")
        learner.fit(found.configurations)
    X = found.configurations[:: max(1, len(found) // N_SHAPES)]
    return X, found.space, learner.atoms_, n_nonzero


def _rmse(X: Array, space: Any, atoms: Array, codes: sx.SparseCodes) -> float:
    left = space.preshape(X) - codes.toarray() @ atoms
    return float(100 * np.sqrt(np.mean(space.norm(left) ** 2)))


def _curve(X: Array, space: Any, atoms: Array, n_nonzero: int, n_rounds: int) -> Curve:
    settings: dict[str, dict[str, Any]] = {}
    for polish, words in ((False, ""), (True, " + polish")):
        settings[f"ormp{words}"] = {"method": "ormp", "polish": polish}
        for width in WIDTHS:
            settings[f"beam {width}{words}"] = {"method": "beam", "width": width, "polish": polish}
    if comb(len(atoms), n_nonzero) <= MAX_EXACT:
        settings["exact"] = {"method": "exact"}
    settings["auto"] = {"method": "auto"}

    def code(label: str) -> sx.SparseCodes:
        codes: sx.SparseCodes = sx.encode(X, atoms, n_nonzero, space=space, n_threads=1, **settings[label])
        return codes

    errors = {label: _rmse(X, space, atoms, code(label)) for label in settings}
    seconds: dict[str, list[float]] = {label: [] for label in settings}
    for _ in range(n_rounds):
        for label, taken in seconds.items():
            start = process_time()
            code(label)
            taken.append(process_time() - start)
    return {label: (errors[label], 1e6 * median(seconds[label]) / len(X)) for label in settings}


def _cell(curve: Curve, column: str) -> str:
    if column not in curve:
        return "–"
    error, time = curve[column]
    return f"{error:.3f}, {time / curve['ormp'][1]:.1f}"


def _penalized_cells(X: Array, space: Any, atoms: Array, n_nonzero: int) -> list[str]:
    cells = []
    for penalty in PENALTIES:
        codes = sx.encode(X, atoms, n_nonzero, space=space, weight_penalty=penalty)
        energy = (np.abs(codes.coefs) ** 2).sum(axis=1).mean()
        cells.append(f"{_rmse(X, space, atoms, codes):.2f}, {energy:.2f}")
    return cells


def _draw(curves: dict[str, Curve]) -> None:
    """Draw error against time relative to ORMP; saved where results are kept."""
    if not measure.keeps_results():
        return
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, -(-len(curves) // 2), figsize=(14, 6), layout="constrained")
    for axis, (name, curve) in zip(axes.flat, curves.items(), strict=False):
        unit = curve["ormp"][1]
        for words, style in (("", "o--"), (" + polish", "o-")):
            points = [curve[f"{search}{words}"] for search in ("ormp", *(f"beam {width}" for width in WIDTHS))]
            label = f"ORMP, beams of {', '.join(map(str, WIDTHS))}{words}"
            axis.plot([time / unit for _, time in points], [error for error, _ in points], style, label=label)
        axis.plot(curve["auto"][1] / unit, curve["auto"][0], "k*", markersize=12, label="auto")
        axis.set_xscale("log", base=2)
        axis.set(xticks=[1, 2, 4, 8, 16, 32], xticklabels=["1", "2", "4", "8", "16", "32"])
        axis.set_title(_label(name).replace(" (held back)", "\n(held back)"), fontsize="medium")
    figure.supxlabel("time relative to ORMP")
    figure.supylabel("RMSE in %")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    figure.savefig(measure.RESULTS.parent / "images" / "coding-curve.png", dpi=80)


if __name__ == "__main__":
    main()
