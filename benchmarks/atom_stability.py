"""Whether atoms are found again: dictionaries of disjoint halves of the data, and of different seeds.

For each seed the shapes are divided into halves, groups as a whole, and two dictionaries are learned on each half. The
tables give the mean full distance from atoms to their partners in the best matching, the same between random shapes
(chance), and the error of the other half, coded with fewer atoms per shape too.
"""

import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from sklearn.base import clone

import shapelex as sx
from evaluation_sets import SETS, Array, EvaluationShapes, load
from learners import LEARNERS, make_learners
from measure import format_seeds, print_result, print_table
from shapelex.geometry.matching import matched_distances

SPARSITIES = (1, 2, 3, 5)
N_CHANCE_PAIRS = 20
# Below it, atoms of the two halves are called the same.
LARGEST_RATIO = 0.5
PAGE = "docs/how-to/evaluation.md, Atoms that are found again"
# Both kinds of halves, for sets with groups of nearly the same shapes: halves that share groups are more alike.
HALVED = {
    **SETS,
    "worms, halves of single shapes": replace(SETS["worms"], groups=None),
    "bee wings, halves of single shapes": replace(SETS["bee wings"], groups=None),
}


@dataclass(frozen=True)
class Stability:
    """Mean matched distances, and the held-out error in percent at each sparsity."""

    halves: float
    seeds: float
    held_out: Array


def main(seeds: Sequence[int]) -> None:
    start = time.perf_counter()
    learners = make_learners(LEARNERS, "atom stability", n_jobs=1)
    rows = []
    ratios: dict[str, dict[str, float]] = {label: {} for label in learners}
    for name, chosen in HALVED.items():
        shapes = load(chosen, f"atom stability, {name}")
        if shapes is None:
            continue
        sparsities = [count for count in SPARSITIES if count <= chosen.n_nonzero]
        size = {"n_atoms": chosen.n_atoms, "n_nonzero": chosen.n_nonzero}
        chance = _chance(shapes.X, chosen.n_atoms)
        for label, learner in learners.items():
            runs = [_measure(shapes, learner.set_params(**size), sparsities, seed) for seed in seeds]
            halves, between_seeds = np.mean([[run.halves, run.seeds] for run in runs], axis=0)
            held_out = np.mean([run.held_out for run in runs], axis=0)
            errors = [f"{error:.2f}" for error in held_out] + [""] * (len(SPARSITIES) - len(held_out))
            title = f"{name}: {len(shapes.X)} shapes, {chosen.n_nonzero} of {chosen.n_atoms}"
            ratio = ratios[label][name] = float(halves / chance)
            distances = [f"{chance:.3f}", f"{halves:.3f}", f"{ratio:.2f}", f"{between_seeds:.3f}"]
            rows.append([title, label, *distances, *errors])
        print(f"{time.perf_counter() - start:.0f} s, {name}", file=sys.stderr, flush=True)
    header = [f"seeds {format_seeds(seeds)}", "learner", "chance", "halves", "halves / chance", "seeds"]
    errors = [f"held out at {count}, RMSE %" for count in SPARSITIES]
    print_table(PAGE, [*header, *errors], rows, "atom-stability")
    if rows:
        print_result(f"{PAGE}: summary", "\n".join(map(_summarize, ratios.items())), "atom-stability-summary.md")


def _summarize(learner: tuple[str, dict[str, float]]) -> str:
    label, ratios = learner
    near = [name for name, ratio in ratios.items() if ratio <= LARGEST_RATIO]
    far = [name for name, ratio in ratios.items() if ratio > LARGEST_RATIO]
    counted = (
        f"- `{label}`: the distance between halves is at most {LARGEST_RATIO} times that of chance on {len(near)} of "
    )
    # The shorter list says as much as both.
    named = (
        "" if not near or not far else f": not on {'; '.join(far)}" if len(far) <= len(near) else f": {'; '.join(near)}"
    )
    return f"{counted}{len(ratios)} rows{named}."


def _measure(shapes: EvaluationShapes, learner: sx.ShapeDictionary, sparsities: Sequence[int], seed: int) -> Stability:
    states = np.random.default_rng(seed).integers(2**31, size=2)
    atoms, held_out = [], []
    for learned, others in shapes.split(2, seed):
        found = []
        for state in states:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = clone(learner).set_params(random_state=int(state)).fit(shapes.X[learned])
            found.append(model.space_.unit_rows(model.atoms_, "atoms_"))
            rest = shapes.X[others]
            held_out.append([-100 * model.set_params(n_nonzero=count).score(rest) for count in sparsities])
        atoms.append(found)
    first, second = atoms
    return Stability(
        float(np.mean([matched_distances(*pair) for pair in product(first, second)])),
        float(np.mean([matched_distances(*pair) for pair in (first, second)])),
        np.mean(held_out, axis=0),
    )


def _chance(shapes: sx.ShapeSet, n_atoms: int) -> float:
    """Return the mean matched distance of two random draws of shapes."""
    generator = np.random.default_rng(0)
    rows = shapes.space.whitened_preshapes(shapes.configurations, "X")
    draws = [generator.choice(len(rows), n_atoms, replace=False) for _ in range(2 * N_CHANCE_PAIRS)]
    pairs = zip(draws[::2], draws[1::2], strict=True)
    return float(np.mean([matched_distances(rows[first], rows[second]) for first, second in pairs]))
