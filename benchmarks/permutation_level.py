"""Whether permutation tests hold their level, and their power beside that of Goodall's F.

Sets of 24 shapes are simulated in which no group differs; a test holds its level where P ≤ 0.05 in 5 % of them. Then
one landmark of one group is moved. The seeds of all sets are fixed.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

import shapelex as sx
from measure import keep_figure, print_table
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.statistics.atom_differences import _permutation_tests
from shapelex.statistics.code_input import read_code_input
from shapelex.statistics.data import Columns, as_complex, as_real, tangent_rows
from shapelex.statistics.formulas import make_design, parse_formula
from shapelex.statistics.grouping import Grouping, group_units
from shapelex.statistics.linear_model import TermModel, permuted_sums
from shapelex.statistics.local_differences import permuted_traces
from shapelex.statistics.models import f_statistics
from shapelex.statistics.permutations import Exchange, at_least, p_values
from shapelex.statistics.terms import term_models
from shapelex.statistics.two_sample import (
    goodall_f,
    hotelling_t2,
    spanned_rows,
    tangent_coordinates,
    two_samples,
)

N_SETS, N_POWER_SETS, N_SHAPES, PERMUTATIONS, LEVEL = 10_000, 1_000, 24, 199, 0.05
EFFECTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
PAGE = "docs/how-to/where-and-which.md, What the P values are worth"

Ps = dict[str, float]


@dataclass(frozen=True)
class DesignOfGroups:
    """Groups of the shapes, their strata, and the terms of the linear model that tests them."""

    groups: IntArray
    strata: IntArray | None
    grouping: Grouping
    terms: list[TermModel]
    df_residual: int


def make_groups(groups: IntArray, strata: IntArray | None = None) -> DesignOfGroups:
    names = np.array(["a", "b"])[groups]
    table = pd.DataFrame({"group": names})
    if strata is not None:
        table["stratum"] = np.array(["s", "t", "u", "v"])[strata]
    formula = "shape ~ group" if strata is None else "shape ~ stratum + group"
    parsed, _ = parse_formula(formula, Columns(table))
    design = make_design(parsed, table)
    terms = term_models(design, 1, Exchange(len(groups), strata))
    grouping = group_units(table["group"], table.get("stratum"))
    return DesignOfGroups(groups, strata, grouping, terms[-1:], len(groups) - design.matrix.shape[1])


STRATA = np.repeat(np.arange(4), 6)
DESIGNS: dict[str, Callable[[], DesignOfGroups]] = {
    "12 and 12 shapes": lambda: make_groups(np.repeat([0, 1], 12)),
    "5 and 19 shapes": lambda: make_groups(np.repeat([0, 1], [5, 19])),
    "4 strata that differ, groups unbalanced in each": lambda: make_groups(
        np.concatenate([np.repeat([0, 1], [k, 6 - k]) for k in (1, 2, 4, 5)]), STRATA
    ),
}


def landmarks(rng: np.random.Generator, design: DesignOfGroups) -> ComplexArray:
    """Draw eight landmarks, of which one varies four times as much as another; strata differ in some of them."""
    base = np.array([0, 2, 4 + 0.5j, 4 + 2j, 3 + 3j, 2 + 2.5j, 1 + 3j, 2j])
    noise: ComplexArray = rng.normal(size=(N_SHAPES, 8)) + 1j * 0.5 * rng.normal(size=(N_SHAPES, 8))
    shapes: ComplexArray = base + 0.1 * np.linspace(1, 4, 8) * noise + _stratum_shift(design, 0.3 * np.eye(8)[2])
    return shapes


def outlines(rng: np.random.Generator, design: DesignOfGroups) -> ComplexArray:
    """Draw closed B-splines of ten control points, of which neighbors vary together."""
    circle = np.exp(2j * np.pi * np.arange(10) / 10) * (1 + 0.3 * np.cos(4 * np.pi * np.arange(10) / 10))
    noise = rng.normal(size=(N_SHAPES, 10)) + 1j * rng.normal(size=(N_SHAPES, 10))
    smooth = noise + np.roll(noise, 1, axis=1) + np.roll(noise, -1, axis=1)
    shapes: ComplexArray = circle + 0.05 * smooth + _stratum_shift(design, 0.1 * np.eye(10)[3])
    return shapes


def codes(rng: np.random.Generator, design: DesignOfGroups) -> ComplexArray:
    """Draw weights of six atoms, each used by 60 % of the shapes, in random poses."""
    weights = np.array([1, 0.6j, 0.4, -0.4, 0.3j, 0.3]) * rng.lognormal(0, 0.3, size=(N_SHAPES, 6))
    weights = weights + 0.1 * (rng.normal(size=weights.shape) + 1j * rng.normal(size=weights.shape))
    weights = (weights + _stratum_shift(design, 0.2 * np.eye(6)[1])) * (rng.uniform(size=weights.shape) < 0.6)
    turned: ComplexArray = weights * np.exp(1j * rng.uniform(0, 7, size=(N_SHAPES, 1)))
    return turned


def _stratum_shift(design: DesignOfGroups, change: FloatArray) -> FloatArray:
    return np.zeros((1, 1)) if design.strata is None else np.multiply.outer(design.strata, change)


def linear_model_p(rows: FloatArray, design: DesignOfGroups, seed: int) -> float:
    """Return P of the groups in the linear model, as shape_lm and code_lm compute it."""
    sums = permuted_sums(rows, design.terms, PERMUTATIONS, seed)
    return float(p_values(f_statistics(sums, design.terms, design.df_residual, {}))[0])


def local_p(rows: FloatArray, space: sx.spaces.Space, design: DesignOfGroups, rng: np.random.Generator) -> float:
    """Return the smallest corrected P of all points, as local_test computes it; of outlines, at 20 points."""
    points = space.unwhiten(as_complex(rows))
    if not isinstance(space, sx.Landmarks):
        points = space.sample(points, space.parameters(20))
    observed, _, largest = permuted_traces(design.grouping, points, PERMUTATIONS, rng)
    return float(at_least(largest, observed.max()).mean())


def two_sample_p(shapes: ComplexArray, space: sx.spaces.Space, design: DesignOfGroups, rng: np.random.Generator) -> Ps:
    """Return P of Goodall and Hotelling by permutation, and of Goodall by the table, as mean_test computes them."""
    coordinates = tangent_coordinates(spanned_rows(space.whitened_preshapes(shapes), space), np.ones(len(shapes)))
    indices = np.concatenate(list(design.grouping.exchange.chunks(PERMUTATIONS, rng)))
    first = (design.groups == 0).astype(np.float64)[indices]
    samples = two_samples(coordinates, first, 1 - first, scatters=True)
    goodall, n_dimensions = goodall_f(samples), coordinates.shape[1]
    table = stats.f.sf(goodall[0], n_dimensions, (len(shapes) - 2) * n_dimensions)
    return {
        "Goodall, table": float(table),
        "Goodall, permuted": float(p_values(goodall)),
        "Hotelling, permuted": float(p_values(hotelling_t2(samples))),
    }


def shape_p(shapes: ComplexArray, space: sx.spaces.Space, design: DesignOfGroups, rng: np.random.Generator) -> Ps:
    rows, _ = tangent_rows(shapes, space)
    found = {
        "shape_lm": linear_model_p(rows, design, int(rng.integers(2**31))),
        "local_test": local_p(rows, space, design, rng),
    }
    if design.strata is None and isinstance(space, sx.Landmarks):
        found |= two_sample_p(shapes, space, design, rng)
    return found


def code_p(weights: ComplexArray, design: DesignOfGroups, rng: np.random.Generator) -> Ps:
    given = read_code_input(weights)
    moduli = np.abs(weights)
    values = np.concatenate([(moduli > 0).astype(np.float64), np.where(moduli > 0, moduli, np.nan)], axis=1)
    p = _permutation_tests(design.grouping, values, PERMUTATIONS, rng)[1]
    return {
        "code_lm": linear_model_p(as_real(given.in_common_pose()), design, int(rng.integers(2**31))),
        "atom_tests, weight": float(np.nan_to_num(p[6], nan=1)),
        "atom_tests, use": float(np.nan_to_num(p[0], nan=1)),
    }


KINDS: dict[str, Callable[[np.random.Generator, DesignOfGroups], Ps]] = {
    "landmarks": lambda rng, design: shape_p(landmarks(rng, design), sx.Landmarks(8), design, rng),
    "outlines": lambda rng, design: shape_p(outlines(rng, design), sx.BSpline(10), design, rng),
    "codes": lambda rng, design: code_p(codes(rng, design), design, rng),
}


def main(n_sets: int = N_SETS) -> None:
    start, rows = time.perf_counter(), []
    for place, (kind, compute) in enumerate(KINDS.items()):
        for case, (name, make) in enumerate(DESIGNS.items()):
            design = make()
            found: dict[str, list[float]] = {}
            for number in range(n_sets):
                for test, p in compute(np.random.default_rng([place, case, number]), design).items():
                    found.setdefault(test, []).append(p)
            for test, values in found.items():
                if test != "Goodall, table":
                    rows.append([kind, name, test, f"{100 * np.mean(np.array(values) <= LEVEL):.2f}"])
            print(f"{time.perf_counter() - start:.0f} s, {kind}, {name}", file=sys.stderr, flush=True)
    header = ["shapes", "design", "test", f"P ≤ 0.05 in % of {n_sets:,} sets"]
    print_table(f"{PAGE}: level", header, rows, "permutation-level")
    power = {noise: list(_power(noise, max(10, n_sets // 10))) for noise in ("equal", "unequal")}
    tests = list(power["equal"][0])
    print_table(
        f"{PAGE}: power",
        ["noise of the landmarks", "test", *(f"moved by {effect:g} sd" for effect in EFFECTS)],
        [
            [noise, test, *(f"{100 * shares[test]:.1f}" for shares in found)]
            for noise, found in power.items()
            for test in tests
        ],
        "permutation-power",
    )
    _draw(power)
    print(f"{time.perf_counter() - start:.0f} s in all", file=sys.stderr, flush=True)


def _power(noise: str, n_sets: int) -> Iterator[Ps]:
    """Yield the share of sets in which each test finds the effect, for each size of the effect."""
    design, space = DESIGNS["12 and 12 shapes"](), sx.Landmarks(8)
    base = np.array([0, 2, 4 + 0.5j, 4 + 2j, 3 + 3j, 2 + 2.5j, 1 + 3j, 2j])
    spread = np.full(8, 0.1) if noise == "equal" else 0.1 * np.array([1, 1, 1, 1, 1, 1, 1, 6])
    for effect in EFFECTS:
        found: dict[str, list[bool]] = {}
        for number in range(n_sets):
            rng = np.random.default_rng([11, number])
            shapes = base + spread * (rng.normal(size=(N_SHAPES, 8)) + 1j * rng.normal(size=(N_SHAPES, 8)))
            shapes[design.groups == 1, 3] += 0.1 * effect
            for test, p in shape_p(shapes, space, design, rng).items():
                found.setdefault(test, []).append(p <= LEVEL)
        yield {test: float(np.mean(values)) for test, values in found.items()}


def _draw(power: dict[str, list[Ps]]) -> None:
    from matplotlib.figure import Figure

    from shapelex.plotting.palette import CYCLE, GRAY, MARKERS
    from shapelex.plotting.style import figure_size, style

    with style():
        figure = Figure(figsize=figure_size("double", 70), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        titles = {"equal": "all landmarks vary alike", "unequal": "another landmark varies six times as much"}
        for ax, (noise, found) in zip(axes, power.items(), strict=True):
            for place, test in enumerate(found[0]):
                shares = [100 * one[test] for one in found]
                ax.plot(EFFECTS, shares, marker=MARKERS[place], color=CYCLE[place], markersize=4, label=test)
            ax.axhline(5, color=GRAY, linewidth=0.8, linestyle=":")
            ax.set_title(titles[noise])
            ax.set_xlabel("one landmark moved by, in its standard deviations")
        axes[0].set_ylabel("sets with P ≤ 0.05, %")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
        keep_figure(figure, "permutation-power.png")


if __name__ == "__main__":
    main()
