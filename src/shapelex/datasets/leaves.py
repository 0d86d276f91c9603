"""Outlines of leaves made in code, whose species and proportions are known.

In come numbers and a seed; out goes a set of closed outlines with labels. Equal seeds give equal leaves.
"""

import numpy as np

from shapelex._typing import ComplexArray
from shapelex._validation import check_count, check_not_negative
from shapelex.exceptions import ParameterError
from shapelex.io.contours import check_closed_space, fit_outline
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks, Space

_LEAF_SAMPLES = 800

# Widest half width over length; exponents of the profile at base and tip; depth and number of lobes or teeth.
_LEAF_FORMS: dict[str, tuple[float, float, float, float, int]] = {
    "lobed": (0.30, 0.7, 0.9, 0.42, 4),
    "lanceolate": (0.13, 0.8, 1.1, 0.0, 1),
    "ovate": (0.27, 0.6, 1.2, 0.0, 1),
    "toothed": (0.24, 0.7, 1.0, 0.10, 9),
    "obovate": (0.25, 1.3, 0.6, 0.0, 1),
    "orbicular": (0.46, 0.5, 0.5, 0.0, 1),
}


def make_leaves(
    n_per_species: int = 30,
    n_species: int = 4,
    n_points: int = 100,
    *,
    space: Space | None = None,
    variation: float = 0.1,
    random_start: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> ShapeSet:
    """Return outlines of leaves of several species, in random pose.

    A leaf has a profile ``s^a (1 − s)^b`` along its midrib, with or without teeth or lobes, and its midrib is an arc.

    Parameters
    ----------
    n_per_species : int, default 30
        Leaves of each species.
    n_species : int, default 4
        How many, from 1 to 6: lobed, lanceolate, ovate, toothed, obovate, orbicular.
    n_points : int, default 100
        Points of an outline, at equal steps of arc length.
    space : Space, optional
        A closed space to fit the outlines in instead, such as ``BSpline(40)``; `n_points` is then not used.
    variation : float, default 0.1
        How much leaves of one species differ: relative standard deviation of their proportions; 0 makes them equal.
    random_start : bool, default False
        Start each outline anywhere; otherwise all start at the base. The column ``start`` tells where, as a share of
        the length of the outline.
    random_state : int, Generator or None, default None
        Seed.

    Returns
    -------
    ShapeSet
        Counter-clockwise outlines labeled by species, which follow each other in turn, with columns of true
        proportions: ``width`` and ``lobes`` of the leaf, ``curl`` of its midrib, and ``start``.

    Examples
    --------
    >>> import shapelex as sx
    >>> leaves = sx.datasets.make_leaves(10, 3, random_state=0)
    >>> leaves.shape, leaves.labels[:3].tolist()
    ((30, 100), ['lobed', 'lanceolate', 'ovate'])
    """
    n_each = check_count(n_per_species, 1, "n_per_species")
    if check_count(n_species, 1, "n_species") > len(_LEAF_FORMS):
        raise ParameterError(f"n_species must be at most {len(_LEAF_FORMS)}, got {n_species}.")
    spread = check_not_negative(variation, "variation")
    n_wanted = check_count(n_points, 3, "n_points")
    target = Landmarks(n_wanted, closed=True) if space is None else check_closed_space(space)
    generator = np.random.default_rng(random_state)
    labels = np.array(list(_LEAF_FORMS)[:n_species] * n_each)
    outlines = np.empty((len(labels), target.n_coordinates), dtype=np.complex128)
    told = {name: np.empty(len(labels)) for name in ("width", "lobes", "curl", "start")}
    for row, label in enumerate(labels):
        width, base, tip, lobes, n_lobes = _LEAF_FORMS[str(label)]
        factors = np.exp(spread * generator.normal(size=4))
        curl, start = 2 * spread * generator.normal(), generator.uniform() * bool(random_start)
        leaf = _leaf(width * factors[0], base * factors[1], tip * factors[2], lobes * factors[3], n_lobes, curl)
        pose = generator.uniform(0.5, 2) * np.exp(2j * np.pi * generator.uniform())
        position = 3 * complex(*generator.normal(size=2))
        leaf = fit_outline(leaf, Landmarks(_LEAF_SAMPLES, closed=True))
        shift = int(start * _LEAF_SAMPLES)
        outlines[row] = fit_outline(pose * np.roll(leaf, -shift) + position, target)
        values = (width * factors[0], lobes * factors[3], curl, shift / _LEAF_SAMPLES)
        for name, value in zip(told, values, strict=True):
            told[name][row] = value
    return ShapeSet(
        outlines,
        target,
        ids=[f"{label}-{row // n_species}" for row, label in enumerate(labels)],
        labels=labels,
        metadata=told,
    )


def _leaf(width: float, base: float, tip: float, lobes: float, n_lobes: int, curl: float) -> ComplexArray:
    """Return a dense outline from the base at 0, along the right side to the tip at 1, and back along the left."""
    angle = np.linspace(0, np.pi, _LEAF_SAMPLES // 2, endpoint=False)
    s = (1 - np.cos(angle)) / 2
    widest = base / (base + tip)
    peak = widest**base * (1 - widest) ** tip
    # Lobes point forward and fade towards both ends.
    waves = np.cos(2 * np.pi * n_lobes * (s - 0.1 * np.sin(np.pi * s)))
    side = width / peak * s**base * (1 - s) ** tip * (1 - min(lobes, 0.8) * (1 + waves) / 2 * np.sin(np.pi * s))
    right, left = s - 1j * side, s + 1j * side
    outline = np.concatenate([right, [1.0], left[:0:-1]])
    # A midrib of constant curvature; the sides stay perpendicular to it.
    if abs(curl) > 1e-9:
        along, across = outline.real, outline.imag
        direction = np.exp(1j * curl * along)
        outline = (direction - 1) / (1j * curl) + 1j * across * direction
    return np.asarray(outline, dtype=np.complex128)
