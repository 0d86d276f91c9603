"""First dictionaries.

In come shapes; out go atoms, whitened rows of norm 1: shapes of the set drawn by one generator, or given ones.
"""

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_choice, name_rows
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.learning.sampling import count_copies, draw_index, draw_rows
from shapelex.shapes.collection import Shapes
from shapelex.spaces.rows import row_norms

INITIALIZATIONS = ("spread", "random")

MAX_CANDIDATES = 50_000
"""Rows that atoms are drawn from; a larger set is first thinned to as many, drawn at random."""

# Shapes whose squared full distance is a rounding error are the same shape.
_SAME_SHAPE = 64.0


def initial_atoms(
    shapes: Shapes, n_atoms: int, init: str | ComplexArray, generator: np.random.Generator
) -> ComplexArray:
    """Return the first dictionary of a descent: atoms of norm 1.

    ``"random"`` shuffles the shapes and takes the first ones, as the paper does; ``"spread"`` draws one after the
    other, with probabilities in proportion to the squared full distance to the nearest one drawn before (k-means++).
    Probabilities are multiplied by the weights. Neither takes a shape twice; where the set has fewer distinct shapes
    than atoms, the last atoms are repeats. An array is normalized, and converted to the precision of the shapes where
    that is higher.

    ``"spread"`` inverts the cumulative probabilities, in the order of the rows. So a shape of integer weight `w` and
    `w` neighboring copies of it draw the same shapes.
    """
    if not isinstance(init, str):
        atoms = given_atoms(init, n_atoms, shapes.shape[1])
        return atoms.astype(np.result_type(atoms.dtype, shapes.dtype))
    check_choice(init, INITIALIZATIONS, "init")
    rows, weights = draw_candidates(shapes, n_atoms, generator)
    draw = _draw_spread if init == "spread" else _draw_random
    return draw(rows, weights, n_atoms, generator)


def _draw_spread(rows: ComplexArray, weights: FloatArray, n_atoms: int, generator: np.random.Generator) -> ComplexArray:
    squares = np.ones(len(rows))
    drawn: list[int] = []
    for _ in range(n_atoms):
        chances = weights * squares
        drawn.append(draw_index(chances if chances.any() else weights, generator))
        squares = np.minimum(squares, _squared_distances(rows, rows[drawn[-1]]))
    return rows[drawn]


def _draw_random(rows: ComplexArray, weights: FloatArray, n_atoms: int, generator: np.random.Generator) -> ComplexArray:
    # Arrival times of rates `weights`: who comes first is a draw without replacement, for equal weights a shuffle.
    order = np.argsort(generator.exponential(size=len(rows)) / weights, kind="stable")
    drawn: list[int] = []
    for index in order:
        if not drawn or _squared_distances(rows[drawn], rows[index]).all():
            drawn.append(int(index))
        if len(drawn) == n_atoms:
            return rows[drawn]
    repeats: ComplexArray = rows[np.resize(drawn, n_atoms)]
    return repeats


def _squared_distances(rows: ComplexArray, row: ComplexArray) -> FloatArray:
    """Return squared full distances, exactly 0 for the same shape."""
    squares: FloatArray = 1 - np.abs(rows @ row.conj()).astype(np.float64) ** 2
    return np.where(squares > _SAME_SHAPE * float(np.finfo(rows.real.dtype).eps), squares, 0)


def draw_candidates(shapes: Shapes, n_atoms: int, generator: np.random.Generator) -> tuple[ComplexArray, FloatArray]:
    """Return rows that atoms may be drawn from, and their weights: all of positive weight, or a random part of many."""
    n_copies = count_copies(shapes)
    if n_copies < n_atoms:
        counted = "" if shapes.weights is None else " of positive weight"
        raise ParameterError(
            f"{parameter('n_atoms')} must be at most the number of shapes{counted}, {n_copies}, got {n_atoms}; learn "
            "fewer atoms, or give more shapes."
        )
    chosen = draw_rows(shapes, max(MAX_CANDIDATES, n_atoms), generator)
    return shapes.preshape_rows(chosen), shapes.weights_of(chosen)


def given_atoms(init: ComplexArray, n_atoms: int, n_coordinates: int) -> ComplexArray:
    """Return atoms that the caller chose, checked and normalized."""
    atoms = np.asarray(init)
    if atoms.shape != (n_atoms, n_coordinates) or not np.iscomplexobj(atoms):
        raise ShapeInputError(
            f"{parameter('init')} must be a complex array of {parameter('n_atoms', n_atoms)} rows of {n_coordinates} "
            f"coordinates, got shape {atoms.shape}, dtype {atoms.dtype}; or use {parameter('init', 'spread')}."
        )
    norms = row_norms(atoms)
    bad = ~(np.isfinite(norms) & (norms > 0))
    if bad.any():
        raise ShapeInputError(f"init has atoms that are zero or not finite in {name_rows(bad)}: give shapes instead.")
    unit: ComplexArray = atoms / norms[:, None]
    return unit
